// One view on screen: its elements, its state (window, zoom, pan, invert, flip), and the pointer.

import { buildTable, defaultWindow, PRESETS, leastWidth, presetsOf, rangeWindow, scannerIndex, scannerWindows } from "./grey.js";
import { filmHeight, fitZoom, isFrontal, placeOf, scaledSize } from "./hanging.js";
import { Overlay } from "./overlay.js";

const MOST_ZOOM = 16;
const AT_REST = 150; // ms without movement
const SHORT = 700; // CSS pixels: narrower places have shorter words
const WORDS = ["position", "badge", "hint", "notes", "caption", "window", "zoom"]; // below the film, in this order

function element(name, className, parent, attributes = {}) {
  const node = document.createElement(name);
  node.className = className;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent.append(node);
  return node;
}

export class Pane {
  /**
   * `viewer` gives: text, backend, primary, preferences, tool, active, arrangement, can(tool), act(name), schedule(pane),
   * pointAt(pane, point),
   * activate(pane), together(pane), retry(pane), isUnreadable(pane), toggleUnreadable(pane), tellTool(name).
   */
  constructor(stage, viewer) {
    this.viewer = viewer;
    this.box = element("div", "viewer-pane", stage);
    this.surface = element("div", "viewer-view", this.box, { role: "img", tabindex: "0" });
    this.canvas = element("canvas", "viewer-canvas", this.surface);
    this.renewContext(false);
    this.overlay = new Overlay(this);
    this.tags = {};
    this.strip = element("div", "viewer-strip", this.box);
    for (const name of WORDS) this.tags[name] = element("div", `viewer-tag viewer-tag-${name}`, this.strip);
    this.tags.hint.setAttribute("role", "status");
    this.error = element("div", "viewer-error", this.box, { role: "status" });
    this.errorText = element("p", "", this.error);
    this.again = element("button", "viewer-button", this.error, { type: "button" });
    this.again.textContent = viewer.text.again;
    this.again.addEventListener("click", () => viewer.retry(this));
    this.unreadable = element("button", "viewer-button", this.error, { type: "button" });
    this.unreadable.addEventListener("click", () => {
      viewer.toggleUnreadable(this);
      this.surface.focus(); // the next Enter is for the answer
    });
    this.listen();
  }

  /** Canvas2D wants its canvas in main memory, WebGL2 wants it on the graphics processor: never both on one canvas. */
  renewContext(anew = true) {
    if (anew) {
      const canvas = this.canvas.cloneNode();
      this.canvas.replaceWith(canvas);
      this.canvas = canvas;
    }
    const willReadFrequently = this.viewer.backend.name === "canvas2d";
    this.context = this.canvas.getContext("2d", { alpha: false, willReadFrequently });
  }

  /** Hang an image here. `state` restores what an earlier state() gave. */
  hang(view, entry, index, state) {
    this.unturn();
    this.view = view;
    this.entry = entry;
    this.index = index;
    this.level = "none";
    this.kept = this.table = null;
    this.careful = 0;
    this.stopMoving();
    this.overlay.chosen = null;
    this.state = { measures: [] };
    this.rest();
    this.opening = state ? "own" : this.viewer.preferences.opening;
    if (state) Object.assign(this.state, structuredClone(state));
  }

  /** The tool in hand, where it means anything. */
  get tool() {
    const { tool } = this.viewer;
    return tool === "ratio" && !isFrontal(this.view) ? null : tool;
  }

  /** With the preset that this browser remembers, as soon as it can be measured; later windows stand. */
  open() {
    const { opening } = this;
    this.opening = "own";
    if (opening !== "own" && this.viewer.can("presets") && this.offers(opening)) this.state.window = this.presetOf(opening);
  }

  /** Back to how the case opened; what was measured stays. */
  rest() {
    const { measures } = this.state;
    this.state = { window: defaultWindow(this.view), zoom: null, center: [0.5, 0.5], invert: false, flip: false, turns: 0, measures };
  }

  /** A quarter clockwise, as it is seen: the image itself is laid anew, and everything else goes by it as by any other. */
  turn(quarters = this.state.flip ? 3 : 1) {
    if (!this.entry.data) return;
    for (let n = 0; n < quarters; n++) {
      const { center, measures, zoom } = this.state;
      if (zoom !== null) this.state.zoom = zoom * (this.view.aspect || 1); // of the columns that were rows
      this.state.center = [1 - center[1], center[0]];
      this.state.measures = measures.map((one) => ({ ...one, ends: one.ends.map(([x, y]) => [this.view.height - y, x]) }));
      this.lay();
    }
    this.state.turns = (this.state.turns + quarters) % 4;
    this.viewer.layOut();
  }

  /** The view and its stored values a quarter further. */
  lay() {
    const { view, entry } = this;
    const [spacing, own] = [view.spacing && [...view.spacing].reverse(), this.original ?? { view, entry }];
    this.viewer.backend.release(entry);
    this.view = { ...view, width: view.height, height: view.width, aspect: 1 / (view.aspect || 1), spacing };
    this.entry = Object.assign(Object.create(own.entry), { data: quarterTurned(entry.data, view), fit: null });
    this.original = own;
    this.kept = this.table = null;
  }

  /** As it came. */
  unturn() {
    if (!this.original) return;
    this.viewer.backend.release(this.entry);
    Object.assign(this, this.original, { original: null, kept: null, table: null });
  }

  clear() {
    this.stopMoving();
    this.view = this.entry = this.kept = this.table = this.image = null;
    this.level = "none";
    this.canvas.width = this.canvas.height = 1;
  }

  place([x, y, w, h], ratio) {
    const { style } = this.box;
    [style.left, style.top, style.width, style.height] = [x, y, w, h].map((v) => `${v / ratio}px`);
    this.ratio = ratio;
    const height = filmHeight(w, h, ratio);
    this.surface.style.bottom = this.strip.style.height = `${(h - height) / ratio}px`;
    if (this.canvas.width !== w) this.canvas.width = w;
    if (this.canvas.height !== height) this.canvas.height = height;
  }

  /** Where the scaled image lies on the canvas, in whole device pixels. */
  geometry() {
    const { view, canvas, state } = this;
    const size = scaledSize(view, state.zoom ?? fitZoom(view, canvas.width, canvas.height));
    const [cx, cy] = state.center;
    return placeOf(size, canvas.width, canvas.height, [state.flip ? 1 - cx : cx, cy]);
  }

  /** Screen pixels of an image column. */
  zoom() {
    return this.state.zoom ?? fitZoom(this.view, this.canvas.width, this.canvas.height);
  }

  /** The display levels of every stored value: the same array until window or inversion change. */
  levels() {
    const { center, width, function: kind, table, curve } = this.state.window;
    const key = [center, width, kind, table, curve, this.state.invert].join();
    if (this.table?.key !== key) this.table = { key, levels: buildTable(this.view, this.state.window, this.state.invert) };
    return this.table.levels;
  }

  /** Draw the best there is; returns "full", "preview" or "none". */
  paint() {
    if (this.entry.data) {
      this.open();
      for (let n = this.original ? 0 : this.state.turns; n > 0; n--) this.lay(); // as it was left
      this.viewer.backend.paint(this);
      this.level = "full";
    } else {
      this.paintPreview();
      this.level = this.entry.preview ? "preview" : "none";
    }
    this.overlay.draw();
    this.writeTags();
    return this.level;
  }

  paintPreview() {
    const { context, canvas, entry, state } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = "#000";
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!entry.preview) return;
    const g = this.geometry();
    context.imageSmoothingQuality = "high";
    if (state.flip) context.setTransform(-1, 0, 0, 1, 2 * g.left + g.width, 0);
    context.drawImage(entry.preview, g.left, g.top, g.width, g.height);
    if (state.invert) {
      context.globalCompositeOperation = "difference";
      context.fillStyle = "#fff";
      context.fillRect(g.left, g.top, g.width, g.height);
      context.globalCompositeOperation = "source-over";
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  writeTags() {
    const { text } = this.viewer;
    const { view, state, entry, tags } = this;
    const known = view.view_position && view.view_position.toLowerCase() !== "unknown";
    const named = known ? [view.view_position, view.laterality].filter(Boolean).join(" · ") : text.unknown;
    const position = view.prior ? `${text.prior} · ${named}` : named;
    this.box.classList.toggle("viewer-prior", Boolean(view.prior));
    const short = this.canvas.width < SHORT * this.ratio ? "Short" : "";
    const said = (word) => text[`${word}${short}`] ?? text[word];
    write(tags.position, [position, this.viewer.arrangement.placeOf(this)].filter(Boolean).join(" · "));
    write(tags.badge, this.changes().map(said).join(" · "));
    write(tags.hint, this.overlay.hint());
    write(tags.notes, view.scanner_window ? "" : said(view.eight_bit ? "eightBit" : "noWindow"));
    write(tags.caption, view.caption ?? "");
    write(tags.zoom, entry.data ? text.zoomValue.replace("{value}", Math.round(100 * this.zoom())) : "");
    write(tags.window, entry.data ? this.windowText() : "");
    const label = text.viewLabel.replace("{position}", position).replace("{number}", this.index + 1);
    if (this.surface.getAttribute("aria-label") !== label) this.surface.setAttribute("aria-label", label);
    this.error.hidden = !entry.failure;
    if (entry.failure) {
      const isMarked = this.viewer.isUnreadable(this);
      write(this.errorText, isMarked ? text.saidUnreadable : this.failureText());
      write(this.unreadable, isMarked ? text.readable : text.unreadable);
    }
  }

  /** What is not as the image came. */
  changes() {
    const { invert, flip, turns } = this.state;
    return [invert && "inverted", flip && "flipped", turns && "turned"].filter(Boolean);
  }

  /** Level and width; which of the scanner's windows or tables is on where there are several, and what is left of a
      table that was dragged: its shape. */
  windowText() {
    const { text } = this.viewer;
    const { window } = this.state;
    const { center, width } = window;
    const [index, n] = [scannerIndex(this.view, window), scannerWindows(this.view).length];
    const isTable = window.function === "LUT";
    const kind = isTable ? text.scannerTable : text.scannerWindow;
    const which = kind.replace("{number}", index + 1).replace("{all}", n);
    const scanner = n > 1 && index >= 0 ? which : isTable && index < 0 ? text.tableDragged : "";
    const name = PRESETS.includes(window.source) ? text[window.source] : scanner;
    return [name, `L ${figure(center, width)}`, `W ${figure(width, width)}`].filter(Boolean).join(" · ");
  }

  failureText() {
    const { text } = this.viewer;
    const { code, status } = this.entry.failure;
    const why = text[code === "refused" && status ? "refusedWith" : code] ?? text.stopped;
    return `${text.failed} ${why.replace("{status}", status)}`;
  }

  // What the person can do to one view. -----------------------------------------------------------

  change(values) {
    Object.assign(this.state, values);
    this.viewer.schedule(this);
  }

  /** A change of place or size by hand: painted again with care when the hand rests. */
  move(values) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.stopMoving();
      this.viewer.schedule(this);
    }, AT_REST);
    this.box.classList.add("viewer-moving");
    this.change(values);
  }

  stopMoving() {
    clearTimeout(this.resting);
    this.resting = null;
    this.box.classList.remove("viewer-moving");
  }

  isMoving() {
    return Boolean(this.resting);
  }

  setRange(name) {
    if (this.offers(name)) this.change({ window: this.presetOf(name) });
  }

  /** The full range comes with the image; the other presets are measured on its stored values. */
  offers(preset) {
    return Boolean(preset === "full" ? this.view?.presets?.full : this.view && this.entry.data);
  }

  presetOf(name) {
    return name === "full" ? rangeWindow(this.view.presets.full, name) : presetsOf(this.view, this.entry.data)[name];
  }

  /** The scanner's table or window; pressed again, the next of several. */
  nextScannerWindow() {
    const windows = scannerWindows(this.view);
    if (!windows.length) return;
    this.change({ window: windows[(scannerIndex(this.view, this.state.window) + 1) % windows.length] });
  }

  zoomBy(factor, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    const fit = fitZoom(this.view, this.canvas.width, this.canvas.height);
    this.zoomTo(Math.min(Math.max(this.zoom() * factor, Math.min(fit, 1) / 4), Math.max(MOST_ZOOM, fit)), x, y);
  }

  /** Zoom so that the image point under (x, y), in device pixels of the canvas, stays there. */
  zoomTo(zoom, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    const before = this.geometry();
    const [width, height] = scaledSize(this.view, zoom);
    const { center, flip } = this.state;
    // From the middle of the canvas to the point: so far in image widths before, so far after.
    const dx = (x - this.canvas.width / 2) * (1 / before.width - 1 / width);
    const dy = (y - this.canvas.height / 2) * (1 / before.height - 1 / height);
    this.move({ zoom, center: inside([center[0] + (flip ? -dx : dx), center[1] + dy]) });
  }

  fit() {
    this.change({ zoom: null, center: [0.5, 0.5] });
  }

  reset() {
    this.turn((4 - this.state.turns) % 4);
    this.unturn();
    this.rest();
    this.viewer.schedule(this);
  }

  pan(from, dx, dy) {
    const { width, height } = this.geometry();
    const [cx, cy] = from.center;
    this.move({
      zoom: this.zoom(),
      center: inside([cx + ((this.state.flip ? 1 : -1) * dx) / width, cy - dy / height]),
    });
  }

  /** To the right widens, down darkens, in steps that suit the window at the start of the drag. */
  dragWindow({ window }, dx, dy) {
    const step = Math.max(window.width, leastWidth(window) * 40) / 300;
    const darker = Boolean(this.view.invert) !== this.state.invert ? -1 : 1;
    this.change({
      window: {
        ...window,
        center: window.center + darker * dy * step,
        width: Math.max(window.width + dx * step, leastWidth(window)),
        source: "drag",
      },
    });
  }

  // Pointer. ---------------------------------------------------------------------------------------

  listen() {
    const { surface } = this;
    this.touches = new Map();
    surface.addEventListener("pointerdown", (event) => this.press(event));
    surface.addEventListener("pointermove", (event) => this.viewer.pointAt(this, this.pointOf(event)));
    surface.addEventListener("pointerleave", () => this.viewer.pointAt(null));
    for (const type of ["pointerdown", "pointermove"]) surface.addEventListener(type, (event) => this.touch(event));
    for (const type of ["pointerup", "pointercancel"]) {
      surface.addEventListener(type, (event) => this.touches.delete(event.pointerId));
    }
    surface.addEventListener("contextmenu", (event) => event.preventDefault());
    surface.addEventListener("focus", () => this.viewer.activate(this));
    surface.addEventListener("dblclick", () => this.viewer.act("maximise"));
    surface.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        if (!this.viewer.can("zoom")) return;
        const lines = event.deltaMode === 1 ? 33 : 1;
        const { left, top, width, height } = surface.getBoundingClientRect();
        const factor = Math.exp(-event.deltaY * lines * 0.0015);
        const [x, y] = [(event.clientX - left) / width, (event.clientY - top) / height];
        for (const pane of this.viewer.together(this)) pane.zoomBy(factor, x * pane.canvas.width, y * pane.canvas.height);
        this.viewer.tellTool("zoom");
      },
      { passive: false },
    );
  }

  /** Where the pointer is on the canvas, in device pixels. */
  pointOf(event) {
    const { left, top } = this.surface.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top].map((v) => v * this.ratio);
  }

  /** Two fingers: the image between them grows and shrinks and goes along. */
  touch(event) {
    if (event.pointerType !== "touch" || (event.type === "pointermove" && !this.touches.has(event.pointerId))) return;
    const before = [...this.touches.values()];
    this.touches.set(event.pointerId, this.pointOf(event));
    const now = [...this.touches.values()];
    if (now.length !== 2 || !this.view || !this.viewer.can("zoom")) return;
    this.release?.();
    if (before.length !== 2) return;
    const [[x0, y0], [x1, y1]] = [middle(before), middle(now)];
    for (const pane of this.viewer.together(this)) {
      pane.zoomBy(apart(now) / Math.max(apart(before), 1), x0, y0);
      pane.pan(pane.state, x1 - x0, y1 - y0);
    }
    this.viewer.tellTool("zoom");
  }

  press(event) {
    if (event.button > 2 || !event.isPrimary || !this.view) return;
    this.viewer.activate(this);
    const gesture = this.overlay.press(event) ?? this.gesture(event);
    if (!gesture) return;
    const { surface } = this;
    const end = () => {
      for (const [type, listener] of Object.entries(listeners)) surface.removeEventListener(type, listener);
      surface.classList.remove("viewer-dragging");
      this.release = null;
      gesture.end();
    };
    this.release = end;
    const listeners = { pointermove: gesture.move, pointerup: end, pointercancel: end };
    for (const [type, listener] of Object.entries(listeners)) surface.addEventListener(type, listener);
    surface.setPointerCapture(event.pointerId);
    surface.classList.add("viewer-dragging");
  }

  /** Pan or window, as button and setting say and the tools allow; linked views make the same movement. */
  gesture(event) {
    const { viewer } = this;
    const other = event.button === 2 || event.altKey || event.shiftKey;
    const wanted = event.button !== 1 && other !== (viewer.primary === "window") ? "window" : "zoom";
    if (!viewer.can(wanted)) return null;
    const starts = viewer.together(this).map((pane) => [pane, { ...pane.state }]);
    let isUsed = false;
    const move = (e) => {
      isUsed = true;
      const [dx, dy] = [e.clientX - event.clientX, e.clientY - event.clientY];
      for (const [pane, start] of starts) {
        if (wanted === "window") pane.dragWindow(start, dx, dy);
        else if (dx || dy) pane.pan(start, dx * this.ratio, dy * this.ratio);
      }
    };
    return { move, end: () => isUsed && viewer.tellTool(wanted) };
  }
}

/** Stored values a quarter clockwise. */
function quarterTurned(data, { width, height }) {
  const turned = new data.constructor(data.length);
  for (let y = 0, from = 0; y < height; y++) {
    for (let x = 0, to = height - 1 - y; x < width; x++, to += height) turned[to] = data[from++];
  }
  return turned;
}

const middle = ([[x0, y0], [x1, y1]]) => [(x0 + x1) / 2, (y0 + y1) / 2];
const apart = ([[x0, y0], [x1, y1]]) => Math.hypot(x1 - x0, y1 - y0);
const inside = (center) => center.map((v) => Math.min(Math.max(v, 0), 1));

/** Numbers as wide as the window needs: whole ones, unless the window is narrow. */
const figure = (value, width) => (width < 10 ? value.toFixed(2) : String(Math.round(value)));

function write(node, value) {
  if (node.textContent !== value) node.textContent = value;
}
