"use strict";
(() => {
  const episodes = JSON.parse(document.getElementById("episodes").textContent);
  const cards = [...document.querySelectorAll(".card")];
  const players = new Map();
  const LANES = ["speech", "prosody", "visual", "context", "history"];
  const SHORTEST_LOOP = 0.3;
  let recent = null;

  const make = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const clamp = (value, low, high) => Math.min(Math.max(Number.isFinite(value) ? value : low, low), high);
  const seconds = (value) => value.toFixed(1);

  // One player per card: its video, its timeline and the window it loops.
  class Player {
    constructor(card) {
      this.card = card;
      this.video = card.querySelector("video");
      this.duration = Number(card.dataset.duration) || 1;
      this.episode = episodes[card.dataset.episode];
      this.loop = null;
      this.ownSeek = false;
      this.clock = card.querySelector(".clock");
      this.caption = card.querySelector(".caption");
      this.draw();
      if (this.video) this.listen();
      this.show();
    }

    listen() {
      const { video } = this;
      video.addEventListener("play", () => {
        recent = this;
        for (const other of players.values()) if (other !== this) other.video?.pause();
        this.follow();
      });
      video.addEventListener("seeking", () => {
        if (!this.ownSeek) this.release();
        this.ownSeek = false;
      });
      for (const name of ["timeupdate", "seeked", "pause"]) video.addEventListener(name, () => this.show());
      video.addEventListener("ended", () => this.loop && this.play(this.loop.start));
      video.addEventListener("error", () => this.complain("The window cannot be played; the file may be missing."));
    }

    place(element, start, end) {
      const from = clamp(start, 0, this.duration);
      const to = clamp(end, from, this.duration);
      element.style.left = `${(100 * from) / this.duration}%`;
      element.style.width = `${(100 * (to - from)) / this.duration}%`;
      return element;
    }

    draw() {
      const cues = [...this.card.querySelectorAll(".cue")];
      this.buttons = new Map(cues.map((cue) => [cue, [cue]]));
      const lanes = LANES.flatMap((modality) => this.cueLanes(modality, cues));
      const over = make("div", "over");
      for (const [start, end] of this.episode.pauses) over.append(this.place(make("div", "pause"), start, end));
      if ("decision" in this.card.dataset) lanes.unshift(this.decision(Number(this.card.dataset.decision), over));
      this.head = over.appendChild(make("div", "head"));
      this.card.querySelector(".timeline").append(...lanes, ...this.words(), this.axis(), over);
    }

    lane(name, extra = "") {
      const lane = make("div", `lane ${extra}`);
      const track = make("div", "track");
      track.addEventListener("pointerdown", (event) => {
        if (event.target === track) this.seekTo(event, track);
      });
      lane.append(make("span", "lane-name", name), track);
      return lane;
    }

    // Overlapping cues of one modality take rows of their own, so that each can be clicked.
    cueLanes(modality, cues) {
      const rows = [];
      cues.forEach((cue, index) => {
        if (cue.dataset.modality !== modality) return;
        const [start, end] = [Number(cue.dataset.start), Number(cue.dataset.end)];
        let row = rows.find((candidate) => candidate.end <= start);
        if (!row) rows.push((row = { lane: this.lane(rows.length ? "" : modality) }));
        row.end = end;
        const text = cue.querySelector(".described").textContent;
        const bar = this.span(`bar-cue m-${modality}`, `${index + 1} ${text}`, start, end);
        this.buttons.get(cue).push(bar);
        this.loops(cue, start, end, cue);
        this.loops(bar, start, end, cue);
        row.lane.lastChild.append(bar);
      });
      return rows.map((row) => row.lane);
    }

    words() {
      if (!this.episode.transcript.length) return [];
      const lane = this.lane("transcript");
      const list = this.card.querySelector(".transcript ol");
      for (const [start, end, text, flags] of this.episode.transcript) {
        const doubt = flags.length ? ` (doubtful: ${flags.join(", ")})` : "";
        const bar = this.span(flags.length ? "doubtful" : "", text + doubt, start, end);
        const line = make("button", "segment");
        line.type = "button";
        const said = make("span", "", text + doubt);
        said.dir = "auto";
        line.append(make("span", "when", `${seconds(start)}–${seconds(end)} s`), said);
        this.buttons.set(line, [line, bar]);
        this.loops(line, start, end, line);
        this.loops(bar, start, end, line);
        lane.lastChild.append(bar);
        list.appendChild(make("li", "")).append(line);
      }
      return [lane];
    }

    // The list under the timeline is the keyboard's way to a window; bars repeat it for the pointer.
    span(className, text, start, end) {
      const bar = this.place(make("button", `span ${className}`, text), start, end);
      bar.type = "button";
      bar.tabIndex = -1;
      bar.dir = "auto";
      bar.title = `${seconds(start)}–${seconds(end)} s: ${text}`;
      return bar;
    }

    decision(time, over) {
      const lane = this.lane("decision", "decision");
      const flag = this.span("flag-at", `${seconds(time)} s`, time, time);
      flag.classList.toggle("late", time > 0.8 * this.duration);
      flag.addEventListener("click", () => {
        this.release();
        this.jump(time);
      });
      lane.lastChild.append(flag);
      over.append(this.place(make("div", "marker"), time, time));
      return lane;
    }

    axis() {
      const axis = this.lane("seconds", "axis");
      const track = axis.lastChild;
      const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((size) => this.duration / size <= 10) ?? 1800;
      for (let time = 0; time < this.duration; time += step) track.append(this.place(make("span", "tick", String(time)), time, time));
      track.tabIndex = 0;
      track.setAttribute("role", "slider");
      track.setAttribute("aria-label", "Time in seconds");
      track.setAttribute("aria-valuemin", "0");
      track.setAttribute("aria-valuemax", seconds(this.duration));
      track.addEventListener("keydown", (event) => {
        const to = { ArrowLeft: this.time - 1, ArrowRight: this.time + 1, Home: 0, End: this.duration }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.release();
        this.jump(to);
      });
      this.slider = track;
      return axis;
    }

    loops(button, start, end, key) {
      button.addEventListener("click", () => (this.loop?.key === key ? this.release() : this.enter(start, end, key)));
    }

    get time() {
      return this.video?.currentTime ?? 0;
    }

    seekTo(event, track) {
      const box = track.getBoundingClientRect();
      this.release();
      this.jump((this.duration * (event.clientX - box.left)) / box.width);
    }

    jump(time) {
      if (!this.video) return;
      recent = this;
      this.ownSeek = true;
      this.video.currentTime = clamp(time, 0, this.duration);
      this.show();
    }

    enter(start, end, key) {
      if (!this.video) return;
      this.release();
      const from = clamp(start, 0, Math.max(0, this.duration - SHORTEST_LOOP));
      this.loop = { start: from, end: Math.max(clamp(end, 0, this.duration), from + SHORTEST_LOOP), key };
      for (const button of this.buttons.get(key)) button.setAttribute("aria-pressed", "true");
      this.play(from);
    }

    release() {
      if (!this.loop) return;
      for (const button of this.buttons.get(this.loop.key)) button.setAttribute("aria-pressed", "false");
      this.loop = null;
      this.show();
    }

    play(from = null) {
      if (from !== null) this.jump(from);
      this.video.play().catch((error) => error.name !== "AbortError" && this.complain(`The window cannot be played: ${error.message}`));
    }

    toggle() {
      if (!this.video) return;
      if (this.video.paused) this.play();
      else this.video.pause();
    }

    follow() {
      this.show();
      if (!this.video.paused) requestAnimationFrame(() => this.follow());
    }

    show() {
      const time = this.time;
      const { loop } = this;
      if (loop && !this.video.seeking && (time >= loop.end || time < loop.start - SHORTEST_LOOP)) {
        this.jump(loop.start);
        return;
      }
      this.head.style.left = `${(100 * clamp(time, 0, this.duration)) / this.duration}%`;
      this.slider.setAttribute("aria-valuenow", seconds(time));
      const looping = loop ? `  looping ${seconds(loop.start)}–${seconds(loop.end)} s` : "";
      this.say(`${seconds(time)} / ${seconds(this.duration)} s${looping}`);
      const said = this.episode.transcript.find(([start, end]) => start <= time && time < end);
      this.caption.textContent = said ? said[2] : "";
    }

    say(text) {
      if (this.clock.textContent !== text) this.clock.textContent = text;
    }

    complain(text) {
      this.clock.parentElement.classList.add("trouble");
      this.say(text);
    }
  }

  const playerOf = (card) => {
    if (!players.has(card)) players.set(card, new Player(card));
    return players.get(card);
  };

  // Timelines are drawn, and first frames loaded, only where the reader comes near.
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const { video } = playerOf(target);
        if (video) video.preload = "metadata";
      }
    },
    { rootMargin: "800px" },
  );
  for (const card of cards) near.observe(card);

  // Space on a window's button plays it, then pauses and plays on; elsewhere in a card it toggles.
  const spaceKey = (event) => {
    if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey) return;
    const control = event.target.closest("input, select, textarea, button, summary, a, video");
    const looper = event.target.closest(".cue, .segment, .span");
    if (control && !looper) return;
    const card = event.target.closest(".card");
    const player = card ? playerOf(card) : recent;
    if (!player) return;
    event.preventDefault();
    if (event.type === "keyup" || event.repeat) return;
    if (looper && looper.getAttribute("aria-pressed") !== "true") looper.click();
    else player.toggle();
  };
  document.addEventListener("keydown", spaceKey);
  document.addEventListener("keyup", spaceKey);
  document.addEventListener("keydown", (event) => event.key === "Escape" && recent?.release());

  const form = document.querySelector(".filters");
  const shown = form.querySelector(".shown");
  const nothing = document.querySelector("main .nothing");
  const texts = new Map();
  const textOf = (card) => {
    if (!texts.has(card)) {
      const spoken = episodes[card.dataset.episode].transcript.map((segment) => segment[2]);
      texts.set(card, [card.textContent, ...spoken].join(" ").toLowerCase());
    }
    return texts.get(card);
  };
  const filter = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      const fits =
        ["capability", "format", "state"].every((name) => !wanted[name] || wanted[name] === card.dataset[name]) &&
        words.every((word) => textOf(card).includes(word));
      card.hidden = !fits;
      if (fits) count += 1;
      else card.querySelector("video")?.pause();
    }
    shown.textContent = `${count} of ${cards.length}`;
    nothing.hidden = count > 0;
  };
  let pending = 0;
  form.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(filter, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  for (const cell of document.querySelectorAll(".heat .cell")) {
    cell.addEventListener("click", () => {
      form.reset();
      form.elements.capability.value = cell.dataset.capability;
      form.elements.format.value = cell.dataset.format;
      setTimeout(() => {
        filter();
        form.scrollIntoView();
      });
    });
  }
  if (cards.length) filter();
})();
