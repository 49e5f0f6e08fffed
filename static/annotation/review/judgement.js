// Steps 2 and 3: grades, choices, flags, verdict, texts. What is due here is judged again by the server.

import { chosen, focusField, press, showProblem, textOf } from "./fields.js";
import { actOf, digitOf, letterOf } from "./keys.js";

const LOW = 3;

export class JudgementStep {
  /** `onUnseen()`: a key was pressed for a row that is not on screen; nothing was changed. Returns true. */
  constructor(form, onUnseen) {
    Object.assign(this, { form, onUnseen });
    this.needsImages = true;
    this.rows = [...form.querySelectorAll("[data-row]")];
    this.flagAnchor = form.querySelector("#flag-anchor");
    this.told = form.querySelector(".case-told");
    this.more = form.querySelector("[data-more]");
    this.told.addEventListener("scroll", () => this.offerMore());
    this.more.addEventListener("click", () => this.readOn());
    this.sizes = new ResizeObserver(() => this.offerMore());
    for (const one of [this.told, ...this.told.children]) this.sizes.observe(one);
    this.flagging = false; // X was pressed: the next key names a flag
    form.addEventListener("focusin", ({ target }) => {
      const row = target.closest("[data-row]");
      if (row) this.mark(row);
      this.explainFlag(target);
    });
  }

  /** Nothing has the focus by itself: the mark says which row a digit grades. */
  begin() {
    this.mark(this.openRow);
    const panel = this.form.querySelector(".case-scroll");
    this.form.querySelector("#stem").focus({ preventScroll: true });
    panel.scrollTop = 0;
  }

  get openRow() {
    return this.rows.find((row) => !row.querySelector(":checked")) ?? this.rows[0];
  }

  get marked() {
    return this.rows.find((row) => "marked" in row.dataset) ?? null;
  }

  /** The row that digits grade; its anchors show. The focus goes along where it was in a row. */
  mark(row) {
    for (const other of this.rows) if (other !== row) delete other.dataset.marked;
    if (!row || "marked" in row.dataset) return;
    row.dataset.marked = "";
    const focused = document.activeElement;
    if (focused?.closest("[data-row]") && !row.contains(focused)) {
      (row.querySelector("input:checked") ?? row.querySelector("input")).focus({ preventScroll: true });
    }
    row.scrollIntoView({ block: "nearest" });
  }

  /** Whether a person can see what a key would change: not behind a view in full screen, nor in a panel that is folded. */
  isInSight(node) {
    node.scrollIntoView({ block: "nearest" });
    const { left, top, width, height } = node.getBoundingClientRect();
    return width > 0 && node.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  }

  get isAtEnd() {
    return this.told.scrollTop + this.told.clientHeight >= this.told.scrollHeight - 2;
  }

  offerMore() {
    if (this.isAtEnd && document.activeElement === this.more) this.told.focus();
    this.more.hidden = this.isAtEnd;
  }

  /** The next part of what is told; after the last one its beginning again. */
  readOn() {
    this.told.scrollTop = this.isAtEnd ? 0 : this.told.scrollTop + this.told.clientHeight - 30;
  }

  explainFlag(target) {
    const label = target.closest(".case-chip");
    this.flagAnchor.textContent = label?.dataset.anchor ?? this.flagAnchor.dataset.all;
  }

  // Keys. ------------------------------------------------------------------------------------------

  onKey(event) {
    const digit = digitOf(event);
    const act = actOf(event, "judge");
    if (this.flagging) {
      this.setFlagging(false);
      if (event.key === "Escape") return true;
      if (this.flag(digit ?? letterOf(event)?.toUpperCase())) return true;
    }
    const row = this.marked;
    const isInPanel = !event.target.closest?.(".viewer");
    if (row && isInPanel && (event.key === "ArrowDown" || event.key === "ArrowUp")) return this.step(row, event.key === "ArrowDown" ? 1 : -1);
    if (event.key === "Home") return this.step(null, 0, this.rows[0]);
    if (row && isInPanel && act === "unjudged") return this.choose(row, event.key);
    if (digit && row) return this.choose(row, digit);
    if (digit) return this.step(null, 0);
    return this.start(act);
  }

  start(act) {
    const verdict = act && this.form.querySelector(`[name="verdict"][value="${act}"]`);
    if (verdict) press(verdict);
    else if (act === "flag") this.setFlagging(true);
    else if (act === "more") this.readOn();
    else if (act === "reasoning" || act === "comment") focusField(this.form, act);
    else return false;
    return true;
  }

  /** Choose on a row and go on to the next one. A verdict has letters only: one digit too many changes nothing. */
  choose(row, key) {
    const input = row.querySelector(`input[data-key="${key}"]`);
    if (!input || input.disabled) return true;
    if (!this.isInSight(row)) return this.onUnseen();
    press(input);
    return this.step(row, 1);
  }

  /** Mark the row after this one, or before; without one, the first that is open. */
  step(row, by, to = null) {
    const next = to ?? (row ? this.rows[this.rows.indexOf(row) + by] : this.openRow);
    if (next) this.mark(next);
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
    if (!this.isInSight(input.closest("label"))) return this.onUnseen();
    press(input, !input.checked);
    return true;
  }

  reportOpened() {
    const input = this.form.querySelector("[data-needs-report]");
    if (input) input.dataset.needsReport = "no";
    const step = this.form.querySelector("[data-report-step]");
    step.textContent = step.dataset.reportStep;
    this.sizes.observe(this.form.querySelector(".case-report"));
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
    const flagged = '[name="flags"]:checked, [name="withdrawn_flags"]:not(:checked)';
    return Boolean(this.form.querySelector(flagged)) || ["key_wrong", "both"].includes(chosen(this.form, "disagreement"));
  }

  /** What no question can be accepted with: as judgement of the blind answer, or chosen as a flag. */
  isAgainstKey() {
    const flags = ["key_wrong", "no_valid_option"].map((flag) => `[name="flags"][value="${flag}"]:checked`);
    return chosen(this.form, "disagreement") === "key_wrong" || Boolean(this.form.querySelector(flags.join()));
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
    if (chosen(this.form, "verdict") === "accept" && this.isAgainstKey()) found.push({ field: "verdict", word: "keyWrong" });
    if (this.reasoningIsDue()) needs("reasoning", "missingText");
    if (this.commentIsDue()) needs("comment", this.hasWithdrawn() ? "withdrawn" : "lowGrade");
    if (chosen(this.form, "verdict") === "cannot_judge") needs("verdict_reason", "missingText");
    return found;
  }
}
