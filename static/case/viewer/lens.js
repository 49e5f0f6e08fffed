// The magnifier: as long as its key is held, what lies under the pointer, twice as large, at one to one or more.

const SIZE = 280; // CSS pixels
const TIMES = 2;

export class Lens {
  /** Something like a pane for Canvas2D: a small canvas over the view, with the window of the view. */
  constructor() {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "viewer-lens";
    this.careful = 0;
  }

  get isOn() {
    return Boolean(this.pane);
  }

  /** Over this pane, `point` in device pixels of its canvas; `paint` paints a pane. */
  show(pane, point, paint) {
    if (!pane.entry?.data) return;
    if (this.pane !== pane) pane.surface.append(this.canvas);
    const side = Math.round(SIZE * pane.ratio);
    if (this.canvas.width !== side) this.canvas.width = this.canvas.height = side;
    this.context ??= this.canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    Object.assign(this, { pane, point, view: pane.view, entry: pane.entry, state: pane.state });
    const [left, top] = point.map((v) => `${v / pane.ratio - SIZE / 2}px`);
    Object.assign(this.canvas.style, { left, top, width: `${SIZE}px`, height: `${SIZE}px` });
    paint(this);
  }

  hide() {
    this.canvas.remove();
    this.pane = this.kept = this.entry = null;
  }

  /** The image scaled so that its point under the pointer stays in the middle. */
  geometry() {
    const { pane, canvas, point } = this;
    const place = pane.geometry();
    const times = Math.max(TIMES, this.view.width / place.width);
    const [width, height] = [place.width, place.height].map((v) => Math.round(v * times));
    const [x, y] = [point[0] - place.left, point[1] - place.top];
    const left = Math.round(canvas.width / 2 - (x * width) / place.width);
    return { width, height, left, top: Math.round(canvas.height / 2 - (y * height) / place.height) };
  }

  levels() {
    return this.pane.levels();
  }

  isMoving() {
    return false;
  }
}
