// The time that is left for a case, on the page's own monotonic clock: a wrong time of day changes nothing.

const TICK_MS = 200;
const LAST_SECONDS = 10;

export class Limit {
  /** `place`: the element that shows it, hidden where there is no limit. `onEnd()` is called once for each case. */
  constructor(place, onEnd) {
    Object.assign(this, { place, onEnd });
  }

  /** `seconds` are left from `since`, a moment of performance.now(). */
  begin(seconds, since = performance.now()) {
    this.stop();
    this.end = since + seconds * 1000;
    this.place.hidden = false;
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.tick();
  }

  stop() {
    clearInterval(this.timer);
    this.place.hidden = true;
  }

  tick() {
    const left = Math.max(0, Math.ceil((this.end - performance.now()) / 1000));
    const text = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (this.place.textContent !== text) this.place.textContent = text;
    this.place.classList.toggle("room-clock-low", left <= LAST_SECONDS);
    if (performance.now() < this.end) return;
    this.stop();
    this.onEnd();
  }
}
