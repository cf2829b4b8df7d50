import { expect, it } from "vitest";
import type { Problem } from "../engine/protocol";
import { edited, fixOf } from "./fixes";

const problem = (
  message: string,
  from: number | null,
  to: number | null,
  notes: string[] = [],
): Problem => ({
  severity: "error",
  code: "",
  message,
  from,
  to,
  line: null,
  column: null,
  notes,
});

it("a name that was perhaps meant takes the place of the one that is underlined", () => {
  const text = "nn.rellu(%x)";
  const fix = fixOf(
    problem("there is no operator `nn.rellu`", 0, 8, ["did you mean `nn.relu`?"]),
    text,
  );
  expect(fix?.text).toBe("nn.relu(%x)");
  expect(fix?.word).toBe("nn.relu");
});

it("within more that is underlined the name that the message quotes is changed", () => {
  const text = 'op("nn.rellu")(x)';
  const fix = fixOf(
    problem('unknown operator "nn.rellu", did you mean "nn.relu"?', 0, text.length),
    text,
  );
  expect(fix?.text).toBe('op("nn.relu")(x)');
});

it("without a place or a name nothing is offered", () => {
  expect(fixOf(problem("did you mean `a`?", null, null), "b")).toBeNull();
  expect(fixOf(problem("wrong", 0, 1), "b")).toBeNull();
  expect(fixOf(problem("did you mean `a`?", 0, 3), "b c")).toBeNull();
});

it("a repair writes the values that were typed in the place of the likely ones", () => {
  const fix = {
    title: "Give them values",
    edits: [[0, 0, "# define: n=128\n# define: dtype=float32\n"]] as [number, number, string][],
    asks: [
      ["n", "128"],
      ["dtype", "float32"],
    ] as [string, string][],
  };
  expect(edited("x\n", fix, ["8 *\n 2", "$&"])).toBe("# define: n=8 * 2\n# define: dtype=$&\nx\n");
  expect(edited("x\n", fix, [])).toBe("# define: n=128\n# define: dtype=float32\nx\n");
});

it("a repair makes its edits in order, and none in a text that is shorter by now", () => {
  const edits: [number, number, string][] = [
    [0, 1, "A"],
    [2, 3, "C"],
  ];
  expect(edited("abcd", { title: "", edits, asks: [] }, [])).toBe("AbCd");
  expect(edited("ab", { title: "", edits, asks: [] }, [])).toBe("ab");
});
