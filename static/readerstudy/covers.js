// What is shown in place of a case: a pause, a break, the end of the time, a question after a reload, another page that writes. While one is open
// nothing of a case shows and no key counts but those of the cover. Each is a dialog that only its own buttons close.

import { digitOf } from "../annotation/review/keys.js";
import { placeOf } from "./question.js";

export class Covers {
  /** `root`: where they are. `onChange(on)`: the case is out of sight, or is back. */
  constructor(root, onChange) {
    Object.assign(this, { root, onChange });
    this.open = null;
    for (const dialog of root.querySelectorAll("[data-cover]")) {
      dialog.addEventListener("cancel", (event) => event.preventDefault());
      dialog.addEventListener("close", () => dialog === this.open && dialog.showModal());
      dialog.addEventListener("keydown", (event) => this.onKey(event, dialog));
    }
  }

  get name() {
    return this.open?.dataset.cover ?? "";
  }

  /** Resolves to the value of the button that was pressed; null when another cover came instead. `words` fill its places. */
  show(name, words = {}) {
    this.leave(null);
    const dialog = (this.open = this.root.querySelector(`[data-cover="${name}"]`));
    this.fill(words);
    for (const other of document.querySelectorAll("dialog[open]")) other.close();
    dialog.showModal();
    this.onChange(true);
    return new Promise((resolve) => {
      this.resolve = resolve;
      dialog.onclick = ({ target }) => {
        const button = target.closest("button[value]");
        if (button) this.leave(button.value);
      };
    });
  }

  /** Put words into the places of the cover that is open. */
  fill(words) {
    for (const [place, text] of Object.entries(words)) {
      const element = this.open.querySelector(`[data-word="${place}"]`);
      if (element.textContent !== text) element.textContent = text;
      element.hidden = !text;
    }
  }

  /** Answers that have a number take its key, options their letter too. */
  onKey(event, dialog) {
    if (event.repeat) return;
    const numbered = dialog.querySelector("[data-numbered]");
    const at = numbered?.dataset.numbered === "options" ? placeOf(event) : Number(digitOf(event)) - 1;
    const button = numbered?.querySelectorAll("button")[at];
    if (button) this.leave(button.value);
  }

  leave(value) {
    const { open, resolve } = this;
    if (!open) return;
    this.open = this.resolve = null;
    open.close();
    this.onChange(false);
    resolve(value);
  }
}
