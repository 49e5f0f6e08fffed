// Images need room, and a round may ask for more of it. In a smaller window nothing of a case shows and no key counts;
// the page says why.

// CSS pixels: below this radiograph and question have no room beside each other. A laptop at 200 % zoom has half of its
// pixels and shows as much of the images as before; a phone has nothing finer than a finger.
const LEAST = matchMedia("(any-pointer: fine)").matches ? [480, 300] : [720, 420];

/** Width and height of "1280x720"; null where there is no such wish. */
export function sizeOf(text) {
  const found = /^(\d+)x(\d+)$/.exec(text ?? "");
  return found && [Number(found[1]), Number(found[2])];
}

export const isTooSmall = (needed, now) => Boolean(needed) && now.some((side, i) => side < needed[i]);

/** What lies over a case until all is well: it is out of sight and out of reach; whoever had the focus gets it back. */
export class Cover {
  /** `place`: the element, hidden while all is well. `onChange(on)`: the case is blanked, or is back. */
  constructor(place, onChange) {
    Object.assign(this, { place, onChange, on: false });
    addEventListener("keydown", (event) => this.on && event.stopImmediatePropagation(), { capture: true });
  }

  set(on) {
    if (on === this.on) return;
    this.on = on;
    if (on) this.focused = document.activeElement;
    this.place.hidden = !on;
    const root = this.place.parentElement;
    root.classList.toggle("case-too-small", Boolean(root.querySelector(".case-small:not([hidden])")));
    if (!on && this.focused?.isConnected) this.focused.focus({ preventScroll: true });
    this.onChange(on);
  }
}

export class SmallestWindow extends Cover {
  constructor(place, onChange) {
    super(place, onChange);
    this.needed = null;
    addEventListener("resize", () => this.check());
  }

  /** What the round of the case on the page asks for, as "1280x720" or "". */
  ask(text) {
    const asked = sizeOf(text);
    this.isAsked = Boolean(asked);
    this.needed = LEAST.map((side, i) => Math.max(side, asked?.[i] ?? 0));
    this.check();
  }

  check() {
    const now = [innerWidth, innerHeight];
    const on = isTooSmall(this.needed, now);
    if (on) this.say(now);
    this.set(on);
  }

  say(now) {
    const text = (size) => size.join("\u00a0×\u00a0");
    const { words, phone } = this.place.dataset;
    const sentence = this.isAsked ? words : phone;
    this.place.querySelector("[data-size]").textContent = sentence.replace("{needed}", text(this.needed)).replace("{now}", text(now));
  }
}
