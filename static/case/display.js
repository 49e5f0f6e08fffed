// The check of a display: on a page of its own, and over a case once its window stands on a screen that was not checked.

import { Cover } from "../annotation/review/smallest.js";
import { bodyOf, request } from "./sending.js";

// By how much each may differ on the screen that was checked: browsers round, and a bar at the edge of a screen moves.
const APART = { screen_width: 2, screen_height: 2, pixel_ratio: 0.01, colour_depth: 0, screen_left: 200, screen_top: 200, is_extended: 0 };

/** What the browser tells of window and screen, by the names of the form. */
export function screenNow() {
  const { screen, innerWidth: width, innerHeight: height, outerWidth, devicePixelRatio: ratio } = window;
  return {
    width,
    height,
    screen_width: screen.width,
    screen_height: screen.height,
    pixel_ratio: Math.round(ratio * 1000) / 1000,
    colour_depth: screen.colorDepth,
    zoom_percent: Math.round((100 * outerWidth) / width) || 100,
    screen_left: screen.availLeft,
    screen_top: screen.availTop,
    is_extended: screen.isExtended === undefined ? undefined : Number(screen.isExtended),
  };
}

/** Whether the window stands on another screen; `checked` is null where none was. What a browser does not tell is the same. */
function isElsewhere(checked) {
  const now = screenNow();
  return checked === null || Object.entries(checked).some(([name, value]) => Math.abs(value - now[name]) > APART[name]);
}

/** One pixel of the pattern is one of the screen; the window is measured. */
function measure(form) {
  const pattern = document.getElementById("display-pattern");
  const place = document.getElementById("display-size");
  const measured = screenNow();
  for (const [name, value] of Object.entries(measured)) form.elements[name].value = value ?? "";
  const { width, height } = measured;
  place.textContent = place.dataset.words.replace("%width%", width).replace("%height%", height);
  const least = (place.dataset.least ?? "0 0").split(" ").map(Number);
  place.classList.toggle("too-small", width < least[0] || height < least[1]);
  form.style.setProperty("--pattern", `${pattern.naturalWidth / devicePixelRatio}px`);
}

async function begin(form) {
  await document.getElementById("display-pattern").decode();
  measure(form);
  addEventListener("resize", () => form.isConnected && measure(form));
  form.addEventListener("submit", () => measure(form), { capture: true });
}

const own = document.getElementById("display-form");
if (own) begin(own);

/** The check over a case: nothing of it shows until it is done, or until the window is back. */
export class OtherScreen extends Cover {
  /** `mayWait()`: whether the check comes later, since the time of a case runs or there is no connection. */
  constructor(place, onChange, mayWait = () => false) {
    super(place, onChange);
    this.mayWait = mayWait;
    this.inside = place.querySelector("[data-check]");
    for (const [of, kind] of [[window, "resize"], [window, "focus"], [screen, "change"]]) of.addEventListener?.(kind, () => this.check());
    setInterval(() => this.check(), 1000); // no browser tells of a window that moves to a screen of the same size
    place.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(event.target, event.submitter);
    });
  }

  /** What the page of a case says: the screen that was checked, and where the check is; nothing: it is not asked. */
  ask({ checkedOn, displayUrl }) {
    Object.assign(this, { checked: JSON.parse(checkedOn || "{}"), url: displayUrl });
    this.check();
  }

  check() {
    if (!this.url) return;
    const on = isElsewhere(this.checked);
    if (on === this.on || (on && this.mayWait())) return;
    this.set(on);
    this.inside.replaceChildren();
    this.place.querySelector("a").href = this.url;
    if (on) this.show(request(this.url));
  }

  async send(form, button) {
    const values = [...new FormData(form, button)];
    const sent = Object.fromEntries(Object.keys(APART).map((name) => [name, form.elements[name].value]));
    const answer = request(this.url, bodyOf(values));
    if ((await answer.catch(() => null))?.status === 204) this.ask({ checkedOn: JSON.stringify(sent), displayUrl: this.url });
    else this.show(answer);
  }

  /** What the server says, in its part of the page; without an answer there is the link. */
  async show(answer) {
    const html = await answer.then((found) => found.text()).catch(() => "");
    const check = new DOMParser().parseFromString(html, "text/html").getElementById("display-check");
    if (!this.on) return;
    this.inside.replaceChildren(...[check].filter(Boolean));
    check?.querySelector(".letters").focus();
    if (check) begin(check.querySelector("form"));
  }
}
