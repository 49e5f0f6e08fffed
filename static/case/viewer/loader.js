// Images in memory: the case on screen and the next two (or as many as the page asks for), by address; the rest is let
// go. While the step to the next case is not confirmed, the case that may come back takes the place of the second.

import { decodeBody, fetchBody, LoadFailed } from "./payload.js";

const PREVIEW_AHEAD = 500; // ms that stored values wait for their preview, at most
const pause = () => new Promise((done) => setTimeout(done, PREVIEW_AHEAD));
const absolute = (address) => new URL(address, document.baseURI).href;

const WORKERS = 2;
const PREPARED = 2; // cases, unless the page asks for more
const MOST_AT_ONCE = 6; // what a browser fetches from one server at once
const AGAIN = [2_000, 4_000, 8_000]; // ms until an image that got no answer is asked for again, the last one repeated

/** "No answer" or "not now" rather than "no": worth asking again unprompted. */
const isPassing = ({ code, status }) => code === "offline" || status >= 500 || status === 429;

/** Fetches on the page, decodes in two workers. What is on screen goes before what is prepared. */
class DecodePool {
  constructor(workerUrl) {
    this.waiting = [];
    this.running = new Map();
    this.lastId = 0;
    this.workerUrl = workerUrl;
    this.workers = null; // until the first image is being fetched: starting them would delay the previews
    this.nextWorker = 0;
  }

  startWorkers() {
    this.workers ??= Array.from({ length: WORKERS }, () => this.newWorker(this.workerUrl));
  }

  newWorker(url) {
    const worker = new Worker(url, { type: "module" });
    worker.addEventListener("message", ({ data }) => this.settle(data.id, data));
    worker.addEventListener("error", () => this.withoutWorkers());
    return worker;
  }

  /** Resolves to { data, fit }; rejects with LoadFailed. `job.isUrgent()` may change while it waits. */
  start(job) {
    job.id = ++this.lastId;
    return new Promise((resolve, reject) => {
      Object.assign(job, { resolve, reject });
      this.waiting.push(job);
      this.pump();
    });
  }

  /** What is prepared waits until nothing of the case on screen is being fetched: a slow line is not shared. */
  pump() {
    while (this.waiting.length) {
      const urgent = this.waiting.findIndex((job) => job.isUrgent());
      if (urgent < 0 && [...this.running.values()].some((job) => job.isUrgent())) return;
      if (this.running.size >= (urgent < 0 ? WORKERS : MOST_AT_ONCE)) return;
      const [job] = this.waiting.splice(Math.max(0, urgent), 1);
      this.running.set(job.id, job);
      this.run(job);
    }
  }

  async run(job) {
    const { id, url, width, height, fit, padding } = job;
    job.controller = new AbortController();
    try {
      await job.afterPreview();
      if (!this.running.has(id)) return;
      this.startWorkers();
      const { onProgress } = job;
      const fetched = await fetchBody({ url, urgent: job.isUrgent(), size: 2 * width * height, onProgress }, job.controller.signal);
      const work = { id, width, height, fit, padding, ...fetched };
      if (this.workers.length) {
        job.inWorker = true;
        this.workers[this.nextWorker++ % this.workers.length].postMessage(work, [...new Set(work.parts.map((part) => part.buffer))]);
      } else this.settle(id, await decodeBody(work));
    } catch (error) {
      this.settle(id, { failed: error.code || "stopped", status: error.status });
    }
  }

  /** A worker that cannot start (old browser, blocked file) must not cost the image: decode on the page instead. */
  withoutWorkers() {
    if (!this.workers.length) return;
    for (const worker of this.workers) worker.terminate();
    this.workers = []; // and no new ones
    for (const job of this.running.values()) if (job.inWorker) this.run(job);
  }

  settle(id, { data, fit, failed, status }) {
    const job = this.running.get(id);
    if (!job) return;
    this.running.delete(id);
    if (failed) job.reject(new LoadFailed(failed, status));
    else job.resolve({ data, fit });
    this.pump();
  }

  stop({ id }) {
    this.waiting = this.waiting.filter((job) => job.id !== id);
    const job = this.running.get(id);
    this.running.delete(id);
    job?.controller.abort();
    this.pump();
  }

  destroy() {
    for (const worker of this.workers ?? []) worker.terminate();
    for (const job of this.running.values()) job.controller.abort();
    this.waiting = [];
    this.running.clear();
  }
}

/** One image: its preview, then its stored values; tells its listener about each and about failure. */
class Entry {
  constructor(view, { pool, previews }, fit, urgent) {
    this.view = view;
    this.pool = pool;
    this.previews = previews;
    this.fitSize = fit;
    this.urgent = urgent;
    this.preview = null;
    this.data = null;
    this.fit = null;
    this.failure = null;
    this.released = false;
    this.listeners = new Set();
    this.load();
  }

  /** From the beginning: a failure is forgotten. */
  load() {
    this.failure = null;
    this.attempts = 0;
    this.ask();
  }

  ask() {
    this.stopAsking();
    this.previewing = null;
    const { full, width, height, padding } = this.view;
    const [isUrgent, afterPreview] = [() => this.urgent, () => Promise.race([this.loadPreview(), pause()])];
    this.progress = null; // { loaded, total } in bytes on the line, while it comes
    const onProgress = (progress) => (this.progress = progress);
    this.job = { url: absolute(full), width, height, padding, fit: this.fitSize, isUrgent, afterPreview, onProgress };
    if (this.urgent) this.loadPreview();
    this.pool.start(this.job).then(
      ({ data, fit }) => {
        if (this.released) return;
        this.failure = null;
        this.data = data;
        this.fit = fit;
        this.preview?.close();
        this.preview = null;
        this.tell();
      },
      (failure) => {
        if (this.released) return;
        this.failure = failure;
        this.askLater();
        this.tell();
      },
    );
  }

  /** Where there was no answer: by itself, after a while or as soon as there is a connection; until then the failure stays. */
  askLater() {
    if (!this.failure || !isPassing(this.failure)) return;
    const ms = AGAIN[Math.min(this.attempts++, AGAIN.length - 1)];
    this.later = new AbortController();
    const timer = setTimeout(() => this.ask(), ms);
    this.later.signal.addEventListener("abort", () => clearTimeout(timer));
    addEventListener("online", () => this.ask(), { signal: this.later.signal });
  }

  stopAsking() {
    this.later?.abort();
    this.later = null;
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  /** The preview has the line and the processor to itself: the stored values follow when it is there. */
  loadPreview() {
    if (!this.previews || !this.view.preview || this.preview || this.data) return null;
    this.previewing ??= this.fetchPreview();
    return this.previewing;
  }

  async fetchPreview() {
    try {
      const source = await this.previewSource();
      if (!source || this.released || this.data) return;
      const bitmap = await createImageBitmap(source, { colorSpaceConversion: "none" });
      if (this.released || this.data) bitmap.close();
      else {
        this.preview = bitmap;
        this.tell();
      }
    } catch {
      // A preview is a courtesy: the full-depth image says what is wrong, if anything is.
    }
  }

  /** The picture of the first look where it is on the page already, else what the server answers. */
  async previewSource() {
    const url = absolute(this.view.preview);
    const first = [...document.querySelectorAll(".viewer-first img")].find((image) => image.src === url);
    if (first) return first.decode().then(() => first);
    const answer = await fetch(url, { credentials: "same-origin", priority: this.urgent ? "high" : "low" });
    return answer.ok ? answer.blob() : null;
  }

  release() {
    this.released = true;
    this.stopAsking();
    this.listeners.clear();
    this.pool.stop(this.job);
    this.preview?.close();
    this.preview = this.data = this.fit = null;
  }
}

const addresses = (views) => views.map((view) => view.full);
const isSame = (urls, others) => urls.join(" ") === others.join(" ");

/**
 * The cache. Entries are shared between cases that show the same image. `previews`: whether there is a first look;
 * `ahead`: how many cases are prepared.
 */
export class ImageCache {
  constructor(workerUrl, onRelease, { previews = true, ahead = PREPARED } = {}) {
    this.ahead = ahead;
    this.pool = new DecodePool(workerUrl);
    this.onRelease = onRelease;
    this.previews = previews;
    this.entries = new Map();
    this.current = [];
    this.former = []; // what was on screen before, until prepare() says that it does not come back
    this.prepared = [];
  }

  /** The entries of the case that is shown now. `isTurn`: the case before it may come back. */
  show(views, fitOf, isTurn = false) {
    this.former = isTurn ? this.current : [];
    this.current = addresses(views);
    this.prepared = this.prepared.filter((urls) => !isSame(urls, this.current)).slice(0, isTurn ? 1 : this.ahead);
    this.release();
    const entries = views.map((view) => this.entry(view, fitOf(view), true));
    for (const [url, entry] of this.entries) entry.urgent = this.current.includes(url);
    this.pool.pump();
    return entries;
  }

  /** These cases come next, in this order; every other is let go. */
  prepare(cases, fitOf) {
    const next = cases.slice(0, this.ahead);
    this.former = [];
    this.prepared = next.map(addresses);
    this.release();
    for (const views of next) {
      const fit = fitOf(views);
      for (const view of views) this.entry(view, fit(view), false);
    }
  }

  entry(view, fit, urgent) {
    let entry = this.entries.get(view.full);
    if (!entry) {
      entry = new Entry(view, this, fit, urgent);
      this.entries.set(view.full, entry);
      return entry;
    }
    if (urgent) {
      entry.urgent = true;
      if (entry.failure) entry.load();
      else entry.loadPreview();
    }
    return entry;
  }

  release() {
    const kept = new Set([...this.current, ...this.former, ...this.prepared.flat()]);
    for (const [url, entry] of this.entries) {
      if (kept.has(url)) continue;
      this.entries.delete(url);
      this.onRelease(entry);
      entry.release();
    }
  }

  destroy() {
    this.current = [];
    this.prepare([]);
    this.pool.destroy();
  }
}
