/** Finds the steps that touch a text: those in whose diffs it occurs in a changed, added or removed line. */
import { createSignal } from "solid-js";
import type { EngineClient } from "../engine/client";
import { rowsOf } from "../engine/diff";
import type { Diff, Step } from "../engine/protocol";
import type { State } from "./model";

/** Those steps of one run. */
export interface Touching {
  text: string;
  /** Ids of the steps that were found so far. */
  ids: ReadonlySet<string>;
  /** The number of steps still to be searched. */
  left: number;
}

/** True if a diff touches a text, ignoring case. */
export function touchesText(diff: Diff, text: string): boolean {
  const wanted = text.toLowerCase();
  return rowsOf(diff).some(
    ({ kind, leftText, rightText }) =>
      kind !== "same" &&
      kind !== "renumbered" &&
      (leftText.toLowerCase().includes(wanted) || rightText.toLowerCase().includes(wanted)),
  );
}

export function createTouching({
  state,
  steps,
  holder,
}: {
  state(): State;
  steps(): readonly Step[];
  holder(): EngineClient;
}) {
  const [touching, set] = createSignal<Touching | null>(null);
  let turn = 0;

  /** Looks through all steps, one after the other; a run in between begins anew. */
  async function seek(text: string): Promise<void> {
    const mine = ++turn;
    const { good } = state();
    if (!text || !good) {
      set(null);
      return;
    }
    const changed = steps().filter((step) => step.before !== step.after);
    const ids = new Set<string>();
    for (const [index, step] of changed.entries()) {
      const { before, after } = step;
      const reply = await holder().ask({ type: "diff", before, after }, `touching ${index}`);
      if (mine !== turn) return;
      if (reply.status === "answered" && touchesText(reply.value, text)) ids.add(step.id);
      set({ text, ids: new Set(ids), left: changed.length - index - 1 });
    }
    if (changed.length === 0) set({ text, ids, left: 0 });
  }

  return {
    touching,
    seek: (text: string) => void seek(text),
    /** Called after another run. */
    again(): void {
      const now = touching();
      if (now) void seek(now.text);
    },
  };
}
