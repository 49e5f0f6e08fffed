// Keys of a page with a case: what they mean on any keyboard, and which of them are for the page.

import { actOf, digitOf, isPlain, letterOf } from "../../case/strokes.js";

export { actOf, digitOf, letterOf };

const TYPING =
  'textarea, select, [contenteditable]:not([contenteditable="false"]), ' +
  "input:not([type=radio]):not([type=checkbox]):not([type=button]):not([type=submit])";

export const isTyping = (target) => Boolean(target.closest?.(TYPING));

/** Keys are for the page unless a dialog is open or they say nothing by themselves. */
export const isForPage = (event) => isPlain(event) && !event.defaultPrevented && !document.querySelector("dialog[open]");

/**
 * Radios of the page are chosen by their keys, by the pointer, and by Tab and Space: an arrow key is for the images and
 * never moves a choice. Each radio is a stop of Tab; browsers by themselves stop at one of a group.
 */
export function guardRadios() {
  addEventListener("keydown", (event) => {
    if (event.target.type === "radio" && event.key.startsWith("Arrow")) event.preventDefault(); // after the viewer had it
    if (event.key === "Tab" && !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey) tab(event);
  });
}

const STOPS = "input:not(:disabled), textarea:not(:disabled), button:not(:disabled), a[href], [tabindex='0']";

function tab(event) {
  const stops = [...(event.target.closest?.("#case-form")?.querySelectorAll(STOPS) ?? [])].filter((one) => one.checkVisibility({ visibilityProperty: true }));
  const next = stops[stops.indexOf(event.target) + (event.shiftKey ? -1 : 1)];
  if (!next || !stops.includes(event.target) || ![next, event.target].some(({ type }) => type === "radio")) return;
  event.preventDefault();
  next.focus();
}

/** Leaves out of a list of keys what belongs to tools that are hidden. */
export function listKeys(list, hidden) {
  for (const line of list.querySelectorAll("[data-only]")) {
    line.hidden = line.dataset.only.split(" ").every((tool) => hidden.includes(tool));
  }
}
