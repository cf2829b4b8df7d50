/** Follows an expression: its history, and its place in the shown text. */
import { createSignal } from "solid-js";
import type { EngineClient } from "../engine/client";
import type { Fate, History, HistoryEntry, Place, Step } from "../engine/protocol";
import type { State } from "./model";

/** A followed expression as the page shows it. */
export interface Followed {
  /** The run that it belongs to. */
  number: number;
  history: History;
  /** The versions that the lines of the history are about. */
  shown: readonly number[];
}

/** The words for each fate; `source` is the program as it was opened. */
export const fateWord: Record<Fate, string> = {
  source: "source",
  kept: "kept",
  rebuilt: "reads something else",
  rewritten: "rewritten",
  made: "made here",
  removed: "removed",
};

/** The same by shape. */
export const fateMark: Record<Fate, string> = {
  source: "◆",
  kept: "○",
  rebuilt: "◐",
  rewritten: "●",
  made: "+",
  removed: "✕",
};

/** A line of the list: one entry, or several steps in a row that kept the expression. */
export interface Stretch {
  entry: HistoryEntry;
  /** The number of entries that this one stands for; above one only for entries that were kept. */
  count: number;
}

/**
 * Returns the entry for the shown step: of those between its two versions, steps inside of it included, the last that
 * reports more than that the expression was kept.
 */
export function currentOf(
  entries: readonly HistoryEntry[],
  step: Pick<Step, "before" | "after">,
): HistoryEntry | undefined {
  const within = entries.filter(({ version }) => version > step.before && version <= step.after);
  return (
    within.findLast(({ fate }) => fate !== "kept") ??
    within.at(-1) ??
    entries.find(({ version }) => version === step.after)
  );
}

/** Returns the entries with those that say nothing put together; the one that is shown stands alone. */
export function stretches(
  entries: readonly HistoryEntry[],
  shown: HistoryEntry | undefined,
): Stretch[] {
  const result: Stretch[] = [];
  for (const entry of entries) {
    const last = result.at(-1);
    const quiet = (item: HistoryEntry) => item.fate === "kept" && item !== shown;
    if (last && quiet(entry) && quiet(last.entry)) {
      last.count++;
      last.entry = entry;
    } else result.push({ entry, count: 1 });
  }
  return result;
}

export function createFollow({
  state,
  step,
  holder,
}: {
  state(): State;
  step(): Step | undefined;
  holder(): EngineClient;
}) {
  const [followed, setFollowed] = createSignal<Followed | null>(null);
  const [missed, setMissed] = createSignal("");

  async function ask(version: number, place: Place): Promise<void> {
    const at = step();
    const { good } = state();
    if (!good) return;
    const shown = at ? [at.before, at.after] : [];
    const reply = await holder().ask({ type: "history", version, place, shown }, "history");
    if (reply.status !== "answered" || state().good !== good) return;
    const history = reply.value;
    setMissed(history ? "" : "Nothing stands there that could be followed.");
    setFollowed(history ? { number: good.number, history, shown } : null);
  }

  /** Called when another step is shown, or after another run: the lines are others. */
  function refresh(): void {
    const now = followed();
    const { good } = state();
    const at = step();
    if (!now || !good || !at) return;
    const { history } = now;
    if (now.number !== good.number) {
      // Node ids belong to one run. A node from the source is found again by its place while the source is the same.
      if (history.source && good.document.source === followedSource) {
        void ask(0, { offset: history.source.from });
      } else setFollowed(null);
    } else if (now.shown[0] !== at.before || now.shown[1] !== at.after) {
      void ask(history.version, { node: history.node });
    }
    followedSource = good.document.source;
  }
  let followedSource = "";

  return {
    followed,
    missed,
    async follow(version: number, place: Place): Promise<void> {
      followedSource = state().good?.document.source ?? "";
      await ask(version, place);
    },
    unfollow: () => setFollowed(null),
    refresh,
    /** Returns the line of the followed expression before or after the shown step, or null. */
    lineIn(side: "before" | "after"): number | null {
      const now = followed();
      const at = step();
      if (!now || !at || now.number !== state().good?.number) return null;
      const index = now.shown.indexOf(at[side]);
      return index < 0 ? null : (now.history.lines[index] ?? null);
    },
  };
}
