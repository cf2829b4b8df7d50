/** The steps of the last good run: which one is shown, which are listed, and going from one to another. */
import { createMemo } from "solid-js";
import { findStep } from "../engine/chosen";
import type { Step } from "../engine/protocol";
import { neighbour, type Shown, shownSteps } from "./steps";
import type { Store } from "./store";

/** Ids of the only steps that are listed, by what they touch and by what a check found of them. */
const both = (one: ReadonlySet<string> | null, other: ReadonlySet<string> | null) =>
  one && other ? new Set([...one].filter((id) => other.has(id))) : (one ?? other);

export function createStepping(
  { state, dispatch }: Store,
  touching: () => ReadonlySet<string> | null,
  checked: () => ReadonlySet<string> | null,
) {
  const steps = createMemo(() => state().good?.run.steps ?? []);
  const timed = createMemo(
    () => !state().good?.document.files?.length || steps().some((step) => step.micros > 0),
  );
  const selected = createMemo(() => findStep(steps(), state().step));
  const step = createMemo<Step | undefined>(() => steps()[selected()]);
  const shown = createMemo<Shown[]>(() => {
    const { folded, unfolded, preferences, filter, func } = state();
    return shownSteps(steps(), {
      changedOnly: preferences.changedOnly,
      nested: preferences.nested,
      text: filter,
      func,
      only: both(touching(), checked()),
      folded,
      unfolded,
      selected: selected(),
    });
  });

  function unfoldTo(target: Step): void {
    for (let up = target.parent; up !== null; ) {
      const parent: Step | undefined = steps()[up];
      if (!parent) return;
      if (state().folded.includes(parent.id)) {
        dispatch({ type: "fold", id: parent.id, folded: false });
      }
      up = parent.parent;
    }
  }

  return {
    steps,
    /** Index of the step that is shown. */
    selected,
    step,
    /** The steps were run here: how long they took is known. */
    timed,
    shown,
    /** Removes all filters from the list of steps. */
    showAll(): void {
      dispatch({ type: "filter", text: "" });
      dispatch({ type: "func", name: "" });
      dispatch({ type: "prefer", change: { changedOnly: false } });
    },
    go(direction: 1 | -1, onlyChanged: boolean): void {
      const next = steps()[neighbour(steps(), shown(), selected(), direction, onlyChanged)];
      if (!next) return;
      unfoldTo(next);
      dispatch({ type: "step", id: next.id });
    },
  };
}
