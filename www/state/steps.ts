/** Questions about the steps of a run: which one to show, which are to be seen, where to go next. */
import type { Step } from "../engine/protocol";

/** The words of the page for an outcome; they are part of the accessible names. */
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

export interface Shown {
  index: number;
  step: Step;
  /** Has steps inside of it, or some that ran for it. */
  parent: boolean;
  folded: boolean;
  /** The number of those that changed nothing and are not shown. */
  quiet: number;
}

export interface Filter {
  changedOnly: boolean;
  nested: boolean;
  /** The text that a name must contain, and the function that a changed step must have changed; empty for any. */
  text?: string;
  func?: string;
  /** Ids of the only steps to be seen; null for all. */
  only?: ReadonlySet<string> | null;
  /** Ids of steps: those with no nested steps shown, and those with all shown, unchanged ones too. */
  folded: readonly string[];
  unfolded?: readonly string[];
  /** Is always shown. */
  selected: number;
}

/** Stands in for a step while its row is being taken away. */
export const gone: Shown = {
  index: -1,
  parent: false,
  folded: false,
  quiet: 0,
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

/** True if two steps look alike in the list, except for their times. */
export function looksAlike(a: Shown, b: Shown): boolean {
  const [x, y] = [a.step, b.step];
  return (
    a.index === b.index &&
    a.parent === b.parent &&
    a.folded === b.folded &&
    a.quiet === b.quiet &&
    x.name === y.name &&
    x.depth === y.depth &&
    x.row === y.row &&
    x.role === y.role &&
    x.outcome === y.outcome &&
    x.reason === y.reason &&
    x.optLevel === y.optLevel
  );
}

/** True for a step without a row of the list: it ran inside of another, or because another required it. */
const isAside = (step: Step) => step.role !== "listed";

/** True for a step that others may skip: it has no effect. */
const isQuiet = (step: Step) => step.outcome === "unchanged" || step.outcome === "skipped";

/** True if a step passes the filter above the list, regardless of folding. */
export function answers(
  step: Step,
  { changedOnly, text = "", func = "", only = null }: Filter,
): boolean {
  if (only && !only.has(step.id)) return false;
  const named = step.name.toLowerCase().includes(text.toLowerCase());
  return named && !(changedOnly && isQuiet(step)) && touches(step, func);
}

/** Returns for each step the one that it ran inside of, or else the listed one that it ran for; -1 for none. */
function owners(steps: readonly Step[]): Int32Array {
  const listed = new Map<number, number>();
  steps.forEach((step, index) => {
    if (step.depth === 0 && !isAside(step)) listed.set(step.row, index);
  });
  return Int32Array.from(steps, (step, index) => {
    if (step.parent !== null) return step.parent;
    const owner = isAside(step) ? listed.get(step.row) : undefined;
    return owner === undefined || owner === index ? -1 : owner;
  });
}

/**
 * Returns the visible steps, in order. Folds a step that ran aside and changed nothing into the step that it ran for,
 * unless that is unfolded or the filter searches for names.
 */
export function shownSteps(steps: readonly Step[], filter: Filter): Shown[] {
  const owner = owners(steps);
  const folded = new Set(filter.folded);
  const unfolded = new Set(filter.unfolded);
  const searched = (filter.text ?? "") !== "";
  const above = (index: number): Step | undefined => steps[owner[index] ?? -1];
  const parents = new Set<number>(owner);
  const quiet = new Uint32Array(steps.length);
  const away = new Uint8Array(steps.length);
  /** True if a step is folded into the one that it ran for. */
  const isAway = (index: number): boolean => {
    const step = steps[index] as Step;
    const at = owner[index] ?? -1;
    const around = above(index);
    if (searched || !isAside(step) || step.outcome === "failed") return false;
    if (!filter.nested) return true;
    // Steps inside a folded step are folded with it.
    if (around && (folded.has(around.id) || (step.parent !== null && away[at]))) return true;
    if (!isQuiet(step) || !around || unfolded.has(around.id)) return false;
    quiet[at] = (quiet[at] ?? 0) + 1;
    return true;
  };
  const hidden = Uint8Array.from(steps, (step, index) => {
    away[index] = isAway(index) ? 1 : 0;
    return index !== filter.selected && (away[index] || !answers(step, filter)) ? 1 : 0;
  });
  // A step that changed the program shows its enclosing passes, even if those changed nothing themselves.
  steps.forEach((_, index) => {
    if (searched || hidden[index]) return;
    for (let at = owner[index] ?? -1; at >= 0 && hidden[at]; at = owner[at] ?? -1) hidden[at] = 0;
  });
  return steps.flatMap((step, index) =>
    hidden[index]
      ? []
      : [
          {
            index,
            step,
            parent: filter.nested && parents.has(index),
            folded: folded.has(step.id),
            quiet: quiet[index] ?? 0,
          },
        ],
  );
}

/** True if a step matters for one function: it changed that function, or did not run through. */
export function touches(step: Step, func: string): boolean {
  return func === "" || step.outcome !== "changed" || step.functions.includes(func);
}

/** Returns the next shown step up or down from `from`; only changed or failed ones on demand. -1 for none. */
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

/** Returns a count and its noun in words. */
export const countOf = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

/** Formats microseconds as milliseconds: browsers do not measure finer than a tenth of one. */
export function duration(micros: number): string {
  // The step has no measured time.
  if (micros < 0) return "";
  const millis = micros / 1000;
  if (millis < 0.05) return "<0.1 ms";
  if (millis < 1000) return `${millis < 9.95 ? millis.toFixed(1) : Math.round(millis)} ms`;
  return `${(millis / 1000).toFixed(millis < 9950 ? 1 : 0)} s`;
}

/** Returns the words of a row for screen readers: they stand between the name of the pass and the time. */
export function stepWords(step: Step, folded: boolean): string {
  const parts = [outcomeWord[step.outcome]];
  if (step.reason) parts.push(step.reason);
  if (step.role === "required") parts.push("required by the next pass");
  if (step.role === "nested") parts.push("nested");
  if (folded) parts.push("folded");
  return parts.join(", ");
}

/** Returns a step in one phrase, said when it is gone to. */
export function stepName(step: Step): string {
  return `${step.name} ${stepWords(step, false)}`;
}
