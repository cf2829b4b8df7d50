/** Which lesson is open and which are done; kept in this browser, and saved to be taken elsewhere. */
import { createSignal } from "solid-js";
import type { Keeper } from "./persist";

/** The lesson that an address asks for: `#lesson=visitors`. */
export function lessonOf(hash: string): string {
  return /^#?lesson=([a-z0-9-]+)$/.exec(hash)?.[1] ?? "";
}

const FORMAT = "passlab-progress";

export function createLessons(keeper: Keeper) {
  const kept = keeper.lessons();
  const [open, setOpen] = createSignal(kept.open);
  const [done, setDone] = createSignal<readonly string[]>(kept.done);
  const keep = () => keeper.keepLessons({ open: open(), done: [...done()] });
  return {
    /** The lesson that is shown, or empty. */
    open,
    done,
    /** The lesson that was open at the last visit: its program is the draft. */
    resumed: kept.open,
    show(name: string): void {
      setOpen(name);
      keep();
    },
    finish(name: string): void {
      if (done().includes(name)) return;
      setDone([...done(), name]);
      keep();
    },
    save: (): string => `${JSON.stringify({ format: FORMAT, done: done() })}\n`,
    /** Takes progress that was saved elsewhere; false when a text is something else. */
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
