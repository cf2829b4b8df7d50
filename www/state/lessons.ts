/** Records which lessons are done; kept in this browser, and saved to be taken elsewhere. */
import { createSignal } from "solid-js";
import type { Keeper } from "./persist";

/** Returns the lesson that an address asks for: `#lesson=visitors`. */
export function lessonOf(hash: string): string {
  return /^#?lesson=([a-z0-9-]+)$/.exec(hash)?.[1] ?? "";
}

const FORMAT = "passlab-progress";

export function createLessons(keeper: Keeper) {
  const kept = keeper.lessons();
  const [done, setDone] = createSignal<readonly string[]>(kept);
  const keep = () => keeper.keepLessons([...done()]);
  /** Lessons of which the solution was shown and that were not begun anew since: they are not done by that. */
  const [shown, setShown] = createSignal<readonly string[]>([]);
  return {
    done,
    isShown: (name: string) => shown().includes(name),
    /** Notes that the solution was shown, or that the lesson begins anew. */
    showed: (name: string, solution: boolean) =>
      setShown([...shown().filter((other) => other !== name), ...(solution ? [name] : [])]),
    finish(name: string): void {
      if (done().includes(name) || shown().includes(name)) return;
      setDone([...done(), name]);
      keep();
    },
    save: (): string => `${JSON.stringify({ format: FORMAT, done: done() })}\n`,
    /** Takes progress that was saved elsewhere; false for any other text. */
    load(text: string): boolean {
      if (!text.includes(FORMAT)) return false;
      try {
        const found: unknown = JSON.parse(text);
        const names = (found as { done?: unknown }).done;
        if (!Array.isArray(names)) return false;
        const more = names.filter((name): name is string => typeof name === "string");
        setDone([...new Set([...done(), ...more])]);
        keep();
        return true;
      } catch {
        return false;
      }
    },
  };
}
