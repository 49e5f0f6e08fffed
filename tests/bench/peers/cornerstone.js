// Cornerstone3D on a page of the benchmark: the same images and windows as our viewer, the same questions asked of it.
//
// The page holds one element per view (class "peer"). Images come as raw 16-bit values, so that no time goes into a
// codec of ours. ?mode=cpu draws without WebGL, as Cornerstone3D itself does where there is no graphics processor.

import {
  Enums,
  RenderingEngine,
  imageLoader,
  init,
  metaData,
  setUseCPURendering,
  utilities,
} from "@cornerstonejs/core";

const views = JSON.parse(document.getElementById("views").textContent);
const viewOf = (imageId) => views[Number(imageId.split(":")[1])];
const LOADED = {};

function modules(type, imageId) {
  const view = viewOf(imageId);
  if (!view) return undefined;
  const [window] = view.windows;
  const photometric = view.invert ? "MONOCHROME1" : "MONOCHROME2";
  return {
    imagePixelModule: {
      bitsAllocated: 16,
      bitsStored: view.bits,
      highBit: view.bits - 1,
      samplesPerPixel: 1,
      pixelRepresentation: 0,
      photometricInterpretation: photometric,
      rows: view.height,
      columns: view.width,
    },
    imagePlaneModule: {
      frameOfReferenceUID: `1.2.${views.indexOf(view)}`,
      rows: view.height,
      columns: view.width,
      imageOrientationPatient: [1, 0, 0, 0, 1, 0],
      rowCosines: [1, 0, 0],
      columnCosines: [0, 1, 0],
      imagePositionPatient: [0, 0, 0],
      pixelSpacing: [1, 1],
      rowPixelSpacing: 1,
      columnPixelSpacing: 1,
    },
    voiLutModule: { windowCenter: [window.center], windowWidth: [window.width], voiLUTFunction: window.function },
    modalityLutModule: { rescaleSlope: view.slope, rescaleIntercept: view.intercept },
    generalSeriesModule: { modality: "CR" },
  }[type];
}

async function load(imageId) {
  const view = viewOf(imageId);
  const pixels = new Uint16Array(await (await fetch(view.raw)).arrayBuffer());
  const [window] = view.windows;
  let [least, most] = [65535, 0];
  for (const value of pixels) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return {
    imageId,
    minPixelValue: least,
    maxPixelValue: most,
    slope: view.slope,
    intercept: view.intercept,
    windowCenter: window.center,
    windowWidth: window.width,
    voiLUTFunction: window.function,
    getPixelData: () => pixels,
    rows: view.height,
    columns: view.width,
    height: view.height,
    width: view.width,
    color: false,
    rgba: false,
    numberOfComponents: 1,
    invert: view.invert,
    sizeInBytes: pixels.byteLength,
    photometricInterpretation: view.invert ? "MONOCHROME1" : "MONOCHROME2",
    columnPixelSpacing: 1,
    rowPixelSpacing: 1,
    dataType: "Uint16Array",
  };
}

const isCpu = new URLSearchParams(location.search).get("mode") === "cpu";
init();
setUseCPURendering(isCpu);
imageLoader.registerImageLoader("raw16", (imageId) => ({ promise: load(imageId) }));
metaData.addProvider(modules, 1000);

const engine = new RenderingEngine("peer");
const elements = [...document.querySelectorAll(".peer")];
const drawn = (element) =>
  new Promise((done) => element.addEventListener(Enums.Events.IMAGE_RENDERED, done, { once: true }));

async function show(element, index) {
  const viewportId = `view${index}`;
  engine.enableElement({ viewportId, element, type: Enums.ViewportType.STACK });
  const viewport = engine.getViewport(viewportId);
  await viewport.setStack([`raw16:${index}`]);
  const ready = drawn(element);
  viewport.setProperties({ interpolationType: Enums.InterpolationType.NEAREST });
  const [window] = views[index].windows;
  setWindow(viewport, window);
  await ready;
  LOADED[index] = viewport;
}

function setWindow(viewport, { center, width, function: kind }) {
  // Without WebGL it knows no function but LINEAR, and does not want to be told.
  const VOILUTFunction = kind === "SIGMOID" ? Enums.VOILUTFunctionType.SAMPLED_SIGMOID : Enums.VOILUTFunctionType.LINEAR;
  const voiRange = utilities.windowLevel.toLowHighRange(width, center, kind);
  viewport.setProperties(isCpu ? { voiRange } : { VOILUTFunction, voiRange });
  viewport.render();
}

/** One window step of the first view, until it has been drawn. */
window.step = async (n) => {
  const element = elements[0];
  const ready = drawn(element);
  setWindow(LOADED[0], { center: 2048 + 12 * (n % 40), width: 3000 + 12 * (n % 200), function: "LINEAR" });
  await ready;
};

/** The level in the middle of the first view. */
window.level = () => {
  const canvas = elements[0].querySelector("canvas");
  return canvas.getContext("2d").getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data[0];
};

/** Levels (red) of a view: [width, height, base64 of one byte per pixel]. */
window.levels = (index) => {
  const canvas = elements[index].querySelector("canvas");
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let text = "";
  for (let i = 0; i < data.length; i += 4) text += String.fromCharCode(data[i]);
  return [width, height, btoa(text)];
};

await Promise.all(elements.map(show));
await new Promise(requestAnimationFrame);
window.shownAt = performance.now();
