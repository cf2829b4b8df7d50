import { expect, it } from "vitest";
import { type Listed, onceEach } from "./problems";

const listed = (message: string, from: number | null, tag = "", script = false): Listed => ({
  problem: {
    severity: "error",
    code: "",
    message,
    from,
    to: from,
    line: null,
    column: null,
    notes: [],
  },
  script,
  tag,
});
const tags = (all: Listed[]) => onceEach(all).map(({ tag }) => tag);

it("an error of a script stands once, at its place, and not again for the step that failed by it", () => {
  expect(
    tags([
      listed("x is not defined (line 1 of My passes)", null, "Mine"),
      listed("x is not defined", 12, "My passes", true),
    ]),
  ).toEqual(["My passes"]);
});

it("what five steps say of one place is said once; of two places twice", () => {
  const five = ["A", "B", "C", "D", "E"].map((tag) => listed("types differ", 3, tag));
  expect(tags(five)).toEqual(["A"]);
  expect(tags([listed("types differ", 3, "A"), listed("types differ", 9, "B")])).toEqual([
    "A",
    "B",
  ]);
});

it("a place in the script is not one in the program", () => {
  expect(tags([listed("odd", 3, "A"), listed("odd", 3, "B", true)])).toEqual(["A", "B"]);
});
