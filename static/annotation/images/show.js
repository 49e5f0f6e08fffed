// Mounts the viewer where a page asks for it; inside a closed <details> only once that is opened.

import { mountViewer } from "../../case/viewer/viewer.js";
import { Wording } from "../../case/wording.js";

for (const place of document.querySelectorAll("[data-viewer]")) {
  const views = JSON.parse(document.getElementById(place.dataset.viewer).textContent);
  const folded = place.closest("details");
  if (folded && !folded.open) folded.addEventListener("toggle", () => mountViewer(place, { views, worker: place.dataset.worker }), { once: true });
  else mountViewer(place, { views, worker: place.dataset.worker });
}

new Wording().begin();
