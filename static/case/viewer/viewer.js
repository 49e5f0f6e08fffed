// The viewer: 16-bit radiographs side by side. See docs/decisions/0006-own-viewer.md for why it is our own.
//
//   const viewer = mountViewer(element, { views, onPainted(index, level), onReady(info), onError(index, message) });
//   viewer.prepare(nextViews, thoseAfter); viewer.isReady(nextViews); viewer.show(nextViews);
//   viewer.state(); viewer.missing(); viewer.destroy();
//   const state = viewer.state(); viewer.show(views, state); // a case as it was left

import { Arrangement } from "./arranging.js";
import { actOfKey, buildToolbar, LENS_KEY, TEXT, toolOf } from "./controls.js";
import { Canvas2D } from "./canvas2d.js";
import { leastWidth, scannerWindows } from "./grey.js";
import { filmHeight, fitZoom, hangingOrder, isFrontal, placesOf, scaledSize, wholePixels } from "./hanging.js";
import { Lens } from "./lens.js";
import { ImageCache } from "./loader.js";
import { Pane } from "./pane.js";
import { addFigures, buildSettings, placePanel, prefer, preferences } from "./preferences.js";
import { afterNextFrame, afterThisFrame, Readiness } from "./readiness.js";

export { TEXT } from "./controls.js";

const PAN = 0.06; // of the width of a view, with each press of an arrow
const LEVEL = 15; // as far as the pointer would be dragged, in CSS pixels

class Viewer {
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.text = { ...TEXT, ...document.getElementById("viewer-words")?.dataset, ...options.text };
    this.hidden = new Set(options.hidden); // tools that this round does without
    this.preferences = preferences();
    placePanel(this.preferences);
    this.primary = (options.primary ?? this.preferences.drag) === "window" || !this.can("zoom") ? "window" : "pan";
    this.panes = [];
    this.hung = []; // panes of this case, in hanging order
    this.active = null;
    this.linked = false;
    this.tool = null; // "line" or "ratio" while the left button draws
    this.arrangement = new Arrangement(this);
    this.dirty = new Set();
    this.lens = new Lens();
    this.pointed = null; // { pane, point } under the pointer
    this.caseNumber = 0;
    root.classList.add("viewer");
    this.stage = document.createElement("div");
    this.stage.className = "viewer-stage";
    this.toolbar = buildToolbar(this.text, (...act) => this.act(...act), (tool) => this.can(tool));
    this.firstLook = root.querySelector(".viewer-first"); // see first.js
    const names = ["drag", "lateral", "opening", "panel"].filter((name) => this.mayChoose(name));
    this.settings = buildSettings(this.text, this.preferences, names, (...choice) => this.choose(...choice));
    if (this.can("window")) addFigures(this.settings, this.text, (...typed) => this.type(...typed));
    root.replaceChildren(this.stage, this.toolbar.node, this.settings, ...(this.firstLook ? [this.firstLook] : []));
    const workerUrl = options.worker ?? root.dataset.worker ?? new URL("./worker.js", import.meta.url);
    this.cache = new ImageCache(workerUrl, (entry) => this.backend.release(entry), options);
    const onPainted = (index, level) => {
      options.onPainted?.(index, level);
      this.afterFirstCase();
    };
    this.readiness = new Readiness({ ...options, onPainted });
    this.chooseBackend();
    this.listen();
    this.show(options.views ?? []);
  }

  // How to paint. ----------------------------------------------------------------------------

  /** Asked for by option or by ?viewer=; otherwise Canvas2D, and WebGL2 if a real GPU is found after the first case. */
  chooseBackend() {
    const asked = this.options.backend ?? new URLSearchParams(location.search).get("viewer");
    this.useBackend(new Canvas2D());
    if (asked === "webgl2") this.tryWebGL2(() => true);
    this.lookForProcessor = !["canvas2d", "webgl2"].includes(asked);
  }

  /** Canvas2D goes on where this fails: the picture is the same. */
  async tryWebGL2(isWanted) {
    try {
      const module = await import("./webgl2.js");
      if (this.destroyed || !isWanted(module)) return;
      const backend = new module.WebGL2(this.backend);
      backend.canvas.addEventListener("webglcontextlost", () => this.useBackend(backend.fallback));
      this.useBackend(backend);
    } catch (error) {
      console.warn("viewer: WebGL2 is not used:", error.message);
    }
  }

  useBackend(backend) {
    if (this.destroyed) return;
    this.backend = backend;
    this.root.dataset.viewerBackend = backend.name;
    for (const pane of this.panes) pane.renewContext();
    for (const pane of this.hung) this.dirty.add(pane);
    this.paint();
  }

  // Cases. -----------------------------------------------------------------------------------------

  /**
   * Put a case on screen: all its views, each as state() says that it was left. Prepared images are painted at once,
   * others as they come.
   */
  show(views, state = {}, isTurn = false) {
    this.caseNumber++;
    this.views = views;
    this.lens.hide();
    this.arrangement.begin();
    this.tool = null;
    const order = hangingOrder(views);
    while (this.panes.length < views.length) this.panes.push(new Pane(this.stage, this));
    const entries = this.cache.show(views, this.fitOf(views), isTurn);
    this.hung = order.map((index, place) => {
      const pane = this.panes[place];
      pane.entry?.listeners.delete(pane.listener);
      pane.hang(views[index], entries[index], index, state.views?.[index]);
      const { caseNumber } = this;
      pane.listener = () => caseNumber === this.caseNumber && this.schedule(pane);
      entries[index].listeners.add(pane.listener);
      return pane;
    });
    for (const pane of this.panes.slice(views.length)) {
      pane.entry?.listeners.delete(pane.listener);
      pane.clear();
    }
    this.readiness.begin(this.hung, this.options.veiled);
    this.activate(this.hung[0] ?? null);
    this.layOut();
  }

  /**
   * Show the case that most likely comes next before that is sure. The case on screen stays in memory until prepare();
   * what is returned brings it back as it was left.
   */
  turnTo(views) {
    const { views: former, readiness } = this;
    const [state, { unreadable }] = [this.state(), readiness];
    this.show(views, undefined, true);
    return () => {
      this.show(former, state, true);
      for (const pane of this.hung) if (unreadable.has(pane.index)) readiness.setUnreadable(pane, true);
    };
  }

  /** Fetch and decode the next cases ahead of need, in this order; all others but the one on screen are let go. */
  prepare(...cases) {
    this.cache.prepare(cases, (views) => this.fitOf(views));
  }

  /** Whether all images of a case are in memory at full depth, so that show() paints them at once. */
  isReady(views) {
    return views.every((view) => this.cache.entries.get(view.full)?.data);
  }

  /** How many bytes of the images that still load have come, and of how many; null where none is. */
  progress() {
    const all = this.hung.filter(({ entry }) => !entry.data && !entry.failure).map(({ entry }) => entry.progress);
    if (!all.length || all.includes(null)) return null;
    const sum = (name) => all.reduce((n, one) => n + one[name], 0);
    return { loaded: sum("loaded"), total: sum("total") };
  }

  /**
   * The state of the case, small and plain: `views` in the order given to show(), each with window, zoom (null: fit),
   * center, invert, flip and measures; views at a time (0: all), the active one, what is linked, hidden and on top, and
   * the browser's window in CSS pixels with its pixel ratio. Whoever put the prior exam away finds prior: "away".
   */
  state() {
    const views = [];
    for (const pane of this.hung) views[pane.index] = structuredClone(pane.state);
    const { linked, hidden, active } = this;
    const { chosen: layout, wide, isPriorAway } = this.arrangement;
    const browser = { width: innerWidth, height: innerHeight, ratio: devicePixelRatio };
    return { views, layout, active: active?.index ?? null, linked, wide, hidden: [...hidden], browser, ...(isPriorAway && { prior: "away" }) };
  }

  destroy() {
    this.caseNumber++;
    this.destroyed = true;
    this.arrangement.setWide(false);
    this.abort.abort();
    this.observer.disconnect();
    this.cache.destroy();
    this.backend.destroy();
    for (const pane of this.panes) pane.clear();
    this.panes = this.hung = [];
    this.readiness.begin(this.hung);
    this.root.replaceChildren();
    this.root.classList.remove("viewer");
    delete this.root.dataset.viewerBackend;
  }

  // An image that did not come. ----------------------------------------------------------------------

  /** The failed view that a key means: the active one, else the first that is not marked yet. */
  failing() {
    const failed = this.hung.filter((pane) => pane.entry.failure);
    if (failed.includes(this.active)) return this.active;
    return failed.find((pane) => !this.isUnreadable(pane)) ?? failed[0];
  }

  retry(pane) {
    this.readiness.setUnreadable(pane, false);
    pane.entry.load();
    pane.reported.failure = null;
    this.schedule(pane);
    pane.surface.focus();
  }

  isUnreadable(pane) {
    return this.readiness.unreadable.has(pane.index);
  }

  toggleUnreadable(pane) {
    const isMarked = !this.isUnreadable(pane);
    this.readiness.setUnreadable(pane, isMarked);
    if (isMarked) pane.entry.stopAsking();
    else pane.entry.askLater();
    pane.writeTags();
  }

  // Layout. ----------------------------------------------------------------------------------------

  measure() {
    return wholePixels(this.stage.getBoundingClientRect(), window.devicePixelRatio || 1);
  }

  /** How large each image of a case will hang, so that the worker can scale it ahead. */
  fitOf(views) {
    const space = this.measure();
    const order = hangingOrder(views);
    const places = placesOf(views, order, space, this.preferences.lateral);
    return (view) => {
      const [, , w, h] = places[order.indexOf(views.indexOf(view))];
      return scaledSize(view, fitZoom(view, w, filmHeight(w, h, space.ratio)));
    };
  }

  layOutIfChanged() {
    if (JSON.stringify(this.measure()) !== this.measured) this.layOut();
  }

  layOut() {
    const measured = this.measure();
    this.measured = JSON.stringify(measured);
    const { ratio, offset } = measured;
    const shown = this.arrangement.onScreen();
    const order = shown.map((_, i) => i);
    const places = placesOf(shown.map((pane) => pane.view), order, measured, this.preferences.lateral);
    for (const pane of this.panes) pane.box.hidden = !shown.includes(pane);
    shown.forEach((pane, i) => {
      const [x, y, w, h] = places[i];
      pane.place([x + offset[0], y + offset[1], w, h], ratio);
      this.dirty.add(pane);
    });
    this.paint();
  }

  // Painting. --------------------------------------------------------------------------------------

  schedule(pane) {
    this.dirty.add(pane);
    this.frame ??= requestAnimationFrame(() => this.paint(afterThisFrame));
  }

  paint(after = afterNextFrame) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    for (const pane of this.dirty) {
      if (!pane.entry) continue;
      if (!pane.box.hidden) this.readiness.drawn(pane, pane.paint());
      this.tellFailure(pane);
    }
    this.dirty.clear();
    if (this.hung.every(({ level, entry }) => level !== "none" || entry.failure)) this.endFirstLook();
    this.updateToolbar();
    this.readiness.drew(after);
  }

  endFirstLook() {
    this.firstLook?.remove();
    this.firstLook = null;
  }

  /** Looking for a graphics processor takes time that the first case must not lose. */
  afterFirstCase() {
    if (!this.lookForProcessor || this.hung.some((pane) => pane.reported.level !== "full")) return;
    this.lookForProcessor = false;
    this.tryWebGL2((module) => module.hasGraphicsProcessor());
  }

  tellFailure(pane) {
    const { failure } = pane.entry;
    if (!failure || failure === pane.reported.failure) return;
    pane.reported.failure = failure;
    this.options.onError?.(pane.index, pane.failureText());
  }

  updateToolbar() {
    const pane = this.active;
    const scanner = Boolean(pane?.view) && scannerWindows(pane.view).length > 0;
    const { primary, tool, linked } = this;
    const { wide, n, from, isPart, perPage, hasPrior, isPriorAway } = this.arrangement;
    const to = isPart ? from + perPage : n;
    const settings = !this.settings.hidden;
    this.toolbar.update({ lens: this.lens.isOn, pane, primary, tool, linked, from, to, n, wide, scanner, settings, hasPrior, isPriorAway });
  }

  // Acts: what keys and buttons do. ----------------------------------------------------------------

  activate(pane) {
    this.active = pane;
    if (this.tool) for (const other of this.hung) other.writeTags();
    for (const other of this.panes) other.box.classList.toggle("viewer-on", other === pane && this.hung.length > 1);
    this.updateToolbar();
  }

  can(tool) {
    return !this.hidden.has(tool);
  }

  /** The views that one act changes. */
  together(pane) {
    return this.linked && this.can("link") ? this.hung : [pane];
  }

  act(name, argument) {
    const pane = this.active;
    if (!pane?.view || !this.can(toolOf(name))) return;
    const { arrangement } = this;
    const each = (change) => this.together(pane).forEach(change);
    const acts = {
      again: () => this.retry(this.failing()),
      unreadable: () => this.toggleUnreadable(this.failing()),
      range: () => each((one) => one.setRange(argument)),
      scanner: () => each((one) => one.nextScannerWindow()),
      invert: () => this.invert(!pane.state.invert),
      flip: () => pane.change({ flip: !pane.state.flip }),
      turn: () => pane.turn(),
      fit: () => each((one) => one.fit()),
      actual: () => each((one) => one.zoomTo(1, ...(this.pointed?.pane === pane ? this.pointed.point : []))),
      pan: () => each((one) => one.pan(one.state, ...argument.map((v) => v * PAN * one.canvas.width))),
      level: () => each((one) => one.dragWindow(one.state, ...argument.map((v) => v * LEVEL))),
      lens: () => this.magnify(),
      magnify: () => (this.lens.isOn ? this.lens.hide() : this.magnify()),
      view: () => arrangement.goTo(argument),
      zoom: () => each((one) => one.zoomBy(argument)),
      reset: () => this.reset(),
      settings: () => this.openSettings(this.settings.hidden),
      link: () => this.link(!this.linked),
      line: () => this.takeTool("line"),
      ratio: () => this.takeTool("ratio"),
      remove: () => pane.overlay.remove(),
      maximise: () => arrangement.toggleAlone(pane),
      layout: () => arrangement.step(),
      page: () => arrangement.turnPage(argument),
      prior: () => arrangement.togglePrior(),
      wide: () => arrangement.toggleWide(!arrangement.wide),
      leave: () => this.leave(),
      move: () => arrangement.move(argument),
      drag: () => {
        this.choose("drag", this.primary === "pan" ? "window" : "pan");
      },
    };
    acts[name]();
    this.updateToolbar();
    this.tellTool(toolOf(name));
  }

  tellTool(name) {
    this.options.onTool?.(name);
  }

  invert(on) {
    for (const pane of this.hung) pane.change({ invert: on });
  }

  /** All views as they came, all of them on screen; what was measured stays, which Delete removes. */
  reset() {
    for (const pane of this.hung) pane.reset();
    this.link(false);
    if (this.tool) this.takeTool(this.tool);
    if (this.arrangement.isPriorAway) this.arrangement.togglePrior();
    if (this.arrangement.isPart && !this.arrangement.wide) this.arrangement.set(0);
  }

  /** Under the pointer, or in the middle of the active view, until the key is let go. */
  magnify() {
    const { pane, point } = this.pointed ?? { pane: this.active, point: [this.active.canvas.width / 2, this.active.canvas.height / 2] };
    const backend = this.backend.fallback ?? this.backend;
    this.lens.show(pane, point, (lens) => backend.paint(lens));
  }

  pointAt(pane, point) {
    this.pointed = pane?.view ? { pane, point } : null;
    if (this.lens.isOn && this.pointed) this.magnify();
  }

  // What this browser remembers. ---------------------------------------------------------------------

  mayChoose(name) {
    if (name === "drag") return this.can("window") && this.can("zoom");
    if (name === "panel") return Boolean(document.querySelector(".case-panel"));
    return name !== "opening" || this.can("presets");
  }

  choose(name, value) {
    this.preferences = { ...this.preferences, [name]: value };
    prefer(name, value);
    if (name === "drag") this.primary = value;
    placePanel(this.preferences);
    this.layOut();
  }

  openSettings(on) {
    this.settings.hidden = !on;
    const { window } = this.active?.state ?? {};
    for (const input of this.settings.querySelectorAll("input")) input.value = window ? Math.round(window[input.name] * 100) / 100 : "";
    this.updateToolbar();
    if (on) this.settings.querySelector("select")?.focus();
    else this.toolbar.node.querySelector(".viewer-button-settings").focus();
  }

  /** Level or width, typed. */
  type(name, value) {
    if (!this.active?.view || !Number.isFinite(value)) return;
    for (const one of this.together(this.active)) {
      const { window } = one.state;
      one.change({ window: { ...window, [name]: name === "width" ? Math.max(value, leastWidth(window)) : value, source: "typed" } });
    }
    this.tellTool("window");
  }

  /** From now on; nothing jumps when it is turned on. */
  link(on) {
    if (this.hung.length > 1) this.linked = on;
    this.updateToolbar();
  }

  /** The same tool again puts it away. */
  takeTool(tool) {
    this.tool = this.tool === tool ? null : tool;
    for (const pane of this.hung) pane.writeTags();
    this.updateToolbar();
  }

  isAnythingToLeave() {
    return Boolean(this.tool || this.arrangement.wide || this.arrangement.isPart);
  }

  /** One thing at a time: the tool in hand, full screen, the views that are away. */
  leave() {
    if (this.tool) this.takeTool(this.tool);
    else if (this.arrangement.wide) this.arrangement.toggleWide(false);
    else this.arrangement.set(0);
  }

  /** Keys that have nothing to do here are left to the page. */
  isMine(name, argument) {
    const idle = {
      leave: !this.isAnythingToLeave(),
      again: !this.failing(),
      unreadable: !this.failing(),
      page: !this.arrangement.isPart,
      remove: !this.active?.state?.measures?.length,
      ratio: !this.active?.view || !isFrontal(this.active.view),
      view: !this.arrangement.list[argument],
      prior: !this.arrangement.hasPrior,
    };
    return this.hung.length > 0 && this.can(toolOf(name)) && !idle[name];
  }

  listen() {
    this.abort = new AbortController();
    const { signal } = this.abort;
    document.addEventListener("keydown", (event) => {
      const act = actOfKey(event, event.target.closest?.(".viewer-view") && this.root.contains(event.target));
      if (!act || !this.isMine(...act)) return;
      event.preventDefault();
      this.act(...act);
    }, { signal });
    document.addEventListener("keyup", (event) => event.code === LENS_KEY && this.lens.hide(), { signal });
    window.addEventListener("blur", () => this.lens.hide(), { signal });
    this.settings.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.openSettings(false);
    }, { signal });
    window.addEventListener("resize", () => this.layOutIfChanged(), { signal });
    this.observer = new ResizeObserver(() => this.layOutIfChanged());
    this.observer.observe(this.stage);
  }
}

/**
 * Mount a viewer in `root`. Options: views, hidden (names of tools), text, backend, primary, worker, previews
 * (false: never a first look), ahead (how many cases prepare() takes; two), veiled (true: the page shows nothing of a
 * case until it is whole), onPainted, onReady, onWhole, onUnreadable, onError, onTool(name).
 *
 * onReady({ at, views, unreadable }): all views of the case are on screen at full depth, in a frame that was handed to
 * the screen, but those of which the person says that they cannot be read; at is that moment on the page's clock, views
 * and unreadable are indices. A view that was painted counts when another one is maximised. onWhole(): all of them are
 * drawn behind the veil; unveil() in the callback of an animation frame makes that frame the one that onReady tells.
 *
 * Where static files have hashed names, the page gives the address of worker.js as data-worker of `root`.
 */
export function mountViewer(root, options = {}) {
  const viewer = new Viewer(root, options);
  return {
    show: (views, state) => viewer.show(views, state),
    turnTo: (views) => viewer.turnTo(views),
    prepare: (...cases) => viewer.prepare(...cases),
    isReady: (views) => viewer.isReady(views),
    isWhole: () => viewer.readiness.isWhole(),
    unveil: () => viewer.readiness.unveil(),
    missing: () => viewer.readiness.missing(),
    progress: () => viewer.progress(),
    kept: () => [...viewer.cache.entries.keys()],
    unreadable: () => [...viewer.readiness.unreadable],
    state: () => viewer.state(),
    destroy: () => viewer.destroy(),
  };
}
