import { expect, test } from "vitest";
import type { Step } from "../engine/protocol";
import { align, divergence, pairsOf, verdict } from "./beside";

/** Makes steps by name, with the version after each. */
const steps = (given: readonly (readonly [string, number])[]): Step[] =>
  given.map(([name, after]) => ({ name, after }) as Step);
const names = (left: Step[], right: Step[]) =>
  align(left, right).map(([one, other]) => `${one?.name ?? "-"} ${other?.name ?? "-"}`);

test("steps of the same name stand beside each other, what only one list has stands alone", () => {
  const left = steps([
    ["A", 1],
    ["B", 2],
    ["C", 3],
    ["D", 4],
  ]);
  const right = steps([
    ["B", 11],
    ["X", 12],
    ["D", 13],
    ["D", 13],
  ]);
  expect(names(left, right)).toEqual(["A -", "B B", "C -", "- X", "D D", "- D"]);
  expect(names([], [])).toEqual([]);
});

test("lists differ first where their programs do, not where a pass is missing that changes nothing", () => {
  const left = steps([
    ["A", 0],
    ["B", 1],
    ["C", 2],
  ]);
  const right = steps([
    ["B", 11],
    ["C", 12],
  ]);
  const texts = new Map([
    [0, "program"],
    [1, "b"],
    [11, "b"],
    [2, "c"],
    [12, "other"],
  ]);
  const pairs = pairsOf(left, right, texts);
  expect(pairs.map((pair) => pair.same)).toEqual([true, true, false]);
  expect(divergence(pairs)).toBe(2);
  expect(verdict(pairs)).toBe("They first differ after C, step 3.");
  expect(verdict(pairs.slice(0, 2))).toBe("Both give the same program after every step.");
  texts.set(11, "not b").set(12, "c");
  expect(verdict(pairsOf(left, right, texts))).toBe(
    "They first differ after B, step 2. In the end they are the same.",
  );
});
