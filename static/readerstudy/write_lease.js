// The write lease of this tab: the name of its session, kept over a reload. A copy of a tab has a copy of its storage;
// a lock tells the copy that another page holds the lease.

const MOST_WAIT = 1_000; // a page that is going away lets go of its lock

export class WriteLease {
  constructor(place) {
    this.place = place;
  }

  /** The session of the write lease that this tab had before; "" for none. */
  async token() {
    if (this.held) return this.held;
    const kept = this.read();
    if (!kept || !(await this.hold(kept))) return "";
    this.held = kept;
    return kept;
  }

  async keep(token) {
    if (token === this.held) return;
    this.held = token;
    try {
      sessionStorage.setItem(this.place, token);
    } catch {
      // Without storage the next load of the page asks for a lease of its own.
    }
    await this.hold(token);
  }

  read() {
    try {
      return sessionStorage.getItem(this.place) ?? "";
    } catch {
      return "";
    }
  }

  hold(token) {
    if (!navigator.locks) return Promise.resolve(true);
    return new Promise((resolve) => {
      const giveUp = new AbortController();
      const timer = setTimeout(() => giveUp.abort(), MOST_WAIT);
      const held = () => {
        clearTimeout(timer);
        resolve(true);
        return new Promise(() => {}); // for as long as the page lives
      };
      navigator.locks.request(`${this.place} ${token}`, { signal: giveUp.signal }, held).catch(() => resolve(false));
    });
  }
}
