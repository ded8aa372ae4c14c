// Acts (answer, vote, skip, withdrawal) on their way to the server. Each is kept in this browser under
// its request id until the server says that it is committed, so that it is neither lost nor done twice.
import { by, complain, facts, post, Retry, say, SIGNED_OUT, STALE, tell } from "./page.js";
import { drop, keep, kept, names, watch } from "./store.js";

const requestId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Outbox {
  // `delivered(act, data)` and `refused(act)` are told what became of an act.
  constructor(delivered, refused) {
    this.delivered = delivered;
    this.refused = refused;
    this.busy = false;
    this.problem = "";
    this.retry = new Retry(() => this.flush());
    // What sticks to the bottom of the page as well stands above it.
    const rise = () => document.documentElement.style.setProperty("--outbox", `${by("outbox").offsetHeight}px`);
    new ResizeObserver(rise).observe(by("outbox"));
    by("outbox-retry").addEventListener("click", () => this.retry.now());
    addEventListener("beforeunload", (event) => this.acts().length && event.preventDefault());
    watch("act:", (before, after) => this.changedElsewhere(before, after));
  }

  acts() {
    const found = names("act:").map((name) => ({ name, ...kept(name) })).filter((act) => act.body);
    return found.sort((one, other) => one.at - other.at);
  }

  has(place) {
    return this.acts().some((act) => act.place === place);
  }

  // Keeps an act and sends it; an item with an act under way takes no other.
  add(what, url, body) {
    if (this.has(facts.place)) return false;
    const id = requestId();
    const act = { at: Date.now(), what, url, place: facts.place, number: facts.number, body: { ...body, request_id: id } };
    keep(`act:${id}`, act);
    this.retry.count = 0;
    this.flush();
    return true;
  }

  async flush() {
    if (this.busy) return;
    this.busy = true;
    this.retry.stop();
    for (let act; (act = this.acts()[0]); ) {
      this.show();
      const { kind, data } = await post(act.url, act.body);
      if (kind === "done" && !data.committed_at) break;
      if (kind === "done" || kind === "refused") {
        drop(act.name);
        this.retry.succeeded();
        this.problem = "";
        if (kind === "done") this.delivered(act, data);
        else this.refuse(act, data);
        continue;
      }
      this.problem = { signed_out: SIGNED_OUT, stale: STALE }[kind] ?? "";
      break;
    }
    this.busy = false;
    if (this.acts().length && !this.problem) this.retry.later();
    this.show();
  }

  refuse(act, data) {
    const where = act.place === facts.place ? "" : `Item ${act.number}: `;
    complain(`${where}Your ${act.what} was not stored. ${data.problem ?? ""} ${data.action ?? ""}`, data.faults ?? []);
    this.refused(act);
  }

  // Another page sent an act on this item: what stands here is out of date.
  changedElsewhere(before, after) {
    if (before && !after && before.place === facts.place) location.reload();
    this.show();
  }

  show() {
    const acts = this.acts();
    const box = by("outbox");
    box.hidden = !acts.length || (this.busy && !this.retry.count && !this.problem);
    box.setAttribute("aria-busy", String(this.busy));
    if (!acts.length) return say(by("outbox-text"), "");
    if (!box.hidden && this.has(facts.place)) tell("Not sent yet");
    const list = acts.map((act) => `${act.what} on item ${act.number}`).join(", ");
    const why = navigator.onLine ? "The server cannot be reached." : "You are offline.";
    say(by("outbox-text"), `Not sent yet: ${list}. ${this.problem || `${why} It is kept here and sent as soon as possible; please leave this page open.`}`);
  }
}
