// One sitting of a reader: where the reader is, which case is on screen, and what comes then. The server knows; the page
// goes on without waiting for it, and tells it everything in order, through the outbox.

import { listKeys } from "../annotation/review/keys.js";
import { Hiding, Screen } from "../annotation/review/screen.js";
import { request, wait } from "../case/sending.js";
import { sizeOf, SmallestWindow } from "../annotation/review/smallest.js";
import { Clock } from "../case/clock.js";
import { OtherScreen, screenNow } from "../case/display.js";
import { Answers } from "./answers.js";
import { Covers } from "./covers.js";
import { Keeping } from "./keeping.js";
import { hasText, Limit, Opening } from "./limit.js";
import { Line } from "./line.js";
import { Login } from "./login.js";
import { Outbox } from "./outbox.js";
import { Pauses } from "./pauses.js";
import { Question } from "./question.js";
import { Remarks } from "./remarks.js";
import { Saying } from "./saying.js";
import { Server } from "./server.js";
import { WriteLease } from "./write_lease.js";

const PATIENCE = [500, 1000, 2000, 4000, 8000];
const ASK_MS = 15_000; // as often as a case tells its events
const CLOSED = ["study_closed", "withdrawn", "deadline_passed"];
const byId = (id) => document.getElementById(id);
const patience = (attempt) => wait(PATIENCE[Math.min(attempt, PATIENCE.length - 1)]);

export class Sitting {
  constructor(data, words) {
    Object.assign(this, { data, words, state: null, current: null, step: "" });
    const name = `reading ${data.reader}`;
    this.hiding = new Hiding((on) => this.hide(on));
    this.line = new Line();
    this.lease = new WriteLease(name);
    this.saying = new Saying(words);
    const login = new Login(byId("login-dialog"), (on) => this.hiding.set("login", on));
    this.server = new Server({ login, fresh: data.url, own: data.stateUrl });
    this.outbox = new Outbox(new Keeping(name), this.server, {
      onStored: (item, reply) => this.stored(item, reply),
      onRefused: (item, status, reply) => this.refused(item, status, reply),
      onLost: () => this.join(),
      onChange: () => this.changed(),
    });
    this.clock = new Clock({ post: (...asked) => this.postEvents(...asked), place: `${name} clock` });
    this.answers = new Answers(this);
    this.pauses = new Pauses(this, data);
    this.question = new Question(words, (option) => this.answers.chose(option));
    this.remarks = new Remarks(words, (place, url, fields) => this.outbox.add({ kind: "remark", place, url, fields }));
    this.remarks.onDone = (text) => this.saying.note(text);
    this.covers = new Covers(byId("content"), (on) => this.hiding.set("cover", on));
    this.limit = new Limit(byId("room-clock"), `${name} limit`, () => this.answers.timeIsOver());
    this.opening = new Opening(this);
    this.smallest = new SmallestWindow(byId("case-small"), (on) => this.hiding.set("small", on));
    const mayWait = () => this.outbox.isCut || (this.step === "reading" && Boolean(this.state?.rules.time_limit_s));
    this.display = new OtherScreen(byId("case-display"), (on) => this.hiding.set("display", on), mayWait);
    setInterval(() => this.askIfEnded(), ASK_MS);
  }

  // Where the reader is. -----------------------------------------------------------------------------

  /** Ask for the write lease and for the cases that are ready; `take`: also from the page that has it. */
  async join(take = "") {
    if (this.joining) return;
    this.joining = true;
    this.outbox.hold();
    await this.outbox.load();
    this.server.session = await this.lease.token();
    const values = [["take", take], ["device", JSON.stringify({ browser: navigator.userAgent, ...screenNow() })]];
    const { writer, session, since, state } = await this.untilAnswered(this.data.sessionUrl, values);
    this.joining = false;
    if (!state) return;
    if (writer) await this.hold(session);
    this.take(state);
    if (!writer) this.lookOn(since);
  }

  /** This page writes: what waited goes out. */
  async hold(session) {
    this.server.session = session;
    await this.lease.keep(session);
    if (this.covers.name === "elsewhere") this.covers.leave(null);
    this.outbox.release();
    this.clock.sendAll();
  }

  async untilAnswered(url, values) {
    for (let attempt = 0; ; attempt++) {
      const { status, reply } = await this.server.ask(url, values);
      this.outbox.hear(status);
      if (status === 200) return reply;
      if (status >= 400 && status < 500 && ![408, 429].includes(status)) {
        this.leaveFor(this.data.entryUrl);
        return {};
      }
      await patience(attempt);
    }
  }

  async refresh() {
    if (this.refreshing || this.outbox.isHeld) return;
    this.refreshing = true;
    const address = `${this.data.stateUrl}?session=${encodeURIComponent(this.server.session)}`;
    const { status, reply } = await this.server.ask(address);
    this.refreshing = false;
    this.outbox.hear(status);
    if (status !== 200) return;
    if (reply.writer) this.take(reply);
    else this.join();
  }

  /** What the server says; this page may be ahead of it. */
  take(state) {
    this.state = state;
    this.mount(state);
    if (!state.writer) return;
    this.line.take(state, this.outbox.committed);
    this.pauses.take(state);
    const { current, step } = this;
    const now = current && this.line.find(current.id);
    if (!current || (step === "opening" && !now)) this.advance();
    else if (step === "opening" && hasText(now)) this.begin(now);
    else if (step === "reading" && !now) this.closedElsewhere();
    else this.prepare();
    this.changed();
  }

  mount({ rules, last }) {
    if (this.screen) return;
    const hidden = rules.hidden_tools;
    listKeys(byId("keys-dialog"), hidden);
    this.screen = new Screen([], this.words, {
      hidden,
      isHere: false,
      ahead: rules.n_ready,
      onShown: (seen) => this.shown(seen),
      onTool: (tool) => this.clock.mark("tool", { tool }),
      onChange: () => this.answers.renew(),
      onWhole: () => this.opening.ask(),
      onReveal: () => this.question.focus(),
    });
    this.answers.offerSlip(Boolean(last?.may_slip));
    this.hide(this.hiding.isOn);
    this.smallest.ask(leastOf(rules.least_window));
    this.display.ask(this.data);
  }

  /** Another page writes. Nothing of a case is here, until the reader continues here. */
  async lookOn(since) {
    this.limit.stop();
    this.clock.leave();
    Object.assign(this, { current: null, step: "" });
    this.remarks.hide();
    this.screen.wait("");
    const time = since ? new Date(since).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : "";
    const value = await this.covers.show("elsewhere", { since: time && this.words.since.replace("{time}", time) });
    if (value === "continue") this.join("yes");
  }

  leaveFor(url) {
    this.isLeaving = true;
    location.assign(url);
  }

  // From case to case. -------------------------------------------------------------------------------

  /** What comes now: a pause, a break, the next case. Where none of them waits for the reader, all in this frame. */
  async advance() {
    if (this.advancing || this.isLeaving) return;
    this.advancing = true;
    Object.assign(this, { current: null, step: "" });
    this.limit.stop();
    const isAllSaid = await this.answers.askWhatIsLeft();
    if (isAllSaid) await this.pauses.betweenCases();
    this.advancing = false;
    const { first } = this.line;
    this.display.check(); // one that waited for the case
    if (this.outbox.isHeld) return; // it is taken up again with the write lease
    if (first && isAllSaid) this.show(first);
    else this.waitForCase();
  }

  show(one) {
    this.head(one);
    if (hasText(one)) return void this.begin(one);
    Object.assign(this, { current: one, step: "opening", isWaiting: false });
    this.opening.expect(one);
  }

  /** Question and images come on screen together. */
  begin(one) {
    const { outbox, screen, question, clock, limit } = this;
    const { rules } = this.state;
    const queued = outbox.choiceOf(one.id);
    Object.assign(this, { current: one, step: "reading", isWaiting: false, isNew: true });
    this.keepQuiet();
    this.answers.begin(Math.max(one.choice_sequence, Number(queued?.sequence ?? 0)));
    question.show(one, { choice: queued ? queued.option : one.choice, mayDecline: rules.cannot_tell });
    screen.arrive(one.views, true, one.id);
    const isAgain = one.opened || outbox.has("open", one.id);
    if (!isAgain) outbox.add({ kind: "open", place: one.id, url: one.urls.open, fields: [] });
    clock.begin(one.id, one.urls.events); // its first events wait until the server has heard of the opening
    for (const fields of clock.takeLeft(one.id)) outbox.add({ kind: "events", place: one.id, url: one.urls.events, fields });
    if (rules.time_limit_s && isAgain) one.painted = limit.goOn(rules.time_limit_s, one);
    this.answers.renew();
  }

  /** The whole case is on screen: its clock starts. */
  shown(seen) {
    const { current: one, clock, answers, saying } = this;
    if (!one) return;
    clock.mark("painted", seen);
    if (this.isNew) this.keepQuiet();
    this.isNew = false;
    if (this.screen.takeEarly()) saying.message(this.words.early);
    else if (answers.isWaitSaid) saying.message("");
    const { time_limit_s } = this.state.rules;
    if (time_limit_s && !one.painted) {
      one.painted = true;
      this.limit.start(time_limit_s, one.id);
      this.tellPainted(one);
    }
    this.prepare();
  }

  /** What was pressed for the case before, or twice, answers no case that has only just appeared. */
  keepQuiet() {
    this.quietUntil = performance.now() + this.state.rules.quiet_ms;
  }

  get isQuiet() {
    return this.step === "reading" && performance.now() < this.quietUntil;
  }

  /** The limit of the server counts from this: it hears of it at once. */
  tellPainted(one) {
    const fields = this.clock.fields();
    this.outbox.add({ kind: "events", place: one.id, url: one.urls.events, fields });
    this.clock.acknowledged(fields);
  }

  prepare() {
    if (this.current) this.screen.viewer.prepare(...this.line.viewsAfter(this.current.id));
  }

  /** No case is ready: say what this waits for, and go on as soon as there is one. */
  waitForCase() {
    const { outbox, state, words } = this;
    this.isWaiting = true;
    this.clock.leave();
    if (state.finished && !outbox.length) return void this.leaveFor(state.next);
    const isLast = state.finished || state.done + outbox.nAnswers >= state.n;
    this.screen.wait(outbox.isCut ? words.waitCut : isLast ? words.waitLast : words.loading);
    if (!outbox.length && !outbox.isCut) this.askAgain();
  }

  async askAgain() {
    if (this.isAskingAgain) return;
    this.isAskingAgain = true;
    const { time_limit_s } = this.state.rules;
    for (let attempt = 0; this.isWaiting && !this.isLeaving; attempt++) {
      await (time_limit_s ? this.join() : this.refresh()); // who joins has the last case closed whose time has ended
      if (this.isWaiting) await patience(attempt);
    }
    this.isAskingAgain = false;
  }

  closedElsewhere() {
    if (this.state.rules.time_limit_s) return void this.answers.timeIsOver();
    this.line.pass(this.current.id);
    this.saying.message(this.words.answeredElsewhere);
    this.advance();
  }

  // What the server says to what was sent. -------------------------------------------------------------

  stored(item, reply) {
    this.answers.stored(item, reply);
    if (reply.state) this.take(reply.state);
    else if (item.kind === "open" && reply.closed) this.refresh();
    if (item.kind === "open") this.clock.tellLoad();
  }

  refused(item, status, reply) {
    if (CLOSED.includes(reply.reason)) return void this.end(reply.reason, item.kind === "commit");
    this.answers.refused(item, reply);
    const isOpening = item.kind === "open" && this.step === "opening";
    if (isOpening) Object.assign(this, { current: null, step: "" });
    (isOpening ? patience(1) : Promise.resolve()).then(() => this.refresh());
  }

  /** Nothing more is taken: the reader is told why, what counts, and what was not sent in time. Then the entry says more. */
  async end(reason, isLate = false) {
    const { words, state, question, step, current } = this;
    this.nLate = (this.nLate ?? 0) + isLate;
    if (this.isLeaving) return void this.sayLate();
    this.isLeaving = true;
    this.clock.end();
    this.limit.stop();
    const chosen = step === "reading" && question.choice ? words.endedChoice.replace("{letter}", question.letterOf(question.choice)) : "";
    const stored = current?.block === "practice" ? "" : words.endedStored.replace("{n}", state.done).replace("{all}", state.n);
    const left = this.covers.show("ended", { why: words[reason], stored, chosen });
    this.sayLate();
    await left;
    this.leaveFor(this.data.entryUrl);
  }

  /** A page that pauses, or waits for another one, tells nothing that could be refused: it asks, and needs no answer. */
  async askIfEnded() {
    if (!this.covers.open || this.isLeaving) return;
    const { reply } = await this.server.once(this.data.stateUrl);
    if (reply.ended && !this.isLeaving) this.end(reply.ended);
  }

  /** Of the answers that this device still had: how many the server refused since, and how many wait. */
  sayLate() {
    const { words, outbox, nLate } = this;
    const late = nLate ? words.endedLate.replace("{n}", nLate) : "";
    const waiting = outbox.nAnswers ? words.unsent.replace("{n}", outbox.nAnswers) : "";
    if (this.covers.name === "ended") this.covers.fill({ late: [late, waiting].filter(Boolean).join(" ") });
  }

  /** The clock's own requests go out only when nothing waits in the outbox: a case is opened before its events come. */
  async postEvents(url, body, options) {
    const { outbox, server } = this;
    if (!outbox || outbox.isHeld || outbox.length) return { status: 503 };
    body.append("session", server.session);
    const answer = await request(url, body, options);
    if (answer.status !== 409) return answer;
    const { reason } = await answer.json().catch(() => ({}));
    if (CLOSED.includes(reason)) this.end(reason);
    if (reason !== "not_the_writer") return answer;
    this.join();
    return { status: 503 };
  }

  // What the page shows beside the case. ---------------------------------------------------------------

  hide(on) {
    this.clock?.blank(on);
    this.screen?.blank(on);
    if (!on) this.opening?.ask();
  }

  changed() {
    if (!this.state) return;
    const isOn = Boolean(this.current) && this.step === "reading";
    const isHere = (views) => this.screen.viewer.isReady(views);
    const nReady = this.current && !this.state.rules.time_limit_s ? this.line.viewsAfter(this.current.id).filter(isHere).length : 0;
    this.saying.tell(this.outbox, nReady, isOn && isHere(this.current.views));
    this.answers.sayWhatCounts();
    this.opening.waitForLine();
    if (this.isWaiting && !this.isLeaving && !this.outbox.isHeld) this.waitForCase();
  }

  head(one) {
    const { state, words } = this;
    const strong = Object.assign(document.createElement("b"), { textContent: one.position });
    byId("room-place").replaceChildren(strong, ` / ${state.n}`);
    const [bar, n] = [byId("room-progress"), one.position - 1];
    Object.assign(bar, { max: state.n, value: n });
    bar.setAttribute("aria-label", words.progress.replace("{n}", n).replace("{all}", state.n));
    byId("room-practice").hidden = one.block !== "practice";
    document.title = document.title.replace(/^.*(?= · )/, () => `${state.study.name}, ${one.position} / ${state.n}`);
  }
}

/** [1280, 720] as "1280x720"; "" for no such wish. */
function leastOf(size) {
  const text = (size ?? []).join("x");
  return sizeOf(text) ? text : "";
}
