import { expect, test } from "vitest";
import { fenced } from "./report";

test("a block of code is not ended by what is in it", () => {
  expect(fenced("python", "a\n")).toBe("```python\na\n```\n");
  expect(fenced("", "```\n<b>\n````")).toBe("`````\n```\n<b>\n````\n`````\n");
});
