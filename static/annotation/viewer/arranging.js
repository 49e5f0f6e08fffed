// How many views are on screen and which: all, two or one at a time; and one of them over the whole page.

import { layoutSteps, nextPage, pageWith } from "./hanging.js";

const WIDE = "viewer-wide";

export class Arrangement {
  /** `viewer` gives: root, hung (panes in hanging order), active, activate(pane), layOut(). */
  constructor(viewer) {
    this.viewer = viewer;
    this.begin();
  }

  /** A case opens with all its views. */
  begin() {
    this.perPage = this.several = 0; // views at a time, and what "one view" goes back to; 0: all
    this.from = 0; // place of the first view on screen
    this.setWide(false);
  }

  get n() {
    return this.viewer.hung.length;
  }

  /** Whether some views are not on screen. */
  get isPart() {
    return this.perPage > 0 && this.perPage < this.n;
  }

  /** Views at a time, whatever full screen makes of it. */
  get chosen() {
    return this.wide ? this.before : this.perPage;
  }

  /** The views on screen: all, or the page on which the active one is. */
  onScreen() {
    const { hung, active } = this.viewer;
    this.from = pageWith(this.from, hung.indexOf(active), this.perPage, hung.length);
    return this.isPart ? hung.slice(this.from, this.from + this.perPage) : hung;
  }

  /** "2 / 4" while not all views are on screen. */
  placeOf(pane) {
    return this.isPart ? `${this.viewer.hung.indexOf(pane) + 1} / ${this.n}` : "";
  }

  set(perPage) {
    this.perPage = perPage;
    this.from = Infinity; // whatever page the active view is on now
    this.viewer.layOut();
  }

  /** All, two, one, and all again. */
  step() {
    const steps = layoutSteps(this.n);
    this.set(steps[(steps.indexOf(this.perPage) + 1) % steps.length]);
  }

  /** One view alone, and back to as many as before. */
  toggleAlone(pane) {
    if (this.n < 2) return;
    this.viewer.activate(pane);
    if (this.perPage !== 1) this.several = this.perPage;
    this.set(this.perPage === 1 ? this.several : 1);
  }

  /** The next page of views, or the one before; a view that had the focus hands it on. */
  turnPage(step) {
    if (!this.isPart) return;
    const { viewer } = this;
    const focused = document.activeElement?.closest?.(".viewer-view");
    this.from = nextPage(this.from, step, this.perPage, this.n);
    viewer.activate(viewer.hung[this.from]);
    viewer.layOut();
    if (focused && viewer.root.contains(focused)) viewer.active.surface.focus();
  }

  /** To the next view, turning to its page. */
  move(step) {
    const { viewer, n } = this;
    this.goTo((viewer.hung.indexOf(viewer.active) + step + n) % n);
    viewer.active.surface.focus();
  }

  /** To the view at this place, turning to its page; the focus stays where it is. */
  goTo(place) {
    const { viewer, from } = this;
    viewer.activate(viewer.hung[place]);
    this.onScreen();
    if (this.from !== from) viewer.layOut();
  }

  /** One view over the whole page; the page's own keys go on working under it. */
  toggleWide(on) {
    if (on) this.before = this.perPage;
    this.setWide(on);
    this.set(on ? Number(this.n > 1) : this.before);
  }

  setWide(on) {
    const { root } = this.viewer;
    this.wide = on;
    document.documentElement.classList.toggle(WIDE, on);
    root.classList.toggle(`${WIDE}-root`, on);
    const strip = on && document.querySelector("[data-viewer-strip]");
    // Rounded down: part of a pixel between the two would show the page behind as a broken line.
    const height = strip ? Math.floor(strip.getBoundingClientRect().height) : 0;
    root.style.setProperty("--viewer-strip", `${height}px`);
  }
}
