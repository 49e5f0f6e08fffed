// The question beside the images can be folded away, down to the strip with the answer; this browser remembers it.

const PLACE = "case-folded";
const page = () => document.getElementById("content");

export const isFolded = () => page().classList.contains("case-folded");

function show(isOn) {
  page().classList.toggle("case-folded", isOn);
  document.querySelector("[data-fold]")?.setAttribute("aria-pressed", String(isOn));
}

export function fold(on) {
  show(on);
  try {
    localStorage.setItem(PLACE, on ? "yes" : "no");
  } catch {
    // A browser without storage opens every page with the question beside the images.
  }
}

/** As this browser left it. */
export function restorePanel() {
  try {
    show(localStorage.getItem(PLACE) === "yes");
  } catch {
    // See fold().
  }
}
