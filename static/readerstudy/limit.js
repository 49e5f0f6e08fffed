// The time that is left for a case, on the page's own monotonic clock: a wrong time of day changes nothing. Only from one
// load of the page to the next the time of day says how long ago the case was first on screen; the server may have heard
// of that much later.

const TICK_MS = 200;
const LAST_SECONDS = 10;

export class Limit {
  /**
   * `place`: the element that shows it, hidden where there is no limit. `name`: under which this device keeps when the
   * case was first on screen. `onEnd()` is called once for each case.
   */
  constructor(place, name, onEnd) {
    Object.assign(this, { place, name, onEnd });
  }

  /** The whole of it, from now on. */
  start(seconds, id) {
    try {
      localStorage.setItem(this.name, JSON.stringify({ id, at: Date.now() }));
    } catch {
      // Without storage the next load of the page goes by what the server has heard.
    }
    this.begin(seconds);
  }

  /** Goes on where this device, or the server, says that it is: `left` seconds at `since`. False where neither knows. */
  goOn(seconds, id, left, since) {
    const ends = left === null ? [] : [since + left * 1000];
    const kept = this.kept();
    if (kept?.id === id) ends.push(performance.now() + seconds * 1000 - Math.max(0, Date.now() - kept.at));
    if (ends.length) this.begin(0, Math.min(...ends));
    return ends.length > 0;
  }

  kept() {
    try {
      return JSON.parse(localStorage.getItem(this.name));
    } catch {
      return null;
    }
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
