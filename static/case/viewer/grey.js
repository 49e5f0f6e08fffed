// Grey scale: stored value -> modality value -> window (or VOI table) -> display level 0..255.
// DICOM PS3.3 C.11.2.1.2 (LINEAR), C.11.2.1.3.1 (SIGMOID), C.11.2.1.3.2 (LINEAR_EXACT), C.11.2.1.1 (VOI LUT Sequence).

export const TABLE_SIZE = 65536;

const decodedTables = new WeakMap();

/** Entries of a VOI LUT (base64 of little-endian uint16), decoded once per descriptor. */
function voiEntries(voi) {
  let entries = decodedTables.get(voi);
  if (!entries) {
    const text = atob(voi.data);
    entries = new Uint16Array(text.length >> 1);
    for (let i = 0; i < entries.length; i++) {
      entries[i] = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8);
    }
    decodedTables.set(voi, entries);
  }
  return entries;
}

/** A window over [low, high] in modality units: low is black, high is white; `source` names the preset. */
export function rangeWindow([low, high], source) {
  return { center: (low + high) / 2, width: Math.max(high - low, 1e-6), function: "LINEAR_EXACT", source };
}

/** The windows of the descriptor, in the order of the pipeline: VOI tables before VOI windows. */
function givenWindows(view) {
  const source = view.scanner_window ? "scanner" : "opening";
  const windows = (view.windows || []).map((w) => ({ ...w, function: w.function || "LINEAR", source }));
  const tables = (view.voi_luts || []).map((voi, table) => {
    const n = voiEntries(voi).length;
    return { center: voi.first + n / 2, width: n, function: "LUT", table, source };
  });
  return [...tables, ...windows];
}

/** The windows that came from the scanner; none when the server had to choose one. */
export const scannerWindows = (view) => (view.scanner_window ? givenWindows(view) : []);

/** Which of the scanner's windows this one is, -1 for none; a window that was dragged is none. */
export function scannerIndex(view, window) {
  const isSame = (one) => ["center", "width", "function", "table"].every((key) => one[key] === window[key]);
  return scannerWindows(view).findIndex(isSame);
}

/** What a view opens with: the first window given, else the full range of what is there. */
export function defaultWindow(view) {
  const [first] = givenWindows(view);
  if (first) return first;
  const stored = [0, 2 ** view.bits - 1].map((v) => v * view.slope + view.intercept);
  return rangeWindow(view.presets?.full ?? stored.sort((a, b) => a - b), "full");
}

/** The narrowest window that the function is defined for. */
export const leastWidth = (window) => (window.function === "LINEAR" ? 1 : 1e-3);

/** The function of a window: modality value -> 0..1. */
function transfer(view, { center: c, width: w, function: kind, table, curve }) {
  if (kind === "SIGMOID") return (x) => 1 / (1 + Math.exp((-4 * (x - c)) / w));
  if (kind === "LUT") {
    const voi = view.voi_luts[table];
    const entries = voiEntries(voi);
    const last = entries.length - 1;
    const top = 2 ** voi.bits - 1;
    // A dragged window stretches the table's input; the table's own shape stays. Between two entries the lower one
    // holds; the little added gives back what floating point took from a whole number.
    const first = c - w / 2;
    const scale = entries.length / w;
    return (x) => entries[Math.min(Math.max(Math.floor((x - first) * scale + 1e-6), 0), last)] / top;
  }
  if (kind === "CURVE") {
    const n = curve.length - 1;
    return (x) => {
      const at = Math.min(Math.max((x - c) / w + 0.5, 0), 1) * n;
      const i = Math.min(Math.floor(at), n - 1);
      return curve[i] + (at - i) * (curve[i + 1] - curve[i]);
    };
  }
  const [mid, span] = kind === "LINEAR_EXACT" ? [c, w] : [c - 0.5, w - 1];
  const low = mid - span / 2;
  const high = mid + span / 2;
  return (x) => (x <= low ? 0 : x > high ? 1 : (x - mid) / span + 0.5);
}

/**
 * Display levels for every stored value: Uint8Array(65536).
 *
 * Padding is black whatever the inversion is: it is no part of the image, and a dark room stays dark.
 */
export function buildTable(view, window, invert) {
  const table = new Uint8Array(TABLE_SIZE);
  const y = transfer(view, window);
  const flip = Boolean(view.invert) !== Boolean(invert);
  for (let v = 0; v < TABLE_SIZE; v++) {
    const level = Math.floor(255 * y(v * view.slope + view.intercept) + 0.5);
    const safe = level < 0 ? 0 : level > 255 ? 255 : level;
    table[v] = flip ? 255 - safe : safe;
  }
  if (view.padding) table.fill(0, view.padding[0], view.padding[1] + 1);
  return table;
}

// Presets: curves over the histogram. Each gives the greys that it is meant for most of the screen's range, and burns out
// or blacks out none of the others. -------------------------------------------------------------------------------------

export const PRESETS = ["full", "lungs", "mediastinum", "contrast"];
const MOST_LOST = 0.02; // of the pixels that become black, and of those that become white
const BACKGROUND = 0.01; // the darkest or brightest value of so many pixels is what lies around the patient
const KNOTS = 32; // steps of a curve
/** The darkest `share` of the pixels gets `range` of the screen; so far the histogram counts, the rest is a straight line. */
const SHAPES = {
  lungs: { share: 0.6, range: 0.8, part: 0.7 },
  mediastinum: { share: 0.4, range: 0.2, part: 0.7 },
  contrast: { share: 0.5, range: 0.5, part: 0.6 },
};

/** How many pixels have each stored value; padding has none. */
export function histogram(data, padding) {
  const counts = new Uint32Array(TABLE_SIZE);
  for (let i = 0; i < data.length; i++) counts[data[i]]++;
  if (padding) counts.fill(0, padding[0], padding[1] + 1);
  return counts;
}

/** What occurs, from dark to bright: [[modality value, count]]. */
function greysOf(view, counts) {
  const greys = [];
  counts.forEach((count, v) => count && greys.push([v * view.slope + view.intercept, count]));
  return Boolean(view.invert) !== view.slope < 0 ? greys.reverse() : greys;
}

const total = (greys) => greys.reduce((sum, [, count]) => sum + count, 0);

/** The last value, from this end of the greys, up to which no more pixels lie than may be lost; `step` before the first. */
function endOf(greys, step) {
  let left = MOST_LOST * total(greys);
  let end = greys[0][0] - step;
  for (const [value, count] of greys) {
    left -= count;
    if (left < 0) break;
    end = value;
  }
  return end;
}

function withoutBackground(greys) {
  const least = BACKGROUND * total(greys);
  const inside = greys.filter(([, count], i) => count < least || (i > 0 && i < greys.length - 1));
  return inside.length > 1 ? inside : greys;
}

/** For each knot from dark to bright, the share of these pixels that is darker. */
function sharesAt(knots, greys) {
  const sign = Math.sign(knots.at(-1) - knots[0]);
  const all = total(greys) || 1;
  let [i, darker] = [0, 0];
  return knots.map((knot) => {
    while (i < greys.length && sign * (greys[i][0] - knot) < 0) darker += greys[i++][1];
    const half = i < greys.length && greys[i][0] === knot ? greys[i][1] / 2 : 0;
    return (darker + half) / all;
  });
}

/** Brightness 0..1 at even steps from `dark` to `bright`. */
function brightness({ share, range, part }, dark, bright, greys) {
  const steps = Array.from({ length: KNOTS + 1 }, (_, i) => i / KNOTS);
  const [low, high] = [Math.min(dark, bright), Math.max(dark, bright)];
  const inside = greys.filter(([x]) => x >= low && x <= high);
  const shares = sharesAt(steps.map((t) => dark + t * (bright - dark)), inside);
  const spread = (p) => (p < share ? (p * range) / share : range + ((p - share) * (1 - range)) / (1 - share));
  return steps.map((t, i) => (i % KNOTS ? (1 - part) * t + part * spread(shares[i]) : t));
}

/** The windows of lungs, mediastinum and contrast, by name. */
export function presetWindows(view, counts) {
  const all = greysOf(view, counts);
  if (!all.length) return {};
  const isDarkHigh = Boolean(view.invert);
  const step = Math.abs(view.slope) * (isDarkHigh ? -1 : 1); // from a grey to the next brighter one
  const [dark, bright] = [endOf(all, step), endOf([...all].reverse(), -step)];
  const greys = withoutBackground(all);
  const windowOf = ([source, shape]) => {
    const levels = brightness(shape, dark, bright, greys);
    const curve = isDarkHigh ? levels.map((level) => 1 - level).reverse() : levels;
    const rounded = curve.map((y) => Math.round(y * 1000) / 1000);
    return [source, { center: (dark + bright) / 2, width: Math.abs(bright - dark), function: "CURVE", curve: rounded, source }];
  };
  return Object.fromEntries(Object.entries(SHAPES).map(windowOf));
}

const measured = new WeakMap();

/** The same of an image in memory, measured once. */
export function presetsOf(view, data) {
  if (!measured.has(data)) measured.set(data, presetWindows(view, histogram(data, view.padding)));
  return measured.get(data);
}
