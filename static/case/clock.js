// The clock of a case: what was on screen and when, as events that the server stores; it never computes a duration.
//
//   const clock = new Clock();                     // one for each page
//   clock.begin(assignmentId, eventsUrl);          // the case that is on the page now; the same case again is no event
//   clock.mark("painted", { views: [publicId] });  // after the frame that shows all of them at full depth
//   clock.mark("selected", { option: "B" });       // a choice; "changed": any other change of the form, { field }
//   clock.mark("tool", { tool: "zoom" });          // counted, sent with the next heartbeat
//   clock.mark("submitted", { step: "blind" });    // or "judge"; just before the fields of that POST are taken
//   const fields = clock.fields();                 // [["page", id], ["events", json]] for any POST of this case
//   clock.fieldsOf(event);                         // of one event, which mark() gave back: it stays here all the same
//   clock.acknowledged(fields);                    // that POST succeeded; without an argument: the fields taken last
//   clock.blank(true);                             // the page covers the case, until blank(false)
//   clock.stop();
//
// Visibility, focus, the heartbeat, quiet, sleep and a translated page are the clock's own. Events stay here and in this tab's storage until the
// server has them; sending one twice does no harm, because page and sequence name it.

import { request } from "./sending.js";
import { Wording } from "./wording.js";

const HEARTBEAT_MS = 5_000;
const QUIET_MS = 60_000;
const TICK_MS = 200;
const STILL_MS = 2_000; // ten ticks left out: the device slept, or the page stood still
const BEATS_PER_POST = 3; // a request of its own every 15 s at most
const CHANGE_MS = 1_000; // typing is one change in this time
const MOST_EVENTS = 1_000; // in one request
const MOST_KEEPALIVE = 60_000; // characters; browsers refuse more than 64 kB while a page goes
const PLACE = "case-clock"; // where reviews keep theirs
const INPUT = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];

/** A random name in the form of a UUID; randomUUID() is missing where a page came without https. */
export function randomName() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export class Clock {
  /**
   * `post(url, body, options)` in place of the plain request; a status that passes, such as 503, says "not now".
   * `place`: the name under which events are kept. `storage`: for tests, in place of sessionStorage. `refused(answer)`:
   * the server takes nothing more of the case that is on the page.
   */
  constructor({ post = request, place = PLACE, storage, refused } = {}) {
    this.place = place;
    this.refused = refused;
    this.page = randomName();
    this.sequence = 0;
    this.post = post;
    this.storage = storage;
    this.cases = new Map(); // assignment -> what this page knows of it; several once the page turns
    this.left = this.kept(); // batches of an earlier load of this tab that the server never acknowledged
    this.current = null;
    this.handed = new WeakMap();
    this.beats = 0;
    this.alive = performance.now();
    this.wording = new Wording(() => this.mark("translated"));
    this.listen();
    if (this.left.length) this.sendAll();
  }

  // What the page says. ----------------------------------------------------------------------------

  begin(assignment, url) {
    if (this.current?.assignment === assignment) {
      this.current.url = url;
      this.wording.begin();
      return;
    }
    this.leave();
    const known = this.cases.get(assignment);
    const now = known ?? { assignment, url, page: this.page, events: [], hidden: false, blurred: false };
    now.url = url;
    this.cases.set(assignment, now);
    this.current = now;
    this.input = performance.now();
    this.isQuiet = false;
    if (known) this.mark("resumed");
    this.wording.begin();
    this.tellState();
    this.mark("heartbeat");
    this.tellLoad();
  }

  /** The server's receipt of the first events says when this load began: they go out at once, once. */
  tellLoad() {
    if (!this.isHeard && this.current) this.sendAll();
  }

  /** The event; null for none: no case is on the page, tools are only counted, a change goes with the one before. */
  mark(kind, details) {
    if (!this.current) return null;
    if (kind === "submitted") this.writeTools();
    if (kind === "tool") {
      const tools = (this.current.tools ??= {});
      tools[details.tool] = (tools[details.tool] ?? 0) + 1;
      return null;
    }
    return kind !== "changed" || this.isNewChange(details) ? this.write(kind, details) : null;
  }

  /** What an earlier load of the page could not send of this case, as fields for POSTs that whoever asks now sends. */
  takeLeft(assignment) {
    const mine = this.left.filter((batch) => batch.assignment === assignment);
    this.left = this.left.filter((batch) => !mine.includes(batch));
    this.keep();
    return mine.map(({ page, events }) => [["page", page], ["events", JSON.stringify(bounded(events))]]);
  }

  fields() {
    if (!this.current) return [];
    this.writeTools();
    const events = bounded(this.current.events);
    const fields = [["page", this.page], ["events", JSON.stringify(events)]];
    this.handed.set(fields, { of: this.current, events });
    this.lastHanded = fields;
    return fields;
  }

  fieldsOf(event) {
    return [["page", this.page], ["events", JSON.stringify([event])]];
  }

  acknowledged(fields = this.lastHanded) {
    const handed = this.handed.get(fields);
    if (!handed) return;
    this.forget(handed.of, handed.events);
  }

  /** The page goes away: hand over what the server does not have; what gets lost is sent by the next load. */
  flush() {
    if (this.current && !this.current.hidden) {
      this.current.hidden = true;
      this.write("hidden");
    }
    for (const batch of this.batches()) {
      let { events } = batch;
      while (JSON.stringify(events).length > MOST_KEEPALIVE) events = events.slice(0, Math.floor(events.length / 2));
      this.post(batch.url, bodyOf(batch.page, events), { keepalive: true }).catch(() => {});
    }
  }

  stop() {
    this.abort.abort();
    clearInterval(this.timer);
    clearInterval(this.ticking);
    this.current = null;
  }

  /** The page shows nothing of the case, or shows it again: for the clock that is as hidden as behind another tab. */
  blank(on) {
    this.isBlank = on;
    this.tellState();
  }

  // What the clock sees by itself. -------------------------------------------------------------------

  listen() {
    this.abort = new AbortController();
    const { signal } = this.abort;
    document.addEventListener("visibilitychange", () => this.tellState(), { signal });
    addEventListener("blur", () => this.tellState(), { signal });
    addEventListener("focus", () => this.tellState(), { signal });
    addEventListener("pagehide", () => this.flush(), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.tellState(), { signal });
    const onInput = () => {
      this.input = performance.now();
      this.isQuiet = false;
    };
    for (const name of INPUT) addEventListener(name, onInput, { signal, capture: true, passive: true });
    this.timer = setInterval(() => this.beat(), HEARTBEAT_MS);
    this.ticking = setInterval(() => this.tick(), TICK_MS);
  }

  /** Say what changed in visibility and focus since this case was last reported. */
  tellState() {
    const { current } = this;
    if (!current) return;
    const hidden = document.hidden || Boolean(this.isBlank);
    if (hidden !== current.hidden) {
      current.hidden = hidden;
      this.write(current.hidden ? "hidden" : "visible");
    }
    if (document.hasFocus() === current.blurred) {
      current.blurred = !current.blurred;
      this.write(current.blurred ? "blurred" : "focused");
    }
  }

  /** Say from when to when the page stood still; a hidden one is slowed down by the browser and says nothing. */
  tick() {
    const { current, alive } = this;
    this.alive = performance.now();
    const still = this.alive - alive;
    if (!current || current.hidden || still < STILL_MS) return;
    this.push("asleep", alive, Date.now() - still);
    this.push("awake", this.alive, Date.now());
    this.keep();
  }

  beat() {
    if (this.current && !document.hidden) {
      this.writeTools();
      this.write("heartbeat");
      if (!this.isQuiet && performance.now() - this.input >= QUIET_MS) {
        this.isQuiet = true;
        this.write("quiet");
      }
    }
    this.beats += 1;
    if (this.beats % BEATS_PER_POST === 0) this.sendAll();
  }

  /** Another case comes on the page. Where the server has everything, "resumed" alone will say that it was away. */
  leave() {
    if (this.current?.events.length) {
      this.writeTools();
      this.write("paused", { left: true });
    }
    this.current = null;
  }

  /** The server takes nothing more of the case on the page. */
  end() {
    if (this.current) this.cases.delete(this.current.assignment);
    this.current = null;
    this.keep();
  }

  isNewChange(details) {
    const { current } = this;
    const change = JSON.stringify(details ?? {});
    const now = performance.now();
    if (current.change === change && now - current.changedAt < CHANGE_MS) return false;
    Object.assign(current, { change, changedAt: now });
    return true;
  }

  writeTools() {
    const { tools } = this.current;
    if (!tools) return;
    this.current.tools = null;
    this.write("tool", tools);
  }

  write(kind, details) {
    this.tick();
    const event = this.push(kind, this.alive, Date.now());
    if (details) event.details = details;
    this.keep();
    return event;
  }

  push(kind, client_ms, wall_ms) {
    const event = { sequence: this.sequence++, kind, client_ms, wall_ms };
    this.current.events.push(event);
    return event;
  }

  // Until the server has it. ------------------------------------------------------------------------

  batches() {
    return [...this.left, ...this.cases.values()].filter((batch) => batch.events.length);
  }

  async sendAll() {
    if (this.sending) return;
    this.sending = true;
    try {
      for (const batch of this.batches()) await this.send(batch);
    } finally {
      this.sending = false;
    }
  }

  async send(batch) {
    const events = bounded(batch.events);
    const answer = await this.post(batch.url, bodyOf(batch.page, events)).catch(() => null);
    if (!answer || isPassing(answer.status)) return;
    if (answer.status === 422 && batch === this.current) return; // unreadable: the step will keep what can be read of it
    this.forget(batch, events); // stored, or refused for good: the round is closed, the case is somebody else's
    if (!answer.ok && batch.assignment === this.current?.assignment) this.refused?.(answer);
  }

  forget(batch, events) {
    this.isHeard ||= batch.page === this.page;
    const sent = new Set(events.map((event) => event.sequence));
    batch.events = batch.events.filter((event) => !sent.has(event.sequence));
    this.left = this.left.filter((old) => old.events.length);
    this.keep();
  }

  keep() {
    const batches = this.batches().map(({ assignment, url, page, events }) => ({ assignment, url, page, events }));
    try {
      const storage = this.storage ?? sessionStorage;
      if (batches.length) storage.setItem(this.place, JSON.stringify(batches));
      else storage.removeItem(this.place);
    } catch {
      // A browser without storage, or with a full one, keeps the events on the page only.
    }
  }

  kept() {
    try {
      return JSON.parse((this.storage ?? sessionStorage).getItem(this.place)) ?? [];
    } catch {
      return [];
    }
  }
}

/** As many as one request may carry: everything but heartbeats first, then the oldest heartbeats. */
function bounded(events) {
  if (events.length <= MOST_EVENTS) return [...events];
  const others = events.filter((event) => event.kind !== "heartbeat").slice(-MOST_EVENTS);
  const beats = events.filter((event) => event.kind === "heartbeat").slice(0, MOST_EVENTS - others.length);
  return [...others, ...beats];
}

function bodyOf(page, events) {
  return new URLSearchParams([["page", page], ["events", JSON.stringify(events)]]);
}

/** "Not now" rather than "no": kept and sent again. */
const isPassing = (status) => status >= 500 || [401, 403, 408, 429].includes(status);
