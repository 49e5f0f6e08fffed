// Buttons that copy the field they name. Without a script the field can be selected by hand.

async function copy(field) {
  field.select();
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(field.value);
  } else if (!document.execCommand("copy")) { // plain http on another machine has no clipboard
    throw new Error("not copied");
  }
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await copy(field);
      button.textContent = button.dataset.done;
    } catch {
      field.focus(); // selected already: the person copies by key
    }
  });
}
