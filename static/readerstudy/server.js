// One question to the server and its answer. A login that has run out is asked for, and then the same is sent again.

import { bodyOf, request } from "../case/sending.js";

const MOST_MS = 20_000; // an answer that has not come by then does not come

/** What the server says; null where it says nothing that this page understands. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export class Server {
  /**
   * `login`: ask(isStranger) resolves when the reader is logged in again. `fresh`: an address that gives a fresh token;
   * `own`: one that only this reader may see.
   */
  constructor({ login, fresh, own }) {
    Object.assign(this, { login, fresh, own, session: "" });
  }

  /**
   * { status, reply }: status 0 where the site did not answer. Without `values` it is a GET. The session and the token
   * are those of the moment in which it is sent; a token that is refused is fetched anew, once.
   */
  async ask(url, values) {
    let isFresh = false;
    for (;;) {
      const answer = await this.once(url, values);
      if (answer.status === 401) await this.login.ask(false);
      else if (answer.status === 404 && values && (await this.isStranger())) await this.login.ask(true);
      else if (answer.status === 403 && values && !isFresh) {
        isFresh = true;
        await this.once(this.fresh);
      } else return answer;
    }
  }

  /** Somebody else has logged in in this browser: for them there is nothing here, and nothing of the reader is sent. */
  async isStranger() {
    return (await this.once(this.own)).status === 404;
  }

  async once(url, values) {
    const body = values && bodyOf([...values, ["session", this.session]]);
    try {
      const answer = await request(url, body, { signal: AbortSignal.timeout(MOST_MS) });
      return { status: answer.status, reply: read(await answer.text()) ?? {} };
    } catch {
      return { status: 0, reply: {} };
    }
  }
}
