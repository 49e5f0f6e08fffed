// What a stroke of a key says, whatever the keyboard: the one rule for everything that listens to keys.
// The digit row goes by place, so that AZERTY needs no Shift; letters go by what is printed on the key.

const KEYS = JSON.parse(document.getElementById("keys")?.textContent ?? "{}"); // annotation/case/kernels/keys.py
const SAYS_NOTHING = ["Dead", "Process", "Unidentified"]; // half of an accent, or taken by an input method
const OTHER_SCRIPT = /^(?!\p{Script=Latin}|\p{Script=Common}|\p{Script=Inherited})[\p{L}\p{M}]$/u; // one letter or vowel sign

/** Neither a shortcut, nor the third level of a key, nor a part of a word that is being composed, nor switched off. */
export function isPlain(event) {
  const isHeld = event.ctrlKey || event.metaKey || event.altKey || event.getModifierState?.("AltGraph");
  return !isHeld && !event.isComposing && !SAYS_NOTHING.includes(event.key) && !isOff(event);
}

/** What the person does without, of the keys that write a character: all, or all but the digits (KeyUse). */
function isOff({ key, code }) {
  const { keys } = document.body.dataset;
  if (!["digits", "none"].includes(keys) || key === " " || [...key].length !== 1) return false;
  return keys === "none" || !(/^(Digit|Numpad)[0-9]$/.test(code) || /^[0-9]$/.test(key));
}

/**
 * "0" to "9", else null: the digit row by place without Shift, which belongs to the images; the numpad, and digits that
 * come without a place, as from speech and remote desktops, only where the key is that digit.
 */
export function digitOf(event) {
  if (!isPlain(event)) return null;
  const written = /^[0-9]$/.test(event.key) ? event.key : null;
  if (!event.code || event.code === "Unidentified") return written;
  if (event.shiftKey) return null;
  return event.code.startsWith("Numpad") ? written : (/^Digit([0-9])$/.exec(event.code)?.[1] ?? null);
}

/** A small letter; the letter of the place only where the key is one letter of another script. Null for everything else. */
export function letterOf(event) {
  if (!isPlain(event)) return null;
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  return OTHER_SCRIPT.test(event.key) ? (/^Key([A-Z])$/.exec(event.code)?.[1].toLowerCase() ?? null) : null;
}

/** What a key does in a part of the page, by the one table of keys; null for nothing. */
export function actOf(event, part) {
  if (!isPlain(event)) return null;
  const letter = letterOf(event)?.toUpperCase();
  const held = `⇧${letter}`; // held with Shift it is another key, where there is one
  return KEYS[part]?.[event.shiftKey && KEYS.everywhere[held] ? held : (letter ?? event.key)] ?? null;
}
