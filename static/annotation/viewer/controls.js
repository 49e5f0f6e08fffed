// Words, keys and the toolbar. A page replaces the words by those of #viewer-words (gettext lives on the server).

export const TEXT = {
  unknown: "unknown",
  viewLabel: "Image {number}: {position}",
  eightBit: "8-bit, no window from the scanner",
  noWindow: "no window from the scanner",
  flipped: "flipped left to right",
  failed: "This image could not be shown.",
  refused: "The server refused it.",
  refusedWith: "The server refused it (status {status}).",
  offline: "No answer from the server.",
  incomplete: "Its data is incomplete.",
  stopped: "Loading stopped.",
  again: "Try again (N)",
  unreadable: "It cannot be read (W)",
  saidUnreadable: "You say that this image cannot be read.",
  readable: "Take it back (W)",
  toolbar: "Image tools",
  drag: "Drag: pan",
  dragWindow: "Drag: window",
  dragTitle: "What the left button drags; the right button does the other",
  scanner: "Scanner",
  scannerTitle: "Window from the scanner; again for the next",
  full: "Full",
  fullTitle: "Full range (Shift+1)",
  lungs: "Lungs",
  lungsTitle: "Lungs (Shift+2)",
  mediastinum: "Mediastinum",
  mediastinumTitle: "Mediastinum and bones (Shift+3)",
  contrast: "Contrast",
  contrastTitle: "High contrast (Shift+4)",
  invert: "Invert",
  invertTitle: "Invert all views (I)",
  fit: "Fit",
  fitTitle: "Fit the view (=)",
  actual: "1:1",
  actualTitle: "One image pixel on one screen pixel (Z)",
  flip: "Flip",
  flipTitle: "Flip left to right",
  reset: "Reset",
  resetTitle: "Back to how the case opened (R)",
  maximise: "One view",
  maximiseTitle: "This view alone and back (. or double-click)",
  wide: "Full screen",
  wideTitle: "This view over the page and back (F); answer keys stay live",
};

export const PRESETS = ["full", "lungs", "mediastinum", "contrast"];

/** For the page's list of keys: [keys, name of the text]. */
export const KEYS = [
  ["Shift+1", "fullTitle"],
  ["Shift+2", "lungsTitle"],
  ["Shift+3", "mediastinumTitle"],
  ["Shift+4", "contrastTitle"],
  ["I", "invertTitle"],
  ["=", "fitTitle"],
  ["Z", "actualTitle"],
  ["R", "resetTitle"],
  [".", "maximiseTitle"],
  ["F", "wideTitle"],
];

const TYPING =
  'textarea, select, [contenteditable]:not([contenteditable="false"]), dialog, [role="dialog"], ' +
  "input:not([type=radio]):not([type=checkbox]):not([type=button]):not([type=submit]):not([type=range])";

/** Keys are for the images unless somebody types or a dialog is open. */
function isElsewhere(event) {
  return (
    event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey ||
    event.target.closest?.(TYPING) || document.querySelector('dialog[open], [role="dialog"]:not([hidden])')
  );
}

/** The letter on the key; on a keyboard without Latin letters, the letter of its place. */
function letter(event) {
  if (/^[\x20-\x7e]$/.test(event.key)) return event.key.toLowerCase();
  return event.code.startsWith("Key") ? event.code.slice(3).toLowerCase() : event.key;
}

/** The act that a key stands for: [name, argument], or null. */
export function actOfKey(event, onView) {
  if (isElsewhere(event)) return null;
  const digit = /^Digit([1-4])$/.exec(event.code);
  if (digit) return event.shiftKey && !event.repeat ? ["range", PRESETS[digit[1] - 1]] : null;
  const key = letter(event);
  if (key === "+") return ["zoom", 1.25];
  if (key === "-") return ["zoom", 0.8];
  if (event.repeat) return null;
  if (onView && key.startsWith("Arrow")) return ["move", key === "ArrowRight" || key === "ArrowDown" ? 1 : -1];
  if (key === "Escape") return ["leave"];
  const acts = { i: "invert", "=": "fit", z: "actual", r: "reset", ".": "maximise", f: "wide", n: "again", w: "unreadable" };
  return key in acts ? [acts[key]] : null;
}

/** The toolbar: one tab stop, arrows move inside it. Returns { node, update(state) }. */
export function buildToolbar(text, act) {
  const node = document.createElement("div");
  node.className = "viewer-toolbar";
  node.setAttribute("role", "toolbar");
  node.setAttribute("aria-label", text.toolbar);
  const buttons = {};
  const add = (name, ...what) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "viewer-button";
    button.textContent = text[name];
    button.title = text[`${name}Title`];
    button.tabIndex = -1;
    button.addEventListener("click", () => act(...what));
    node.append(button);
    buttons[name] = button;
  };
  const groups = [
    () => add("drag", "drag"),
    () => ["scanner", ...PRESETS].forEach((name) => (name === "scanner" ? add(name, name) : add(name, "range", name))),
    () => ["invert", "flip"].forEach((name) => add(name, name)),
    () => ["fit", "actual", "reset"].forEach((name) => add(name, name)),
    () => ["maximise", "wide"].forEach((name) => add(name, name)),
  ];
  for (const group of groups) {
    group();
    node.lastChild.classList.add("viewer-group-end");
  }
  const all = Object.values(buttons);
  all[0].tabIndex = 0;
  node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const open = all.filter((button) => !button.disabled && !button.hidden);
    const next = open[(open.indexOf(document.activeElement) + step + open.length) % open.length];
    for (const button of all) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  });
  const press = (name, on) => {
    const value = String(Boolean(on));
    if (buttons[name].getAttribute("aria-pressed") !== value) buttons[name].setAttribute("aria-pressed", value);
  };
  const update = ({ pane, primary, alone, wide, many, scanner }) => {
    buttons.drag.textContent = primary === "window" ? text.dragWindow : text.drag;
    for (const name of PRESETS) {
      press(name, pane?.view && pane.state.window.source === name);
      buttons[name].disabled = !pane?.view?.presets?.[name];
    }
    press("scanner", pane?.view && pane.state.window.source === "scanner");
    buttons.scanner.disabled = !scanner;
    press("invert", pane?.state?.invert);
    press("flip", pane?.state?.flip);
    press("fit", pane?.state?.zoom === null);
    press("actual", pane?.state?.zoom === 1);
    press("maximise", alone);
    buttons.maximise.disabled = !many;
    press("wide", wide);
  };
  return { node, update };
}
