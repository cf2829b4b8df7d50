/** Stand-ins for the services of a browser, for tests. */
import type { Attic } from "./attic";
import type { Storage } from "./persist";

/** Makes storage that holds so many characters. */
export function memory(room = Number.POSITIVE_INFINITY): Storage & { map: Map<string, string> } {
  const map = new Map<string, string>();
  const size = () => [...map].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return {
    map,
    getItem: (key) => map.get(key) ?? null,
    setItem(key, value) {
      const old = map.get(key);
      map.set(key, value);
      if (size() <= room) return;
      if (old === undefined) map.delete(key);
      else map.set(key, old);
      throw new Error("the quota has been exceeded");
    },
    removeItem: (key) => void map.delete(key),
    key: (index) => [...map.keys()][index] ?? null,
    get length() {
      return map.size;
    },
  };
}

/** Makes room for large texts, or none. */
export function attic(open = true): Attic & { map: Map<string, string> } {
  const map = new Map<string, string>();
  return {
    map,
    async put(key, text) {
      if (open) map.set(key, text);
      return open;
    },
    get: async (key) => map.get(key) ?? null,
    drop: async (key) => void map.delete(key),
  };
}
