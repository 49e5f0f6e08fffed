// The case page: one viewer that stays, and a question that changes under it.

import { Clock } from "../../case/clock.js";
import { OtherScreen } from "../../case/display.js";
import { BlindStep, ReturnStep } from "./blind.js";
import { Drafts } from "./drafts.js";
import { clearProblems, focusField, press, rowsOfBoth, showProblem, valuesOf } from "./fields.js";
import { JudgementStep } from "./judgement.js";
import { actOf, guardRadios, isForPage, isTyping, listKeys } from "./keys.js";
import { fold, isFolded } from "../../case/panel.js";
import { Hiding, Screen } from "./screen.js";
import { bodyOf, jsonIn, request, send } from "../../case/sending.js";
import { SmallestWindow } from "./smallest.js";

const STEPS = { blind: BlindStep, judge: JudgementStep, return: ReturnStep };
const PARTS = ["case-head", "case-note", "case-panel", "case-data"];
const byId = (id) => document.getElementById(id);
const jsonOf = (id) => JSON.parse(byId(id).textContent);

class CasePage {
  constructor() {
    this.words = byId("case-words").dataset;
    const hidden = this.data.hiddenTools.split(" ").filter(Boolean);
    listKeys(byId("keys-dialog"), hidden);
    this.clock = new Clock({ refused: (answer) => this.onEventsRefused(answer) });
    this.screen = new Screen(jsonOf("case-views"), this.words, {
      name: this.data.assignment,
      hidden,
      onShown: (seen) => this.onShown(seen),
      onTool: (tool) => this.clock.mark("tool", { tool }),
      onChange: () => this.renew(),
      onReveal: () => this.step.begin(),
    });
    this.viewer = this.screen.viewer;
    this.hiding = new Hiding((on) => {
      this.clock.blank(on);
      this.screen.blank(on);
    });
    this.smallest = new SmallestWindow(byId("case-small"), (on) => this.hiding.set("small", on));
    this.display = new OtherScreen(byId("case-display"), (on) => this.hiding.set("display", on));
    this.drafts = new Drafts(
      (state) => this.say(state),
      this.clock,
      (answer) => this.endBy(answer) || this.askWhich(answer, () => this.drafts.changed()),
    );
    guardRadios();
    document.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
    document.addEventListener("input", (event) => this.onInput(event));
    document.addEventListener("submit", (event) => this.onSubmit(event));
    document.addEventListener("click", (event) => this.onClick(event));
    document.addEventListener("dblclick", (event) => this.onDoubleClick(event));
    byId("identifies-dialog").addEventListener("close", (event) => this.onIdentifiesClosed(event.target));
    addEventListener("popstate", () => this.load(location.href));
    addEventListener("pageshow", (event) => event.persisted && this.load(location.href));
    history.replaceState({}, "", this.data.url);
    this.begin();
    this.screen.arriveQuestion();
  }

  get data() {
    return byId("case-data").dataset;
  }

  get form() {
    return byId("case-form");
  }

  /** Start with the form that is on the page now. */
  begin() {
    const { form, data } = this;
    document.title = document.title.replace(/^.*(?= · )/, () => data.title);
    this.step = new STEPS[form.dataset.step](form, () => this.tellUnseen());
    this.message("");
    this.tellAway("");
    this.smallest.ask(data.leastWindow);
    this.display.ask(data);
    for (const line of byId("keys-dialog").querySelectorAll("[data-double-click]")) line.hidden = !data.doubleClick;
    if (data.roundOpen === "yes") {
      this.clock.begin(data.assignment, data.eventsUrl);
      this.drafts.watch(form, data);
    } else this.clock.leave();
    this.step.onInput(null);
    this.renew();
    this.step.begin();
    if (this.screen.takeEarly()) this.message(this.words.early);
    this.viewer.prepare(...jsonOf("next-cases"));
  }

  /** Question and images are on screen, by frame; the clock of the case starts. */
  onShown(seen) {
    this.clock.mark("painted", seen);
    if (this.isWaitSaid) this.message("");
  }

  /** Submit is quiet until everything that is needed is there and every image has been seen. */
  renew() {
    const go = byId("case-go");
    const isUnseen = this.step.needsImages && !this.screen.isSeen;
    const n = this.step.missing().length;
    const isQuiet = this.busy || isUnseen || n > 0;
    const place = go?.querySelector("[data-open-fields]");
    if (place) place.textContent = n ? place.dataset.openFields.replace("{n}", n) : "";
    if (go) go.setAttribute("aria-disabled", String(Boolean(isQuiet)));
  }

  // Words. -----------------------------------------------------------------------------------------

  /** What is saved of a submitted review is a change that counts only when it is submitted. */
  say(saving) {
    const place = byId("case-saving");
    const state = saving === "saved" && this.data.isSubmitted === "yes" ? "changed" : saving;
    this.tellAway(state);
    if (place.dataset.saving === state) return;
    place.dataset.saving = state;
    place.textContent = this.words[state] ?? "";
  }

  /** Offline or logged out, shown at the form. */
  tellAway(state) {
    if (state === "saving") return; // whether it can be is not known yet
    const place = byId("case-banner");
    const why = { trying: this.words.awayTrying, expired: this.words.awayExpired }[state];
    place.hidden = !why;
    place.querySelector("span").textContent = [why, this.busy && this.words.held].filter(Boolean).join(" ");
    place.querySelector("a").hidden = state !== "expired";
  }

  /** A digit grades a row that one can see, or none. */
  tellUnseen() {
    this.message(this.words.unseen);
    return true;
  }

  message(text) {
    const place = byId("case-message");
    place.textContent = text;
    place.hidden = !text;
    this.isWaitSaid = false;
  }

  // Events. ----------------------------------------------------------------------------------------

  onKey(event) {
    if (this.screen.isAway) return; // there is no question on screen that a key could be meant for
    if (!isForPage(event)) {
      const isSend = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !document.querySelector("dialog[open]");
      if (isSend && !event.repeat) this.take(event, () => this.submit());
      return;
    }
    if (isTyping(event.target)) {
      if (event.key === "Escape") this.take(event, () => event.target.blur());
      else if (event.key === "Enter" && event.target.matches("input")) this.take(event, () => event.target.blur());
      return;
    }
    if (event.repeat) return;
    if (this.start(actOf(event, "everywhere"))) this.take(event);
    else if (event.key === "Enter") {
      if (!event.target.closest?.("button, a, summary")) this.take(event, () => this.submit());
    } else if (this.data.roundOpen === "yes" && this.step.onKey(event)) this.take(event);
    else if (this.start(actOf(event, "review"))) this.take(event);
  }

  /** What a key of the table starts; false where it has nothing to do. */
  start(name) {
    const always = { keys: () => this.open("keys-dialog"), fold: () => fold(!isFolded()) };
    const whileOpen = {
      pause: () => this.open("pause-dialog"),
      slip: () => byId("slip-dialog") && this.open("slip-dialog"),
      report: () => this.openReport(),
      skip: () => byId("skip-dialog") && document.querySelector('[data-open="skip-dialog"]')?.click(),
      category: () => this.correctCategory(),
    };
    const act = always[name] ?? (this.data.roundOpen === "yes" && whileOpen[name]);
    if (!act) return false;
    act();
    return true;
  }

  take(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act?.();
  }

  onInput(event) {
    if (!this.form?.contains(event.target)) return;
    clearProblems(this.form);
    this.message("");
    this.step.onInput(event.target);
    const { name, value } = event.target;
    if (name === "best") this.clock.mark("selected", { option: value });
    else this.clock.mark("changed", { field: name });
    if (event.target.value === "identifies" && event.target.checked) this.askWhichImage();
    this.drafts.changed();
    this.renew();
  }

  onSubmit(event) {
    if (!event.target.closest("#case-form, [data-act]")) return;
    event.preventDefault();
    const acts = {
      report: () => this.openReport(),
      slip: () => this.reportSlip(event.target, event.submitter?.value),
      skip: () => this.leaveQuestion(event.target, this.data.skipUrl),
      return: () => this.leaveQuestion(event.target, this.data.returnUrl),
      identifies: () => this.hideImages(),
    };
    const act = acts[event.target.dataset.act];
    if (act) act();
    else this.submit();
  }

  onClick(event) {
    const button = event.target.closest("[data-open], [data-close], [data-correct], [data-fold]");
    if (!button) return;
    if ("fold" in button.dataset) fold(!isFolded());
    else if (button.dataset.open) this.open(button.dataset.open);
    else if ("close" in button.dataset) button.closest("dialog").close();
    else this.correctCategory();
  }

  /** Both clicks were on this option: clicks on two things are a double-click on neither. */
  onDoubleClick(event) {
    const option = event.target.closest(".case-option-best, .case-none");
    if (this.data.doubleClick && this.data.step === "blind" && option?.querySelector("input:enabled:checked")) this.submit();
  }

  open(id) {
    const dialog = byId(id);
    clearProblems(dialog);
    dialog.querySelector("form")?.reset(); // what was entered for one question is not offered for the next
    if ("hides" in dialog.dataset) this.hiding.behind(dialog);
    else dialog.showModal();
    dialog.querySelector("input")?.focus();
  }

  // Steps. -----------------------------------------------------------------------------------------

  async submit() {
    if (this.screen.isAway || this.data.roundOpen !== "yes") return;
    const { step } = this.data;
    const missing = this.step.missing();
    if (missing.length) {
      clearProblems(this.form);
      if (isFolded()) fold(false); // what is missing is shown
      const [{ field, word }] = missing;
      showProblem(this.form, field, this.words[word]);
      focusField(this.form, field);
      return;
    }
    if (step === "blind" && this.step.needsImages && jsonOf("case-views").every((view) => view.prior)) return void this.message(this.words.noImages);
    if (this.step.needsImages && !this.screen.isSeen) {
      this.message(this.screen.waitingFor());
      this.isWaitSaid = true;
      return;
    }
    const [next] = step === "judge" ? jsonOf("next-cases") : [];
    this.clock.mark("submitted", { step });
    await this.post(this.form.action, [...valuesOf(this.form), ...this.screen.fields(), ...this.drafts.basis()], this.form, next);
  }

  /** Which option was meant is noted beside the blind answer, which stays. */
  async reportSlip(form, meant) {
    form.closest("dialog").close();
    const asked = this.data.assignment;
    const answer = await send(form.action, () => bodyOf([["meant", meant]]), { tell: (state) => this.say(state) });
    if (asked !== this.data.assignment) return;
    if (!answer.ok) return void this.receive(answer, this.form);
    this.say("");
    const place = byId("case-meant");
    place.textContent = place.dataset.words.replace("{option}", meant);
    this.message(this.words.slipNoted);
  }

  /** Skip it, or hand it back for good. */
  async leaveQuestion(form, url) {
    const dialog = form.closest("dialog");
    if (!(await this.post(url, valuesOf(form), dialog))) return;
    dialog.close();
    this.step.begin();
  }

  /**
   * Send a step. On success the next part or the next case is on the page, otherwise the problems are. The images of
   * `next` are shown meanwhile; the case comes back, and waits, when the server does not answer or refuses.
   */
  async post(url, values, root, next) {
    if (this.busy) return false;
    this.busy = true;
    this.drafts.stop();
    const events = this.clock.fields();
    const tell = (state) => {
      this.screen.comeBack?.();
      this.say(state);
    };
    try {
      const sent = send(url, () => bodyOf([...values, ...events]), { tell }); // the server works while the next images are painted
      this.screen.leave(next);
      const answer = await sent;
      if (answer.ok) this.clock.acknowledged(events);
      else this.screen.comeBack?.();
      return this.receive(answer, root);
    } finally {
      this.busy = false;
      this.screen.release();
      this.renew();
      if (this.wanted) this.load(this.wanted);
    }
  }

  receive(answer, root) {
    if (answer.ok) {
      const place = this.drafts.stored();
      const elsewhere = answer.headers.get("HX-Redirect");
      if (this.wanted) return true; // the person went elsewhere meanwhile
      if (elsewhere) location.assign(elsewhere);
      else this.putParts(answer.content, answer.headers.get("HX-Push-Url"));
      if (place !== this.drafts.place) this.drafts.forget(place); // another case is on the page
      return true;
    }
    const refusal = jsonIn(answer);
    this.screen.hold(false);
    if (this.endBy(answer) || this.askWhich(answer, () => this.submit())) return false;
    clearProblems(root);
    const problems = (refusal.problems ?? []).filter(({ field, message }) => showProblem(root, field, message));
    if (problems.length) {
      this.say("");
      focusField(root, problems[0].field);
      if (root === this.form) this.drafts.changed();
    } else this.message(refusal.message ?? (answer.status === 404 ? this.words.gone : this.words.refused));
    return false;
  }

  /** Events are sent by themselves: the refusal of a step that is being sent says more. */
  async onEventsRefused(answer) {
    const content = await answer.text().catch(() => "");
    if (!this.busy) this.endBy(Object.assign(answer, { content }));
  }

  /**
   * Whether the answer says that another page stored something else: then the person sees both and chooses. `again`:
   * what was refused. Until the choice, and where the dialog is only closed, this page keeps what it has.
   */
  askWhich(answer, again) {
    const { stored, message, ...facts } = jsonIn(answer);
    if (!stored) return false;
    const dialog = byId("both-dialog");
    this.say("both");
    dialog.querySelector("p").textContent = message;
    dialog.querySelector("tbody").replaceChildren(...rowsOfBoth(this.form, stored, this.words));
    dialog.onclick = ({ target }) => {
      if (!target.value) return;
      dialog.close();
      if (target.value === "mine") {
        this.drafts.hasSeen(facts);
        again();
      } else {
        this.drafts.forget(this.drafts.place);
        this.load(this.data.url);
      }
    };
    if (!dialog.open) dialog.showModal();
    return true;
  }

  /** Whether the answer says that this case is over for the person: then the panel says why, and nothing is asked. */
  endBy(answer) {
    const { ended } = jsonIn(answer);
    if (!ended) return false;
    if (this.data.roundOpen !== "yes") return true;
    this.data.roundOpen = "no"; // no key and no click enters anything from now on
    this.clock.end();
    this.drafts.forget(this.drafts.place);
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    this.cover(false);
    this.say("");
    this.message("");
    for (const tool of document.querySelectorAll('#case-head [data-act], #case-head [data-open]:not([data-open="keys-dialog"])')) tool.remove();
    const panel = new DOMParser().parseFromString(ended, "text/html");
    byId("case-panel").replaceChildren(document.adoptNode(panel.getElementById("case-ended")));
    if (isFolded()) byId("content").classList.remove("case-folded"); // for now: the browser keeps what it remembers
    byId("case-ended").focus();
    return true;
  }

  /** Show the case of an address; a step that is being sent is waited for, so that two cases never cross. */
  async load(url) {
    this.wanted = url;
    if (this.busy) return;
    this.busy = true;
    this.drafts.flush();
    this.drafts.stop();
    this.screen.leave();
    const html = await request(url).then((answer) => (answer.ok ? answer.text() : null)).catch(() => null);
    this.busy = false;
    if (this.wanted !== url) return void this.load(this.wanted);
    this.wanted = null;
    if (html === null) return void location.reload();
    this.putParts(html, null);
    this.screen.release();
    this.renew();
  }

  /** Put the new parts on the page. The viewer stays; it changes its images only when the case changes. */
  putParts(html, url) {
    const before = this.data.assignment;
    const parts = new DOMParser().parseFromString(html, "text/html");
    for (const id of PARTS) byId(id).replaceWith(document.adoptNode(parts.getElementById(id)));
    this.cover(false);
    if (url && url !== location.pathname) history.pushState({}, "", url);
    this.screen.arrive(jsonOf("case-views"), this.data.assignment !== before, this.data.assignment);
    this.begin();
  }

  // The report, the category. ----------------------------------------------------------------------

  async openReport() {
    if (this.data.step !== "judge" || this.busy) return;
    const report = byId("case-report");
    if (report.childElementCount) {
      report.hidden = !report.hidden;
      if (!report.hidden) report.focus();
      return;
    }
    const asked = this.data.assignment;
    const url = document.querySelector('[data-act="report"]').action;
    const answer = await send(url, () => new URLSearchParams(), { tell: (state) => this.say(state) });
    if (asked !== this.data.assignment) return;
    if (!answer.ok) return void this.receive(answer, this.form);
    const parts = new DOMParser().parseFromString(answer.content, "text/html");
    byId("case-report").replaceWith(document.adoptNode(parts.getElementById("case-report")));
    this.step.reportOpened();
    byId("case-report").focus();
  }

  async correctCategory() {
    if (this.data.step !== "judge") return;
    focusField(this.form, "category");
    const list = byId("categories");
    if (list.childElementCount) return;
    const answer = await request(this.data.categoriesUrl).catch(() => null);
    if (!answer?.ok) return;
    const { categories } = await answer.json();
    list.replaceChildren(...categories.map((value) => Object.assign(document.createElement("option"), { value })));
  }

  // Identifying text. ------------------------------------------------------------------------------

  cover(on) {
    byId("viewer").classList.toggle("case-covered", on);
    byId("case-cover").hidden = !on;
  }

  /** The images are hidden before anything is asked; they come back only if the person takes it back. */
  askWhichImage() {
    const views = jsonOf("case-views");
    if (!views.length) return;
    this.cover(true);
    const rows = views.map((view, index) => {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "images", value: view.id });
      box.defaultChecked = views.length === 1;
      const known = view.view_position && view.view_position !== "unknown";
      const prior = view.prior ? `${this.words.prior} · ` : "";
      label.append(box, ` ${index + 1}: ${prior}${known ? view.view_position : this.words.unknownView}`);
      return label;
    });
    byId("identifies-views").replaceChildren(...rows);
    byId("identifies-dialog").returnValue = "";
    this.open("identifies-dialog");
  }

  async hideImages() {
    const dialog = byId("identifies-dialog");
    const values = valuesOf(dialog.querySelector("form"));
    if (!values.length) {
      dialog.querySelector("[data-problem]").hidden = false;
      return;
    }
    const answer = await send(this.data.identifiesUrl, () => bodyOf(values), { tell: (state) => this.say(state) });
    if (answer.ok) {
      const parts = new DOMParser().parseFromString(answer.content, "text/html");
      for (const id of ["case-note", "case-data"]) byId(id).replaceWith(document.adoptNode(parts.getElementById(id)));
      this.screen.arrive(jsonOf("case-views"), true, this.data.assignment);
    } else if (!this.endBy(answer)) this.message(jsonIn(answer).message ?? this.words.refused);
    dialog.close("sent");
  }

  /** Taken back: the flag is off and the images are there again. */
  onIdentifiesClosed(dialog) {
    this.cover(false);
    if (dialog.returnValue !== "sent") press(this.form?.querySelector('[value="identifies"]'), false);
  }
}

new CasePage();
