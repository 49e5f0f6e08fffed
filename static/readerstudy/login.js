// Log in again without leaving the case: a dialog over the page. What waits is sent as soon as that is done.

import { bodyOf, request } from "../case/sending.js";

export class Login {
  /** `onChange(on)`: the case is out of sight, or is back. */
  constructor(dialog, onChange) {
    Object.assign(this, { dialog, onChange });
    this.form = dialog.querySelector("form");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => this.waiting && dialog.showModal());
    addEventListener("focus", () => this.waiting && this.look()); // somebody may have logged in in another tab
  }

  /** Resolves when the reader is logged in again; `isStranger`: somebody else is. */
  ask(isStranger) {
    if (isStranger) this.say(this.words.stranger);
    this.asked ??= new Promise((resolve) => {
      this.waiting = resolve;
      this.onChange(true);
      this.dialog.showModal();
      this.form.querySelector("input").focus();
    });
    return this.asked;
  }

  done() {
    const { waiting } = this;
    this.waiting = this.asked = null;
    this.form.reset();
    this.say("");
    this.dialog.close();
    this.onChange(false);
    waiting();
  }

  say(text) {
    const place = this.form.querySelector("[data-problem]");
    place.textContent = text;
    place.hidden = !text;
  }

  async look() {
    const answer = await request(this.dialog.dataset.probe).catch(() => null);
    if (!this.waiting) return;
    if (answer?.ok) this.done();
    else if (answer?.status === 404) this.say(this.words.stranger);
    return answer;
  }

  async send() {
    const { words } = this;
    await request(this.form.action).catch(() => {}); // for a fresh token
    const answer = await request(this.form.action, bodyOf(new FormData(this.form))).catch(() => null);
    if (answer) this.say(answer.status === 429 ? words.later : words.refused);
    else if (!(await this.look())) this.say(words.offline); // a redirect tells nothing: whoever is in sees the probe
  }

  get words() {
    return this.form.dataset;
  }
}
