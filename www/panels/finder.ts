/** Searches in the shown result: in texts with only visible lines drawn, and in the graph. Shows one at a time. */
import { createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";

/** A view that can be searched while it is visible. */
export interface Findable {
  /** Returns the number of matches of the text. */
  count(): number;
  /** Shows the place of this number, from 0; -1 for none. */
  show(index: number): void;
}

export type Finder = ReturnType<typeof createFinder>;

export function createFinder() {
  const [text, setText] = createSignal("");
  const [all, setAll] = createSignal<readonly Findable[]>([]);
  /** The place that is shown, from 1 over all; 0 for none. */
  const [at, setAt] = createSignal(0);
  const total = createMemo(() => all().reduce((sum, one) => sum + one.count(), 0));

  function show(place: number): void {
    setAt(place);
    let before = 0;
    for (const one of all()) {
      const count = one.count();
      const here = place > before && place <= before + count;
      one.show(here ? place - before - 1 : -1);
      before += count;
    }
  }

  // Shows the match for typed text at once; another text or another step restarts the search.
  createEffect(
    on(
      [text, total],
      ([now, count], before) => {
        const typed = before !== undefined && before[0] !== now;
        if (!now || count === 0) show(0);
        else if (typed) show(1);
        else if (at() > count) show(count);
      },
      { defer: true },
    ),
  );

  return {
    /** The text to search for; empty for none. */
    text,
    search: (wanted: string) => setText(wanted),
    at,
    total,
    go(by: 1 | -1): void {
      const count = total();
      if (count > 0)
        show(at() === 0 ? (by > 0 ? 1 : count) : ((at() - 1 + by + count) % count) + 1);
    },
    /** Takes part in the search as long as the component lives that calls this. */
    join(one: Findable): void {
      setAll((now) => [...now, one]);
      onCleanup(() => setAll((now) => now.filter((other) => other !== one)));
    },
  };
}
