import { describe, expect, test } from "vitest";
import type { Run } from "../engine/protocol";
import { emptyDocument } from "../state/model";
import { comparedWith, type Facts, hintsFor, holds, type Lesson, trialsOf } from "./judge";

const step = { name: "Fold", outcome: "changed" } as Run["steps"][number];
const script = { passes: [], instruments: [], problems: [], output: ["calls: 3"] };
const run = { steps: [step], script } as unknown as Run;
const facts: Facts = {
  document: {
    ...emptyDocument,
    source: "add(add(1f))",
    passes: [
      { call: "Fold()", enabled: true },
      { call: "FuseOps(1)", enabled: false },
    ],
  },
  run,
  result: "let %x = 1f",
  comparisons: { goal: { problems: [], difference: "here", sameValues: true } },
};
const broken: Facts = { ...facts, run: null, result: "" };

describe("goals and hints", () => {
  test("a condition holds when everything in it does", () => {
    expect(holds({ in: "program", count: ["add", 2] }, facts)).toBe(true);
    expect(holds({ has: "let", lacks: "let" }, facts)).toBe(false);
    expect(holds({ outcome: ["Fold", "changed"], enabled: 1, passes: ["Fold"] }, facts)).toBe(true);
    expect(holds({ passes: ["FuseOps"] }, facts)).toBe(false);
    expect(holds({ console: "^calls: 3$" }, facts)).toBe(true);
    expect(holds({ console: "^calls: 3$", not: true }, facts)).toBe(false);
    expect(holds({ equals: "goal" }, facts)).toBe(false);
    expect(holds({ equals: "goal", not: true }, facts)).toBe(true);
    expect(holds({ sameAs: "goal", level: 2 }, facts)).toBe(true);
  });

  test("a script is judged by what it does with another program, too", () => {
    const other: Facts = {
      ...facts,
      run: { ...run, script: { ...script, output: ["calls: 4"] } } as unknown as Run,
    };
    const goal = { say: "", on: "trial-1", console: "^calls: 4$" };
    expect(holds(goal, { ...facts, trials: { "trial-1": other } })).toBe(true);
    expect(holds(goal, { ...facts, trials: { "trial-1": facts } })).toBe(false);
    expect(holds(goal, facts)).toBe(false);
    expect(trialsOf({ title: "", goals: [goal], hints: [] })).toEqual(["trial-1"]);
  });

  test("a question is answered, and a pass is listed or not", () => {
    expect(holds({ answered: true }, facts)).toBe(false);
    expect(holds({ answered: true }, { ...facts, answered: true })).toBe(true);
    expect(holds({ lists: "FuseOps" }, facts)).toBe(true);
    expect(holds({ lists: "FuseOps", not: true }, facts)).toBe(false);
  });

  test("what cannot be run fulfils nothing about its result", () => {
    for (const condition of [{ lacks: "x" }, { sameAs: "goal" }, { equals: "goal", not: true }]) {
      expect(holds(condition, broken)).toBe(false);
    }
    expect(holds({ runs: false }, broken)).toBe(true);
  });

  test("the first hint that fits is shown, and without one what is still to do", () => {
    const lesson: Lesson = {
      title: "",
      goals: [{ say: "It is equal", equals: "goal" }],
      hints: [
        { when: [{ has: "let" }, { enabled: 2 }], nudge: "one", say: "two", state: "hint-1" },
      ],
    };
    expect(hintsFor(lesson, facts)).toEqual(["This is still to do: It is equal."]);
    lesson.hints[0]?.when.pop();
    expect(hintsFor(lesson, facts)).toEqual(["one", "two"]);
    expect(hintsFor(lesson, broken)[0]).toMatch(/cannot be run/);
    expect(comparedWith(lesson)).toEqual(["goal"]);
  });
});
