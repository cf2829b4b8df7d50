import { createEffect, createSignal, on, onCleanup } from "solid-js";
import type { Step } from "../../engine/protocol";

/** Milliseconds without a new run after which the times beside the steps are those of the last one. */
const SETTLE = 300;

/**
 * Returns the times of steps, in microseconds. They follow after a pause without new runs: numbers that flicker at
 * every keystroke are not read, and drawing them delays the rest.
 */
export function useTimes(steps: () => readonly Step[]): (step: Step) => number {
  const [times, setTimes] = createSignal<ReadonlyMap<string, number>>(new Map());
  createEffect(
    on(steps, (now) => {
      const settle = () => setTimes(new Map(now.map(({ id, micros }) => [id, micros])));
      const timer = setTimeout(settle, times().size === 0 ? 0 : SETTLE);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  return (step) => times().get(step.id) ?? step.micros;
}
