// The reading has ended for this reader. What this device still holds goes out: the server keeps it beside the study, and
// this page says how many answers came after the end.

import { Keeping } from "./keeping.js";
import { Outbox } from "./outbox.js";
import { Server } from "./server.js";

const line = document.getElementById("late-answers");
const name = `reading ${line.dataset.reader}`;
const login = { ask: () => new Promise(() => {}) }; // logged out meanwhile: what is here stays here
let nLate = 0;

function refused({ kind }, _status, { reason }) {
  if (kind !== "commit" || reason === "other_answer") return;
  line.querySelector("strong").textContent = ++nLate;
  line.hidden = false;
}

const server = new Server({ login, fresh: location.href, own: line.dataset.state });
const outbox = new Outbox(new Keeping(name), server, {
  onStored() {},
  onRefused: refused,
  onLost() {},
  onChange() {},
});
await outbox.load();
outbox.release();
