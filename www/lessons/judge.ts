/**
 * Goals and hints. A goal checks the result, never the method: any program, list of passes or script with that result
 * is right. A hint is for a state: the first whose conditions all hold is shown.
 */
import type { Comparison, Run, RunDocument } from "../engine/protocol";

/** Everything that is named must hold; `not` turns `console`, `lists`, `sameAs` and `equals` around. */
export interface Condition {
  /** The document could be run. */
  runs?: boolean;
  /** The text for `has`, `lacks` and `count`, which are regular expressions. */
  in?: "program" | "result";
  has?: string;
  lacks?: string;
  count?: [pattern: string, times: number];
  /** A step of this name ended so. */
  outcome?: [name: string, outcome: string];
  /** A line that the script printed. */
  console?: string;
  /** A pattern that the script must contain. */
  script?: string;
  level?: number;
  /** Passes that are in the list and switched on. */
  passes?: string[];
  /** A pass that is in the list, switched on or not. */
  lists?: string;
  /** The number of passes that are switched on. */
  enabled?: number;
  /** The result is structurally equal to this program, as TVM sees it. */
  equals?: string;
  /** The result gives the same values as this program. */
  sameAs?: string;
  not?: boolean;
  /** Checks the passes on the program of this file, not on the learner's. */
  on?: string;
  /** The question of the lesson is answered, and rightly. */
  answered?: boolean;
}

export interface Goal extends Condition {
  say: string;
}

/** A hint in two steps: first the place to look at, then the change to make. */
export interface Hint {
  when: Condition[];
  nudge: string;
  say: string;
  /** A file in which it is the hint that is shown. */
  state: string;
}

/** A question to the learner before a run. */
export interface Question {
  ask: string;
  /** Each with the reason that is given once it is chosen. One is right. */
  options: { say: string; why: string; right?: boolean }[];
}

export interface Lesson {
  title: string;
  question?: Question;
  goals: Goal[];
  hints: Hint[];
}

/** The facts about the learner's work. */
export interface Facts {
  document: RunDocument;
  /** The run of exactly this document; null when it cannot be run. */
  run: Run | null;
  /** The program after the last pass; empty without a run. */
  result: string;
  /** The result beside the programs that the lesson names. */
  comparisons: Record<string, Comparison>;
  /** The same of the lesson's other programs, run with the learner's passes. */
  trials?: Record<string, Facts>;
  /** The question is answered rightly. */
  answered?: boolean;
}

const known = (names: (string | undefined)[]) =>
  [...new Set(names)].filter((name): name is string => name !== undefined);

/** Returns the programs that the result of a lesson is compared with, or the result of one of its trials. */
export function comparedWith({ goals, hints }: Lesson, trial?: string): string[] {
  const all = [...goals, ...hints.flatMap((hint) => hint.when)].filter(({ on }) => on === trial);
  return known(all.flatMap(({ equals, sameAs }) => [equals, sameAs]));
}

/** Returns the other programs that the learner's passes are run on. */
export const trialsOf = ({ goals }: Lesson): string[] => known(goals.map(({ on }) => on));

const callee = (call: string) => call.replace(/\(.*$/s, "");

export function holds(condition: Condition, facts: Facts): boolean {
  if (condition.on !== undefined) {
    const trial = facts.trials?.[condition.on];
    return trial !== undefined && holds({ ...condition, on: undefined }, trial);
  }
  const { document, run, result, comparisons } = facts;
  const { has, lacks, count, outcome, not = false } = condition;
  const program = condition.in === "program";
  const about = program ? document.source : result;
  const needsRun = !program && [has, lacks, count].some((wanted) => wanted !== undefined);
  const listed = document.passes.map((pass) => callee(pass.call));
  const on = document.passes.filter((pass) => pass.enabled).map((pass) => callee(pass.call));
  const compared = (name: string, is: (found: Comparison) => boolean) => {
    const found = comparisons[name];
    return run !== null && found !== undefined && found.problems.length === 0 && is(found) !== not;
  };
  const tests: boolean[] = [
    condition.runs === undefined || (run !== null) === condition.runs,
    !needsRun || run !== null,
    has === undefined || new RegExp(has).test(about),
    lacks === undefined || !new RegExp(lacks).test(about),
    count === undefined || [...about.matchAll(new RegExp(count[0], "g"))].length === count[1],
    outcome === undefined ||
      (run?.steps.some((step) => step.name === outcome[0] && step.outcome === outcome[1]) ?? false),
    condition.console === undefined ||
      (run?.script?.output ?? []).some((line) => new RegExp(condition.console ?? "").test(line)) !==
        not,
    condition.script === undefined || new RegExp(condition.script).test(document.script),
    condition.level === undefined || document.optLevel === condition.level,
    condition.passes === undefined || condition.passes.every((name) => on.includes(name)),
    condition.lists === undefined || listed.includes(condition.lists) !== not,
    condition.answered === undefined || (facts.answered ?? false) === condition.answered,
    condition.enabled === undefined || on.length === condition.enabled,
    condition.equals === undefined || compared(condition.equals, (it) => it.difference === ""),
    condition.sameAs === undefined || compared(condition.sameAs, (it) => it.sameValues === true),
  ];
  return tests.every(Boolean);
}

/** Returns the hints for this state, one after the other; the last resort says where to look. */
export function hintsFor(lesson: Lesson, facts: Facts): string[] {
  const fitting = lesson.hints.find((hint) => hint.when.every((one) => holds(one, facts)));
  if (fitting) return [fitting.nudge, fitting.say];
  if (!facts.run) return ["The program or the script cannot be run now: Problems says where."];
  const open = lesson.goals.find((goal) => !holds(goal, facts));
  return [open ? `This is still to do: ${open.say}.` : "Everything is done."];
}
