// The review page: wires the clip, the step at hand, its draft and its acts together.
import { Drafts, latest } from "./drafts.js";
import { Dwell } from "./dwell.js";
import { FirstStep } from "./first.js";
import { find, leave } from "./flash.js";
import { Outbox } from "./outbox.js";
import { at, by, facts, say, tell } from "./page.js";
import { Player } from "./player.js";
import { SecondStep } from "./second.js";
import { useShortcuts } from "./shortcuts.js";

const LISTEN_EVERY = 5000;
const isClosed = facts.state === "closed";
const draft = latest();
const dwell = by("video") ? new Dwell(by("video")) : null;
const spent = { 1: 0, 2: 0, ...draft.seconds };
let player = null;
let step = null;
let drafts = null;

const lock = (locked) => {
  for (const part of document.querySelectorAll("#answers, #verdicts, #skip fieldset, .act button, #withdraw, #skip-comment")) {
    part.disabled = locked || (isClosed && part.matches("fieldset"));
  }
  if (locked) drafts?.pause();
  else drafts?.resume();
};

const MOST_RANGES = 30;
const longest = (ranges) => [...ranges].sort((one, other) => other[1] - other[0] - (one[1] - one[0])).slice(0, MOST_RANGES);
const seconds = () => spent[facts.step] + (dwell?.seconds ?? 0);
const read = () => ({
  at: new Date().toISOString(),
  played: longest(player.played()).flat().map((time) => Math.round(100 * time) / 100),
  seconds: { ...spent, [facts.step]: seconds() },
  ...step.read(),
});

const outbox = new Outbox(
  (act, data) => {
    if (act.place !== facts.place) return tell(`Sent ${at(data.committed_at)}`);
    if (act.what === "verdict") drafts?.forget();
    leave(act, data);
    const next = String(data.next ?? location.pathname);
    location.assign(next.startsWith("/") && !next.startsWith("//") ? next : "/");
  },
  (act) => {
    if (act.place !== facts.place) return;
    lock(false);
    tell("Not stored");
  },
);
const act = (what, path, body) => {
  const watched = player ? { watched: Math.round(1000 * player.watched()) / 1000 } : {};
  const timed = what === "withdrawal" ? {} : { seconds: seconds(), ...(what === "skip" ? {} : watched) };
  const seen = what === "answer" ? {} : { after: facts.revision };
  if (!outbox.add(what, `${facts.api}/${path}`, { ...body, ...timed, ...seen })) return;
  drafts?.touch();
  lock(true);
  tell(`Sending your ${what}…`);
};

by("withdraw")?.addEventListener("click", () => act("withdrawal", "withdraw", {}));

if (by("video")) {
  if (matchMedia("(max-width: 60rem)").matches) for (const part of document.querySelectorAll(".background details")) part.open = false;
  player = new Player(draft.played, facts.watched, () => step?.show());
  drafts = isClosed ? null : new Drafts(read);
  const changed = () => drafts?.touch();
  step =
    facts.step === 1
      ? new FirstStep(draft, { changed, commit: (answer) => act("answer", "answer", { answer }), watched: () => player.watched() })
      : new SecondStep(draft, {
          changed,
          save: (ballot) => act("verdict", "vote", ballot),
          isWatched: () => player.watched() >= facts.enough,
        });
  let listened = 0;
  const keepWatched = () => {
    if (Date.now() - listened < LISTEN_EVERY) return;
    listened = Date.now();
    changed();
  };
  by("video").addEventListener("timeupdate", () => !by("video").paused && keepWatched());
  for (const name of ["pause", "ended"]) by("video").addEventListener(name, changed);
}

by("skip-form")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const reason = new FormData(event.target).get("skip");
  if (!reason) {
    say(by("skip-why"), "Choose one of the reasons first.");
    return event.target.querySelector("input").focus();
  }
  act("skip", "skip", { skip_reason: reason, comment: by("skip-comment").value.trim() });
});
const skipHint = by("skip-why")?.textContent;
by("skip-form")?.addEventListener("change", ({ target }) => target.name === "skip" && say(by("skip-why"), skipHint));
by("skip")?.addEventListener("toggle", () => by("skip").open && by("video").pause());

useShortcuts((key, shift, target) => {
  if (!player) return null;
  if (target.closest("#skip") && (key === "Enter" || /^[1-9]$/.test(key))) return null;
  if (/^[1-9]$/.test(key)) return () => (facts.step === 1 ? step.choose(key - 1) : player.cues[key - 1]?.click());
  return {
    " ": () => player.toggle(),
    k: () => player.toggle(),
    j: () => player.skip(-10),
    l: () => player.skip(10),
    ArrowLeft: () => player.skip(shift ? -1 : -5),
    ArrowRight: () => player.skip(shift ? 1 : 5),
    ",": () => player.stepFrame(-1),
    ".": () => player.stepFrame(1),
    c: () => player.toggleCaptions(),
    Escape: player.loop && (() => player.release()),
    Enter: !isClosed && !outbox.has(facts.place) && (() => step.enter()),
  }[key.length === 1 ? key.toLowerCase() : key];
});

if (outbox.has(facts.place)) lock(true);
outbox.flush();
find();
document.body.dataset.ready = "";
