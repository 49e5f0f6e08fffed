// Module worker: decodes and scales, so that the page never waits for pixels.

import { decodeBody } from "./payload.js";

self.addEventListener("message", async ({ data: job }) => {
  try {
    const { data, fit } = await decodeBody(job);
    self.postMessage({ id: job.id, data, fit }, fit ? [data.buffer, fit.buffer] : [data.buffer]);
  } catch (error) {
    self.postMessage({ id: job.id, failed: error.code || "stopped" });
  }
});
