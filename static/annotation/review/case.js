// The case page: one viewer that stays, and a question that changes under it.

import { mountViewer } from "../viewer/viewer.js";
import { BlindStep } from "./blind.js";
import { Drafts } from "./drafts.js";
import { clearProblems, focusField, press, showProblem, valuesOf } from "./fields.js";
import { JudgementStep } from "./judgement.js";
import { isForPage, isTyping, letterOf } from "./keys.js";
import { bodyOf, request, send } from "./sending.js";

const PARTS = ["case-head", "case-note", "case-panel", "case-data"];
const byId = (id) => document.getElementById(id);
const jsonOf = (id) => JSON.parse(byId(id).textContent);

class CasePage {
  constructor() {
    this.words = byId("case-words").dataset;
    const onPainted = (index, level) => performance.mark(`view ${index} ${level}`); // for who measures the page
    this.viewer = mountViewer(byId("viewer"), { views: jsonOf("case-views"), onPainted });
    this.drafts = new Drafts((state) => this.say(state));
    document.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
    document.addEventListener("input", (event) => this.onInput(event));
    document.addEventListener("submit", (event) => this.onSubmit(event));
    document.addEventListener("click", (event) => this.onClick(event));
    byId("identifies-dialog").addEventListener("close", (event) => this.onIdentifiesClosed(event.target));
    addEventListener("popstate", () => this.load(location.href));
    addEventListener("pageshow", (event) => event.persisted && this.load(location.href));
    history.replaceState({}, "", this.data.url);
    this.begin();
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
    this.step = form.dataset.step === "blind" ? new BlindStep(form) : new JudgementStep(form);
    this.message("");
    if (data.roundOpen === "yes") this.drafts.watch(form, data);
    this.step.onInput(null);
    this.renew();
    this.step.begin();
    this.viewer.prepare(...jsonOf("next-cases"));
  }

  /** Submit is quiet until everything that is needed is there. */
  renew() {
    const go = byId("case-go");
    if (go) go.setAttribute("aria-disabled", String(this.step.missing().length > 0 || Boolean(this.busy)));
  }

  // Words. -----------------------------------------------------------------------------------------

  say(state) {
    const place = byId("case-saving");
    if (place.dataset.saving === state) return;
    place.dataset.saving = state;
    place.textContent = this.words[state] ?? "";
  }

  message(text) {
    const place = byId("case-message");
    place.textContent = text;
    place.hidden = !text;
  }

  // Events. ----------------------------------------------------------------------------------------

  onKey(event) {
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
    if (event.key === "?") this.take(event, () => this.open("keys-dialog"));
    else if (event.key === "Enter") {
      if (!event.target.closest?.("button, a, summary")) this.take(event, () => this.submit());
    } else if (this.data.roundOpen === "yes" && this.step.onKey(event)) this.take(event);
    else this.byLetter(event);
  }

  byLetter(event) {
    const acts = {
      o: () => this.openReport(),
      k: () => byId("skip-dialog") && document.querySelector('[data-open="skip-dialog"]')?.click(),
      c: () => this.correctCategory(),
    };
    const act = this.data.roundOpen === "yes" && acts[letterOf(event)];
    if (act) this.take(event, act);
  }

  take(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act?.();
  }

  onInput(event) {
    if (!this.form.contains(event.target)) return;
    clearProblems(this.form);
    this.step.onInput(event.target);
    if (event.target.value === "identifies" && event.target.checked) this.askWhichImage();
    this.drafts.changed();
    this.renew();
  }

  onSubmit(event) {
    if (!event.target.closest("#case-form, [data-act]")) return;
    event.preventDefault();
    const acts = { report: () => this.openReport(), skip: () => this.skip(), identifies: () => this.hideImages() };
    const act = acts[event.target.dataset.act];
    if (act) act();
    else this.submit();
  }

  onClick(event) {
    const button = event.target.closest("[data-open], [data-close], [data-correct]");
    if (!button) return;
    if (button.dataset.open) this.open(button.dataset.open);
    else if ("close" in button.dataset) button.closest("dialog").close();
    else this.correctCategory();
  }

  open(id) {
    const dialog = byId(id);
    clearProblems(dialog);
    dialog.showModal();
    dialog.querySelector("input")?.focus();
  }

  // Steps. -----------------------------------------------------------------------------------------

  async submit() {
    if (this.busy || this.data.roundOpen !== "yes") return;
    const missing = this.step.missing();
    if (missing.length) {
      clearProblems(this.form);
      const [{ field, word }] = missing;
      showProblem(this.form, field, this.words[word]);
      focusField(this.form, field);
      return;
    }
    await this.post(this.form.action, valuesOf(this.form), this.form);
  }

  async skip() {
    const dialog = byId("skip-dialog");
    const values = valuesOf(dialog.querySelector("form"));
    if (await this.post(this.data.skipUrl, values, dialog)) dialog.close();
  }

  /** Send a step; on success the next part or the next case is on the page, otherwise the problems are. */
  async post(url, values, root) {
    if (this.busy) return false;
    this.busy = true;
    this.renew();
    this.drafts.stop();
    try {
      const answer = await send(url, () => bodyOf(values), { tell: (state) => this.say(state) });
      return await this.receive(answer, root);
    } finally {
      this.busy = false;
      this.renew();
    }
  }

  async receive(answer, root) {
    if (answer.ok) {
      this.drafts.forget();
      const elsewhere = answer.headers.get("HX-Redirect");
      if (elsewhere) location.assign(elsewhere);
      else this.turn(await answer.text(), answer.headers.get("HX-Push-Url"));
      return true;
    }
    const said = await answer.json().catch(() => ({}));
    clearProblems(root);
    const problems = (said.problems ?? []).filter(({ field, message }) => showProblem(root, field, message));
    if (problems.length) {
      this.say("");
      focusField(root, problems[0].field);
      if (root === this.form) this.drafts.changed();
    } else this.message(said.message ?? (answer.status === 404 ? this.words.gone : this.words.refused));
    return false;
  }

  async load(url) {
    this.drafts.stop();
    const answer = await request(url).catch(() => null);
    if (answer?.ok) this.turn(await answer.text(), null);
    else location.reload();
  }

  /** Put the new parts on the page. The viewer stays; it changes its images only when the case changes. */
  turn(html, url) {
    const before = this.data.assignment;
    const viewsBefore = byId("case-views").textContent;
    const parts = new DOMParser().parseFromString(html, "text/html");
    for (const id of PARTS) byId(id).replaceWith(document.adoptNode(parts.getElementById(id)));
    if (this.data.assignment !== before || byId("case-views").textContent !== viewsBefore) {
      performance.clearMarks();
      this.viewer.show(jsonOf("case-views"));
    }
    this.cover(false);
    if (url && url !== location.pathname) history.pushState({}, "", url);
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
    const parts = new DOMParser().parseFromString(await answer.text(), "text/html");
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
      box.checked = views.length === 1;
      const known = view.view_position && view.view_position !== "unknown";
      label.append(box, ` ${index + 1}: ${known ? view.view_position : this.words.unknownView}`);
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
      const parts = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["case-note", "case-data"]) byId(id).replaceWith(document.adoptNode(parts.getElementById(id)));
      this.viewer.show(jsonOf("case-views"));
    } else this.message((await answer.json().catch(() => ({}))).message ?? this.words.refused);
    dialog.close("sent");
  }

  /** Taken back: the flag is off and the images are there again. */
  onIdentifiesClosed(dialog) {
    this.cover(false);
    if (dialog.returnValue !== "sent") press(this.form.querySelector('[value="identifies"]'), false);
  }
}

new CasePage();
