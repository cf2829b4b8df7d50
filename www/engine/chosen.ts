/** Chooses the step of a run to show: the page and the worker that works ahead of it share these functions. */
import type { Step } from "./protocol";

/**
 * Returns the step to show if the user picked none: a failed one, else the listed pass that recorded most rewrites.
 * Type inference touches every node and teaches least, so it comes last.
 */
export function mostInteresting(steps: readonly Step[]): number {
  const score = (step: Step): number => {
    if (step.outcome === "failed") return 1e9;
    if (step.outcome !== "changed") return 0;
    if (step.name === "InferType") return 1;
    const inner = steps.some((other) => other.parent !== null && steps[other.parent] === step);
    const group = step.name.toLowerCase() === "sequential" && inner;
    return group ? 2 : 10 + step.rewrites + (step.role === "listed" ? 1e6 : 0);
  };
  let best = -1;
  let most = 0;
  steps.forEach((step, index) => {
    const value = score(step);
    if (value > most) {
      most = value;
      best = index;
    }
  });
  return best >= 0 ? best : steps.length - 1;
}

/**
 * Returns the index of the step with this id. Looks for a removed step by name, nearest in the list first, so that
 * adding or removing another pass keeps the eye where it was.
 */
export function findStep(steps: readonly Step[], id: string): number {
  if (!id) return mostInteresting(steps);
  const exact = steps.findIndex((step) => step.id === id);
  if (exact >= 0) return exact;
  const leaf = id.slice(id.lastIndexOf("/") + 1);
  const name = leaf.replace(/#\d+$/, "");
  const same = steps.findIndex((step) => step.name === name && step.role === "listed");
  return same >= 0 ? same : mostInteresting(steps);
}
