// Hanging: which view goes where. Pure: numbers in, rectangles out.

const GAP = 2; // device pixels between views
const NARROW = 480; // CSS pixels
const FRONTAL_SHARE = 1.35 / 2.35;

const kind = (view) => {
  const position = (view.view_position || "").toUpperCase();
  if (/^(PA|AP)/.test(position)) return 0;
  if (/^(LL|RL|LAT)/.test(position)) return 1;
  return 2;
};

/** Whether this is known to be a frontal view: only there a cardiothoracic ratio means anything. */
export const isFrontal = (view) => kind(view) === 0;

const isPrior = (view) => Number(Boolean(view.prior));

/**
 * Indices of the views in hanging order: frontal, lateral, unknown; equals keep the order they came in. Those of a prior
 * exam come after all others.
 */
export function hangingOrder(views) {
  const place = (i) => [isPrior(views[i]), kind(views[i]), i];
  const byPlace = (a, b) => place(a).reduce((order, part, n) => order || part - place(b)[n], 0);
  return views.map((_, i) => i).sort(byPlace);
}

/** Width and height of the whole image in device pixels at a zoom (device pixels per image column). */
export function scaledSize(view, zoom) {
  return [
    Math.max(1, Math.round(view.width * zoom)),
    Math.max(1, Math.round(view.height * (view.aspect || 1) * zoom)),
  ];
}

/** The zoom at which the whole image just fits. */
export function fitZoom(view, width, height) {
  return Math.min(width / view.width, height / (view.height * (view.aspect || 1)));
}

/** How high a film's place is: below it is a strip, of two lines where it is narrow, so that no word lies over a film. */
export function filmHeight(width, height, ratio) {
  return Math.max(1, height - Math.round((width < NARROW * ratio ? 34 : 18) * ratio));
}

/**
 * The space of a stage in whole device pixels: `box` is its rectangle in CSS pixels, `offset` what its corner lies off
 * the next whole pixel.
 */
export function wholePixels(box, ratio) {
  const offset = [box.left, box.top].map((v) => Math.ceil(v * ratio - 0.01) - v * ratio);
  return {
    ratio,
    offset,
    width: Math.max(1, Math.floor(box.width * ratio - offset[0] + 0.01)),
    height: Math.max(1, Math.floor(box.height * ratio - offset[1] + 0.01)),
  };
}

/** Where a scaled image lies in its rectangle, in whole device pixels; `center` is the point of it in the middle. */
export function placeOf([width, height], w, h, [cx, cy] = [0.5, 0.5]) {
  return { width, height, left: Math.round(w / 2 - cx * width), top: Math.round(h / 2 - cy * height) };
}

/**
 * Rectangles [x, y, width, height] in whole device pixels, one per entry of `order`.
 *
 * One view fills the space. Of two, the frontal one is larger, but never wider than its image can use. Of three, the
 * first is large and the others stand above each other beside it. Four hang two by two; more go on in rows of three.
 */
export function rectangles(views, order, width, height, ratio) {
  const n = order.length;
  if (n === 2) {
    const [first, second] = order.map((i) => views[i]);
    const useful = (filmHeight(width, height, ratio) * first.width) / (first.height * (first.aspect || 1));
    const share = kind(first) === kind(second) ? 0.5 : FRONTAL_SHARE;
    const left = Math.round(Math.min((width - GAP) * share, Math.max(useful, (width - GAP) / 2)));
    return [[0, 0, left, height], [left + GAP, 0, Math.max(1, width - left - GAP), height]];
  }
  if (n === 3) return oneAndTwo(order.map((i) => views[i]), width, height, ratio);
  const columns = n === 1 ? 1 : n <= 4 ? 2 : 3;
  const rows = Math.ceil(n / columns);
  const w = Math.max(1, Math.floor((width - GAP * (columns - 1)) / columns));
  const h = Math.max(1, Math.floor((height - GAP * (rows - 1)) / rows));
  return order.map((_, i) => [(i % columns) * (w + GAP), Math.floor(i / columns) * (h + GAP), w, h]);
}

/** The first as high as the space, as long as the others can use what is left; they share a column. */
function oneAndTwo([first, ...others], width, height, ratio) {
  const shape = (view) => view.width / (view.height * (view.aspect || 1));
  const half = Math.max(1, Math.floor((height - GAP) / 2));
  const [large, small] = [filmHeight(width, height, ratio) * shape(first), half * Math.max(...others.map(shape))];
  const spare = width - GAP - large - small;
  const wanted = spare > 0 ? large + spare / 2 : Math.max((width - GAP) * 0.55, width - GAP - small);
  const left = Math.round(Math.min(wanted, (width - GAP) * 0.75));
  const beside = Math.max(1, width - left - GAP);
  return [[0, 0, left, height], [left + GAP, 0, beside, half], [left + GAP, half + GAP, beside, half]];
}

/** The same, with the lateral view on this side of the frontal one. */
export function placesOf(views, order, { width, height, ratio }, lateral) {
  const places = rectangles(views, order, width, height, ratio);
  return lateral === "left" ? places.map(([x, y, w, h]) => [width - x - w, y, w, h]) : places;
}

/** How many views at a time the layout key steps through: all (0), two, one. */
export function layoutSteps(n) {
  return [0, 2, 1].filter((size) => size < n);
}

/** Where the page of `size` views starts that shows the view at `place`; it turns only if that view is not on it. */
export function pageWith(from, place, size, n) {
  if (!size || size >= n) return 0;
  const start = place >= from && place < from + size ? from : Math.floor(Math.max(place, 0) / size) * size;
  return Math.min(start, n - size);
}

/** Where the next page starts (step 1) or the one before (step -1); the last page is full, and round it goes. */
export function nextPage(from, step, size, n) {
  if (step > 0) return from + size >= n ? 0 : Math.min(from + size, n - size);
  return from === 0 ? n - size : Math.max(from - size, 0);
}
