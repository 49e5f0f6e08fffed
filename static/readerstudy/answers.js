// The answer to the case on screen: chosen, submitted, and what the reader says right after it. The steps of a case:
//   "reading" -> "asked" (a best guess after "cannot tell", how sure) -> "feedback" (practice only) -> the next case
//   "reading" -> "over" (its time has ended)
//   "sent": in transit, and something of this case is still to come

import { randomName } from "../case/clock.js";
import { DECLINED, optionButtons } from "./question.js";

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
    const chosen = clock.mark("selected", { option }); // its time goes with it: it may reach the server after the limit
    this.sequence += 1;
    const saved = option === DECLINED ? "" : option;
    const fields = [["option", saved], ["sequence", String(this.sequence)], ...clock.fieldsOf(chosen)];
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
    const guess = question.choice === DECLINED ? await this.askGuess(one) : "";
    if (sitting.state.rules.confidence) await this.askChance(one, guess);
    if (coming) await this.teach(one, coming, guess || question.choice);
    if (sitting.current === one) sitting.advance();
  }

  send(one) {
    const { question, clock, outbox, screen, line, state } = this.sitting;
    const isDeclined = question.choice === DECLINED;
    const option = isDeclined ? "" : question.choice;
    clock.mark("submitted", {});
    const events = clock.fields();
    const answer = isDeclined ? [["option", ""], ["declined", "yes"]] : [["option", option]];
    const fields = [["key", randomName()], ...answer, ...events, ...screen.fields()];
    outbox.add({ kind: "commit", place: one.id, url: one.urls.commit, fields });
    clock.acknowledged(events);
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

  async askGuess(one) {
    const { question, remarks } = this.sitting;
    const guess = await this.ask(one, () => remarks.askGuess(one));
    question.guessed(guess);
    return guess;
  }

  askChance(one, guess) {
    return this.ask(one, () => this.sitting.remarks.askChance(one, Boolean(guess)));
  }

  async ask(one, asking) {
    const { sitting } = this;
    sitting.step = "asked";
    sitting.question.final(true);
    const value = await asking();
    if (sitting.current === one) sitting.step = "sent";
    return value;
  }

  isSent(kind, one) {
    return this.sitting.remarks.hasSent(kind, one) || this.sitting.outbox.hasRemark(kind, one.id);
  }

  /**
   * The page was loaded again before everything about the last answer was given. False where that answer is still being
   * sent: only the server has the words to ask with.
   */
  async askWhatIsLeft() {
    const { last, rules } = this.sitting.state;
    const sent = this.sitting.outbox.lastAnswer;
    const hasMore = (one) => (rules.confidence && !this.isSent("confidence", one)) || (one.isDeclined && !this.isSent("guess", one));
    if (sent && hasMore(sent)) return false;
    if (!last) return true;
    if (last.needs_guess && !this.isSent("guess", last)) await this.askAgain("guess", last);
    const isChanceAsked = rules.confidence && (last.needs_guess || last.needs_confidence);
    if (isChanceAsked && !this.isSent("confidence", last)) await this.askAgain("confidence", last);
    return !this.sitting.outbox.isHeld;
  }

  /** In place of a case; nothing is recorded where another cover came instead. */
  async askAgain(kind, last) {
    const { covers, remarks, screen, outbox } = this.sitting;
    if (outbox.isHeld) return;
    screen.wait("");
    if (kind === "guess") byId("guess-options").replaceChildren(...optionButtons(last.options));
    const asked = last.option ? this.words.chanceOfAnswer : this.words.chanceOfGuess;
    const value = await covers.show(kind, kind === "guess" ? { stem: last.stem } : { asked });
    if (value) remarks.remark(last, kind, value);
  }

  feedbackTo({ id }) {
    return new Promise((resolve) => {
      this.awaited = { id, resolve };
    });
  }

  /** Practice: the server says whether it was right; then the reader goes on. */
  async teach(one, coming, answer) {
    const { sitting, words } = this;
    const { question } = sitting;
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

  stored(item, reply) {
    if (this.awaited?.id === item.place && item.kind === "commit") this.awaited.resolve(reply.feedback);
    if (item.kind === "remark") this.sitting.remarks.noteSent(reply.stored?.kind, item.place);
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

  /** Nothing is committed. The server closes the case; the choice counts, also where it gets there later. */
  async timeIsOver() {
    const { sitting } = this;
    if (sitting.step !== "reading") return;
    this.isOver = true;
    if (sitting.covers.open) return; // it is shown when the case comes back
    const { current: one } = sitting;
    sitting.step = "over";
    sitting.line.pass(one.id);
    this.isFaultKept = sitting.remarks.keepFault();
    await sitting.covers.show("over", { counts: this.whatCounts() });
    if (sitting.current === one) sitting.advance();
  }

  /** The choice, once the server has it, or that the time ended without one. */
  whatCounts() {
    const { words } = this;
    const { current: one, question, outbox } = this.sitting;
    const { choice } = question;
    const marked = outbox.has("choice", one.id) ? words.overOnItsWay : words.overKept;
    const sentence = !choice || choice === DECLINED ? words.overNone : marked.replace("{letter}", question.letterOf(choice));
    return this.isFaultKept ? `${sentence} ${words.faultKept}` : sentence;
  }

  /** While that is on screen the choice may get there. */
  sayWhatCounts() {
    const { covers, step } = this.sitting;
    if (step === "over" && covers.name === "over") covers.fill({ counts: this.whatCounts() });
  }

  timeIsOverNow() {
    if (this.isOver) this.timeIsOver();
  }
}
