// The case page in small: mounts the viewer on demand and writes down what it tells.

import { mountViewer } from "/static/case/viewer/viewer.js";

window.told = [];
const root = document.getElementById("case-images");

window.mount = (views, options = {}) => {
  window.viewer?.destroy();
  window.told = [];
  const note = (kind) => (index, what) => window.told.push({ kind, index, what, at: performance.now() });
  const told = {
    onPainted: note("painted"),
    onError: note("error"),
    onUnreadable: note("unreadable"),
    onReady: (info) => note("ready")(0, info),
    onWhole: () => note("whole")(0),
  };
  window.viewer = mountViewer(root, { views, ...options, ...told });
};

const canvasOf = (place) => document.querySelectorAll(".viewer-canvas")[place];

/** Levels (red) of a canvas, with its size: [width, height, base64 of one byte per pixel]. */
window.levels = (place) => {
  const canvas = canvasOf(place);
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const out = new Uint8Array(width * height);
  for (let i = 0; i < out.length; i++) {
    out[i] = data[4 * i];
    // A preview comes out of a colour codec, and may be off by a level or two.
    if (Math.max(Math.abs(data[4 * i + 1] - out[i]), Math.abs(data[4 * i + 2] - out[i])) > 3) throw new Error("not grey");
  }
  let text = "";
  for (let i = 0; i < out.length; i += 8192) text += String.fromCharCode(...out.subarray(i, i + 8192));
  return [width, height, btoa(text)];
};

/** The addresses of the images that are in memory or on their way. */
window.kept = () => window.viewer.kept();

window.viewer_size = () => document.querySelector(".viewer-view").getBoundingClientRect();

/** How long a turn takes: from show() to both pictures at full depth on screen. */
window.turn = async (views) => {
  window.told = [];
  const began = performance.now();
  window.viewer.show(views);
  while (window.told.filter((note) => note.what === "full").length < views.length) {
    await new Promise((done) => setTimeout(done, 1));
  }
  return Math.max(...window.told.filter((note) => note.what === "full").map((note) => note.at)) - began;
};

window.prepareWhole = async (views) => {
  window.viewer.prepare(views);
  while (!window.viewer.isReady(views)) await new Promise((done) => setTimeout(done, 5));
};

/** Main-thread time of every frame from its start until it has been handed over, while `window.recording`. */
window.record = () => {
  window.recording = true;
  window.frames = [];
  const frame = () => {
    const began = performance.now();
    const before = JSON.stringify(window.viewer.state());
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      if (before !== window.lastState) window.frames.push(performance.now() - began);
      window.lastState = before;
    };
    port2.postMessage(0);
    if (window.recording) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};

/** One window step of the first view while a real pointer holds the drag there, until it has been drawn. */
window.step = async (n) => {
  const surface = document.querySelector(".viewer-view");
  const { left, top } = surface.getBoundingClientRect();
  const place = { clientX: left + 100 + (n % 200), clientY: top + 100 + (n % 40) };
  surface.dispatchEvent(new PointerEvent("pointermove", { ...place, isPrimary: true, bubbles: true }));
  await new Promise((done) => requestAnimationFrame(done));
};

/** The level in the middle of the first view. */
window.level = () => {
  const canvas = canvasOf(0);
  return canvas.getContext("2d").getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data[0];
};

const views = document.getElementById("views");
if (views) window.mount(JSON.parse(views.textContent));
window.ready = true;
