// Payloads: the body of a full-depth answer -> stored values. One entry per media type; the rest is the same for all.

import { resample } from "./resample.js";

/** A failure that is shown to the person; `code` names the sentence. */
export class LoadFailed extends Error {
  constructor(code, status = 0) {
    super(code);
    this.code = code;
    this.status = status;
  }
}

/** Undo left delta, zigzag and byte planes: all low bytes, then all high bytes. */
function undsh(bytes, width, height) {
  const n = width * height;
  if (bytes.length !== 2 * n) throw new LoadFailed("incomplete");
  const out = new Uint16Array(n);
  let first = 0;
  for (let y = 0, i = 0; y < height; y++) {
    let value = first;
    for (const end = i + width, begin = i; i < end; i++) {
      const z = bytes[i] | (bytes[n + i] << 8);
      value = (value + ((z >>> 1) ^ -(z & 1))) & 0xffff;
      out[i] = value;
      if (i === begin) first = value;
    }
  }
  return out;
}

/** An 8-bit picture that is sent as the file it came as: its red channel. */
async function unpicture(blob, width, height) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" });
  } catch {
    throw new LoadFailed("incomplete");
  }
  if (bitmap.width !== width || bitmap.height !== height) throw new LoadFailed("incomplete");
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data } = context.getImageData(0, 0, width, height);
  const out = new Uint16Array(width * height);
  for (let i = 0; i < out.length; i++) out[i] = data[4 * i];
  return out;
}

/**
 * The body of a full-depth answer: { type, parts: [Uint8Array] }, without its Content-Encoding. `size`: how many bytes that
 * is, as far as one knows; `onProgress({ loaded, total })` hears how many have come over the line, and of how many.
 *
 * Raises LoadFailed: "refused" (the server refused, or sent a page), "offline" (no answer), "incomplete" (cut off).
 */
export async function fetchBody({ url, urgent, size, onProgress }, signal) {
  let answer;
  try {
    answer = await fetch(url, { signal, credentials: "same-origin", priority: urgent ? "high" : "low" });
  } catch (error) {
    throw error.name === "AbortError" ? error : new LoadFailed("offline");
  }
  const type = answer.headers.get("Content-Type") || "";
  if (!answer.ok || type.startsWith("text/")) throw new LoadFailed("refused", answer.ok ? 0 : answer.status);
  try {
    return { type, parts: await partsOf(answer, size, onProgress) };
  } catch (error) {
    throw error.name === "AbortError" ? error : new LoadFailed("incomplete");
  }
}

/** All parts of the body, reported while they come: decoded, while the length that is reported is that on the line. */
async function partsOf(answer, size, onProgress) {
  const total = Number(answer.headers.get("Content-Length"));
  if (!answer.body || !total) return [new Uint8Array(await answer.arrayBuffer())];
  const whole = answer.headers.get("Content-Encoding") ? size : total;
  let at = 0;
  const parts = [];
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return parts;
    parts.push(value);
    at += value.length;
    onProgress({ loaded: Math.min(1, at / whole) * total, total });
  }
}

/** In one piece. The workers do this, so that the page is free for the next question. */
function joined(parts) {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Stored values, and the picture already scaled to job.fit when that is asked for. Raises LoadFailed "incomplete". */
export async function decodeBody({ type, parts, width, height, fit, padding }) {
  const data = type.startsWith("image/")
    ? await unpicture(new Blob(parts, { type }), width, height)
    : undsh(joined(parts), width, height);
  if (!fit) return { data, fit: null };
  return { data, fit: resample(data, width, height, ...fit, 0, 0, ...fit, padding) };
}
