// The first look at a case that opens cold: its previews stand where the viewer will hang them, before the viewer itself
// is loaded. The viewer paints the same pictures in the same places and then takes them away.

import { restorePanel } from "../panel.js";
import { filmHeight, fitZoom, hangingOrder, placeOf, placesOf, scaledSize, wholePixels } from "./hanging.js";
import { placePanel, preferences } from "./preferences.js";
import { afterNextFrame } from "./readiness.js";

function hang(image, view, [x, y, w, whole], { ratio, offset }) {
  const h = filmHeight(w, whole, ratio);
  const { width, height, left, top } = placeOf(scaledSize(view, fitZoom(view, w, h)), w, h);
  const box = { left: x + offset[0] + left, top: y + offset[1] + top, width, height };
  for (const [side, length] of Object.entries(box)) image.style[side] = `${length / ratio}px`;
}

function look() {
  const stage = document.querySelector(".viewer-first");
  if (!stage || document.querySelector(".viewer-stage")) return; // the viewer was quicker
  restorePanel();
  placePanel();
  const views = JSON.parse(document.getElementById("case-views").textContent);
  const order = hangingOrder(views);
  const space = wholePixels(stage.getBoundingClientRect(), devicePixelRatio || 1);
  const places = placesOf(views, order, space, preferences().lateral);
  order.forEach((index, place) => {
    const image = Object.assign(new Image(), { alt: "", src: views[index].preview });
    hang(image, views[index], places[place], space);
    stage.append(image);
    const shown = () => image.isConnected && performance.mark(`view ${index} preview`); // for who measures the page
    image.decode().then(() => afterNextFrame(shown), () => image.remove());
  });
}

look();
