import { describe, expect, test } from "vitest";
import { inOrder, isProgram, isReproducer } from "./importing";

describe("what is brought in", () => {
  test("a folder has the order of its numbers", () => {
    const names = ["d/10_B.relay", "d/2_A.relay", "d/001_C.relay"];
    const files = names.map((name) => ({ name, text: "1" }));
    expect(inOrder(files).map((file) => file.name)).toEqual([names[2], names[1], names[0]]);
  });

  test("only text that can be a program counts", () => {
    expect(isProgram({ name: "a.relay", text: "1" })).toBe(true);
    expect(isProgram({ name: "d/.DS_Store", text: "x" })).toBe(false);
    expect(isProgram({ name: "d/__MACOSX", text: "x" })).toBe(false);
    expect(isProgram({ name: "a.bin", text: "\0" })).toBe(false);
    expect(isProgram({ name: "a.relay", text: " \n" })).toBe(false);
  });

  test("a reproducer is told by its first line", () => {
    expect(isReproducer("// passlab 1\n1")).toBe(true);
    expect(isReproducer("# passlab 1\n@R.function")).toBe(true);
    expect(isReproducer("// a comment\n// passlab 1")).toBe(false);
  });
});
