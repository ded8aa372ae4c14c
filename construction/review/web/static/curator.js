// The curator's pages: windows that loop, filters that apply themselves, forms that warn.
"use strict";
(() => {
  const SHORTEST_LOOP = 0.3;
  const seconds = (value) => value.toFixed(1);

  // A window: its video, its timeline, and the cues and lines that loop a part of it.
  class Window {
    constructor(frame) {
      this.frame = frame;
      this.video = frame.querySelector("video");
      this.duration = Number(frame.dataset.duration) || 1;
      this.head = frame.querySelector(".head");
      this.clock = frame.querySelector(".clock");
      this.caption = frame.querySelector(".caption");
      this.lines = [...document.querySelectorAll(".segment")];
      this.loop = null;
      if (!this.video) return;
      for (const one of document.querySelectorAll("[data-start]"))
        one.addEventListener("click", () => this.enter(one));
      for (const track of frame.querySelectorAll(".track"))
        track.addEventListener("click", (event) => event.target.closest("[data-start]") || this.seek(event, track));
      for (const name of ["timeupdate", "seeked", "pause"]) this.video.addEventListener(name, () => this.show());
      this.video.addEventListener("play", () => this.follow());
      this.video.addEventListener("ended", () => this.loop && this.play(this.loop.start));
      this.video.addEventListener("error", () => this.say("The window cannot be played."));
      document.addEventListener("keydown", (event) => this.key(event));
    }

    enter(one) {
      const isSame = this.loop?.at === one.dataset.start && this.loop?.to === one.dataset.end;
      this.release();
      if (isSame) return;
      const start = Math.min(Math.max(Number(one.dataset.start), 0), this.duration - SHORTEST_LOOP);
      const end = Math.max(Math.min(Number(one.dataset.end), this.duration), start + SHORTEST_LOOP);
      this.loop = { start, end, at: one.dataset.start, to: one.dataset.end };
      this.press(true);
      this.play(start);
    }

    release() {
      if (!this.loop) return;
      this.press(false);
      this.loop = null;
      this.show();
    }

    press(on) {
      const { at, to } = this.loop;
      for (const one of document.querySelectorAll("[data-start]"))
        if (one.dataset.start === at && one.dataset.end === to) {
          if (one.matches("button")) one.setAttribute("aria-pressed", String(on));
          else one.classList.toggle("pressed", on);
        }
    }

    play(from = null) {
      if (from !== null) this.video.currentTime = from;
      this.video.play().catch((error) => error.name !== "AbortError" && this.say("The window cannot be played."));
    }

    seek(event, track) {
      const box = track.getBoundingClientRect();
      this.release();
      this.video.currentTime = (this.duration * (event.clientX - box.left)) / box.width;
    }

    key(event) {
      if (event.key === "Escape") this.release();
      if (event.key !== " " || event.target.closest("input, select, textarea, button, summary, a, video")) return;
      event.preventDefault();
      if (this.video.paused) this.play();
      else this.video.pause();
    }

    follow() {
      this.show();
      if (!this.video.paused) requestAnimationFrame(() => this.follow());
    }

    show() {
      const time = this.video.currentTime;
      const { loop } = this;
      if (loop && !this.video.seeking && (time >= loop.end || time < loop.start - SHORTEST_LOOP)) {
        this.video.currentTime = loop.start;
        return;
      }
      const left = `${(100 * Math.min(time, this.duration)) / this.duration}%`;
      for (const end of ["x1", "x2"]) this.head.setAttribute(end, left);
      const looping = loop ? `, looping ${seconds(loop.start)}–${seconds(loop.end)} s` : "";
      this.say(`${seconds(time)} / ${seconds(this.duration)} s${looping}`);
      const line = this.lines.find(({ dataset }) => Number(dataset.start) <= time && time < Number(dataset.end));
      this.caption.textContent = line ? line.querySelector(".words").textContent : "";
    }

    say(text) {
      if (this.clock.textContent !== text) this.clock.textContent = text;
    }
  }

  for (const frame of document.querySelectorAll(".window")) new Window(frame);

  for (const form of document.querySelectorAll("[data-submits]"))
    form.addEventListener("change", () => form.requestSubmit());

  for (const form of document.querySelectorAll("[data-guards]")) {
    let isDirty = false;
    form.addEventListener("input", () => (isDirty = true));
    form.addEventListener("submit", () => (isDirty = false));
    addEventListener("beforeunload", (event) => isDirty && event.preventDefault());
  }

  const link = document.querySelector("[data-copy]");
  const copies = document.querySelector("[data-copies]");
  if (link && copies) {
    link.addEventListener("focus", () => link.select());
    if (navigator.clipboard) {
      copies.hidden = false;
      copies.addEventListener("click", async () => {
        await navigator.clipboard.writeText(link.value);
        copies.textContent = "Copied";
      });
    }
  }
})();
