// Steps 2 and 3: grades, choices, flags, verdict, texts. What is due here is judged again by the server.

import { chosen, focusField, press, showProblem, textOf } from "./fields.js";
import { digitOf, letterOf } from "./keys.js";

const LOW = 3;

export class JudgementStep {
  constructor(form) {
    this.form = form;
    this.rows = [...form.querySelectorAll("[data-row]")];
    this.anchors = form.querySelector("#case-anchors");
    this.flagging = false; // X was pressed: the next key names a flag
    form.addEventListener("focusin", (event) => this.showAnchor(event.target));
    form.addEventListener("focusout", () => this.showAnchor(null));
  }

  begin() {
    const open = this.rows.find((row) => !row.querySelector(":checked")) ?? this.rows[0];
    this.focusRow(open);
    this.form.querySelector(".case-scroll").scrollTop = 0;
  }

  focusRow(row) {
    (row?.querySelector("input:checked") ?? row?.querySelector("input"))?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }

  showAnchor(target) {
    const name = target?.closest(".case-chip") ? target.value : target?.closest("[data-row]")?.dataset.field;
    const wanted = (name && this.anchors.querySelector(`#anchor-${name}`)) || this.anchors.querySelector("[data-anchor-default]");
    for (const anchor of this.anchors.children) anchor.hidden = anchor !== wanted;
  }

  // Keys. ------------------------------------------------------------------------------------------

  onKey(event) {
    const digit = digitOf(event);
    const letter = letterOf(event);
    if (this.flagging) {
      this.setFlagging(false);
      if (event.key === "Escape") return true;
      if (this.flag(digit ?? letter?.toUpperCase())) return true;
    }
    const row = event.target.closest?.("[data-row]");
    if (row && (event.key === "ArrowDown" || event.key === "ArrowUp")) return this.step(row, event.key === "ArrowDown" ? 1 : -1);
    if (row && event.key === "-") return this.choose(row, row.dataset.field === "verdict" ? "4" : "-");
    if (digit) return row ? this.choose(row, digit) : this.focusOpenRow();
    return this.byLetter(letter);
  }

  byLetter(letter) {
    if (!letter) return false;
    const verdict = this.form.querySelector(`[name="verdict"][data-letter="${letter.toUpperCase()}"]`);
    if (verdict) {
      press(verdict);
      verdict.focus();
      return true;
    }
    if (letter === "x") this.setFlagging(true);
    else if (letter === "g") this.focusRow(this.rows[0]);
    else if (letter === "y") focusField(this.form, "reasoning");
    else if (letter === "t") focusField(this.form, "comment");
    else return false;
    return true;
  }

  /** A digit with no row marked marks the first open row and chooses nothing. */
  focusOpenRow() {
    this.focusRow(this.rows.find((row) => !row.querySelector(":checked")) ?? this.rows[0]);
    return true;
  }

  /** Choose on a row and go on to the next one. */
  choose(row, key) {
    const input = row.querySelector(`input[data-key="${key}"]`);
    if (!input || input.disabled) return true;
    press(input);
    input.focus();
    if (row.dataset.field !== "verdict") this.step(row, 1);
    return true;
  }

  step(row, by) {
    const next = this.rows[this.rows.indexOf(row) + by];
    if (next) this.focusRow(next);
    return true;
  }

  // Flags. -----------------------------------------------------------------------------------------

  setFlagging(on) {
    this.flagging = on;
    this.form.querySelector(".case-flags").classList.toggle("case-flags-on", on);
  }

  flag(key) {
    const input = key && this.form.querySelector(`.case-flags input[data-key="${key}"]`);
    if (!input) return false;
    press(input, !input.checked);
    return true;
  }

  reportOpened() {
    const input = this.form.querySelector("[data-needs-report]");
    if (input) input.dataset.needsReport = "no";
    const step = this.form.querySelector("[data-report-step]");
    step.textContent = step.dataset.reportStep;
  }

  // What is due. -----------------------------------------------------------------------------------

  onInput(target) {
    if (target?.dataset.needsReport === "yes" && target.checked) {
      target.checked = false;
      const place = this.form.querySelector('[data-problem="flags"]');
      showProblem(this.form, "flags", place.dataset.reportFirst);
    }
    this.form.querySelector("#reasoning-due").hidden = !this.reasoningIsDue() || Boolean(textOf(this.form, "reasoning"));
    this.form.querySelector("#comment-due").hidden = !this.commentIsDue() || Boolean(textOf(this.form, "comment"));
  }

  reasoningIsDue() {
    const verdict = chosen(this.form, "verdict");
    return this.form.dataset.reasoningDue === "yes" || Boolean(verdict && verdict !== "accept");
  }

  commentIsDue() {
    return this.hasWithdrawn() || (this.hasLowGrade() && !this.hasFlag());
  }

  hasLowGrade() {
    return this.rows.some((row) => {
      const input = row.querySelector("input:checked");
      return /^(clinical|factual|explanation|image)_/.test(row.dataset.field) && input && Number(input.value) <= LOW;
    });
  }

  hasFlag() {
    const stands = '[name="flags"]:checked, [name="withdrawn_flags"]:not(:checked)';
    return Boolean(this.form.querySelector(stands));
  }

  hasWithdrawn() {
    return Boolean(this.form.querySelector('[name="withdrawn_flags"]:checked'));
  }

  /** What is still needed, in the order of the form: the field and the word that says so. */
  missing() {
    const found = this.rows
      .filter((row) => row.dataset.field !== "verdict" && !row.querySelector("input:checked"))
      .map((row) => ({ field: row.dataset.field, word: "missing" }));
    const needs = (field, word) => !textOf(this.form, field) && found.push({ field, word });
    if (!chosen(this.form, "verdict")) found.push({ field: "verdict", word: "missing" });
    if (this.reasoningIsDue()) needs("reasoning", "missingText");
    if (this.commentIsDue()) needs("comment", this.hasWithdrawn() ? "withdrawn" : "lowGrade");
    if (chosen(this.form, "verdict") === "cannot_judge") needs("verdict_reason", "missingText");
    return found;
  }
}
