// A round may ask for a smallest window. In a smaller one nothing of a case shows and no key counts; the page says why.

/** Width and height of "1280x720"; null where there is no such wish. */
export function sizeOf(text) {
  const found = /^(\d+)x(\d+)$/.exec(text ?? "");
  return found && [Number(found[1]), Number(found[2])];
}

export const isTooSmall = (needed, now) => Boolean(needed) && now.some((side, i) => side < needed[i]);

export class SmallestWindow {
  /** `place`: the element with the words, hidden while all is well. `onChange(on)`: the case is blanked, or is back. */
  constructor(place, onChange) {
    Object.assign(this, { place, onChange, needed: null, on: false });
    addEventListener("resize", () => this.check());
    addEventListener("keydown", (event) => this.on && event.stopImmediatePropagation(), { capture: true });
  }

  /** What the round of the case on the page asks for, as "1280x720" or "". */
  ask(text) {
    this.needed = sizeOf(text);
    this.check();
  }

  check() {
    const now = [innerWidth, innerHeight];
    const on = isTooSmall(this.needed, now);
    if (on) this.say(now);
    if (on === this.on) return;
    this.on = on;
    this.cover(on);
    this.onChange(on);
  }

  say(now) {
    const text = (size) => size.join("\u00a0×\u00a0");
    const { words } = this.place.dataset;
    this.place.querySelector("[data-size]").textContent = words.replace("{needed}", text(this.needed)).replace("{now}", text(now));
  }

  /** Out of sight and out of reach; whoever had the focus gets it back. */
  cover(on) {
    if (on) this.focused = document.activeElement;
    this.place.hidden = !on;
    this.place.parentElement.classList.toggle("case-too-small", on);
    if (!on && this.focused?.isConnected) this.focused.focus({ preventScroll: true });
  }
}
