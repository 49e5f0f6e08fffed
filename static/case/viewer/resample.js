// Resampling of stored values, before the window: area average when smaller, bilinear when larger.
// Both axes are separable, so the same weights serve every row and column.

/**
 * Weights of `count` output samples from `from` on, when `n` samples become `m`.
 * Sample j reads weight[at[j]] .. weight[at[j + 1] - 1], starting at input start[j]; its weights add up to 1.
 */
function taps(n, m, from, count) {
  const ratio = n / m;
  const most = ratio >= 1 ? Math.ceil(ratio) + 2 : 2;
  const start = new Int32Array(count);
  const at = new Int32Array(count + 1);
  const weight = new Float64Array(count * most);
  let k = 0;
  for (let j = 0; j < count; j++) {
    const p = from + j;
    at[j] = k;
    if (ratio >= 1) {
      const low = (p * n) / m;
      const high = ((p + 1) * n) / m;
      const first = Math.floor(low);
      const last = Math.min(n, Math.ceil(high));
      start[j] = first;
      for (let i = first; i < last; i++) weight[k++] = (Math.min(high, i + 1) - Math.max(low, i)) / ratio;
    } else {
      const c = Math.min(Math.max((p + 0.5) * ratio - 0.5, 0), n - 1);
      const i = Math.floor(c);
      start[j] = i;
      weight[k++] = 1 - (c - i);
      if (c > i) weight[k++] = c - i;
    }
  }
  at[count] = k;
  return { start, at, weight };
}

/**
 * The region (x, y, w, h) of `source` (width x height) scaled to outWidth x outHeight.
 *
 * Padding [low, high] takes no part in an average; where it holds more than half the weight, the result is padding.
 */
export function resample(source, width, height, outWidth, outHeight, x, y, w, h, padding) {
  const columns = taps(width, outWidth, x, w);
  const rows = taps(height, outHeight, y, h);
  const left = columns.start[0];
  const n = columns.start[w - 1] + columns.at[w] - columns.at[w - 1] - left;
  const out = new Uint16Array(w * h);
  const sums = new Float32Array(n);
  const shares = padding ? new Float32Array(n) : null;
  for (let j = 0; j < h; j++) {
    sums.fill(0);
    shares?.fill(0);
    for (let k = rows.at[j]; k < rows.at[j + 1]; k++) {
      const begin = (rows.start[j] + k - rows.at[j]) * width + left;
      if (padding) addUnpadded(sums, shares, source, begin, n, rows.weight[k], padding);
      else addRow(sums, source, begin, n, rows.weight[k]);
    }
    if (padding) shrinkUnpadded(out, j * w, w, sums, shares, columns, left, padding);
    else shrinkRow(out, j * w, w, sums, columns, left);
  }
  return out;
}

function addRow(sums, source, begin, n, weight) {
  for (let i = 0; i < n; i++) sums[i] += weight * source[begin + i];
}

function addUnpadded(sums, shares, source, begin, n, weight, [low, high]) {
  for (let i = 0; i < n; i++) {
    const v = source[begin + i];
    if (v < low || v > high) {
      sums[i] += weight * v;
      shares[i] += weight;
    }
  }
}

function shrinkRow(out, to, w, sums, { start, at, weight }, left) {
  for (let i = 0; i < w; i++) {
    let sum = 0;
    let s = start[i] - left;
    for (let k = at[i]; k < at[i + 1]; k++) sum += weight[k] * sums[s++];
    out[to + i] = sum + 0.5;
  }
}

function shrinkUnpadded(out, to, w, sums, shares, { start, at, weight }, left, [low]) {
  for (let i = 0; i < w; i++) {
    let sum = 0;
    let share = 0;
    let s = start[i] - left;
    for (let k = at[i]; k < at[i + 1]; k++) {
      sum += weight[k] * sums[s];
      share += weight[k] * shares[s++];
    }
    out[to + i] = share < 0.5 ? low : sum / share + 0.5;
  }
}

/**
 * The same region in a hurry, for while the hand moves: up to two by two samples instead of all.
 * Padding is taken as it comes.
 */
export function sketch(source, width, height, outWidth, outHeight, x, y, w, h) {
  const out = new Uint16Array(w * h);
  const apart = width >= 2 * outWidth ? 0.25 : 0;
  const place = (n, m, p, off) => Math.min(n - 1, Math.floor(((p + 0.5 + off) * n) / m));
  const near = new Int32Array(w).map((_, i) => place(width, outWidth, x + i, -apart));
  const far = new Int32Array(w).map((_, i) => place(width, outWidth, x + i, apart));
  for (let j = 0, o = 0; j < h; j++) {
    const top = place(height, outHeight, y + j, -apart) * width;
    if (!apart) for (let i = 0; i < w; i++) out[o++] = source[top + near[i]];
    else {
      const low = place(height, outHeight, y + j, apart) * width;
      for (let i = 0; i < w; i++) {
        out[o++] = (source[top + near[i]] + source[top + far[i]] + source[low + near[i]] + source[low + far[i]] + 2) >> 2;
      }
    }
  }
  return out;
}
