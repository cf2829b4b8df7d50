import { expect, test } from "vitest";
import { pythonNames, pythonTokens } from "./python";

const cut = (text: string) =>
  pythonTokens(text).map(({ kind, from, to }) => [kind, text.slice(from, to)]);

test("texts, comments, decorators, keywords and calls are told apart", () => {
  expect(cut("@tvm.ir_module\nclass A: # it's\n    x = f('a\\'b', 1.5) @ b")).toEqual([
    ["op", "@tvm.ir_module"],
    ["keyword", "class"],
    ["type", "A"],
    ["sign", ":"],
    ["comment", "# it's"],
    ["name", "x"],
    ["sign", "="],
    ["op", "f"],
    ["sign", "("],
    ["string", "'a\\'b'"],
    ["sign", ","],
    ["number", "1.5"],
    ["sign", ")"],
    ["sign", "@"],
    ["name", "b"],
  ]);
});

test("a text in three quotes spans lines, also where nothing ends it", () => {
  expect(cut('"""a\nb""" c')).toEqual([
    ["string", '"""a\nb"""'],
    ["name", "c"],
  ]);
  expect(cut("f'''a\n")).toEqual([["string", "f'''a\n"]]);
});

test("names are those of variables, functions and classes, not of members", () => {
  expect(pythonNames("from a import B\n@c.d\ndef f(x, y=1):\n    return x.z + B()")).toEqual([
    "a",
    "B",
    "f",
    "x",
    "y",
  ]);
});
