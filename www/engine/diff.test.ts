import { expect, test } from "vitest";
import { packed, rowsOf } from "./diff";
import type { Diff, DiffRow } from "./protocol";

const counts = { added: 0, removed: 0, changed: 0, moved: 0, renumbered: 0, summary: [] };
const diff = (before: string, after: string, rows: Uint32Array): Diff => ({
  before,
  after,
  rows,
  ...counts,
});

test("rows are read with the lines that they number and the words that differ", () => {
  // kind, line before, line after, numbers of words before and after, words
  const numbers = [3, 1, 1, 2, 2, 0, 3, 0, 4, 1, 0, 2, 0, 0, 5, 2, 3, 0, 0];
  const rows: DiffRow[] = [
    {
      kind: "changed",
      left: 1,
      right: 1,
      leftText: "add",
      rightText: "less",
      leftWords: [0, 3],
      rightWords: [0, 4],
    },
    {
      kind: "added",
      left: null,
      right: 2,
      leftText: "",
      rightText: "b",
      leftWords: [],
      rightWords: [],
    },
    {
      kind: "renumbered",
      left: 2,
      right: 3,
      leftText: "%1",
      rightText: "%2",
      leftWords: [],
      rightWords: [],
    },
  ];
  expect(rowsOf(diff("add\n%1\n", "less\nb\n%2\n", Uint32Array.from(numbers)))).toEqual(rows);
  expect([...packed(rows)]).toEqual(numbers);
});

test("equal versions have no rows, and numbers that mean nothing give empty lines", () => {
  expect(rowsOf(null)).toEqual([]);
  expect(rowsOf(diff("", "", new Uint32Array()))).toEqual([]);
  const odd = rowsOf(diff("a", "b", Uint32Array.of(77, 9, 2 ** 31, 2 ** 32 - 1, 4, 1, 2)));
  expect(odd).toHaveLength(1);
  expect(odd[0]).toMatchObject({ kind: "same", leftText: "", rightText: "" });
});
