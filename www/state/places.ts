/**
 * The browser's way back and forth: every document that is opened is a place of its own in its history, and going back shows
 * what was there, as it was left.
 */
import { lessonOf } from "./lessons";
import type { Draft } from "./works";

/** An entry of the browser's history, with its place. */
interface Entry {
  passlab: number;
  /** A copy of what stood there, for when the page was loaded anew since. */
  work?: string;
}

const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && typeof (value as Entry).passlab === "number";

export function createPlaces({
  history,
  location,
  draft,
  putAside,
  show,
}: {
  history: Pick<History, "replaceState" | "pushState" | "state">;
  location: Pick<Location, "hash" | "href">;
  /** Returns the present document and view. */
  draft(): Draft;
  /** Puts a copy of it aside and says which, if it is anybody's own work. */
  putAside(): string;
  /** Shows what a place had; a lesson's name where the address has one. */
  show(kept: Draft | string, lesson: string): void;
}) {
  const here = (): number => (isEntry(history.state) ? history.state.passlab : 0);
  let current = here();
  let highest = current;
  const left = new Map<number, Draft>();

  return {
    /** Another document takes the place of what is there. `address` is that of the new one; null for what it is already. */
    leave(address: string | null): void {
      left.set(current, draft());
      const work = putAside();
      // A link that was clicked or typed is an entry of its own already, which knows nothing yet.
      if (address === null && !isEntry(history.state) && location.hash.length > 1) {
        current = ++highest;
        history.replaceState({ passlab: current } satisfies Entry, "", location.href);
        return;
      }
      const entry: Entry = work ? { passlab: current, work } : { passlab: current };
      history.replaceState(entry, "", location.href);
      current = ++highest;
      history.pushState({ passlab: current } satisfies Entry, "", address ?? location.href);
    },
    /** The browser went to another entry. False when nothing is known of it. */
    arrived(state: unknown): boolean {
      if (!isEntry(state) || state.passlab === current) return isEntry(state);
      left.set(current, draft());
      current = state.passlab;
      highest = Math.max(highest, current);
      const kept = left.get(current) ?? state.work;
      if (kept === undefined) return false;
      show(kept, lessonOf(location.hash));
      return true;
    },
  };
}
