// Step 1: the best option, further defensible ones, the difficulty; or a question that must be handed back instead.

import { chosen, press } from "./fields.js";
import { actOf, digitOf, letterOf } from "./keys.js";

const LETTERS = ["A", "B", "C", "D"];

/** The option that a key names: by digit or by letter. */
function optionOf(event) {
  const digit = digitOf(event);
  if (digit) return LETTERS[Number(digit) - 1] ?? null;
  const letter = letterOf(event)?.toUpperCase();
  return LETTERS.includes(letter) ? letter : null;
}

/** The reviewer knows the key: there is nothing to choose. */
export class ReturnStep {
  constructor(form) {
    this.form = form;
    this.needsImages = false;
  }

  begin() {
    this.form.querySelector("#stem").focus({ preventScroll: true });
  }

  onKey() {
    return false;
  }

  onInput() {}

  missing() {
    return [];
  }
}

export class BlindStep {
  constructor(form) {
    this.form = form;
    this.hint = form.querySelector("#case-hint");
    this.usualHint = this.hint.textContent;
    this.needsImages = true;
    this.marking = false; // X was pressed: the next digit marks a further defensible option
  }

  begin() {
    this.form.querySelector("#stem").focus({ preventScroll: true });
  }

  input(name, value) {
    return this.form.querySelector(`input[name="${name}"][value="${value}"]`);
  }

  choose(option) {
    const input = this.input("best", option);
    press(input);
    input.closest(".case-option, .case-none").scrollIntoView({ block: "nearest" });
  }

  mark(on) {
    this.marking = on;
    this.hint.textContent = on ? this.hint.dataset.x : this.usualHint;
  }

  onKey(event) {
    const option = optionOf(event);
    if (this.marking) {
      this.mark(false);
      if (event.key === "Escape") return true;
      if (option) {
        const also = this.input("defensible", option);
        press(also, !also.checked);
        return true;
      }
    }
    if (option) this.choose(option);
    else if (digitOf(event) === "0") this.choose("none");
    else {
      const act = actOf(event, "blind");
      if (act === "also") this.mark(true);
      else if (act) press(this.input("difficulty", act));
      else return false;
    }
    return true;
  }

  onInput(target) {
    this.exclude(target);
    this.usualHint = this.summary() || this.hint.dataset.final;
    if (!this.marking) this.hint.textContent = this.usualHint;
  }

  /** What is chosen so far, in the strip that stays on screen in full-screen view. */
  summary() {
    const best = chosen(this.form, "best");
    const also = [...this.form.querySelectorAll('[name="defensible"]:checked')].map((box) => box.value);
    const letters = [best === "none" ? "0" : best, ...also.filter((letter) => letter !== best)].filter(Boolean);
    const level = this.form.querySelector('[name="difficulty"]:checked')?.nextElementSibling.firstChild.textContent.trim();
    return [letters.join(" + "), level].filter(Boolean).join(" · ");
  }

  /** "None" and a defensible option exclude each other; the later one counts. */
  exclude(target) {
    if (target?.name === "best" && target.value === "none") {
      for (const also of this.form.querySelectorAll('[name="defensible"]')) also.checked = false;
    }
    if (target?.name === "defensible" && target.checked) {
      const none = this.input("best", "none");
      if (none.checked) none.checked = false;
    }
  }

  missing() {
    const words = { best: "missingBest", difficulty: "missingDifficulty" };
    const open = Object.keys(words).filter((field) => !chosen(this.form, field));
    return open.map((field) => ({ field, word: words[field] }));
  }
}
