// Drafts save themselves within a second; what is not acknowledged yet also stays in this tab over a reload.

import { setValues, valuesOf } from "./fields.js";
import { bodyOf, jsonIn, send } from "../../case/sending.js";

const QUIET_MS = 400;
const MOST_MS = 800; // after the first change, though the typing goes on

export class Drafts {
  constructor(tell, clock, onRefused) {
    this.tell = tell; // (state) -> shown beside the progress
    this.onRefused = onRefused; // (answer) -> whether that was the end of the case
    this.clock = clock; // its events go along
    addEventListener("pagehide", () => this.flush());
  }

  /**
   * Watch the form of a case; puts back what this tab typed where the page does not have it yet: the server never
   * acknowledged it, or drew the page before it stored it.
   */
  watch(form, data) {
    this.stop();
    this.form = form;
    this.url = data.draftUrl;
    this.base = data.nStored;
    this.sequence = Number(data.draftSequence); // of what is on the page; grows with each change
    this.place = `review-draft:${data.assignment}`;
    const kept = this.kept();
    if (!kept || (kept.stored && kept.sequence <= this.sequence)) return false;
    this.sequence = Math.max(this.sequence, kept.sequence);
    setValues(form, kept.values);
    this.changed();
    return true;
  }

  kept() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.place));
      if (kept?.base === this.base) return kept;
      sessionStorage.removeItem(this.place); // of a step that is stored by now
    } catch {
      // A browser without storage keeps nothing over a reload; the server still does.
    }
    return null;
  }

  /** Keep the form in this tab, with whether the server has it. */
  keep(stored) {
    const { base, sequence } = this;
    try {
      sessionStorage.setItem(this.place, JSON.stringify({ base, sequence, stored, values: valuesOf(this.form) }));
    } catch {
      // See kept().
    }
  }

  changed() {
    this.sequence += 1;
    this.keep(false);
    if (!this.waiting) this.since = performance.now();
    this.waiting = true;
    this.tell("saving");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), Math.min(QUIET_MS, this.since + MOST_MS - performance.now()));
  }

  body(events = []) {
    return bodyOf([...valuesOf(this.form), ...events, ["based_on", this.base], ["sequence", this.sequence]]);
  }

  async save() {
    if (this.sending) return; // the answer to the one being sent sends the next
    const abort = (this.sending = new AbortController());
    let events;
    const now = () => {
      this.waiting = false;
      events = this.clock.fields();
      return this.body(events);
    };
    const answer = await send(this.url, now, { tell: this.tell, signal: abort.signal });
    const newer = answer?.status === 409 ? jsonIn(answer).sequence : undefined;
    if (answer?.ok) this.clock.acknowledged(events);
    if (this.sending !== abort) return; // the case has turned meanwhile
    this.sending = null;
    if (!answer) return;
    if (newer !== undefined) {
      this.sequence = Math.max(this.sequence, newer) + 1; // another tab has typed; what is typed here is the last word
      this.waiting = true;
    }
    if (this.waiting) return void this.save();
    if (answer.ok) {
      this.keep(true);
      this.tell("saved");
    } else if (!this.onRefused(answer)) this.tell(answer.status === 409 ? "late" : answer.status === 404 ? "gone" : "refused");
  }

  /** The page goes away: hand over what is not saved yet. */
  flush() {
    if (!this.waiting && !this.sending) return;
    this.sending?.abort();
    const token = /(?:^|; )csrftoken=([^;]*)/.exec(document.cookie)?.[1] ?? "";
    const headers = { "HX-Request": "true", "X-CSRFToken": token };
    fetch(this.url, { method: "POST", body: this.body(), headers, keepalive: true }).catch(() => {});
  }

  /** No further draft of this form is sent; what this tab kept stays until forget(). */
  stop() {
    clearTimeout(this.timer);
    this.sending?.abort();
    this.sending = null;
    this.waiting = false;
  }

  /** The step is stored: nothing has to be put back. */
  forget() {
    this.stop();
    try {
      sessionStorage.removeItem(this.place);
    } catch {
      // See kept().
    }
  }
}
