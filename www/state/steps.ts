/** Questions about the steps of a run: which one to show, which are to be seen, where to go next. */
import type { Step } from "../engine/protocol";

/** What the page says for an outcome; the words are part of the accessible names. */
export const outcomeWord: Record<Step["outcome"], string> = {
  changed: "changed",
  unchanged: "no change",
  skipped: "skipped",
  failed: "failed",
  "not-reached": "not reached",
};

/** The same by shape, so that colour is never the only cue. */
export const outcomeMark: Record<Step["outcome"], string> = {
  changed: "●",
  unchanged: "○",
  skipped: "–",
  failed: "✕",
  "not-reached": "·",
};

/**
 * The step to show when nobody picked one: a failed one, else the listed pass that recorded most rewrites.
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
 * Index of the step with this id. A step that is gone is looked for by name, nearest in the list first, so that
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

export interface Shown {
  index: number;
  step: Step;
  /** Has steps inside of it. */
  parent: boolean;
  folded: boolean;
}

export interface Filter {
  changedOnly: boolean;
  nested: boolean;
  /** What a name must hold, and the function that a changed step must have changed; empty for any. */
  text?: string;
  func?: string;
  folded: readonly string[];
  /** Is always shown. */
  selected: number;
}

/** Stands in for a step while its row is being taken away. */
export const gone: Shown = {
  index: -1,
  parent: false,
  folded: false,
  step: {
    id: "",
    name: "",
    depth: 0,
    parent: null,
    row: -1,
    role: "listed",
    outcome: "not-reached",
    reason: "",
    optLevel: 0,
    before: 0,
    after: 0,
    micros: 0,
    rewrites: 0,
    functions: [],
    problems: [],
  },
};

/** Whether two steps look alike in the list, but for their times. */
export function looksAlike(a: Shown, b: Shown): boolean {
  const [x, y] = [a.step, b.step];
  return (
    a.index === b.index &&
    a.parent === b.parent &&
    a.folded === b.folded &&
    x.name === y.name &&
    x.depth === y.depth &&
    x.row === y.row &&
    x.role === y.role &&
    x.outcome === y.outcome &&
    x.reason === y.reason &&
    x.optLevel === y.optLevel
  );
}

/** The steps to be seen, in order. */
export function shownSteps(steps: readonly Step[], filter: Filter): Shown[] {
  const parents = new Set<number>();
  for (const step of steps) if (step.parent !== null) parents.add(step.parent);
  const folded = new Set(filter.folded);
  const hidden = new Set<number>();
  const shown: Shown[] = [];
  steps.forEach((step, index) => {
    if (step.parent !== null) {
      const above = steps[step.parent];
      if (hidden.has(step.parent) || (above && folded.has(above.id))) {
        hidden.add(index);
        return;
      }
    }
    const quiet = step.outcome === "unchanged" || step.outcome === "skipped";
    const other = !step.name.toLowerCase().includes((filter.text ?? "").toLowerCase());
    const elsewhere = !touches(step, filter.func ?? "");
    const aside = step.role !== "listed" && step.outcome !== "failed" && !filter.nested;
    const drop = (filter.changedOnly && quiet) || aside || other || elsewhere;
    if (drop && index !== filter.selected) return;
    shown.push({ index, step, parent: parents.has(index), folded: folded.has(step.id) });
  });
  return shown;
}

/** Whether a step is of interest to those who look at one function: it changed it, or did not run through. */
export function touches(step: Step, func: string): boolean {
  return func === "" || step.outcome !== "changed" || step.functions.includes(func);
}

/** The next of the shown steps up or down from `from`; only changed or failed ones on demand. -1 when there is none. */
export function neighbour(
  steps: readonly Step[],
  shown: readonly Shown[],
  from: number,
  direction: 1 | -1,
  changed: boolean,
): number {
  const wanted = (step: Step | undefined) =>
    !!step && (!changed || step.outcome === "changed" || step.outcome === "failed");
  const seen = new Set(shown.map((row) => row.index));
  for (let index = from + direction; index >= 0 && index < steps.length; index += direction) {
    if (seen.has(index) && wanted(steps[index])) return index;
  }
  return -1;
}

/** Microseconds in words, in milliseconds: browsers do not measure finer than a tenth of one. */
export function duration(micros: number): string {
  const millis = micros / 1000;
  if (millis < 0.05) return "<0.1 ms";
  if (millis < 1000) return `${millis < 9.95 ? millis.toFixed(1) : Math.round(millis)} ms`;
  return `${(millis / 1000).toFixed(millis < 9950 ? 1 : 0)} s`;
}

/** What a row says to those who do not see its marks: it stands between the name of the pass and the time. */
export function stepWords(step: Step, folded: boolean): string {
  const parts = [outcomeWord[step.outcome]];
  if (step.reason) parts.push(step.reason);
  if (step.role === "required") parts.push("required by the next pass");
  if (step.role === "nested") parts.push("nested");
  if (folded) parts.push("folded");
  return parts.join(", ");
}

/** A step in one phrase, said when it is gone to. */
export function stepName(step: Step): string {
  return `${step.name} ${stepWords(step, false)}`;
}
