// Pages with a question say translate="no". A browser or an extension that puts other words in its place all the same is
// noticed: the person is told, in a line that stays, and the page can note it with the case.

const QUESTION = "#stem, .case-option-text, .case-answers li > span, .decide-stem, .decide-options bdi";

export class Wording {
  /** `onAltered()`: the question on the page does not read as the server wrote it; once for each begin(). */
  constructor(onAltered) {
    Object.assign(this, { onAltered, own: new Map(), isAltered: false });
    new MutationObserver(() => this.check()).observe(document.body, { childList: true, characterData: true, subtree: true });
  }

  /** A question is on the page now: these are its own words. */
  begin() {
    this.own = new Map([...document.querySelectorAll(QUESTION)].map((one) => [one, one.textContent]));
    this.isAltered = false;
    this.check();
  }

  check() {
    if (this.isAltered) return;
    const isOther = ([one, words]) => one.textContent !== words || one.querySelector("font"); // translators write that, our pages never
    if (![...this.own].some(isOther)) return;
    this.isAltered = true;
    const line = document.getElementById("case-translated");
    if (line) line.hidden = false;
    this.onAltered?.();
  }
}
