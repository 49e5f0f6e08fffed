// What the page says about itself: where each answer is, whether there is a connection, and one sentence when a key could
// not be used.

const BACK_MS = 6_000; // that the connection is back is news for a moment
const byId = (id) => document.getElementById(id);

export class Saying {
  constructor(words) {
    this.words = words;
    this.isCut = false;
    this.isOwed = false; // answers wait since the line was cut
  }

  /** `outbox`: what is being sent. `nReady`: further cases that can be read without a connection; `isOn`: one is on screen. */
  tell(outbox, nReady, isOn) {
    this.saving(outbox);
    this.connection(outbox.cut, nReady, isOn);
  }

  saving(outbox) {
    const place = byId("case-saving");
    const n = outbox.nAnswers;
    const state = outbox.isHeld ? "" : outbox.isCut && n ? "trying" : outbox.length ? "sending" : "saved";
    const where = outbox.keeping.isLasting ? this.words.kept : this.words.notKept;
    const text = { trying: where, sending: n ? where : this.words.saving, saved: this.words.saved }[state] ?? "";
    place.dataset.saving = state;
    if (place.textContent !== text) place.textContent = text;
    this.isOwed = n > 0 && (this.isOwed || state === "trying");
    this.unsent(this.isOwed ? n : 0);
  }

  /** Pauses and breaks hide the line; who goes away there has to know that this device still has answers. */
  unsent(n) {
    const text = n ? this.words.unsent.replace("{n}", n) : "";
    for (const place of document.querySelectorAll(".room-cover [data-unsent]")) {
      if (place.textContent !== text) place.textContent = text;
      place.hidden = !n;
    }
  }

  connection(cut, nReady, isOn) {
    const { words } = this;
    if (cut) {
      this.isCut = true;
      clearTimeout(this.timer);
      const text = nReady ? words.cut.replace("{n}", nReady) : isOn ? words.cutLast : words.cutEmpty;
      this.banner(text.replace("{why}", cut === "line" ? words.noLine : words.noServer), "cut");
    } else if (this.isCut) {
      this.isCut = false;
      this.banner(words.back, "back");
      this.timer = setTimeout(() => this.banner("", ""), BACK_MS);
    }
  }

  banner(text, state) {
    const place = byId("room-banner");
    if (place.textContent !== text) place.textContent = text;
    place.dataset.state = state;
    place.hidden = !text;
  }

  /** A word of thanks that goes by itself. */
  note(text) {
    this.message(text);
    this.noteTimer = setTimeout(() => this.message(""), BACK_MS);
  }

  message(text) {
    clearTimeout(this.noteTimer);
    const place = byId("case-message");
    place.textContent = text;
    place.hidden = !text;
  }
}
