// Seconds spent on the page: those in which it is in view, and the reviewer plays, types or moves.
const IDLE = 60;

export class Dwell {
  constructor(video) {
    this.seconds = 0;
    let last = performance.now();
    for (const name of ["pointermove", "pointerdown", "keydown", "scroll"]) {
      addEventListener(name, () => (last = performance.now()), { passive: true });
    }
    setInterval(() => {
      const idle = (performance.now() - last) / 1000;
      if (document.visibilityState === "visible" && (!video.paused || idle < IDLE)) this.seconds += 1;
    }, 1000);
  }
}
