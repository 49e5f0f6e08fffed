// Words, keys and the toolbar. A page replaces the words by those of #viewer-words (gettext lives on the server).

import { actOf, isPlain } from "../strokes.js";
import { PRESETS } from "./grey.js";
import { isFrontal } from "./hanging.js";

export const TEXT = {
  unknown: "unknown",
  viewLabel: "Image {number}: {position}",
  eightBit: "8-bit, no window in the file",
  noWindow: "no window in the file",
  eightBitShort: "8-bit",
  noWindowShort: "no window",
  inverted: "inverted",
  turned: "turned",
  flipped: "flipped left to right",
  flippedShort: "flipped",
  failed: "This image could not be shown.",
  refused: "The server refused it.",
  refusedWith: "The server refused it (status {status}).",
  offline: "No answer from the server.",
  incomplete: "The image data are incomplete.",
  stopped: "Loading stopped.",
  again: "Try again (N)",
  unreadable: "Mark unreadable (W)",
  saidUnreadable: "Marked as unreadable.",
  readable: "Undo (W)",
  toolbar: "Image tools",
  drag: "Left drag: pan",
  dragWindowing: "Left drag: window",
  dragTitle: "What dragging with the left button does, remembered in this browser; the right button does the other",
  scanner: "Scanner",
  scannerTitle: "Window stored in the file; press again for the next",
  scannerWindow: "window {number} of {all}",
  scannerTable: "table {number} of {all}",
  tableDragged: "table, stretched",
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
  actualTitle: "One image pixel on one screen pixel, at the pointer (Z); magnifier: hold the key next to Enter",
  flip: "Flip",
  flipTitle: "Flip left to right",
  turn: "↻",
  turnTitle: "Turn a quarter clockwise",
  larger: "+",
  largerTitle: "Larger (+)",
  smaller: "−",
  smallerTitle: "Smaller (-)",
  magnify: "Lens",
  magnifyTitle: "Magnifier at the pointer, until it is pressed again",
  reset: "Reset",
  resetTitle: "Reset all views: window, zoom, inversion, flip, turn, layout (R); measurements stay",
  link: "Link",
  linkTitle: "Window, zoom and pan of all views together (S)",
  line: "Line",
  lineTitle: "Measure a line (L)",
  ratio: "CTR",
  ratioTitle: "Cardiothoracic ratio, on frontal views (Q)",
  back: "‹",
  backTitle: "Previous views (Page up)",
  next: "›",
  nextTitle: "Next views (Page down)",
  layoutAll: "All views",
  layoutSome: "{from}–{to} of {all}",
  layoutOne: "{from} of {all}",
  layoutTitle: "Views shown at once: all, two, one (P); this view alone and back (. or double-click)",
  prior: "Prior",
  priorTitle: "Show or hide the prior exam (;)",
  wide: "Full screen",
  wideTitle: "Full screen on and off (F); answer keys keep working",
  lineHint: "Drag to measure. Esc cancels.",
  lineFull: "No more lines can be added. Press Delete to remove one.",
  heartHint: "Measure the widest transverse cardiac diameter. Esc cancels.",
  thoraxHint: "Now measure the widest internal thoracic diameter.",
  ratioDone: "Drag an end to correct it; Delete removes the measurement.",
  ratioValue: "CTR {value}",
  heart: "heart",
  thorax: "thorax",
  zoomValue: "{value} %",
  settings: "⚙",
  settingsTitle: "Hanging and opening of images, remembered in this browser",
  dragLabel: "Left button",
  dragPan: "pan",
  dragWindow: "window",
  lateralLabel: "Lateral view",
  openingLabel: "Images open with",
  openingOwn: "their own window",
  levelLabel: "Level",
  widthLabel: "Width",
  panelLabel: "Question",
  right: "on the right",
  left: "on the left",
};

export const LENS_KEY = "Backslash"; // next to Enter, by place; on no keyboard a letter or a dead key

/** The tool to which an act belongs; a round may hide tools, and then their acts have neither button nor key. */
const TOOL_OF = {
  range: "presets", scanner: "presets", fit: "zoom", actual: "zoom", zoom: "zoom", lens: "zoom", pan: "zoom", level: "window",
  magnify: "zoom", turn: "flip", maximise: "layout", layout: "layout", page: "layout", prior: "layout",
};
export const toolOf = (act) => TOOL_OF[act] ?? act;

const TYPING =
  'textarea, select, [contenteditable]:not([contenteditable="false"]), dialog, [role="dialog"], ' +
  "input:not([type=radio]):not([type=checkbox]):not([type=button]):not([type=submit]):not([type=range])";

/** Keys are for the images unless somebody types or a dialog is open. */
function isBusy(event) {
  return (
    event.defaultPrevented || event.isComposing || event.target.closest?.(TYPING) ||
    document.querySelector('dialog[open], [role="dialog"]:not([hidden])')
  );
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** An arrow that moves the image (Shift) or its window (Ctrl; on a Mac, whose system takes that, Alt). */
function heldArrow(event) {
  const arrow = ARROWS[event.code];
  const isMac = /^Mac/.test(navigator.platform);
  if (!arrow || event.metaKey || isBusy(event)) return null;
  if (event.shiftKey) return event.ctrlKey || event.altKey ? null : ["pan", arrow];
  return (isMac ? event.altKey && !event.ctrlKey : event.ctrlKey && !event.altKey) ? ["level", arrow] : null;
}

const STEPS = { larger: ["zoom", 1.25], smaller: ["zoom", 0.8], former: ["page", -1], later: ["page", 1] };

/** The act of a key: [name, argument], or null. Digits, arrows and the magnifier go by place. */
export function actOfKey(event, onView) {
  const held = heldArrow(event);
  if (held) return held;
  if (!isPlain(event) || isBusy(event)) return null;
  const digit = /^Digit([1-8])$/.exec(event.code)?.[1];
  if (digit) {
    if (!event.shiftKey || event.repeat) return null;
    return digit <= PRESETS.length ? ["range", PRESETS[digit - 1]] : ["view", digit - PRESETS.length - 1];
  }
  if (event.code === LENS_KEY) return event.repeat ? null : ["lens"];
  const { key } = event;
  const act = actOf(event, "images");
  if (event.repeat && !["larger", "smaller"].includes(act)) return null;
  if (key === "ArrowLeft" || key === "ArrowRight" || (onView && key.startsWith("Arrow"))) return ["move", key === "ArrowRight" || key === "ArrowDown" ? 1 : -1];
  if (key === "Escape") return ["leave"];
  return act && (STEPS[act] ?? [act]);
}

/** The toolbar: one tab stop, arrows move inside it; `can(tool)` says what it has. Returns { node, update(state) }. */
export function buildToolbar(text, act, can) {
  const node = document.createElement("div");
  node.className = "viewer-toolbar";
  node.setAttribute("role", "toolbar");
  node.setAttribute("aria-label", text.toolbar);
  const buttons = {};
  const add = (name, ...what) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `viewer-button viewer-button-${name}`;
    button.textContent = text[name];
    button.title = text[`${name}Title`];
    if (/^[↻+−]$/.test(text[name])) button.setAttribute("aria-label", text[`${name}Title`]);
    button.tabIndex = -1;
    button.addEventListener("click", () => act(...what));
    node.append(button);
    buttons[name] = button;
  };
  const groups = [
    [["drag", "drag"]],
    [["scanner", "scanner"], ...PRESETS.map((name) => [name, "range", name])],
    [["invert", "invert"], ["flip", "flip"], ["turn", "turn"]],
    [["fit", "fit"], ["smaller", "zoom", 0.8], ["larger", "zoom", 1.25], ["actual", "actual"], ["magnify", "magnify"], ["reset", "reset"]],
    [["link", "link"], ["line", "line"], ["ratio", "ratio"]],
    [["back", "page", -1], ["layout", "layout"], ["next", "page", 1]],
    [["prior", "prior"]],
    [["wide", "wide"]],
    [["settings", "settings"]],
  ];
  const isThere = ([, name]) => (name === "drag" ? can("window") && can("zoom") : can(toolOf(name)));
  for (const group of groups.map((all) => all.filter(isThere)).filter((left) => left.length)) {
    for (const button of group) add(...button);
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
  const change = (name, key, value) => {
    if (buttons[name] && buttons[name][key] !== value) buttons[name][key] = value;
  };
  const press = (name, on) => {
    const value = String(Boolean(on));
    if (buttons[name] && buttons[name].getAttribute("aria-pressed") !== value) buttons[name].setAttribute("aria-pressed", value);
  };
  const update = ({ lens, pane, primary, tool, linked, from, to, n, wide, scanner, settings, hasPrior, isPriorAway }) => {
    change("drag", "textContent", primary === "window" ? text.dragWindowing : text.drag);
    for (const name of PRESETS) {
      press(name, pane?.view && pane.state.window.source === name);
      change(name, "disabled", !pane?.offers(name));
    }
    press("scanner", pane?.view && pane.state.window.source === "scanner");
    change("scanner", "disabled", !scanner);
    press("invert", pane?.state?.invert);
    press("flip", pane?.state?.flip);
    press("magnify", lens);
    press("fit", pane?.state?.zoom === null);
    press("actual", pane?.state?.zoom === 1);
    press("line", tool === "line");
    press("ratio", tool === "ratio");
    change("ratio", "disabled", !pane?.view || !isFrontal(pane.view));
    press("settings", settings);
    press("link", linked);
    change("link", "disabled", n < 2);
    change("layout", "disabled", n < 2);
    change("layout", "textContent", layoutText(text, from, to, n));
    for (const name of ["back", "next"]) change(name, "disabled", to - from === n);
    press("wide", wide);
    press("prior", !isPriorAway);
    change("prior", "hidden", !hasPrior);
  };
  return { node, update };
}

function layoutText(text, from, to, n) {
  const kind = to - from === n ? text.layoutAll : to - from === 1 ? text.layoutOne : text.layoutSome;
  return kind.replace("{from}", from + 1).replace("{to}", to).replace("{all}", n);
}
