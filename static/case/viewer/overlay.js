// Measures over one view: drawn as SVG above the canvas, never into the pixels, and taken hold of by their ends.

import {
  lengthOf, lengthText, moveEnd, nearestEnd, nextKind, ratioOf, sortWidths, toCanvas, toImage,
} from "./measuring.js";

const SVG = "http://www.w3.org/2000/svg";
const REACH = 12; // CSS pixels around an end
const LEAST = 4; // CSS pixels: shorter is a click, not a line
const TICK = 6;

function shape(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent.append(node);
  return node;
}

export class Overlay {
  constructor(pane) {
    this.pane = pane;
    this.node = shape("svg", { class: "viewer-measures", "aria-hidden": "true" }, pane.surface);
    this.chosen = null; // index of the measure that a key removes
  }

  get measures() {
    return this.pane.state.measures;
  }

  /** The image below stays as it is: only the lines and words above it are drawn anew. */
  change(measures, chosen) {
    this.chosen = chosen;
    this.pane.state.measures = measures;
    this.draw();
    this.pane.writeTags();
  }

  remove() {
    if (!this.measures.length) return;
    const at = Math.min(this.chosen ?? Infinity, this.measures.length - 1);
    this.change(this.measures.filter((_, index) => index !== at), null);
  }

  // Pointer. ---------------------------------------------------------------------------------------

  imagePoint(event) {
    return toImage(this.pane.view, this.pane.geometry(), this.pane.state.flip, this.pane.pointOf(event));
  }

  onCanvas(point) {
    return toCanvas(this.pane.view, this.pane.geometry(), this.pane.state.flip, point);
  }

  /** What a drag of the left button does here: { move(event), end() }, or null when it is not for the measures. */
  press(event) {
    if (event.button !== 0 || event.altKey || event.shiftKey) return null;
    const onCanvas = (point) => this.onCanvas(point);
    const grabbed = nearestEnd(this.measures, onCanvas, this.pane.pointOf(event), REACH * this.pane.ratio);
    if (grabbed) return this.holding(grabbed.index, grabbed.end);
    const kind = this.pane.tool && nextKind(this.pane.tool, this.measures);
    return kind ? this.drawing(kind, event) : null;
  }

  holding(index, end) {
    this.change(this.measures, index);
    return {
      move: (event) => {
        const point = this.imagePoint(event);
        this.change(this.measures.map((one, i) => (i === index ? moveEnd(one, end, point) : one)), index);
      },
      end: () => {},
    };
  }

  drawing(kind, pressed) {
    const before = this.measures;
    const from = this.imagePoint(pressed);
    const index = before.length;
    return {
      move: (event) => {
        const far = Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) >= LEAST;
        const measure = moveEnd({ kind, ends: [from, from] }, 1, this.imagePoint(event));
        this.change(far ? [...before, measure] : before, far ? index : null);
      },
      end: () => this.change(sortWidths(this.measures), this.chosen),
    };
  }

  // Drawing. ---------------------------------------------------------------------------------------

  draw() {
    this.node.replaceChildren();
    this.measures.forEach((measure, index) => this.drawOne(measure, index === this.chosen));
  }

  drawOne({ kind, ends }, chosen) {
    const group = shape("g", { class: `viewer-measure viewer-measure-${kind}` }, this.node);
    if (chosen) group.classList.add("viewer-measure-chosen");
    const [[x1, y1], [x2, y2]] = ends.map((end) => this.onCanvas(end).map((v) => v / this.pane.ratio));
    const long = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [tx, ty] = [(-(y2 - y1) / long) * TICK, ((x2 - x1) / long) * TICK];
    const tick = (x, y) => `M${x - tx} ${y - ty}L${x + tx} ${y + ty}`;
    const d = `M${x1} ${y1}L${x2} ${y2}${tick(x1, y1)}${tick(x2, y2)}`;
    shape("path", { d, class: "viewer-measure-ground" }, group);
    shape("path", { d }, group);
    const [x, y] = x1 > x2 ? [x1, y1] : [x2, y2];
    const text = this.textOf(kind, ends);
    if (text) shape("text", { x: x + 9, y: y + 4 }, group).textContent = text;
  }

  /** A line says its length; of the two widths the heart says the ratio, once there is one. */
  textOf(kind, ends) {
    const { view, viewer } = this.pane;
    if (kind === "line") return lengthText(lengthOf(view, ends));
    return kind === "heart" ? this.ratioText() : viewer.text.thorax;
  }

  ratioText() {
    const { text } = this.pane.viewer;
    const ratio = ratioOf(this.measures);
    return ratio === null ? text.heart : text.ratioValue.replace("{value}", ratio.toFixed(2));
  }

  /** What to do next with the tool that is on, for the corner of the view. */
  hint() {
    const { tool } = this.pane;
    const { text, active } = this.pane.viewer;
    if (!tool || active !== this.pane) return "";
    const kind = nextKind(tool, this.measures);
    if (kind) return text[`${kind}Hint`];
    return tool === "ratio" ? `${this.ratioText()}. ${text.ratioDone}` : text.lineFull;
  }
}
