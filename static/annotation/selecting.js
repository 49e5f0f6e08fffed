// Selecting questions of a list: the box in the head takes the page, Shift takes the range; space is the browser's own.

let last = null;

function boxes() {
  return [...document.querySelectorAll('#questions tbody input[name="number"]')];
}

document.addEventListener("click", (event) => {
  const box = event.target;
  if (box.id === "choose-page") for (const one of boxes()) one.checked = box.checked;
  if (box.name !== "number" || !box.closest("#questions")) return;
  const all = boxes();
  if (event.shiftKey && last?.isConnected) {
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
    for (const one of all.slice(from, to + 1)) one.checked = box.checked;
  }
  last = box;
});
