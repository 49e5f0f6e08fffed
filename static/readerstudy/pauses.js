// Pauses and breaks. A pause comes after the case on screen; one that cannot wait hides the case, and its clock says so.

export class Pauses {
  /** `sitting`: the page that is paused. */
  constructor(sitting, urls) {
    Object.assign(this, { sitting, urls, isAsked: false });
  }

  /** Whether a pause goes on: what this device has not sent yet is newer than what the server says. */
  take({ paused }) {
    const unsent = this.sitting.outbox.newest("pause", "resume");
    this.isOn = unsent ? unsent.kind === "pause" : paused;
  }

  later() {
    const { sitting } = this;
    this.isAsked = true;
    sitting.saying.message(sitting.words.pauseLater);
    if (sitting.isWaiting) sitting.advance();
  }

  async now() {
    const { sitting } = this;
    const { clock, current } = sitting;
    clock.mark("paused", { now: true });
    await this.begin(current.id);
    if (sitting.current !== current) return;
    clock.mark("resumed");
    sitting.answers.timeIsOverNow();
  }

  /** Between two cases; resolves when reading goes on. */
  async betweenCases() {
    const { sitting } = this;
    if (this.isOn) await this.rest();
    else if (this.isAsked) await this.begin();
    else if (sitting.line.first) await this.offer(sitting.line.first);
  }

  /** The end of practice, or a break that the rules have before this case: once, and only while nobody has opened it. */
  async offer({ id, position, opened, break_before, begins }) {
    const { sitting } = this;
    if (!(break_before || begins) || opened || id === this.offeredBefore) return;
    this.offeredBefore = id;
    sitting.screen.wait("");
    const done = sitting.words.done.replace("{n}", position - 1).replace("{all}", sitting.state.n);
    const chosen = await (begins ? sitting.covers.show("begin") : sitting.covers.show("break", { done }));
    if (chosen === "pause") await this.begin();
  }

  async begin(place = "") {
    this.isAsked = false;
    this.sitting.outbox.add({ kind: "pause", place, url: this.urls.pauseUrl, fields: [] });
    await this.rest();
  }

  async rest() {
    const { sitting } = this;
    if (!sitting.current) sitting.screen.wait("");
    if ((await sitting.covers.show("paused")) !== "resume") return;
    this.isOn = false;
    sitting.outbox.add({ kind: "resume", place: "", url: this.urls.resumeUrl, fields: [] });
  }
}
