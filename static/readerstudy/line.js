// The cases of a reader that are ready, in the reader's own order: what the server sent last, without what was answered
// here meanwhile. The server is the one that knows; this page may be a few cases ahead of it.

export class Line {
  constructor() {
    this.cases = [];
    this.passed = new Set(); // answered on this page, or closed under it
  }

  /** `committed`: places whose answers are being sent. */
  take(state, committed) {
    const heardAt = performance.now();
    this.cases = (state.cases ?? [])
      .filter(({ id }) => !this.passed.has(id) && !committed.has(id))
      .map((one) => ({ ...one, block: state.block, heardAt }));
  }

  get first() {
    return this.cases[0] ?? null;
  }

  find(place) {
    return this.cases.find(({ id }) => id === place);
  }

  /** The images of the cases after this one, in order. */
  viewsAfter(place) {
    return this.cases.filter(({ id }) => id !== place).map(({ views }) => views);
  }

  pass(place) {
    this.passed.add(place);
    this.cases = this.cases.filter(({ id }) => id !== place);
  }

  /** The server did not take the answer: the case may come again. */
  unpass(place) {
    this.passed.delete(place);
  }
}
