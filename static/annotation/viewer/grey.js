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
function transfer(view, { center: c, width: w, function: kind, table }) {
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
