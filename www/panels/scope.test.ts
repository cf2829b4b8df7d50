import { describe, expect, it } from "vitest";
import type { DiffRow } from "../engine/protocol";
import { functionsOf, rowsIn } from "./scope";

const RELAY = ["#[version]", "def @f(%x) {", "  %x", "}", "", "def @main(%x) {", "  @f(%x)", "}"];

describe("lines of one function", () => {
  it("are those between its head and its end in Relay", () => {
    expect(functionsOf(RELAY)).toEqual(["", "", "f", "f", "f", "", "main", "main", "main"]);
  });

  it("have the decorators with them in TVMScript", () => {
    const lines = [
      "@I.ir_module",
      "class Module:",
      "    @T.prim_func(s_tir=True)",
      "    def add(A):",
      "        pass",
      "",
      "    @R.function",
      "    def main(x):",
      "        return x",
    ];
    expect(functionsOf(lines).slice(1)).toEqual([
      "",
      "",
      "add",
      "add",
      "add",
      "add",
      "main",
      "main",
      "main",
    ]);
  });

  it("are all that a diff shows of that function, also of one that is gone", () => {
    const row = (left: number | null, right: number | null): DiffRow => ({
      kind: left && right ? "same" : left ? "removed" : "added",
      left,
      right,
      leftText: left ? (RELAY[left - 1] ?? "") : "",
      rightText: right ? (["#[version]", ...RELAY.slice(5)][right - 1] ?? "") : "",
      leftWords: [],
      rightWords: [],
    });
    const rows = [
      row(1, 1),
      row(2, null),
      row(3, null),
      row(4, null),
      row(5, null),
      row(6, 2),
      row(7, 3),
      row(8, 4),
    ];
    expect(rowsIn(rows, "f").map(({ left }) => left)).toEqual([2, 3, 4]);
    expect(rowsIn(rows, "main").map(({ right }) => right)).toEqual([2, 3, 4]);
    expect(rowsIn(rows, "")).toBe(rows);
  });
});
