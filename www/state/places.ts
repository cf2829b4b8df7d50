/**
 * The browser's way back and forth: every opened document is a place of its own in its history, and going back shows
 * the document as it was left.
 */
import { lessonOf } from "./lessons";
import type { Draft } from "./works";

/** An entry of the browser's history, with its place. */
interface Entry {
  passlab: number;
  /** The id of a copy of its document, for use after the page was reloaded. */
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
  /** Puts a copy aside and returns its id, if the document is the user's own work. */
  putAside(): string;
  /** Shows the document of a place, or the lesson named in the address. */
  show(kept: Draft | string, lesson: string): void;
}) {
  const here = (): number => (isEntry(history.state) ? history.state.passlab : 0);
  let current = here();
  let highest = current;
  const left = new Map<number, Draft>();

  return {
    /** Leaves the present document for another one with `address`; null if the address is already that. */
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
    /** Called when the browser went to another entry. False when it is unknown. */
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
