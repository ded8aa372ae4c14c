// The clip: own controls, captions without names, loops, and what of it has been watched.
import { by, facts, say } from "./page.js";
import { keep, kept } from "./store.js";

const PADDING = 0.5;
const JOIN = 0.35;
const UNKNOWN_FRAME = 1 / 30;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const seconds = (value) => value.toFixed(1);

// Merges [start, end] ranges that overlap or nearly touch: a decoder's last frames leave slits.
export const merged = (ranges) => {
  const sorted = ranges.filter(([start, end]) => end > start).sort((one, other) => one[0] - other[0]);
  const found = [];
  for (const [start, end] of sorted) {
    const last = found.at(-1);
    if (last && start <= last[1] + JOIN) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
};

export class Player {
  constructor(played, watched, changed) {
    this.video = by("video");
    this.seek = by("seek");
    this.lines = [...document.querySelectorAll(".line")];
    this.cues = [...document.querySelectorAll(".cue")];
    this.earlier = watched >= facts.enough ? [[0, facts.duration]] : merged(played);
    this.changed = changed;
    this.loop = null;
    this.frame = UNKNOWN_FRAME;
    this.listen();
    this.caption();
    this.draw();
    this.show();
  }

  get duration() {
    const { duration } = this.video;
    return Number.isFinite(duration) && duration > 0 ? duration : facts.duration;
  }

  listen() {
    const { video } = this;
    for (const name of ["timeupdate", "seeked", "ratechange"]) video.addEventListener(name, () => this.show());
    video.addEventListener("loadedmetadata", () => {
      this.draw();
      this.show();
    });
    video.addEventListener("play", () => this.follow());
    video.addEventListener("pause", () => this.show());
    video.addEventListener("ended", () => (this.loop ? this.restart() : this.show()));
    video.addEventListener("error", () => (by("unplayable").hidden = false));
    video.addEventListener("click", () => this.toggle());
    this.measureFrames();
    by("big-play").addEventListener("click", () => this.toggle());
    by("play").addEventListener("click", () => this.toggle());
    by("back").addEventListener("click", () => this.skip(-5));
    by("forth").addEventListener("click", () => this.skip(5));
    by("captions").addEventListener("click", () => this.toggleCaptions());
    by("mute").addEventListener("click", () => (video.muted = !video.muted));
    video.addEventListener("volumechange", () => by("mute").setAttribute("aria-pressed", String(video.muted)));
    by("speed").addEventListener("change", (event) => (video.playbackRate = Number(event.target.value)));
    this.seek.addEventListener("input", () => this.go(Number(this.seek.value)));
    by("decision")?.addEventListener("click", () => this.go(facts.decision));
    for (const line of this.lines) line.addEventListener("click", () => this.go(Number(line.dataset.start)));
    for (const cue of this.cues) cue.addEventListener("click", () => this.toggleLoop(cue));
  }

  // The proxy's frame rate is measured while it plays: the shortest step between two frames shown.
  measureFrames() {
    if (!this.video.requestVideoFrameCallback) return;
    let last = null;
    let shortest = Infinity;
    const step = (_, { mediaTime }) => {
      if (last !== null && mediaTime > last && mediaTime - last >= 0.008) {
        shortest = Math.min(shortest, mediaTime - last);
        this.frame = shortest;
      }
      last = mediaTime;
      this.video.requestVideoFrameCallback(step);
    };
    this.video.requestVideoFrameCallback(step);
  }

  caption() {
    this.track = this.video.addTextTrack("captions", "Transcript");
    const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    for (const line of this.lines) {
      const { start, end } = line.dataset;
      const cue = new VTTCue(Number(start), Number(end), escaped(line.querySelector(".words").textContent));
      cue.line = -2;
      this.track.addCue(cue);
    }
    this.showCaptions(kept("captions") === true);
  }

  showCaptions(on) {
    this.track.mode = on ? "showing" : "hidden";
    by("captions").setAttribute("aria-pressed", String(on));
  }

  toggleCaptions() {
    const on = this.track.mode !== "showing";
    this.showCaptions(on);
    keep("captions", on);
  }

  toggle() {
    if (this.video.paused) this.play();
    else this.video.pause();
  }

  play() {
    this.video.play().catch((error) => {
      if (error.name === "NotSupportedError") by("unplayable").hidden = false;
    });
  }

  skip(by_) {
    this.go(this.video.currentTime + by_);
  }

  stepFrame(direction) {
    this.video.pause();
    this.go(this.video.currentTime + direction * this.frame * 1.001);
  }

  go(time) {
    this.release();
    this.jump(time);
  }

  jump(time) {
    this.video.currentTime = clamp(time, 0, this.duration);
    this.show();
  }

  toggleLoop(cue) {
    const same = this.loop?.cue === cue;
    this.release();
    if (same) return this.video.pause();
    const { start, end } = cue.dataset;
    this.loop = { cue, start: clamp(Number(start) - PADDING, 0, this.duration), end: clamp(Number(end) + PADDING, 0, this.duration) };
    cue.setAttribute("aria-pressed", "true");
    this.restart();
  }

  restart() {
    this.jump(this.loop.start);
    this.play();
  }

  release() {
    this.loop?.cue.setAttribute("aria-pressed", "false");
    this.loop = null;
    by("looping").hidden = true;
  }

  follow() {
    this.show();
    if (!this.video.paused) requestAnimationFrame(() => this.follow());
  }

  // The ranges played, this visit's and earlier ones, in seconds.
  played() {
    const { played } = this.video;
    const now = Array.from({ length: played.length }, (_, n) => [played.start(n), played.end(n)]);
    return merged([...this.earlier, ...now]);
  }

  // The fraction of the clip played at least once.
  watched() {
    const total = this.played().reduce((sum, [start, end]) => sum + Math.min(end, this.duration) - start, 0);
    return clamp(total / this.duration, 0, 1);
  }

  place(element, start, end) {
    element.style.left = `${(100 * clamp(start, 0, this.duration)) / this.duration}%`;
    if (end !== undefined) element.style.width = `${(100 * (clamp(end, 0, this.duration) - clamp(start, 0, this.duration))) / this.duration}%`;
    return element;
  }

  draw() {
    this.seek.max = this.duration;
    by("cue-parts").replaceChildren(
      ...this.cues.map((cue, index) => {
        const part = Object.assign(document.createElement("span"), { className: `part ${cue.classList[1]}`, textContent: index + 1 });
        return this.place(part, Number(cue.dataset.start), Number(cue.dataset.end));
      }),
    );
    const mark = by("decision-mark");
    mark.hidden = facts.decision === null;
    if (!mark.hidden) this.place(mark, facts.decision);
  }

  show() {
    const { video, loop } = this;
    if (loop && !video.paused && !video.seeking && video.currentTime >= loop.end) return this.jump(loop.start);
    const time = video.currentTime;
    this.place(by("playhead"), time);
    this.seek.value = time;
    this.seek.setAttribute("aria-valuetext", `${seconds(time)} of ${seconds(this.duration)} seconds`);
    say(by("clock"), `${seconds(time)} / ${seconds(this.duration)} s`);
    say(by("play"), video.paused ? "Play" : "Pause");
    by("player").classList.toggle("playing", !video.paused);
    if (loop) say(by("looping"), `Looping cue ${loop.cue.querySelector(".number").textContent}`);
    by("looping").hidden = !loop;
    for (const line of this.lines) {
      const isNow = Number(line.dataset.start) <= time && time < Number(line.dataset.end);
      if (isNow !== line.hasAttribute("aria-current")) line.toggleAttribute("aria-current", isNow);
    }
    this.showCoverage();
  }

  showCoverage() {
    const ranges = this.played();
    const mark = JSON.stringify([ranges, this.duration]);
    if (mark === this.drawn) return;
    this.drawn = mark;
    by("watched-parts").replaceChildren(
      ...ranges.map(([start, end]) => this.place(Object.assign(document.createElement("span"), { className: "part" }), start, end)),
    );
    const watched = this.watched();
    const isEnough = watched >= facts.enough;
    say(by("watched"), `${Math.floor(100 * watched)}%`);
    say(by("watched-hint"), isEnough ? " ✓ enough for a verdict" : ` of the clip; a verdict needs ${Math.round(100 * facts.enough)}%`);
    this.changed(isEnough);
  }
}
