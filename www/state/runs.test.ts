import { expect, test } from "vitest";
import { limitOf } from "./runs";

/** It was cut to the limit of the engine, so that "Stop after 90" stopped a script after ten seconds. */
test("a script may take as long as the user says, also longer than a run of the engine", () => {
  expect(limitOf("run", 90, 10_000)).toBe(90_000);
  expect(limitOf("eval", 2, 10_000)).toBe(2_000);
  expect(limitOf("run", null, 10_000)).toBe(10_000);
  expect(limitOf("eval", null, 10_000)).toBeGreaterThan(10_000);
});
