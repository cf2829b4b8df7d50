import { expect, test } from "vitest";
import { colour, comparison, factsOf, indexOf, number, parseElements, sliceOf } from "./tensor";

const part = (shape: number[], data: number[], dtype = "float32") => ({
  name: "result",
  text: "",
  dtype,
  shape,
  data,
});

test("elements are written as nested lists, as words, or as one for all", () => {
  expect(parseElements("[[1, 2], [3, -4.5e-1]]", [2, 2])).toEqual([1, 2, 3, -0.45]);
  expect(parseElements("1 2; 3 4f", [4])).toEqual([1, 2, 3, 4]);
  expect(parseElements("7", [2, 3])).toEqual([7]);
  expect(parseElements("true, false", [2])).toEqual([1, 0]);
  expect(parseElements("nan inf -inf", [3])).toEqual([Number.NaN, Infinity, -Infinity]);
  expect(parseElements("1 2 3", [2, 2])).toMatch(/^3 numbers were given, 4 are wanted/);
  expect(parseElements("1 two", [2])).toBe("“two” is no number.");
});

test("a slice is a matrix of the last two axes", () => {
  const cube = part(
    [2, 2, 3],
    Array.from({ length: 12 }, (_, at) => at),
  );
  const slice = sliceOf(cube, [1]);
  expect([slice.rows, slice.columns, slice.element(1, 2)]).toEqual([2, 3, 11]);
  // An index out of range means the last one.
  expect(sliceOf(cube, [9]).element(0, 0)).toBe(6);
  expect(sliceOf(part([], [5]), []).element(0, 0)).toBe(5);
  expect(sliceOf(part([3], [1, 2, 3]), []).rows).toBe(1);
  expect(sliceOf(part([2, 2], [1, 2]), []).element(1, 0)).toBeUndefined();
});

test("facts leave out what is no number", () => {
  expect(factsOf([1, Number.NaN, -3, 5])).toEqual({
    least: -3,
    most: 5,
    mean: 1,
    leastAt: 2,
    mostAt: 3,
    odd: 1,
  });
  expect(factsOf([Number.NaN])).toBeNull();
  expect(indexOf(11, [2, 2, 3])).toEqual([1, 1, 2]);
});

test("two tensors are compared element by element", () => {
  const a = part([2, 2], [1, 2, 3, Number.NaN]);
  expect(comparison(a, a)).toBe("✓ all elements are equal");
  expect(comparison(a, part([2, 2], [1, 2, 3.5, Number.NaN]))).toBe(
    "≠ at most 0.5 apart at [1, 0]",
  );
  expect(comparison(a, part([2, 2], [1, Number.NaN, 9, Number.NaN]))).toBe(
    "≠ at most NaN apart at [0, 1]",
  );
  expect(comparison(a, part([4], [1, 2, 3, 4]))).toBe("≠ float32[2, 2] became float32[4].");
});

test("numbers are short, and colours go from dark to light", () => {
  expect([0.1 + 0.2, -1234567.8, 12, Number.NaN, -Infinity].map((x) => number(x))).toEqual([
    "0.3",
    "−1234600",
    "12",
    "NaN",
    "−∞",
  ]);
  expect(colour(0)).toEqual([68, 1, 84]);
  expect(colour(2)).toEqual([253, 231, 37]);
});
