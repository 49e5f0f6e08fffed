// A refused form opens where it was refused: the first field with an error is chosen and in sight, or the first error.

const field = document.querySelector('main [aria-invalid="true"]:not([type="hidden"])');
const error = document.querySelector("main form :is(.errorlist, .notice.error)");
field?.focus({ preventScroll: true });
(field?.closest(".field") ?? field ?? error)?.scrollIntoView({ block: "center" });

// What somebody wrote, or drew, into a form that the browser itself sends stays in this tab until a page of this site says
// that it came (ReceiptMiddleware); where something else answered in its place, it is in the form again.

const PLACE = "form-sent";
const NOT_WRITTEN = ["hidden", "password", "file", "submit", "button"];
const fieldsOf = (form) => [...form.elements].filter(({ name, type }) => name && !NOT_WRITTEN.includes(type));

function keep(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || !form.querySelector("textarea, [data-more]")) return;
  const number = crypto.getRandomValues(new Uint32Array(2)).join("");
  form.querySelector("[name=sent_as]")?.remove();
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "sent_as", value: number }));
  const values = fieldsOf(form).map(({ name, value, checked }) => ({ name, value, checked }));
  const sent = { number, page: location.pathname, action: form.action, values };
  sessionStorage.setItem(PLACE, JSON.stringify(sent));
}

function putBack() {
  const sent = JSON.parse(sessionStorage.getItem(PLACE));
  if (document.cookie.split("; ").includes(`received=${sent?.number}`)) return sessionStorage.removeItem(PLACE);
  const form = sent?.page === location.pathname && [...document.forms].find(({ action }) => action === sent.action);
  if (!form) return;
  const more = form.querySelector("[data-more]");
  const isShort = (than) => fieldsOf(form).length < than;
  for (let n = -1; more && !isShort(n + 1) && isShort(sent.values.length); more.click()) n = fieldsOf(form).length;
  for (const field of fieldsOf(form)) {
    const isBox = field.type === "checkbox" || field.type === "radio";
    const at = sent.values.findIndex(({ name, value }) => name === field.name && (!isBox || value === field.value));
    if (at < 0) continue;
    const [{ value, checked }] = sent.values.splice(at, 1);
    Object.assign(field, isBox ? { checked } : { value });
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

addEventListener("load", putBack);
document.addEventListener("submit", keep);

// A list writes what is chosen into another field, where something else may be written, too.

document.addEventListener("change", ({ target }) => {
  const field = document.getElementById(target.dataset?.fills);
  if (field && target.value) field.value = target.value;
});
