// What this browser remembers of how somebody looks at images, and the box in which it is chosen.

const PLACE = "viewer-preferences";
const CHOICES = {
  drag: ["pan", "window"], // what the left button drags
  lateral: ["right", "left"], // of the frontal view
  opening: ["own", "full", "lungs", "mediastinum", "contrast"], // the preset with which images open
  panel: ["right", "left"], // of the images
};

/** The choices in force; what was not chosen, or cannot be read, is the first of each. */
export function preferences() {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(PLACE)) ?? {};
  } catch {
    // A browser without storage, or somebody else's words in it: everything as it comes.
  }
  return Object.fromEntries(
    Object.entries(CHOICES).map(([name, values]) => [name, values.includes(kept[name]) ? kept[name] : values[0]]),
  );
}

export function prefer(name, value) {
  try {
    localStorage.setItem(PLACE, JSON.stringify({ ...preferences(), [name]: value }));
  } catch {
    // Without storage it holds until the page goes.
  }
}

/** The question is on the side that was chosen; before the first look, so that nothing moves. */
export function placePanel({ panel } = preferences()) {
  document.documentElement.classList.toggle("viewer-panel-left", panel === "left");
}

/** A select for each choice that there is; `text` has its words as nameLabel and nameValue. `onChange(name, value)`. */
export function buildSettings(text, chosen, names, onChange) {
  const node = document.createElement("div");
  Object.assign(node, { className: "viewer-settings", hidden: true });
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", text.settingsTitle);
  for (const name of names) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    for (const value of CHOICES[name]) {
      const word = text[`${name}${value[0].toUpperCase()}${value.slice(1)}`] ?? text[value];
      select.append(new Option(word, value, false, value === chosen[name]));
    }
    select.addEventListener("change", () => onChange(name, select.value));
    label.append(text[`${name}Label`], select);
    node.append(label);
  }
  return node;
}

/** Level and width of the window as figures that can be typed. `onType(name, value)`. */
export function addFigures(node, text, onType) {
  for (const [name, word] of [["center", text.levelLabel], ["width", text.widthLabel]]) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "number", name, step: "any" });
    input.addEventListener("change", () => onType(name, input.valueAsNumber));
    label.append(word, input);
    node.append(label);
  }
}
