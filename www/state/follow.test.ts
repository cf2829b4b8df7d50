import { expect, test } from "vitest";
import type { Fate, HistoryEntry } from "../engine/protocol";
import { drawnAt, type Line, layout, numberAt, typeOf, wordAt } from "../panels/lines";
import { stretches } from "./follow";

const entries: HistoryEntry[] = (
  ["source", "kept", "kept", "rewritten", "kept", "kept", "kept", "removed"] satisfies Fate[]
).map((fate, version) => ({
  version,
  step: version - 1,
  fate,
  rule: "",
  node: version,
  label: "",
}));

test("steps that kept an expression are one line, but for the one that is shown", () => {
  const seen = stretches(entries, entries[5]).map(({ entry, count }) => `${entry.fate} ${count}`);
  expect(seen).toEqual([
    "source 1",
    "kept 2",
    "rewritten 1",
    "kept 1",
    "kept 1",
    "kept 1",
    "removed 1",
  ]);
});

test("a word is what stands under the pointer, with the sign before it", () => {
  const text = "  %1 = nn.conv2d(%x, %0.1, padding=[1]);";
  expect(wordAt(text, 3)).toBe("%1");
  expect(wordAt(text, 10)).toBe("nn.conv2d");
  expect(wordAt(text, 23)).toBe("%0.1");
  expect(wordAt("a  b", 2)).toBe("");
});

test("a word has the type of its name, or that of the line", () => {
  const line = {
    names: [
      ["%0", "Tensor[(1, 4), float32]"],
      ["n", "T.int64"],
      ["x", ""],
    ],
    own: "float32",
  };
  const of = (word: string) => typeOf(word, line as Parameters<typeof typeOf>[1]);
  expect(of("%0.1")).toBe("%0: Tensor[(1, 4), float32]");
  expect(of("n")).toBe("n: T.int64");
  expect([of("x"), of("%gone"), of("nn.dense")]).toEqual(["", "", "float32"]);
});

test("a drawn line leads to its version, also in the later part of a broken one, and back", () => {
  const row = { leftWords: [], rightWords: [] };
  const long = "x".repeat(50);
  const lines: Line[] = layout(
    [
      { kind: "changed", left: 1, right: 1, leftText: long, rightText: "b", ...row },
      { kind: "added", left: null, right: 2, leftText: "", rightText: "c", ...row },
    ],
    { split: false, columns: 30, types: true, open: new Set(), context: 3 },
  );
  const broken = lines.findIndex((line) => line.kind === "row" && line.left === null);
  expect(numberAt(lines, broken, null)).toEqual({ side: "before", line: 1 });
  expect(numberAt(lines, lines.length - 1, null)).toEqual({ side: "after", line: 2 });
  expect(drawnAt(lines, "before", 1)).toEqual([0, broken]);
  expect(drawnAt(lines, "after", 2)).toEqual([lines.length - 1, lines.length - 1]);
});
