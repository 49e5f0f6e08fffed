// What a reader says beside the answer: a best guess after "cannot tell", how sure, that another option was meant, that a
// case is faulty.

import { digitOf } from "../annotation/review/keys.js";
import { randomName } from "../case/clock.js";
import { optionButtons, placeOf } from "./question.js";

const TWICE_MS = 400; // the second click of a double click is for nothing that comes after it
const byId = (id) => document.getElementById(id);

export class Remarks {
  /** `send(place, url, fields)`: send it. */
  constructor(words, send) {
    Object.assign(this, { words, send, sent: new Set(), row: null });
    this.rows = { guess: byId("room-guess"), confidence: byId("room-confidence") };
    for (const row of Object.values(this.rows)) {
      row.addEventListener("click", ({ target }) => {
        const button = target.closest("button[value]");
        if (button && performance.now() - this.askedAt > TWICE_MS) this.answer(button);
      });
    }
    this.slip = byId("slip-dialog");
    this.slip.addEventListener("keydown", (event) => this.onSlipKey(event));
    this.slip.addEventListener("click", ({ target }) => {
      const button = target.closest("button[value]");
      if (button) this.meant(button.value);
    });
    this.fault = byId("fault-dialog");
    this.fault.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.fault.querySelector("form").requestSubmit();
    });
    this.fault.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.reportFault();
    });
  }

  remark(one, kind, value, text = "") {
    const fields = [["key", randomName()], ["kind", kind], ["value", value], ["text", text]];
    this.noteSent(kind, one.id);
    this.send(one.id, one.urls.remark, fields);
  }

  /** Here, or by the page that was here before: a state of the server from before that is no news. */
  noteSent(kind, place) {
    this.sent.add(`${kind} ${place}`);
  }

  hasSent(kind, { id }) {
    return this.sent.has(`${kind} ${id}`);
  }

  // A best guess, and how sure: in place of the button that submits. ------------------------------------

  get isAsking() {
    return Boolean(this.row);
  }

  /** Resolves to the option that the reader would choose all the same. */
  askGuess(one) {
    this.rows.guess.querySelector(".room-guesses").replaceChildren(...optionButtons(one.options, { isShort: true }));
    return this.ask("guess", one);
  }

  /** Resolves when the reader has stated how likely the answer, or the guess, is to be right. */
  askChance(one, isGuess) {
    byId("room-chance").textContent = isGuess ? this.words.chanceOfGuess : this.words.chanceOfAnswer;
    return this.ask("confidence", one);
  }

  ask(kind, one) {
    Object.assign(this, { kind, asked: one, row: this.rows[kind], askedAt: performance.now() });
    byId("case-foot").hidden = true;
    this.row.hidden = false;
    this.row.focus({ preventScroll: true }); // not on a button: a second Enter must not say anything
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  onKey(event) {
    const at = this.kind === "guess" ? placeOf(event) : Number(digitOf(event)) - 1;
    const button = this.row.querySelectorAll("button")[at];
    if (button) this.answer(button);
    return Boolean(button);
  }

  answer({ value }) {
    this.remark(this.asked, this.kind, value);
    this.hide();
    this.resolve(value);
  }

  hide() {
    for (const row of Object.values(this.rows)) row.hidden = true;
    this.row = null;
    byId("case-foot").hidden = false;
  }

  // Another option was meant. --------------------------------------------------------------------------

  /** Fill the dialog, which is open. `last`: { id, urls, option, options as they stood on screen, letter of the one that was chosen }. */
  openSlip(last) {
    this.last = last;
    byId("slip-answer").textContent = this.words.slipAnswer.replace("{letter}", last.letter);
    const rows = optionButtons(last.options);
    for (const row of rows) row.disabled = row.value === last.option;
    byId("slip-options").replaceChildren(...rows);
    rows.find((row) => !row.disabled)?.focus();
  }

  onSlipKey(event) {
    const at = placeOf(event);
    if (at === null || event.repeat) return;
    event.preventDefault();
    const button = byId("slip-options").children[at];
    if (button && !button.disabled) this.meant(button.value);
  }

  meant(option) {
    this.remark(this.last, "slip", option);
    this.slip.close();
    this.onDone(this.words.slipNoted);
  }

  // A faulty case. -------------------------------------------------------------------------------------

  openFault(one) {
    this.faulty = one;
    this.fault.querySelector("form").reset();
    this.fault.showModal();
    this.fault.querySelector("textarea").focus();
  }

  /** The time of the case has ended: what was written so far goes as it is. Whether there was anything. */
  keepFault() {
    const isWritten = this.fault.open && Boolean(this.fault.querySelector("textarea").value.trim());
    if (isWritten) this.reportFault("");
    return isWritten;
  }

  reportFault(sentence = this.words.faultNoted) {
    const text = this.fault.querySelector("textarea").value.trim();
    this.remark(this.faulty, "fault", "", text);
    this.fault.close();
    this.onDone(sentence);
  }

  onDone() {}
}
