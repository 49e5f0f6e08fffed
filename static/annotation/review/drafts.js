// Drafts save themselves within a second; what is not acknowledged yet also stays in this tab over a reload. What another
// page stored since, a version or a draft, is not replaced before the person has seen both.

import { setValues, valuesOf } from "./fields.js";
import { bodyOf, jsonIn, request, send } from "../../case/sending.js";

const QUIET_MS = 400;
const MOST_MS = 800; // after the first change, though the typing goes on

export class Drafts {
  constructor(tell, clock, onRefused) {
    this.tell = tell; // (state) -> shown beside the progress
    this.onRefused = onRefused; // (answer) -> whether the page says it: the end of the case, or two to choose from
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
    this.known = this.sequence; // the newest draft that the person has seen
    this.place = `review-draft:${data.assignment}`;
    const kept = this.kept();
    if (!kept || (kept.stored && kept.sequence <= this.sequence)) return false;
    const isOthers = data.draftPage !== kept.page && this.sequence > kept.known;
    this.known = isOthers ? kept.known : Math.max(this.sequence, kept.sequence);
    this.sequence = Math.max(this.sequence, kept.sequence);
    this.base = kept.base;
    setValues(form, kept.values);
    this.changed();
    return true;
  }

  kept() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.place));
      if (kept?.base === this.base || this.isUnsent(kept)) return kept;
      sessionStorage.removeItem(this.place); // of a step that is stored by now
    } catch {
      // A browser without storage keeps nothing over a reload; the server still does.
    }
    return null;
  }

  /** Entered here for the step that is on the page, while another page stored something else for it. */
  isUnsent(kept) {
    const isSame = JSON.stringify(kept?.values) === JSON.stringify(valuesOf(this.form));
    return !isSame && kept?.step === this.form.dataset.step && !kept.isSent;
  }

  /** Keep the form in this tab, with whether the server has it: as a draft, or as a step that is done. */
  keep(stored, isSent = false) {
    const { base, sequence, known, form, clock } = this;
    const kept = { base, sequence, known, stored, isSent, page: clock.page, step: form.dataset.step, values: valuesOf(form) };
    try {
      sessionStorage.setItem(this.place, JSON.stringify(kept));
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
    return bodyOf([...valuesOf(this.form), ...events, ...this.basis(), ["sequence", this.sequence]]);
  }

  /** What this page knew when the form was filled in. */
  basis() {
    return [["based_on", this.base], ["known", this.known], ["page", this.clock.page]];
  }

  /** The person has seen what else is stored, and keeps what is on this page. */
  hasSeen({ n_stored, sequence }) {
    this.base = String(n_stored ?? this.base);
    this.known = Math.max(this.known, sequence ?? 0);
    this.sequence = Math.max(this.sequence, this.known);
    this.keep(false);
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
    const { sequence: newer, stored } = answer?.status === 409 ? jsonIn(answer) : {};
    if (answer?.ok) this.clock.acknowledged(events);
    if (this.sending !== abort) return; // the case has turned meanwhile
    this.sending = null;
    if (!answer) return;
    if (newer !== undefined && !stored) {
      this.sequence = Math.max(this.sequence, newer) + 1; // of this page, and older by a count that it lost
      this.waiting = true;
    }
    if (this.waiting && !stored) return void this.save();
    if (answer.ok) {
      this.keep(true);
      this.tell("saved");
    } else if (!this.onRefused(answer)) this.tell(answer.status === 409 ? "late" : answer.status === 404 ? "gone" : "refused");
  }

  /** The page goes away: hand over what is not saved yet. */
  flush() {
    if (!this.waiting && !this.sending) return;
    this.sending?.abort();
    request(this.url, this.body(), { keepalive: true }).catch(() => {});
  }

  /** No further draft of this form is sent; what this tab kept stays until forget(). */
  stop() {
    clearTimeout(this.timer);
    this.sending?.abort();
    this.sending = null;
    this.waiting = false;
  }

  /** The step is stored, but the next thing is not on the page yet: returns what forget() is told once it is. */
  stored() {
    this.stop();
    this.keep(false, true);
    return this.place;
  }

  forget(place) {
    if (place === this.place) this.stop();
    try {
      sessionStorage.removeItem(place);
    } catch {
      // See kept().
    }
  }
}
