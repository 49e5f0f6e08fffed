// Requests that are not given up: a lost connection, a restarted server or an expired session is waited out. An answer
// is believed only with the receipt of the site (ReceiptMiddleware): whatever else answers in its place is a lost connection.

const PATIENCE = [500, 1000, 2000, 4000, 8000];

export const wait = (ms) =>
  new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    }
    window.addEventListener("online", done); // the connection is back: do not wait any longer
  });

/** The token as it is now: a login in another tab changes it. */
function token() {
  const name = `${document.body.dataset.tokenCookie}=`;
  const found = document.cookie.split("; ").find((one) => one.startsWith(name));
  return found?.slice(name.length) ?? "";
}

/** CRC-32 as zlib has it, which a page without https can compute too. */
function checksum(text) {
  let sum = -1;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 && 0xedb88320);
  }
  return (sum ^ -1) >>> 0;
}

/** What goes along with a request whose body is this text, and whether an answer, by its headers, is the site's to it. */
export function receiptFor(text) {
  const number = crypto.getRandomValues(new Uint32Array(2)).join("");
  const received = `${number} ${checksum(text)}`;
  return { headers: { "X-Sent": number }, isIn: (header) => header === received };
}

/** Rejects where nobody answered, or somebody else. A status of 500 or more says only "not now", whoever says it. */
export async function request(url, body, options = {}) {
  const receipt = receiptFor(String(body ?? ""));
  const headers = { "HX-Request": "true", ...receipt.headers };
  if (body) headers["X-CSRFToken"] = token();
  const usual = { method: body ? "POST" : "GET", body, headers, credentials: "same-origin" };
  const answer = await fetch(url, { ...usual, cache: "no-store", redirect: "manual", ...options });
  if (answer.status < 500 && !receipt.isIn(answer.headers.get("X-Received"))) throw new TypeError(`not an answer of this site: ${url}`);
  return answer;
}

/** A form without its token: the header carries the current one. */
export function bodyOf(values) {
  const body = new URLSearchParams();
  for (const [name, value] of values) if (name !== "csrfmiddlewaretoken") body.append(name, value);
  return body;
}

/** Whether an answer says "not now" rather than "no": worth sending again. */
const isPassing = (status) => status >= 500 || status === 429 || status === 401 || status === 403 || status === 408;

/** What a refusal says, field by field or as a sentence. */
export function jsonIn(answer) {
  try {
    return JSON.parse(answer.content);
  } catch {
    return {};
  }
}

/**
 * Send until the server answers; its whole text is in ``content``. ``bodyNow`` gives the body of each attempt, so that a later one carries what was
 * typed meanwhile. Calls tell("trying" | "expired") before each further attempt; stops with null when
 * ``signal`` is aborted.
 */
export async function send(url, bodyNow, { tell, signal } = {}) {
  for (let attempt = 0; ; attempt++) {
    let status = 0;
    try {
      const answer = await request(url, bodyNow(), { signal });
      if (!isPassing(answer.status)) return Object.assign(answer, { content: await answer.text() });
      status = answer.status;
    } catch (error) {
      if (signal?.aborted) return null;
    }
    tell?.(status === 401 || status === 403 ? "expired" : "trying");
    await wait(PATIENCE[Math.min(attempt, PATIENCE.length - 1)]);
    if (signal?.aborted) return null;
  }
}
