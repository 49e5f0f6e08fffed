// Reading and writing the form: values, problems beside their fields, and what the drafts keep.

const NOT_KEPT = new Set(["csrfmiddlewaretoken"]);

/** The form as a list of [name, value], as it would be sent, without the token. */
export function valuesOf(form) {
  return [...new FormData(form)].filter(([name]) => !NOT_KEPT.has(name));
}

export function setValues(form, values) {
  for (const field of form.elements) {
    if (!field.name || NOT_KEPT.has(field.name)) continue;
    const mine = values.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "radio" || field.type === "checkbox") field.checked = mine.includes(field.value);
    else if (mine.length) field.value = mine[0];
  }
}

export const chosen = (form, name) => form.querySelector(`input[name="${name}"]:checked`)?.value ?? "";
export const textOf = (form, name) => form.elements[name]?.value.trim() ?? "";

/** Choose a radio or switch a checkbox as a person would: the form hears of it. */
export function press(input, on = true) {
  if (!input || input.disabled || input.checked === on) return;
  input.checked = on;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

export function showProblem(root, field, message) {
  const place = root.querySelector(`[data-problem="${field}"]`);
  if (!place) return false;
  place.textContent = message;
  place.hidden = false;
  const row = root.querySelector(`[data-field="${field}"]`);
  const input = row?.querySelector("input:checked") ?? row?.querySelector("input, textarea");
  input?.setAttribute("aria-invalid", "true");
  return true;
}

export function clearProblems(root) {
  for (const place of root.querySelectorAll("[data-problem]")) place.hidden = true;
  for (const field of root.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

/** Put the focus on a field, unfolding it if it is folded. */
export function focusField(root, field) {
  const row = root.querySelector(`[data-field="${field}"]`);
  if (!row) return;
  row.hidden = false;
  (row.querySelector("input:checked") ?? row.querySelector("textarea, input:not(:disabled)"))?.focus();
  row.scrollIntoView({ block: "nearest" });
}

/** What a field says in words: the names of what is chosen, or the text. */
function wordsOf(form, name, values) {
  const mine = values.filter(([field]) => field === name).map(([, value]) => value);
  const inWords = (value) => {
    const input = form.querySelector(`:is([type="radio"], [type="checkbox"])[name="${name}"][value="${CSS.escape(value)}"]`);
    const label = input?.closest("label").cloneNode(true);
    for (const key of label?.querySelectorAll("kbd") ?? []) key.remove();
    return input?.getAttribute("aria-label") ?? label?.textContent ?? value;
  };
  return mine.map((value) => inWords(value).trim().replace(/\s+/g, " ")).join(", ");
}

/** A row for each field in which the form differs from what is `stored` of it elsewhere: its name, here, there. */
export function rowsOfBoth(form, stored, words) {
  const here = valuesOf(form);
  const there = Object.entries(stored).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const labelOf = (name) => form.querySelector(`#label-${name}, label[for="${name}"]`)?.firstChild.textContent ?? words[name];
  return [...new Set([...here, ...there].map(([name]) => name))]
    .map((name) => [labelOf(name) ?? name, wordsOf(form, name, here), wordsOf(form, name, there)])
    .filter(([, mine, other]) => mine !== other)
    .map((cells) => {
      const row = document.createElement("tr");
      for (const text of cells) row.insertCell().textContent = text.trim() || "–";
      return row;
    });
}
