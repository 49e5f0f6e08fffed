// Logging out asks the browser to drop what this site kept on the device. Answers of a reader that the server does not
// have yet are kept there, too: then this asks, and only a device that holds none is cleared.

const OF_READERS = "reading ";

/** What one reader's outbox holds. */
function itemsOf(name) {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(name);
    asked.onerror = () => reject(asked.error);
    asked.onsuccess = () => {
      const database = asked.result;
      const done = (items) => {
        database.close();
        resolve(items);
      };
      if (!database.objectStoreNames.contains("items")) return done([]);
      const all = database.transaction("items").objectStore("items").getAll();
      all.onsuccess = () => done(all.result);
      all.onerror = () => reject(all.error);
    };
  });
}

async function itemsHere() {
  const databases = await indexedDB.databases();
  const names = databases.map(({ name }) => name).filter((name) => name.startsWith(OF_READERS));
  return (await Promise.all(names.map(itemsOf))).flat();
}

function leave(form, isEmpty) {
  form.elements.empty.value = isEmpty ? "1" : "";
  form.submit();
}

function ask(form, items) {
  const dialog = document.getElementById("log-out-dialog");
  const waiting = items.find((item) => !item.refused);
  const [room] = waiting ? /^\/read\/[^/]+\//.exec(new URL(waiting.url, location.href).pathname) ?? [] : [];
  const send = dialog.querySelector("[data-send]");
  send.hidden = !room;
  if (room) send.href = `${room}room/`;
  dialog.querySelector("[data-number]").textContent = items.filter((item) => item.kind === "commit").length;
  dialog.querySelector("[data-keep]").onclick = () => leave(form, false);
  dialog.querySelector("[data-stay]").onclick = () => dialog.close();
  dialog.showModal();
}

for (const form of document.querySelectorAll("form[data-log-out]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const items = await itemsHere().catch(() => null); // a browser that cannot say what it holds keeps it
    if (items?.length) ask(form, items);
    else leave(form, items !== null);
  });
}
