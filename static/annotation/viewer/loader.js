// Images in memory: those of the case on screen and of the next two, by address; the rest is let go.

import { decodeBody, fetchBody, LoadFailed } from "./payload.js";

const absolute = (address) => new URL(address, document.baseURI).href;

const WORKERS = 2;
const MOST_AT_ONCE = 6; // what a browser fetches from one server at once

/** Fetches on the page, decodes in two workers. What is on screen goes before what is prepared. */
class DecodePool {
  constructor(workerUrl) {
    this.waiting = [];
    this.running = new Map();
    this.lastId = 0;
    this.workers = [];
    this.turn = 0;
    for (let i = 0; i < WORKERS; i++) this.workers.push(this.newWorker(workerUrl));
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

  pump() {
    while (this.waiting.length) {
      const urgent = this.waiting.findIndex((job) => job.isUrgent());
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
      const fetched = await fetchBody({ url, urgent: job.isUrgent() }, job.controller.signal);
      const work = { id, width, height, fit, padding, ...fetched };
      if (this.workers.length) {
        job.inWorker = true;
        this.workers[this.turn++ % this.workers.length].postMessage(work, [work.body]);
      } else this.settle(id, await decodeBody(work));
    } catch (error) {
      this.settle(id, { failed: error.code || "stopped", status: error.status });
    }
  }

  /** A worker that cannot start (old browser, blocked file) must not cost the image: decode on the page instead. */
  withoutWorkers() {
    if (!this.workers.length) return;
    for (const worker of this.workers) worker.terminate();
    this.workers = [];
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
    for (const worker of this.workers) worker.terminate();
    for (const job of this.running.values()) job.controller.abort();
    this.waiting = [];
    this.running.clear();
  }
}

/** One image: its preview, then its stored values; tells its listener about each and about failure. */
class Entry {
  constructor(view, pool, fit, urgent) {
    this.view = view;
    this.pool = pool;
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

  load() {
    this.failure = null;
    const { full, width, height, padding } = this.view;
    this.loadPreview();
    this.job = { url: absolute(full), width, height, padding, fit: this.fitSize, isUrgent: () => this.urgent };
    this.pool.start(this.job).then(
      ({ data, fit }) => {
        if (this.released) return;
        this.data = data;
        this.fit = fit;
        this.preview?.close();
        this.preview = null;
        this.tell();
      },
      (failure) => {
        if (this.released) return;
        this.failure = failure;
        this.tell();
      },
    );
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  async loadPreview() {
    if (!this.view.preview || this.preview) return;
    try {
      const answer = await fetch(absolute(this.view.preview), { credentials: "same-origin", priority: "high" });
      if (!answer.ok || this.released || this.data) return;
      const bitmap = await createImageBitmap(await answer.blob(), { colorSpaceConversion: "none" });
      if (this.released || this.data) bitmap.close();
      else {
        this.preview = bitmap;
        this.tell();
      }
    } catch {
      // A preview is a courtesy: the full-depth image says what is wrong, if anything is.
    }
  }

  release() {
    this.released = true;
    this.listeners.clear();
    this.pool.stop(this.job);
    this.preview?.close();
    this.preview = this.data = this.fit = null;
  }
}

/** The cache: `current` case and at most two prepared ones. Entries are shared between cases that show the same image. */
export class ImageCache {
  constructor(workerUrl, onRelease) {
    this.pool = new DecodePool(workerUrl);
    this.onRelease = onRelease;
    this.entries = new Map();
    this.current = [];
    this.prepared = [];
  }

  /** The entries of the case that is shown now. */
  show(views, fitOf) {
    this.current = views.map((view) => view.full);
    this.prepared = this.prepared.filter((urls) => urls.join(" ") !== this.current.join(" "));
    this.release();
    const entries = views.map((view) => this.entry(view, fitOf(view), true));
    for (const [url, entry] of this.entries) entry.urgent = this.current.includes(url);
    this.pool.pump();
    return entries;
  }

  prepare(views, fitOf) {
    const urls = views.map((view) => view.full);
    this.prepared = [...this.prepared.filter((other) => other.join(" ") !== urls.join(" ")), urls].slice(-2);
    this.release();
    for (const view of views) this.entry(view, fitOf(view), false);
  }

  entry(view, fit, urgent) {
    let entry = this.entries.get(view.full);
    if (!entry) {
      entry = new Entry(view, this.pool, fit, urgent);
      this.entries.set(view.full, entry);
    } else if (urgent && entry.failure) entry.load();
    if (urgent) entry.urgent = true;
    return entry;
  }

  release() {
    const kept = new Set([...this.current, ...this.prepared.flat()]);
    for (const [url, entry] of this.entries) {
      if (kept.has(url)) continue;
      this.entries.delete(url);
      this.onRelease(entry);
      entry.release();
    }
  }

  destroy() {
    this.current = [];
    this.prepared = [];
    this.release();
    this.pool.destroy();
  }
}
