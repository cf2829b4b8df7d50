/**
 * Stores large texts in the browser's database, because local storage has five million characters in all. The answer is
 * false if the browser has no database or refuses the text.
 */

export interface Attic {
  put(key: string, text: string): Promise<boolean>;
  get(key: string): Promise<string | null>;
  drop(key: string): Promise<void>;
}

const STORE = "texts";

function opened(): Promise<IDBDatabase> {
  return new Promise((done, fail) => {
    const request = indexedDB.open("passlab", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
    request.onblocked = () => fail(new Error("blocked"));
  });
}

/** Makes one access to the store; the answer is there when the transaction is. */
async function access<T>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const base = await opened();
  try {
    return await new Promise<T>((done, fail) => {
      const transaction = base.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => done(request.result);
      transaction.onabort = () => fail(transaction.error);
    });
  } finally {
    base.close();
  }
}

export const browserAttic: Attic = {
  put: (key, text) =>
    access("readwrite", (store) => store.put(text, key)).then(
      () => true,
      () => false,
    ),
  get: (key) =>
    access<unknown>("readonly", (store) => store.get(key)).then(
      (text) => (typeof text === "string" ? text : null),
      () => null,
    ),
  drop: (key) =>
    access("readwrite", (store) => store.delete(key)).then(
      () => {},
      () => {},
    ),
};

/** For those who keep nothing. */
export const noAttic: Attic = {
  put: async () => false,
  get: async () => null,
  drop: async () => {},
};
