// The reading page: keys, buttons and dialogs of a sitting.

import { actOf, guardRadios, isForPage, isTyping } from "../annotation/review/keys.js";
import { fold, isFolded } from "../case/panel.js";
import { Sitting } from "./sitting.js";

const byId = (id) => document.getElementById(id);

class Room {
  constructor() {
    this.sitting = new Sitting(byId("room-data").dataset, byId("room-words").dataset);
    guardRadios();
    document.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
    document.addEventListener("click", (event) => this.onClick(event));
    byId("case-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.sitting.answers.commit();
    });
    // A page that comes back from the browser's memory shows an old moment: the server says where the reader is.
    addEventListener("pageshow", (event) => event.persisted && this.sitting.join());
    addEventListener("beforeunload", (event) => {
      const { outbox } = this.sitting;
      if (outbox.nAnswers && !outbox.keeping.isLasting) event.preventDefault();
    });
    this.sitting.join();
  }

  onKey(event) {
    const { sitting } = this;
    const { screen, remarks, question } = sitting;
    if (!screen || !isForPage(event) || event.repeat || isTyping(event.target)) return;
    const act = actOf(event, "everywhere") ?? actOf(event, "study");
    if (act === "keys" || act === "fold") this.take(event, () => this.start(act));
    else if (sitting.isQuiet && !remarks.isAsking && (event.key === "Enter" || question.isFor(event))) this.take(event);
    else if (event.key === "Enter") {
      const isElsewhere = event.target.closest?.("button:not(#case-go), a, summary");
      if (!isElsewhere) this.take(event, () => sitting.answers.commit());
    } else if (remarks.isAsking) {
      if (remarks.onKey(event)) this.take(event);
    } else if (act && this.start(act)) this.take(event);
    else if (sitting.step === "reading" && !screen.isAway && question.onKey(event)) this.take(event);
  }

  take(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act?.();
  }

  /** What a key or a button of the page starts; false where it has nothing to do. */
  start(name) {
    const { sitting } = this;
    const { current, state } = sitting;
    if (name === "keys") this.open("keys-dialog");
    else if (name === "fold") fold(!isFolded());
    else if (name === "slip") {
      const { slipOf } = sitting.answers;
      if (!slipOf || byId("room-slip").hidden) return false;
      sitting.hiding.behind(byId("slip-dialog"));
      sitting.remarks.openSlip(slipOf);
    } else if (name === "fault") {
      if (!current || sitting.screen.isAway) return false;
      sitting.remarks.openFault(current);
    } else if (name === "pause") {
      if (!state?.rules.may_pause || sitting.covers.open) return false;
      this.open("pause-dialog");
    }
    return true;
  }

  open(id) {
    const dialog = byId(id);
    if ("hides" in dialog.dataset) this.sitting.hiding.behind(dialog);
    else dialog.showModal();
  }

  onClick(event) {
    const { sitting } = this;
    const button = event.target.closest("[data-start], [data-open], [data-close], [data-pause], [data-fold]");
    if (!button) return;
    if ("fold" in button.dataset) fold(!isFolded());
    else if (button.dataset.start) this.start(button.dataset.start);
    else if (button.dataset.open) this.open(button.dataset.open);
    else button.closest("dialog").close();
    if (button.dataset.pause === "now" && sitting.step === "reading") sitting.pauses.now();
    else if (button.dataset.pause) sitting.pauses.later();
  }
}

new Room();
