// The question beside the images: stem, options in the order of this reader, and what is chosen. An option is known by
// its own letter, whatever its place; keys and the letters on screen go by place.

import { digitOf, letterOf } from "../annotation/review/keys.js";
import { fold, isFolded } from "../case/panel.js";

const LETTERS = "ABCD";
const LONG = 220; // characters of a stem
const DECLINED = "declined";
const byId = (id) => document.getElementById(id);

function element(name, className, text) {
  return Object.assign(document.createElement(name), { className: className ?? "", textContent: text ?? "" });
}

/** 0 to 3 for a digit or a letter; null for another key. */
export function placeOf(event) {
  const digit = digitOf(event);
  const at = digit ? Number(digit) - 1 : LETTERS.indexOf(letterOf(event)?.toUpperCase() || "-");
  return at >= 0 && at < LETTERS.length ? at : null;
}

/** A button for each option with its letter on screen; short ones have the text for a name only. */
export function optionButtons(options, { isShort = false } = {}) {
  return options.map(({ id, text }, at) => {
    const button = Object.assign(element("button"), { type: "button", value: id });
    button.append(element("span", "case-option-letter", LETTERS[at]));
    if (isShort) button.setAttribute("aria-label", `${LETTERS[at]}: ${text}`);
    else button.append(` ${text}`);
    return button;
  });
}

export class Question {
  /** `onChoice(option)`: an option, or "declined". */
  constructor(words, onChoice) {
    Object.assign(this, { words, onChoice });
    this.form = byId("case-form");
    this.list = byId("room-options");
    this.list.addEventListener("input", ({ target }) => this.chose(target.value));
  }

  /** Put a case on the page; what was chosen before is chosen. */
  show(one, { choice, mayDecline }) {
    this.options = one.options;
    const stem = byId("stem");
    stem.textContent = one.stem;
    stem.classList.toggle("case-stem-long", one.stem.length > LONG);
    const information = byId("room-information");
    information.textContent = this.textOf(one.information);
    information.hidden = !information.textContent;
    this.showWithheld(one.withheld ?? [], one.views.every((view) => view.prior));
    this.list.replaceChildren(...one.options.map((option, at) => this.row(option, LETTERS[at])));
    if (mayDecline) this.list.append(this.row({ id: DECLINED, text: this.words.declined }, "0", "case-none"));
    this.form.querySelector(".case-scroll").scrollTop = 0;
    this.final(false);
    this.choice = "";
    this.hint(this.words.choose);
    if (choice) this.mark(choice);
  }

  /** In place of each image of the case that is not shown: which one, and why. `isAll`: no other one is on screen. */
  showWithheld(images, isAll) {
    const note = byId("case-note");
    note.hidden = !images.length;
    note.classList.toggle("case-note-all", isAll);
    byId("room-withheld").replaceChildren(...images.map(({ view, why }) => element("li", "", `${view} ${why}`)));
  }

  row({ id, text }, letter, kind) {
    const label = element("label", kind ?? "case-option-best");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "option", value: id });
    label.append(input, element("span", "case-option-letter", letter), element("span", "case-option-text", text));
    if (kind) return label;
    const row = element("div", "case-option");
    row.append(label);
    return row;
  }

  textOf(information) {
    if (!information) return "";
    const { age, sex, indication } = information;
    const known = [age && this.words.age.replace("{age}", age), this.words[`sex${sex}`] ?? sex, indication];
    return known.filter(Boolean).join(" · ");
  }

  input(option) {
    return this.list.querySelector(`input[value="${CSS.escape(option)}"]`);
  }

  /** The letter on screen of an option; its own where the case is not on screen. */
  letterOf(option) {
    const at = this.options?.findIndex(({ id }) => id === option) ?? -1;
    return at < 0 ? option : LETTERS[at];
  }

  isFor(event) {
    return placeOf(event) !== null || digitOf(event) === "0";
  }

  onKey(event) {
    const at = placeOf(event);
    const option = at === null ? digitOf(event) === "0" && DECLINED : this.options[at]?.id;
    const input = option && this.input(option);
    if (!input) return false;
    if (!input.checked) {
      input.checked = true;
      this.chose(option);
    }
    if (document.activeElement?.name === "option") input.focus();
    input.closest(".case-option, .case-none").scrollIntoView({ block: "nearest" });
    return true;
  }

  mark(option) {
    const input = this.input(option);
    if (!input) return;
    input.checked = true;
    this.choice = option;
    this.hint(option === DECLINED ? this.words.declined : this.words.chosen.replace("{letter}", this.letterOf(option)));
  }

  chose(option) {
    this.mark(option);
    this.onChoice(option);
  }

  hint(text) {
    byId("case-hint").textContent = text;
  }

  /** Answered: nothing can be changed any more. */
  final(on) {
    byId("room-choices").disabled = on;
    byId("room-feedback").hidden = true;
  }

  /** "Cannot tell" stays the answer; the guess is marked beside it. */
  guessed(option) {
    this.input(option)?.closest(".case-option").classList.add("room-guessed");
  }

  /** Practice: right or wrong, the key and why. `answer`: what was chosen, or guessed. */
  reveal({ correct, key, explanation }, answer) {
    const isRight = correct || answer === key;
    this.input(key)?.closest(".case-option").classList.add("room-key");
    if (!isRight) this.input(answer)?.closest(".case-option, .case-none").classList.add("room-wrong");
    const place = byId("room-feedback");
    const verdict = place.querySelector("h2");
    const { right, rightGuess, wrong } = this.words;
    verdict.textContent = (correct ? right : isRight ? rightGuess : wrong).replace("{letter}", this.letterOf(key));
    verdict.className = isRight ? "room-right" : "room-not-right";
    place.querySelector("p").textContent = explanation ?? "";
    place.hidden = false;
    if (isFolded()) fold(false);
    place.scrollIntoView({ block: "nearest" });
  }

  focus() {
    byId("stem").focus({ preventScroll: true });
  }
}

export { DECLINED };
