// What is typed and not committed: kept in this browser at once, on the server shortly after.
import { at, complain, facts, post, Retry, SIGNED_OUT, STALE, tell } from "./page.js";
import { drop, keep, kept } from "./store.js";

const PAUSE = 800;
const SOON = 400;
const NAME = `draft:${facts.place}`;

const parsed = (text) => {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
};

// A draft holds flat lists: [start, end, start, end, ...].
const pairs = (flat = []) => Array.from({ length: flat.length >> 1 }, (_, n) => [flat[2 * n], flat[2 * n + 1]]);

// The newer of the server's draft and this browser's; what was watched counts from both.
export const latest = () => {
  const here = kept(NAME) ?? {};
  const there = parsed(facts.draft);
  const newer = (here.at ?? "") >= (there.at ?? "") ? here : there;
  return { ...newer, played: [...pairs(here.played), ...pairs(there.played)] };
};

export class Drafts {
  constructor(read) {
    this.read = read;
    this.dirty = false;
    this.sending = false;
    this.ended = false;
    this.timer = 0;
    this.retry = new Retry(() => this.send());
    addEventListener("pagehide", () => this.dirty && this.send(true));
  }

  touch() {
    if (this.ended) return;
    this.dirty = true;
    keep(NAME, this.read());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), PAUSE);
  }

  async send(leaving = false) {
    clearTimeout(this.timer);
    if (this.ended || (this.sending && !leaving)) return;
    this.sending = true;
    this.dirty = false;
    const slow = setTimeout(() => tell("Saving…"), SOON);
    const { kind, data, status } = await post(`${facts.api}/draft`, { draft: this.read() }, leaving);
    clearTimeout(slow);
    this.sending = false;
    if (kind === "done" && data.saved_at) return this.saved(data.saved_at);
    this.dirty = true;
    if (kind === "refused") return this.refused(data, status);
    tell(kind === "unsent" ? (navigator.onLine ? "Not saved yet: will retry" : "Offline: will retry") : "Not saved: signed out");
    if (kind === "unsent") this.retry.later();
    else complain(kind === "stale" ? STALE : SIGNED_OUT);
  }

  saved(time) {
    this.retry.succeeded();
    if (!this.ended) tell(`Draft saved ${at(time)}`);
    if (this.dirty) this.touch();
  }

  // What is wrong with the text can be mended; an item that is closed or gone takes no more drafts.
  refused(data, status) {
    this.ended = status === 404 || status === 409;
    tell("Not saved");
    complain(`${data.problem ?? "This draft was not stored."} ${data.action ?? ""}`, data.faults ?? []);
  }

  // The act that holds the draft is on its way: it must not be saved as a draft behind it.
  pause() {
    clearTimeout(this.timer);
    this.retry.stop();
    this.ended = true;
  }

  resume() {
    this.ended = false;
  }

  forget() {
    drop(NAME);
  }
}
