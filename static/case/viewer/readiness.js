// Which views of a case are on screen at full depth, known by frame, and which the person says cannot be read.

/** Calls back when the frame in whose callbacks this is called has been handed to the screen. */
export function afterThisFrame(act) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    act();
  };
  port2.postMessage(0);
}

/** The same for the frame that comes next, from anywhere. */
export const afterNextFrame = (act) => requestAnimationFrame(() => afterThisFrame(act));

export class Readiness {
  /** `options`: onPainted(index, level), onReady(info), onUnreadable(index, on), onWhole(). */
  constructor(options) {
    this.options = options;
    this.begin([]);
  }

  /** A case comes, and nothing of it is on screen. While it is veiled, what is drawn cannot be seen yet. */
  begin(panes, veiled = false) {
    this.panes = panes;
    this.veiled = veiled;
    this.unreadable = new Set();
    this.fresh = [];
    this.isTold = false;
    for (const pane of panes) pane.reported = { level: "none", shown: "none", failure: null };
  }

  /** A pane holds this level now: "none", "preview" or "full". Each is reported once for each case. */
  drawn(pane, level) {
    if (level === "none" || level === pane.reported.level) return;
    pane.reported.level = level;
    this.fresh.push([pane, level]);
  }

  /** Everything that one frame shows has been drawn; `after` calls back when that frame was handed over. */
  drew(after) {
    if (this.veiled) {
      if (this.isWhole()) this.options.onWhole?.();
    } else if (this.fresh.length || !(this.panes.length || this.isTold)) this.handOver(after);
  }

  handOver(after) {
    const { panes, fresh } = this;
    this.fresh = [];
    after(() => {
      if (panes !== this.panes) return;
      for (const [pane, level] of fresh) {
        pane.reported.shown = level;
        this.options.onPainted?.(pane.index, level);
      }
      this.tell();
    });
  }

  /** Call it in the frame that lifts the veil. */
  unveil() {
    this.veiled = false;
    this.handOver(afterThisFrame);
  }

  tell() {
    const { loading, failed } = this.missing();
    if (this.isTold || loading.length || failed.length) return;
    this.isTold = true;
    const unreadable = this.panes.map((pane) => pane.index).filter((index) => this.unreadable.has(index));
    const views = this.panes.map((pane) => pane.index).filter((index) => !this.unreadable.has(index));
    this.options.onReady?.({ at: performance.now(), views, unreadable });
  }

  /** Whether every view is drawn at full depth, seen or not; what cannot be read is not waited for. */
  isWhole() {
    return this.panes.every((pane) => pane.reported.level === "full" || this.unreadable.has(pane.index));
  }

  /** What keeps the case from being on screen as a whole: the indices of views that load, and of those that failed. */
  missing() {
    const open = this.panes.filter((pane) => pane.reported.shown !== "full" && !this.unreadable.has(pane.index));
    const [failed, loading] = [open.filter((pane) => pane.entry.failure), open.filter((pane) => !pane.entry.failure)];
    return { loading: loading.map((pane) => pane.index), failed: failed.map((pane) => pane.index) };
  }

  /** The person says that a view cannot be read, or takes that back. */
  setUnreadable(pane, on) {
    if (this.unreadable.has(pane.index) === on) return;
    if (on) this.unreadable.add(pane.index);
    else {
      this.unreadable.delete(pane.index);
      this.isTold = false;
    }
    this.options.onUnreadable?.(pane.index, on);
    const { panes } = this;
    if (this.veiled) this.drew();
    else afterNextFrame(() => panes === this.panes && this.tell());
  }
}
