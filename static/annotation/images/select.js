// Selecting many images of a list: all on the page, a range with Shift, and how many are selected.

const form = document.querySelector("[data-selection]");

function start() {
  const all = form.querySelector("[data-select-all]");
  const counter = form.querySelector("[data-n-selected]");
  const boxes = [...form.querySelectorAll("input[name=image]")];
  const buttons = form.querySelectorAll("button[name=decision]");
  let last = null;

  function tell() {
    const n = boxes.filter((box) => box.checked).length;
    counter.textContent = counter.dataset.words.replace("%s", n);
    all.checked = n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
    for (const button of buttons) button.disabled = n === 0;
  }

  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    tell();
  });
  for (const box of boxes) {
    // A click, and Space on the keyboard: with Shift, everything between the last box and this one follows it.
    box.addEventListener("click", (event) => {
      if (event.shiftKey && last) {
        const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
        for (const one of boxes.slice(from, to + 1)) one.checked = box.checked;
      }
      last = box;
      tell();
    });
  }
  window.addEventListener("pageshow", tell);
  tell();
}

if (form) start();
