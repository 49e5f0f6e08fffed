// Boxes to black out: drawn on the image with the mouse, or typed in the table; the table is what is sent.

const SVG = "http://www.w3.org/2000/svg";
const canvas = document.getElementById("box-canvas");
const rows = document.getElementById("box-rows");
const template = document.getElementById("box-row");
const NAMES = ["x", "y", "width", "height"];
const LEAST = 4; // pixels; less is a click

const fields = (row) => NAMES.map((name) => row.querySelector(`[name=${name}]`));

function addRow(values = []) {
  const row = template.content.firstElementChild.cloneNode(true);
  fields(row).forEach((field, i) => (field.value = values[i] ?? ""));
  rows.append(row);
  return row;
}

/** One rectangle per row of the table that holds four numbers. */
function redraw() {
  for (const old of canvas.querySelectorAll("rect")) old.remove();
  for (const row of rows.children) {
    const values = fields(row).map((field) => field.valueAsNumber);
    if (values.some(Number.isNaN) || values[2] <= 0 || values[3] <= 0) continue;
    const rect = document.createElementNS(SVG, "rect");
    rect.classList.add("box");
    rect.classList.toggle("chosen", row.contains(document.activeElement));
    NAMES.forEach((name, i) => rect.setAttribute(name, values[i]));
    canvas.append(rect);
  }
}

/** The place of the pointer in pixels of the image. */
function place(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(canvas.getScreenCTM().inverse());
  const { width, height } = canvas.viewBox.baseVal;
  return [Math.min(Math.max(point.x, 0), width), Math.min(Math.max(point.y, 0), height)];
}

const between = ([x1, y1], [x2, y2]) => {
  const [left, top] = [Math.floor(Math.min(x1, x2)), Math.floor(Math.min(y1, y2))];
  return [left, top, Math.ceil(Math.max(x1, x2)) - left, Math.ceil(Math.max(y1, y2)) - top];
};

function draw(down) {
  if (down.button !== 0) return;
  const start = place(down);
  const row = addRow();
  canvas.setPointerCapture(down.pointerId);
  const move = (event) => {
    between(start, place(event)).forEach((value, i) => (fields(row)[i].value = value));
    redraw();
  };
  const end = () => {
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", end);
    canvas.removeEventListener("pointercancel", end);
    const [, , width, height] = fields(row).map((field) => field.valueAsNumber);
    if (!(width >= LEAST && height >= LEAST)) row.remove();
    redraw();
  };
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  down.preventDefault();
}

if (canvas && rows) {
  canvas.addEventListener("pointerdown", draw);
  rows.addEventListener("input", redraw);
  rows.addEventListener("focusin", redraw);
  rows.addEventListener("focusout", () => setTimeout(redraw));
  rows.addEventListener("click", ({ target }) => {
    if (!target.closest("[data-remove-box]")) return;
    target.closest("tr").remove();
    redraw();
    document.getElementById("add-box").focus();
  });
  document.getElementById("add-box").addEventListener("click", () => fields(addRow())[0].focus());
  redraw();
}
