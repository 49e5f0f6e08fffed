// What of a case is on screen. The page's root says it in data-showing:
//   "case"     the question beside its images;
//   "turning"  the images of the next case beside an empty panel: its question is being fetched from the server;
//   "loading"  nothing yet. Where the root has data-reading, a case appears as a whole, in one frame, at full depth.
// Images of one case are never beside the question of another one.

import { afterNextFrame, afterThisFrame } from "../../case/viewer/readiness.js";
import { mountViewer } from "../../case/viewer/viewer.js";
import { digitOf, isForPage, letterOf } from "./keys.js";
import { restorePanel } from "../../case/panel.js";

const MOST_LOOKS = 200; // of some kilobytes each
const PROGRESS_MS = 250;
const MEGABYTE = 1_000_000;
const QUESTION = ["case-head", "case-panel"];
const byId = (id) => document.getElementById(id);

/** Why nothing of a case shows just now: a dialog without images, a pause, a window that is too small. */
export class Hiding {
  /** `onChange(on)`: the case is out of sight, or is back. */
  constructor(onChange) {
    Object.assign(this, { onChange, reasons: new Set() });
  }

  set(reason, on) {
    this.reasons[on ? "add" : "delete"](reason);
    byId("content").classList.toggle("case-hidden", this.isOn);
    this.onChange(this.isOn);
  }

  get isOn() {
    return this.reasons.size > 0;
  }

  /** Open a dialog over an empty page: reading stops while it is open. Whoever had the focus gets it back. */
  behind(dialog) {
    const focused = document.activeElement;
    if (!dialog.open) dialog.showModal();
    this.set(dialog.id, true);
    const back = () => {
      this.set(dialog.id, false);
      const now = document.activeElement; // of a closed dialog still, where the browser could not give it back
      if (focused?.isConnected && (now === document.body || dialog.contains(now))) focused.focus({ preventScroll: true });
    };
    dialog.addEventListener("close", back, { once: true });
  }
}

export class Screen {
  /**
   * `onShown({ views, unreadable })`: question and images of a case are on screen, but those that the person says
   * cannot be read; names of images. See onReady of the viewer. `onChange()`: what is missing has changed. `onWhole()`: all
   * images are drawn behind the veil. `onReveal()`: the form can take the focus. `onTool(name)`: a tool of the viewer was used. `name`: of the case; `hidden`: tools that
   * its round does without; `ahead`: how many cases are prepared; `isHere`: the question is on the page already.
   */
  constructor(views, words, { name, hidden, ahead, isHere = true, onShown, onChange, onWhole, onReveal, onTool }) {
    Object.assign(this, { words, name, onShown, onChange, onReveal });
    this.looks = new Map(); // how the cases of this sitting were left: window, zoom, measures
    this.root = byId("content");
    this.reading = "reading" in this.root.dataset;
    this.isHere = isHere; // the question on the page is the one of the images
    this.isHeld = false;
    this.views = views;
    restorePanel();
    this.viewer = mountViewer(byId("viewer"), {
      views,
      hidden,
      ahead,
      veiled: this.reading,
      previews: !this.reading,
      onPainted: (index, level) => performance.mark(`view ${index} ${level}`), // for who measures the page
      onReady: (info) => {
        this.images = info;
        this.isTold = false;
        this.check();
      },
      onWhole: () => (this.isHere ? this.reveal() : onWhole?.()),
      onUnreadable: () => this.check(),
      onError: () => this.changed(),
      onTool,
    });
    addEventListener("keydown", (event) => this.noteEarlyKey(event));
  }

  get isAway() {
    return this.isHeld || this.isBlank || this.root.dataset.showing !== "case";
  }

  /** Whether everything that can be read has been on screen, and what cannot be read was marked. */
  get isSeen() {
    const { loading, failed } = this.viewer.missing();
    return this.isTold && !loading.length && !failed.length;
  }

  namesOf(indices) {
    return indices.map((index) => this.views[index].id);
  }

  /** What goes with a step: which images cannot be read, and how each view was set. */
  fields() {
    const unreadable = this.namesOf(this.viewer.unreadable()).map((name) => ["unreadable", name]);
    return [...unreadable, ["viewport", JSON.stringify(this.viewer.state())]];
  }

  // A step. ------------------------------------------------------------------------------------------

  /** A step is being sent to the server: nothing can be entered, and the images of the next case come at once. */
  leave(next) {
    this.focused = document.activeElement;
    this.keepLook();
    this.hold(true);
    if (!next) return;
    const { views } = this;
    this.root.dataset.showing = this.reading ? "loading" : "turning";
    this.isHere = false;
    this.isAhead = true;
    this.expectImages(next);
    const back = this.viewer.turnTo(next);
    this.comeBack = () => {
      this.comeBack = null;
      this.isAhead = false;
      this.expectImages(views);
      back();
      this.arriveQuestion();
    };
    this.changed();
  }

  /** The answer of the server is there; what is on the page now can be used. */
  release() {
    this.hold(false);
    if (this.focused?.isConnected && document.activeElement === document.body) this.focused.focus({ preventScroll: true });
    this.focused = null;
  }

  /** The question of a case is on the page. `isOther`: of another case than before, though it may show the same images. */
  arrive(views, isOther, name) {
    const isSame = JSON.stringify(views) === JSON.stringify(this.views);
    const stays = isSame && (this.isAhead || !isOther);
    this.isAhead = false;
    this.comeBack = null;
    this.sentence = "";
    this.name = name;
    if (!stays) {
      if (this.reading) this.root.dataset.showing = "loading";
      this.expectImages(views);
      this.viewer.show(views, this.looks.get(this.lookOf(views)));
    }
    this.arriveQuestion();
  }

  /** The images of a case, behind the veil; its question arrives when it is opened, beside the same images. */
  expect(views, name) {
    this.arrive(views, true, name);
    Object.assign(this, { isHere: false, isAhead: true });
    this.changed();
  }

  /** There is no case to show, only this sentence, until one arrives. */
  wait(sentence) {
    const isNew = this.isHere || !this.sentence;
    this.sentence = sentence;
    this.isHere = false;
    this.root.dataset.showing = "loading";
    if (isNew) {
      this.expectImages([]);
      this.viewer.show([]);
    }
    this.changed();
  }

  /** A look belongs to a case and the images that it had. */
  lookOf(views) {
    return [this.name, ...views.map((view) => view.id)].join(" ");
  }

  keepLook() {
    const look = this.lookOf(this.views);
    this.looks.delete(look);
    this.looks.set(look, this.viewer.state());
    if (this.looks.size > MOST_LOOKS) this.looks.delete(this.looks.keys().next().value);
  }

  /** While the window is too small nothing of a case shows; what was not seen before counts from when it shows. */
  blank(on) {
    this.isBlank = on;
    this.changed();
    if (on) return;
    if (this.reading) this.reveal();
    afterNextFrame(() => this.check());
  }

  expectImages(views) {
    performance.clearMarks();
    this.views = views;
    this.images = null;
    this.isTold = false;
    this.question = null;
  }

  arriveQuestion() {
    this.isHere = true;
    if (this.reading) this.reveal();
    else {
      this.root.dataset.showing = "case";
      this.tellQuestion(afterNextFrame);
    }
    this.changed();
  }

  tellQuestion(after) {
    const question = (this.question = {});
    after(() => {
      if (question !== this.question) return;
      question.isShown = true;
      this.check();
    });
  }

  /** Lift the veil when question and images are all there: one frame shows everything. */
  reveal() {
    requestAnimationFrame(() => {
      if (this.root.dataset.showing === "case" || !this.isHere || this.isBlank || !this.viewer.isWhole()) return;
      this.root.dataset.showing = "case";
      this.tellQuestion(afterThisFrame);
      this.viewer.unveil();
      this.onReveal();
    });
  }

  check() {
    if (this.question?.isShown && this.images && !this.isTold && !this.isBlank) {
      this.isTold = true;
      performance.mark("case shown");
      const { views, unreadable } = this.images;
      this.onShown({ views: this.namesOf(views), unreadable: this.namesOf(unreadable) });
    }
    this.changed();
  }

  hold(on) {
    this.isHeld = on;
    for (const id of QUESTION) byId(id).inert = on;
  }

  // Words. -------------------------------------------------------------------------------------------

  /** What keeps the case from being whole, as a sentence; empty when nothing does. */
  waitingFor() {
    if (this.sentence) return this.sentence;
    const { loading, failed } = this.viewer.missing();
    if (failed.length) return this.words.imageFailed;
    if (this.root.dataset.showing === "loading") return this.words.loading;
    if (loading.length) return this.words.imageLoading;
    return this.root.dataset.showing === "turning" ? this.words.turning : "";
  }

  changed() {
    const place = byId("case-wait");
    const text = this.waitingFor();
    if (place.textContent !== text) place.textContent = text;
    this.tellProgress();
    this.onChange();
  }

  /** On a slow line: how much of the images has come, as long as one waits for them. */
  tellProgress() {
    const progress = this.viewer?.missing().loading.length ? this.viewer.progress() : null;
    const place = byId("case-progress");
    place.hidden = !progress;
    clearTimeout(this.progressTimer);
    if (this.waitingFor()) this.progressTimer = setTimeout(() => this.tellProgress(), PROGRESS_MS);
    if (!progress) return;
    const figure = (bytes) => (bytes / MEGABYTE).toFixed(1);
    Object.assign(place.querySelector("progress"), { max: progress.total, value: progress.loaded });
    place.querySelector("span").textContent = this.words.megabytes.replace("{loaded}", figure(progress.loaded)).replace("{total}", figure(progress.total));
  }

  // Keys that came too early. ------------------------------------------------------------------------

  noteEarlyKey(event) {
    if (this.isAway && !event.repeat && isForPage(event) && (digitOf(event) || letterOf(event))) this.wasEarly = true;
  }

  /** Whether a key was pressed while there was no question on screen that it could be meant for. */
  takeEarly() {
    const { wasEarly } = this;
    this.wasEarly = false;
    return Boolean(wasEarly);
  }
}
