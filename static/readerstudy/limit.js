// The time that is left for a case, on the page's own monotonic clock: a wrong time of day changes nothing. Only from one
// load of the page to the next the time of day says how long ago the case was first on screen, within what the server
// knows: not before it gave the case out, and not after it heard of that, which may have been much later. Therefore the
// question of such a case comes with its opening.

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

  /**
   * Goes on where this device, or the server, says that it is; false where neither knows. At `heardAt` the server said
   * how many seconds were left, null where it has not heard of the case on screen, and since when the case was open.
   */
  goOn(seconds, { id, seconds_left, seconds_open, heardAt }) {
    const kept = this.kept();
    const isKept = kept?.id === id;
    if (seconds_left === null && !isKept) return false;
    const since = (performance.now() - heardAt) / 1000;
    const least = seconds_left === null ? 0 : seconds - seconds_left + since;
    const most = (seconds_open ?? Infinity) + since;
    const gone = isKept ? Math.min((Date.now() - kept.at) / 1000, most) : least;
    this.begin(seconds - Math.max(gone, least));
    return true;
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

/** Whether the question of a case is on the page: of a case with a time limit it comes when the case is opened. */
export const hasText = ({ options }) => options.length > 0;

export class Opening {
  constructor(sitting) {
    this.sitting = sitting;
  }

  /** The images of a case first. */
  expect(one) {
    const { clock, screen } = this.sitting;
    clock.leave();
    screen.expect(one.views, one.id);
    requestAnimationFrame(() => this.ask());
  }

  /** Open it when all of its images are there and nothing covers them: the next frame can show everything. */
  ask() {
    const { current: one, step, hiding, outbox, screen } = this.sitting;
    if (step !== "opening" || hiding.isOn || !screen.viewer.isWhole() || outbox.has("open", one.id)) return;
    outbox.add({ kind: "open", place: one.id, url: one.urls.open, fields: [] });
  }

  /** Without a connection it is not opened, and its time does not run, until the reader asks for it again. */
  async waitForLine() {
    const { sitting } = this;
    const { current: one, step, outbox, covers } = sitting;
    if (step !== "opening" || !outbox.isCut || !outbox.items[0]?.isTried) return;
    sitting.step = "";
    outbox.withdraw("open", one.id);
    await covers.show("offline");
    if (sitting.current === one) sitting.advance();
  }
}
