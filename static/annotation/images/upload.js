// Sends the upload form with a progress bar. Without this file the form works too, without folders' paths.

import { receiptFor } from "../../case/sending.js";

const form = document.getElementById("upload-form");
const texts = document.getElementById("upload-texts").dataset;
const [errors, chosen, bar, words, stop, button] = ["errors", "chosen", "progress", "words", "stop", "button"].map((n) =>
  document.getElementById(`upload-${n}`),
);
const MB = 1024 * 1024;

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const files = () => [...form.elements.files.files, ...form.elements.folder.files];
const size = (list) => list.reduce((sum, file) => sum + file.size, 0);

function show(sentences) {
  errors.replaceChildren(
    ...sentences.map((sentence) => {
      const line = document.createElement("p");
      line.className = "notice error";
      line.textContent = sentence;
      return line;
    }),
  );
}

/** The same limits as on the server, checked before anything travels. */
function problem(list) {
  const most = { files: Number(form.dataset.mostFiles), bytes: Number(form.dataset.mostBytes) };
  const mostImage = Number(form.dataset.mostImageBytes);
  if (!list.length) return texts.none;
  if (list.length > most.files) return fill(texts.tooMany, { n: list.length, most: most.files });
  if (size(list) > most.bytes) return fill(texts.tooLarge, { most: Math.floor(most.bytes / MB) });
  const large = list.find((file) => file.size > mostImage && !/\.zip$/i.test(file.name));
  return large && fill(texts.imageTooLarge, { file: large.name, most: Math.floor(mostImage / MB) });
}

function busy(on) {
  bar.hidden = stop.hidden = !on;
  button.disabled = on;
}

function send(list) {
  form.elements.paths.value = JSON.stringify(list.map((file) => file.webkitRelativePath || file.name));
  const sent = new FormData(form);
  const sizes = [...sent.values()].filter(({ name }) => name).map(({ size }) => size);
  const receipt = receiptFor(sizes.sort((a, b) => a - b).join());
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  for (const header of Object.entries({ Accept: "application/json", ...receipt.headers })) request.setRequestHeader(...header);
  request.responseType = "json";
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.querySelector("progress").value = total ? (100 * loaded) / total : 0;
    words.textContent = loaded < total ? `${Math.floor(loaded / MB)} / ${Math.ceil(total / MB)} MB` : texts.kept;
  });
  const fail = (sentences) => {
    busy(false);
    show(sentences);
  };
  request.addEventListener("load", () => {
    const isOurs = receipt.isIn(request.getResponseHeader("X-Received"));
    if (isOurs && request.status === 201) location.assign(request.response.url);
    else if (isOurs && request.status === 401) location.reload();
    else if (request.status === 413) fail([fill(texts.tooLarge, { most: Math.floor(form.dataset.mostBytes / MB) })]);
    else fail(request.response?.errors ?? [texts.serverFailed]);
  });
  request.addEventListener("error", () => fail([texts.failed]));
  request.addEventListener("abort", () => busy(false));
  stop.onclick = () => request.abort();
  busy(true);
  request.send(sent);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const list = files();
  const sentence = problem(list);
  show(sentence ? [sentence] : []);
  if (!sentence) send(list);
});

form.addEventListener("change", () => {
  const list = files();
  chosen.textContent = list.length ? fill(texts.chosen, { n: list.length, size: (size(list) / MB).toFixed(1) }) : "";
});
