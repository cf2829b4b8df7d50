/** Steps as blocks in proportion to their times, nested ones under the step that they ran in. Pure. */
import type { Step } from "../engine/protocol";

export interface Block {
  step: Step;
  /** Percent of the whole run. */
  left: number;
  width: number;
  /** Microseconds without the steps nested in it. */
  own: number;
  /** Percent of the step it is nested in, or of the whole run. */
  ofParent: number;
}

/** Returns the blocks of the steps that took time, in their order. */
export function flame(steps: readonly Step[]): Block[] {
  const ran = (step: Step) => step.outcome !== "skipped" && step.outcome !== "not-reached";
  const whole = steps.reduce((sum, step) => sum + (step.parent === null ? step.micros : 0), 0);
  const inner = steps.map(() => 0);
  for (const step of steps) {
    if (step.parent !== null) inner[step.parent] = (inner[step.parent] ?? 0) + step.micros;
  }
  // The start of the next step inside each step; the last entry is that of the run.
  const next = [...steps.map(() => 0), 0];
  const percent = (part: number, of: number) => (of > 0 ? (100 * part) / of : 0);
  const blocks: Block[] = [];
  steps.forEach((step, index) => {
    const place = step.parent ?? steps.length;
    const start = next[place] ?? 0;
    next[place] = start + step.micros;
    next[index] = start;
    if (!ran(step)) return;
    const parent = step.parent === null ? whole : (steps[step.parent]?.micros ?? 0);
    blocks.push({
      step,
      left: percent(start, whole),
      width: percent(step.micros, whole),
      own: Math.max(0, step.micros - (inner[index] ?? 0)),
      ofParent: percent(step.micros, parent),
    });
  });
  return blocks;
}
