import { describe, expect, test } from "vitest";
import type { Step } from "../../engine/protocol";
import { gone, shownSteps } from "../../state/steps";
import { ASIDE, dropAt, inSight, layoutOf, type Question, ROW, TOP } from "./layout";

const passes = ["SimplifyInference", "FoldConstant", "FuseOps"].map((call) => ({
  call,
  enabled: call !== "FoldConstant",
}));
const step = (name: string, row: number, more: Partial<Step> = {}): Step => ({
  ...gone.step,
  id: `${name}#${row}`,
  name,
  row,
  outcome: "changed",
  ...more,
});
const steps = [
  step("SimplifyInference", 0, { outcome: "unchanged" }),
  step("InferType", 0, { parent: 0, depth: 1, role: "nested" }),
  step("FuseOps", 2),
];
const filter = { changedOnly: false, nested: true, folded: [], selected: -1 };
const asked = (more: Partial<typeof filter & { text: string }> = {}): Question => ({
  shown: shownSteps(steps, { ...filter, ...more }),
  rows: [11, 12, 13],
  passes,
  owners: [11, 12, 13],
  filtered: more.text !== undefined || more.changedOnly === true,
  text: more.text ?? "",
  phases: false,
  closed: new Set(),
  selected: -1,
});

describe("the list of passes", () => {
  test("has a line for every row, and for every step that ran aside", () => {
    const { rows, steps: at, height } = layoutOf(asked());
    expect([...rows].map(([id, place]) => [id, place.y, place.shown?.step.name])).toEqual([
      [11, TOP, "SimplifyInference"],
      [12, TOP + ROW + ASIDE, undefined],
      [13, TOP + 2 * ROW + ASIDE, "FuseOps"],
    ]);
    expect(at.get(1)).toEqual({ y: TOP + ROW, height: ASIDE, listed: false });
    expect(height).toBeGreaterThan(TOP + 3 * ROW + ASIDE);
  });

  /** The filter hid steps, and every row stayed. */
  test("leaves out the rows that a filter leaves out", () => {
    const rows = (more: Parameters<typeof asked>[0]) => [...layoutOf(asked(more)).rows.keys()];
    expect(rows({ text: "fuse" })).toEqual([13]);
    // By its name, though it is switched off and made no step.
    expect(rows({ text: "fold" })).toEqual([12]);
    expect(rows({ text: "nothing" })).toEqual([]);
    // A step that changed the program inside an unchanged pass is shown with the row of that pass.
    expect(rows({ changedOnly: true })).toEqual([11, 13]);
  });

  test("drops a row between those that are seen", () => {
    const all = layoutOf(asked());
    expect(dropAt(all, [11, 12, 13], 0)).toBe(0);
    expect(dropAt(all, [11, 12, 13], TOP + ROW)).toBe(1);
    expect(dropAt(all, [11, 12, 13], 1000)).toBe(3);
    const some = layoutOf(asked({ text: "fuse" }));
    expect(dropAt(some, [11, 12, 13], TOP)).toBe(0);
    expect(dropAt(some, [11, 12, 13], 1000)).toBe(3);
  });

  test("draws only what is in sight of thousands", () => {
    expect(inSight(300, 0, 500)({ y: 1e6, height: ROW })).toBe(true);
    const isSeen = inSight(301, 10_000, 500);
    expect([9000, 9900, 10_400, 12_000].map((y) => isSeen({ y, height: ROW }))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
