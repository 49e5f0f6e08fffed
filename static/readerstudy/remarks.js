// What a reader says beside the answer: how sure, that another option was meant, that a case is faulty.

import { digitOf } from "../annotation/review/keys.js";
import { randomName } from "../annotation/timing/clock.js";
import { placeOf } from "./question.js";

const TWICE_MS = 400; // the second click of a double click is for nothing that comes after it
const byId = (id) => document.getElementById(id);

export class Remarks {
  /** `send(place, url, fields)`: put it on its way. */
  constructor(words, send) {
    Object.assign(this, { words, send, sure: new Set() });
    this.row = byId("room-confidence");
    this.row.addEventListener("click", ({ target }) => {
      const button = target.closest("button[value]");
      if (button && performance.now() - this.askedAt > TWICE_MS) this.chanceOf(button);
    });
    this.slip = byId("slip-dialog");
    this.slip.addEventListener("keydown", (event) => this.onSlipKey(event));
    this.slip.addEventListener("click", ({ target }) => {
      const button = target.closest("button[value]");
      if (button) this.meant(button.value);
    });
    this.fault = byId("fault-dialog");
    this.fault.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.reportFault();
    });
  }

  remark(one, kind, value, text = "") {
    const fields = [["key", randomName()], ["kind", kind], ["value", value], ["text", text]];
    this.send(one.id, one.urls.remark, fields);
  }

  // How sure. ----------------------------------------------------------------------------------------

  get isAsking() {
    return !this.row.hidden;
  }

  /** Resolves when the reader has said how likely the answer is to be right. */
  askChance(one) {
    byId("case-foot").hidden = true;
    this.row.hidden = false;
    this.row.focus({ preventScroll: true }); // not on a button: a second Enter must not say anything
    this.askedAt = performance.now();
    this.asked = one;
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  onKey(event) {
    const button = this.row.querySelectorAll("button")[Number(digitOf(event)) - 1];
    if (button) this.chanceOf(button);
    return Boolean(button);
  }

  chanceOf(button) {
    this.sayChance(this.asked, button.value);
    this.hideChance();
    this.resolve();
  }

  sayChance(one, chance) {
    this.sure.add(one.id); // the cases of which it was said
    this.remark(one, "confidence", chance);
  }

  hideChance() {
    this.row.hidden = true;
    byId("case-foot").hidden = false;
  }

  // Another option was meant. --------------------------------------------------------------------------

  /** `last`: { id, urls, option, options as they stood on screen, letter of the one that was chosen }. */
  openSlip(last) {
    this.last = last;
    byId("slip-answer").textContent = this.words.slipAnswer.replace("{letter}", last.letter);
    const rows = last.options.map((option, at) => {
      const button = Object.assign(document.createElement("button"), { type: "button", value: option.id });
      const letter = Object.assign(document.createElement("span"), { className: "case-option-letter" });
      letter.textContent = "ABCD"[at];
      button.append(letter, ` ${option.text}`);
      button.disabled = option.id === last.option;
      return button;
    });
    byId("slip-options").replaceChildren(...rows);
    this.slip.showModal();
    rows.find((row) => !row.disabled)?.focus();
  }

  onSlipKey(event) {
    const at = placeOf(event);
    if (at === null || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    const button = byId("slip-options").children[at];
    if (button && !button.disabled) this.meant(button.value);
  }

  meant(option) {
    this.remark(this.last, "slip", option);
    this.slip.close();
    this.onSaid(this.words.slipNoted);
  }

  // A faulty case. -------------------------------------------------------------------------------------

  openFault(one) {
    this.faulty = one;
    this.fault.querySelector("form").reset();
    this.fault.showModal();
    this.fault.querySelector("textarea").focus();
  }

  reportFault() {
    const text = this.fault.querySelector("textarea").value.trim();
    this.remark(this.faulty, "fault", "", text);
    this.fault.close();
    this.onSaid(this.words.faultNoted);
  }

  onSaid() {}
}
