import { describe, expect, test } from "vitest";
import type { DiffKind, DiffRow } from "../engine/protocol";
import { breaks, LONG, layout, nextChange, type Options, withoutTypes } from "./lines";

const options: Options = {
  split: false,
  columns: Number.POSITIVE_INFINITY,
  types: true,
  open: new Set(),
  context: 3,
};

function row(kind: DiffKind, number: number, leftText = "a", rightText = leftText): DiffRow {
  return {
    kind,
    left: kind === "added" ? null : number,
    right: kind === "removed" ? null : number,
    leftText: kind === "added" ? "" : leftText,
    rightText: kind === "removed" ? "" : rightText,
    leftWords: [],
    rightWords: [],
  };
}

const same = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => row("same", from + index));

describe("folding", () => {
  test("an unchanged run between two changes keeps three lines at each end", () => {
    const lines = layout([row("removed", 1), ...same(20, 2), row("added", 22)], options);
    expect(lines.map((line) => (line.kind === "fold" ? line.count : line.kind))).toEqual([
      "row",
      "row",
      "row",
      "row",
      14,
      "row",
      "row",
      "row",
      "row",
    ]);
  });

  test("a run at the start keeps lines only towards the change", () => {
    const lines = layout([...same(10), row("added", 11)], options);
    expect(lines[0]).toMatchObject({ kind: "fold", count: 7 });
    expect(lines).toHaveLength(5);
  });

  test("an opened fold shows every line", () => {
    const rows = [...same(10), row("added", 11)];
    const fold = layout(rows, options)[0];
    const open = new Set([fold?.kind === "fold" ? fold.id : ""]);
    expect(layout(rows, { ...options, open })).toHaveLength(11);
  });

  test("renumbered lines fold like unchanged ones and are counted", () => {
    const rows = [...same(2), ...[3, 4, 5, 6, 7].map((n) => row("renumbered", n)), row("added", 8)];
    expect(layout(rows, options)[0]).toMatchObject({ kind: "fold", count: 4, quiet: 2 });
  });
});

describe("signs", () => {
  test("unified shows a changed line twice, split once", () => {
    const rows = [row("changed", 1, "add", "sub")];
    expect(layout(rows, options).map((line) => line.kind === "row" && line.sign)).toEqual([
      "-",
      "+",
    ]);
    expect(
      layout(rows, { ...options, split: true }).map((line) => line.kind === "row" && line.sign),
    ).toEqual(["~"]);
  });
});

test("a line that is only indented otherwise is shown once", () => {
  const lines = layout([row("changed", 1, "  add(%a)", "    add(%a)")], options);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ sign: "~", tone: "quiet", left: 1, right: 1 });
});

describe("breaking lines", () => {
  test("parts cover the text and none is longer than the width", () => {
    const text = `  %0 = nn.conv2d(${"%x, ".repeat(80)});`;
    const starts = breaks(text, 60);
    expect(starts[0]).toBe(0);
    starts.forEach((from, index) => {
      const to = starts[index + 1] ?? text.length;
      expect(to - from).toBeGreaterThan(0);
      expect(to - from).toBeLessThanOrEqual(61);
    });
  });

  test("a text without spaces is broken all the same", () => {
    expect(breaks("x".repeat(100), 40).length).toBe(3);
  });

  test("a very long line is cut until it is asked for", () => {
    const rows = [row("added", 1, "", "word ".repeat(400))];
    const lines = layout(rows, { ...options, columns: 50 });
    expect(lines.at(-1)).toMatchObject({ kind: "more", id: "right 0" });
    expect(lines.length).toBeLessThan(LONG);
    const all = layout(rows, { ...options, columns: 50, open: new Set(["right 0"]) });
    expect(all.length).toBeGreaterThan(30);
    expect(all.every((line) => line.kind === "row")).toBe(true);
  });
});

describe("without types", () => {
  test("the comment goes and the ranges move", () => {
    const text = "%0 = a(%x) /* ty=int32 */; b";
    const at = text.indexOf("b");
    expect(withoutTypes(text, [at, at + 1])).toEqual(["%0 = a(%x); b", [12, 13]]);
  });

  test("a row that differs only in its type becomes unchanged", () => {
    const rows = [row("changed", 1, "a", "a /* ty=int32 */")];
    expect(layout(rows, { ...options, types: false })[0]).toMatchObject({ change: "same" });
  });
});

test("the next change is the first line of the next hunk", () => {
  const lines = layout(
    [...same(2), row("added", 3), row("added", 4), ...same(2, 5), row("removed", 7)],
    options,
  );
  expect(nextChange(lines, -1, 1)).toBe(2);
  expect(nextChange(lines, 2, 1)).toBe(6);
  expect(nextChange(lines, 6, -1)).toBe(2);
  expect(nextChange(lines, 6, 1)).toBe(-1);
});

test("what ends a line does not stand on a line of its own", () => {
  const text = "  %0 = add(%x, %y) /* ty=Tensor[(16), float32] */;";
  const starts = breaks(text, text.length - 2);
  expect(text.slice(starts.at(-1))).toBe("float32] */;");
});

test("side by side a line that only moved inwards is not coloured", () => {
  const row: Omit<DiffRow, "leftText" | "rightText"> = {
    kind: "changed",
    left: 1,
    right: 1,
    leftWords: [0, 2],
    rightWords: [0, 4],
  };
  const [line] = layout([{ ...row, leftText: "  add(%x)", rightText: "    add(%x)" }], {
    split: true,
    columns: 80,
    types: false,
    open: new Set<string>(),
    context: 3,
  });
  expect(line?.kind === "row" && [line.tone, line.a?.words, line.b?.words]).toEqual([
    "quiet",
    [],
    [],
  ]);
});
