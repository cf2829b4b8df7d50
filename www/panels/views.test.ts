import { expect, test } from "vitest";
import type { Step } from "../engine/protocol";
import { firstDivergence, type Level } from "../state/aside";
import { shownSteps } from "../state/steps";
import { swipe } from "./swipe";

const step = (name: string, functions: string[]): Step => ({
  id: `${name}#1`,
  name,
  depth: 0,
  parent: null,
  row: 0,
  role: "listed",
  outcome: functions.length > 0 ? "changed" : "unchanged",
  reason: "",
  optLevel: 0,
  before: 0,
  after: functions.length > 0 ? 1 : 0,
  micros: 0,
  rewrites: 0,
  functions,
  problems: [],
});

test("steps are filtered by a part of their name and by the function that they changed", () => {
  const steps = [step("FuseOps", ["main"]), step("FoldConstant", ["helper"]), step("FastMath", [])];
  const names = (filter: { text?: string; func?: string }) =>
    shownSteps(steps, {
      changedOnly: false,
      nested: true,
      folded: [],
      selected: -1,
      ...filter,
    }).map((shown) => shown.step.name);
  expect(names({ text: "fu" })).toEqual(["FuseOps"]);
  expect(names({ func: "helper" })).toEqual(["FoldConstant", "FastMath"]);
  expect(names({ text: "f", func: "main" })).toEqual(["FuseOps", "FastMath"]);
});

test("two levels first differ after the first pass whose programs are not the same", () => {
  const level = (texts: string[]): Level => ({ level: 0, steps: [], texts, failed: "" });
  expect(firstDivergence(level(["a", "b", "c"]), level(["a", "x", "c"]))).toBe(1);
  expect(firstDivergence(level(["a", "b"]), level(["a", "b"]))).toBe(-1);
});

test("a swipe is quick, long and level", () => {
  const at = (x: number, y: number, time: number) => ({ x, y, at: time });
  expect(swipe(at(200, 100, 0), at(100, 110, 200))).toBe(-1);
  expect(swipe(at(100, 100, 0), at(200, 110, 200))).toBe(1);
  expect(swipe(at(100, 100, 0), at(200, 190, 200))).toBe(0);
  expect(swipe(at(100, 100, 0), at(140, 100, 200))).toBe(0);
  expect(swipe(at(100, 100, 0), at(200, 100, 2000))).toBe(0);
});
