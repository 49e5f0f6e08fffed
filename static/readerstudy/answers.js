// The answer to the case on screen: chosen, submitted, and what the reader says right after it. The steps of a case:
//   "reading" -> "chance" (how sure, where the study asks) -> "feedback" (practice only) -> the next case
//   "reading" -> "over" (its time has ended)
//   "sent": on its way, and something of this case is still to come

import { randomName } from "../annotation/timing/clock.js";
import { DECLINED } from "./question.js";

const TWICE_MS = 400; // a second press or click within this time is the same one
const byId = (id) => document.getElementById(id);

export class Answers {
  constructor(sitting) {
    Object.assign(this, { sitting, last: null, committedAt: -Infinity });
    const { words } = sitting;
    this.words = words;
  }

  /** Another case is on the page; `sequence`: of the last choice that was saved. */
  begin(sequence) {
    Object.assign(this, { sequence, isOver: false, isWaitSaid: false });
  }

  chose(option) {
    const { current: one, step, saying, clock, outbox } = this.sitting;
    if (step !== "reading") return;
    saying.message("");
    clock.mark("selected", { option });
    this.sequence += 1;
    const saved = option === DECLINED ? "" : option;
    const fields = [["option", saved], ["sequence", String(this.sequence)]];
    outbox.add({ kind: "choice", place: one.id, url: one.urls.choice, fields });
    this.renew();
  }

  /** Submit is quiet until there is a choice and every image has been seen. */
  renew() {
    const { step, screen, question } = this.sitting;
    const isReady = step === "feedback" || (step === "reading" && screen?.isSeen && question.choice);
    byId("case-go").setAttribute("aria-disabled", String(!isReady));
  }

  async commit() {
    const { sitting, words } = this;
    const { current: one, step, screen, question, saying } = sitting;
    if (step === "feedback") return void this.goOn();
    if (step !== "reading" || screen.isAway) return;
    if (!question.choice) {
      if (performance.now() - this.committedAt > TWICE_MS) saying.message(words.choose);
      return;
    }
    if (!screen.isSeen) {
      this.isWaitSaid = true;
      saying.message(screen.waitingFor());
      return;
    }
    this.committedAt = performance.now();
    saying.message("");
    sitting.step = "sent";
    sitting.limit.stop();
    const coming = one.block === "practice" && this.feedbackTo(one);
    this.send(one);
    if (sitting.state.rules.confidence && question.choice !== DECLINED) await this.askChance(one);
    if (coming) await this.teach(one, coming);
    if (sitting.current === one) sitting.advance();
  }

  send(one) {
    const { question, clock, outbox, screen, line, state } = this.sitting;
    const isDeclined = question.choice === DECLINED;
    const option = isDeclined ? "" : question.choice;
    clock.mark("submitted", {});
    const told = clock.fields();
    const answer = isDeclined ? [["option", ""], ["declined", "yes"]] : [["option", option]];
    const fields = [["key", randomName()], ...answer, ...told, ...screen.fields()];
    outbox.add({ kind: "commit", place: one.id, url: one.urls.commit, fields });
    clock.acknowledged(told);
    line.pass(one.id);
    this.last = { id: one.id, urls: one.urls, option, options: one.options, letter: question.letterOf(option) };
    this.offerSlip(state.rules.slips && !isDeclined);
  }

  // After it. ----------------------------------------------------------------------------------------

  offerSlip(on) {
    byId("room-slip").hidden = !on;
  }

  /** The last answer: as this page knows it, or as the server tells it after a reload. */
  get slipOf() {
    const { last } = this.sitting.state ?? {};
    if (this.last || !last?.may_slip) return this.last;
    return { ...last, letter: "ABCD"[last.options.findIndex(({ id }) => id === last.option)] };
  }

  async askChance(one) {
    const { sitting } = this;
    sitting.step = "chance";
    sitting.question.final(true);
    await sitting.remarks.askChance(one);
    if (sitting.current === one) sitting.step = "sent";
  }

  /** The page was loaded again before the reader could say how sure they were. */
  async askOpenChance() {
    const { last } = this.sitting.state;
    const { remarks, outbox, covers, screen } = this.sitting;
    if (!last?.needs_confidence || remarks.sure.has(last.id) || outbox.has("remark", last.id)) return;
    screen.wait("");
    const chance = await covers.show("chance");
    if (chance) remarks.sayChance(last, chance);
  }

  feedbackTo({ id }) {
    return new Promise((resolve) => {
      this.awaited = { id, resolve };
    });
  }

  /** Practice: the server says whether it was right; then the reader goes on. */
  async teach(one, coming) {
    const { sitting, words } = this;
    const { question } = sitting;
    const answer = question.choice;
    question.final(true);
    question.hint(words.saving);
    this.renew();
    const feedback = await coming;
    if (!feedback || sitting.current !== one) return;
    question.reveal(feedback, answer);
    question.hint(words.goOn);
    this.label(words.next);
    sitting.step = "feedback";
    this.renew();
    const shownAt = performance.now();
    await new Promise((resolve) => {
      this.goOn = () => performance.now() - shownAt > TWICE_MS && resolve();
    });
    this.label(words.submit);
  }

  label(text) {
    byId("case-go").querySelector("span").textContent = text;
  }

  // What the server says to it. ------------------------------------------------------------------------

  stored(item, said) {
    if (this.awaited?.id === item.place && item.kind === "commit") this.awaited.resolve(said.feedback);
  }

  /** True where the case may come again. */
  refused(item, { reason, stored }) {
    const { words, sitting } = this;
    if (item.kind !== "commit") return;
    if (this.awaited?.id === item.place) this.awaited.resolve(null);
    if (reason === "other_answer") {
      const other = stored.option || words.declined;
      sitting.saying.message(words.otherAnswer.replace("{letter}", other));
      return;
    }
    sitting.line.unpass(item.place);
    sitting.saying.message(reason === "not_seen" ? words.notSeen : words.gone);
  }

  // The end of the time. -------------------------------------------------------------------------------

  /** Nothing is committed. The server closes the case; the choice that it has is kept. */
  async timeIsOver() {
    const { sitting, words } = this;
    if (sitting.step !== "reading") return;
    this.isOver = true;
    if (sitting.covers.open) return; // it is said when the case comes back
    const { current: one, question } = sitting;
    sitting.step = "over";
    sitting.line.pass(one.id);
    const { choice } = question;
    const kept = choice && choice !== DECLINED ? words.overKept.replace("{letter}", question.letterOf(choice)) : words.overNone;
    await sitting.covers.show("over", { kept });
    if (sitting.current === one) sitting.advance();
  }

  timeIsOverNow() {
    if (this.isOver) this.timeIsOver();
  }
}
