// What this device keeps until the server has it: one place in IndexedDB for each reader of each study. It survives a
// reload, a crash and a day without a connection. Where a browser has no such place, the page keeps it, and says so.

const STORE = "items";

function opened(name) {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(name, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: "number", autoIncrement: true });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

export class Keeping {
  constructor(name) {
    this.isLasting = true;
    this.opening = Promise.resolve()
      .then(() => opened(name))
      .catch(() => this.fail());
  }

  fail() {
    this.isLasting = false;
    return null;
  }

  /** Everything that is kept, in the order in which it was added. */
  all() {
    return this.act("readonly", (store) => store.getAll(), []);
  }

  /** Resolves to the number of the thing when it is on the disk; null where it is not. */
  add(thing) {
    return this.act("readwrite", (store) => store.add(thing), null);
  }

  put(thing) {
    return this.act("readwrite", (store) => store.put(thing), null);
  }

  remove(number) {
    return this.act("readwrite", (store) => store.delete(number), null);
  }

  async act(mode, work, otherwise) {
    const database = await this.opening;
    if (!database) return otherwise;
    return new Promise((resolve) => {
      const lost = () => {
        this.fail();
        resolve(otherwise);
      };
      try {
        const transaction = database.transaction(STORE, mode, { durability: "strict" });
        const asked = work(transaction.objectStore(STORE));
        transaction.oncomplete = () => resolve(asked.result);
        transaction.onerror = transaction.onabort = lost;
      } catch {
        lost();
      }
    });
  }
}
