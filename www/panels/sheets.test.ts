import { expect, test } from "vitest";
import { ROW, topToSee } from "./sheets";

test("a line is brought into sight with all its rows, and only as far as it has to be", () => {
  const height = 10 * ROW;
  // All of it is there, or it is elsewhere.
  expect(topToSee([2, 4], 0, height)).toBe(0);
  expect(topToSee([40, 41], 0, height)).toBe(37 * ROW);
  expect(topToSee([1, 1], 20 * ROW, height)).toBe(0);
  // Its last rows are below the end.
  expect(topToSee([8, 11], 0, height)).toBe(2 * ROW);
  // Rows taller than the view: the first one counts.
  expect(topToSee([3, 30], 0, height)).toBe(3 * ROW);
});
