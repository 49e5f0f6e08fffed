// Lines and the cardiothoracic ratio: pure geometry in image coordinates (columns and rows, from the top left corner).
//
// A measure is { kind, ends: [[x, y], [x, y]] }; kind is "line", "heart" or "thorax". Of heart and thorax a view has
// one each, both along the rows of the image, or along its columns where it was turned since: their ratio needs no unit.

export const MOST_LINES = 20; // of one view, so that what is stored stays small

/** The view's pixel under a point of the canvas; `place` is Pane.geometry(), all in device pixels. */
export function toImage(view, place, flip, [x, y]) {
  const across = (x - place.left) / place.width;
  return keepInside(view, [(flip ? 1 - across : across) * view.width, ((y - place.top) / place.height) * view.height]);
}

/** Where a point of the image lies on the canvas. */
export function toCanvas(view, place, flip, [x, y]) {
  const across = x / view.width;
  return [place.left + (flip ? 1 - across : across) * place.width, place.top + (y / view.height) * place.height];
}

/** Inside the image, in hundredths of a pixel. */
export function keepInside(view, [x, y]) {
  return [x, y].map((v, i) => Math.round(Math.min(Math.max(v, 0), i ? view.height : view.width) * 100) / 100);
}

/**
 * How long a line is: { value, unit }. In millimetres only where the file says that its spacing was calibrated to the
 * patient; spacing at the detector says nothing about the patient. Otherwise in image columns ("px").
 */
export function lengthOf(view, [[x1, y1], [x2, y2]]) {
  const [rows, columns] = view.spacing_calibrated && view.spacing ? view.spacing : [view.aspect || 1, 1];
  const value = Math.hypot((x2 - x1) * columns, (y2 - y1) * rows);
  return { value, unit: view.spacing_calibrated && view.spacing ? "mm" : "px" };
}

/** Millimetres with one decimal, pixels without. */
export function lengthText({ value, unit }) {
  return `${unit === "mm" ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

const widthOf = ({ ends: [[x1, y1], [x2, y2]] }) => Math.hypot(x2 - x1, y2 - y1);
const find = (measures, kind) => measures.find((measure) => measure.kind === kind);

/** Width of the heart over width of the thorax; null until both are there. */
export function ratioOf(measures) {
  const [heart, thorax] = [find(measures, "heart"), find(measures, "thorax")];
  return heart && thorax && widthOf(thorax) > 0 ? widthOf(heart) / widthOf(thorax) : null;
}

/** What the next drag with this tool draws: a kind, or null when there is no room for another. */
export function nextKind(tool, measures) {
  if (tool === "line") return measures.filter(({ kind }) => kind === "line").length < MOST_LINES ? "line" : null;
  return ["heart", "thorax"].find((kind) => !find(measures, kind)) ?? null;
}

/** The measure with one end at another place. A width stays level, or upright where it was turned: its other end follows. */
export function moveEnd({ kind, ends }, end, [x, y]) {
  const [[x1, y1], [x2, y2]] = ends;
  const follow = ([ox, oy]) => (kind === "line" ? [ox, oy] : Math.abs(y2 - y1) > Math.abs(x2 - x1) ? [x, oy] : [ox, y]);
  return { kind, ends: ends.map((other, i) => (i === end ? [x, y] : follow(other))) };
}

/** Heart and thorax as their widths say: the wider one is the thorax, in whatever order they were drawn. */
export function sortWidths(measures) {
  if (!(ratioOf(measures) > 1)) return measures;
  const other = { heart: "thorax", thorax: "heart" };
  return measures.map((measure) => ({ ...measure, kind: other[measure.kind] ?? measure.kind }));
}

/** The end nearest to a point, not farther than `reach`: { index, end }, or null. `onCanvas` places a point. */
export function nearestEnd(measures, onCanvas, [x, y], reach) {
  let found = null;
  measures.forEach(({ ends }, index) =>
    ends.forEach((point, end) => {
      const [px, py] = onCanvas(point);
      const distance = Math.hypot(px - x, py - y);
      if (distance <= reach && !(found?.distance < distance)) found = { index, end, distance };
    }),
  );
  return found && { index: found.index, end: found.end };
}
