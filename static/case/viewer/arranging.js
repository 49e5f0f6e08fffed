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
    this.isPriorAway = false;
    this.setWide(false);
  }

  /** The views that can come on screen, in hanging order: all, or those of the exam without its prior. */
  get list() {
    const { hung } = this.viewer;
    return this.isPriorAway ? hung.filter(({ view }) => !view.prior) : hung;
  }

  get n() {
    return this.list.length;
  }

  /** Whether there is a prior beside the exam, that can be put away. */
  get hasPrior() {
    const priors = this.viewer.hung.filter(({ view }) => view.prior).length;
    return priors > 0 && priors < this.viewer.hung.length;
  }

  /** The prior exam away, or beside the exam again. */
  togglePrior() {
    const { viewer } = this;
    const focused = document.activeElement?.closest?.(".viewer-view");
    this.isPriorAway = !this.isPriorAway;
    if (!this.list.includes(viewer.active)) viewer.activate(this.list[0]);
    this.set(this.isPart ? this.perPage : this.wide ? Number(this.n > 1) : 0);
    if (focused && viewer.root.contains(focused)) viewer.active.surface.focus();
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
    const { list } = this;
    this.from = pageWith(this.from, list.indexOf(this.viewer.active), this.perPage, list.length);
    return this.isPart ? list.slice(this.from, this.from + this.perPage) : list;
  }

  /** "2 / 4" while not all views are on screen. */
  placeOf(pane) {
    return this.isPart ? `${this.list.indexOf(pane) + 1} / ${this.n}` : "";
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
    viewer.activate(this.list[this.from]);
    viewer.layOut();
    if (focused && viewer.root.contains(focused)) viewer.active.surface.focus();
  }

  /** To the next view, turning to its page. */
  move(step) {
    const { viewer, list, n } = this;
    this.goTo((list.indexOf(viewer.active) + step + n) % n);
    viewer.active.surface.focus();
  }

  /** To the view at this place, turning to its page; the focus stays where it is. */
  goTo(place) {
    const { viewer, from } = this;
    viewer.activate(this.list[place]);
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
