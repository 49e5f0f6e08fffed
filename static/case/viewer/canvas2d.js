// Canvas2D: resample stored values, look every one up in the table, put the picture on the canvas.

import { TABLE_SIZE } from "./grey.js";
import { resample, sketch } from "./resample.js";

const OPAQUE = 0xff000000;

/** The whole scaled image is kept when it is not much larger than the canvas, so that panning only shifts it. */
const KEEP_WHOLE = 1.6;

/** Where careful resampling takes longer than this (ms), a moving picture is sketched, and done with care at rest. */
const MOST_CAREFUL = 12;

export class Canvas2D {
  name = "canvas2d";

  /** Paint the full-depth picture of `pane` on its canvas. */
  paint(pane) {
    const { context, canvas, state } = pane;
    const g = pane.geometry();
    const x = Math.max(0, g.left);
    const y = Math.max(0, g.top);
    const w = Math.min(canvas.width, g.left + g.width) - x;
    const h = Math.min(canvas.height, g.top + g.height) - y;
    context.fillStyle = "#000";
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (w <= 0 || h <= 0) return;
    // Flipped, the same columns are read from the right.
    const from = state.flip ? g.width - (x - g.left) - w : x - g.left;
    const picture = this.scaled(pane, g, from, y - g.top, w, h);
    const image = this.buffer(pane, w, h);
    lookUp(new Uint32Array(image.data.buffer), w, h, picture, this.colours(pane), state.flip);
    context.putImageData(image, x, y);
  }

  /** Stored values of a region of the scaled image: { data, stride, offset }. */
  scaled(pane, g, x, y, w, h) {
    const { view, entry, canvas } = pane;
    if (g.width === view.width && g.height === view.height) {
      return { data: entry.data, stride: g.width, offset: y * g.width + x };
    }
    if (entry.fit && entry.fitSize[0] === g.width && entry.fitSize[1] === g.height) {
      return { data: entry.fit, stride: g.width, offset: y * g.width + x };
    }
    const whole = g.width * g.height <= KEEP_WHOLE * canvas.width * canvas.height && g.width < view.width;
    const region = whole ? [0, 0, g.width, g.height] : [x, y, w, h];
    const key = [g.width, g.height, ...region].join();
    if (pane.kept?.key !== key || pane.kept.source !== entry.data) {
      const hurry = pane.isMoving() && pane.careful > MOST_CAREFUL;
      if (hurry) {
        return { data: sketch(entry.data, view.width, view.height, g.width, g.height, x, y, w, h), stride: w, offset: 0 };
      }
      const began = performance.now();
      const data = resample(entry.data, view.width, view.height, g.width, g.height, ...region, view.padding);
      pane.careful = performance.now() - began;
      pane.kept = { key, source: entry.data, data, stride: region[2] };
    }
    const { data, stride } = pane.kept;
    return { data, stride, offset: whole ? y * stride + x : 0 };
  }

  /** The display table as opaque pixels; kept until window or inversion change. */
  colours(pane) {
    const levels = pane.levels();
    if (pane.colours?.levels !== levels) {
      const pixels = pane.colours?.pixels ?? new Uint32Array(TABLE_SIZE);
      for (let v = 0; v < TABLE_SIZE; v++) pixels[v] = OPAQUE | (levels[v] * 0x010101);
      pane.colours = { levels, pixels };
    }
    return pane.colours.pixels;
  }

  buffer(pane, w, h) {
    if (pane.image?.width !== w || pane.image.height !== h) pane.image = new ImageData(w, h);
    return pane.image;
  }

  release() {}

  destroy() {}
}

function lookUp(out, w, h, { data, stride, offset }, pixels, flip) {
  for (let j = 0, o = 0; j < h; j++) {
    const row = offset + j * stride;
    if (flip) for (let i = row + w - 1; i >= row; i--) out[o++] = pixels[data[i]];
    else for (let i = row, end = row + w; i < end; i++) out[o++] = pixels[data[i]];
  }
}
