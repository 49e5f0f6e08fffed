// A refused form opens where it was refused: the first field with an error is chosen and in sight, or the first error.

const field = document.querySelector('main [aria-invalid="true"]:not([type="hidden"])');
const error = document.querySelector("main form :is(.errorlist, .notice.error)");
field?.focus({ preventScroll: true });
(field?.closest(".field") ?? field ?? error)?.scrollIntoView({ block: "center" });
