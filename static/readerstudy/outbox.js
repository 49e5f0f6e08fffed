// What the reader did, on its way to the server: in order, one at a time, kept on this device until it is acknowledged.
// A case that comes again, because its answer was not taken, goes before later ones.
//
//   outbox.add({ kind: "commit", place, url, fields: [["key", uuid], ["option", "B"], ...] });
//
// Kinds: open, choice, events, commit, remark, pause, resume. Each is sent with the same key until the server says that
// it has it. No image and no word of a question is kept.

import { wait } from "../case/sending.js";

const PATIENCE = [500, 1000, 2000, 4000, 8000];

/** "Not now" rather than "no"; "not_yet": the time of the case before has ended here and not quite there. */
function isPassing(status, { reason }) {
  return status === 0 || status >= 500 || [403, 408, 429].includes(status) || (status === 409 && reason === "not_yet");
}

export class Outbox {
  /**
   * `onStored(item, reply)`: the server has it. `onRefused(item, status, reply)`: it does not want it. `onLost(reply)`:
   * another page writes now; what is here stays here until release(). `onChange()`: its state has changed.
   */
  constructor(keeping, server, { onStored, onRefused, onLost, onChange }) {
    Object.assign(this, { keeping, server, onStored, onRefused, onLost, onChange });
    this.items = [];
    this.again = new Set(); // places whose answer was not taken: until there is another, the server opens no later one
    this.isHeld = true; // until this page may write
    this.cut = ""; // "line": nobody answers; "server": it cannot store anything now
    this.sending = null; // a promise while something is being sent
  }

  /** Read what the device kept, in place of what this page knows of it. */
  async load() {
    await this.sending;
    await Promise.all(this.items.map((item) => item.keeping));
    if (!this.keeping.isLasting) return;
    const kept = await this.keeping.all();
    if (this.keeping.isLasting) this.put(kept);
    this.onChange();
  }

  put(kept) {
    const waiting = kept.filter((item) => !item.refused);
    this.again = new Set(kept.filter((item) => item.refused).map((item) => item.place));
    const isFirst = (item) => this.again.has(item.place);
    this.items = [...waiting.filter(isFirst), ...waiting.filter((item) => !isFirst(item))];
  }

  get length() {
    return this.items.length;
  }

  get nAnswers() {
    return this.items.filter((item) => item.kind === "commit").length;
  }

  /** The places with an answer that the server does not have yet. */
  get committed() {
    return new Set(this.items.filter((item) => item.kind === "commit").map((item) => item.place));
  }

  has(kind, place) {
    return this.items.some((item) => item.kind === kind && item.place === place);
  }

  hasRemark(kind, place) {
    const isOfKind = ({ fields }) => fields.some(([name, value]) => name === "kind" && value === kind);
    return this.items.some((item) => item.kind === "remark" && item.place === place && isOfKind(item));
  }

  /** The newest answer that the server does not have yet: { id, isDeclined }, or undefined. */
  get lastAnswer() {
    const found = this.items.findLast((item) => item.kind === "commit");
    return found && { id: found.place, isDeclined: found.fields.some(([name]) => name === "declined") };
  }

  /** The newest choice of a case that the server does not have yet: its fields, or undefined. */
  choiceOf(place) {
    const found = this.items.findLast((item) => item.kind === "choice" && item.place === place);
    return found && Object.fromEntries(found.fields);
  }

  /** The newest thing of one of these kinds that the server does not have yet, or undefined. */
  newest(...kinds) {
    return this.items.findLast((item) => kinds.includes(item.kind));
  }

  add(item) {
    if (item.kind === "choice" || item.kind === "commit") this.dropChoices(item.place);
    const later = this.again.has(item.place) ? this.items.findIndex(({ place }) => !this.again.has(place)) : -1;
    this.items.splice(later < 0 ? this.items.length : later, 0, item);
    this.keep(item);
    this.onChange();
    this.send();
  }

  /** A newer choice, or the answer, says it all. */
  dropChoices(place) {
    const isOld = (item) => item.kind === "choice" && item.place === place && item !== this.underWay;
    for (const item of this.items.filter(isOld)) this.forget(item);
  }

  async keep(item) {
    const { kind, place, url, fields } = item;
    item.keeping = this.keeping.add({ kind, place, url, fields });
    item.number = await item.keeping;
    this.onChange();
  }

  async forget(item) {
    this.items = this.items.filter((other) => other !== item);
    const number = item.keeping ? await item.keeping : item.number;
    if (number !== null) await this.keeping.remove(number);
  }

  /** What was not sent yet is not asked for any more. */
  withdraw(kind, place) {
    for (const item of this.items.filter((one) => one.kind === kind && one.place === place)) this.forget(item);
  }

  hold() {
    this.isHeld = true;
  }

  release() {
    this.isHeld = false;
    this.send();
  }

  send() {
    if (this.sending || this.isHeld || !this.items.length) return;
    this.sending = this.sendAll().finally(() => {
      this.sending = null;
      this.onChange();
    });
  }

  async sendAll() {
    let attempt = 0;
    while (this.items.length && !this.isHeld) {
      const item = (this.underWay = this.items[0]);
      const { status, reply } = await this.server.ask(item.url, item.fields);
      const isLost = status === 409 && reply.reason === "not_the_writer";
      this.hear(status);
      if (isLost) this.hold();
      else if (isPassing(status, reply)) {
        item.isTried = true;
        this.onChange();
        await wait(PATIENCE[Math.min(attempt++, PATIENCE.length - 1)]);
        continue;
      } else await this.settle(item, status, reply);
      attempt = 0;
      if (isLost) this.onLost(reply);
    }
    this.underWay = null;
  }

  async settle(item, status, reply) {
    const isStored = status >= 200 && status < 300;
    const isLoose = item.kind === "commit" && !isStored && reply.reason !== "other_answer";
    if (isLoose) await this.putAside(item, status);
    else await this.forget(item);
    this.onChange();
    if (isStored) this.onStored(item, reply);
    else this.onRefused(item, status, reply);
  }

  /** An answer that the server does not take is not thrown away: it stays on the device, and is not sent again. */
  async putAside(item, status) {
    this.items = this.items.filter((other) => other !== item);
    this.again.add(item.place);
    const number = item.keeping ? await item.keeping : item.number;
    const { kind, place, url, fields } = item;
    if (number !== null) await this.keeping.put({ kind, place, url, fields, number, refused: status });
  }

  /** What the status of an answer says about the connection to the server. */
  hear(status) {
    const cut = status === 0 ? "line" : status >= 500 ? "server" : "";
    if (this.cut === cut) return;
    this.cut = cut;
    this.onChange();
  }

  get isCut() {
    return Boolean(this.cut);
  }
}
