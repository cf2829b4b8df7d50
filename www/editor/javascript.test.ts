import { describe, expect, it } from "vitest";
import { namesIn, tokensOf, whereIs } from "./javascript";

const words = (text: string) =>
  tokensOf(text).map(({ kind, from, to }) => `${kind} ${text.slice(from, to)}`);
const where = (marked: string) => {
  const at = marked.indexOf("|");
  const text = marked.replace("|", "");
  return whereIs(tokensOf(text), text, at);
};

describe("a script in its editor", () => {
  it("is cut into texts, comments, words and numbers", () => {
    expect(words('const a = "x\\"y"; // end')).toEqual([
      "keyword const",
      "name a",
      "sign =",
      'string "x\\"y"',
      "sign ;",
      "comment // end",
    ]);
    expect(words("a / b / 2")).toEqual(["name a", "sign /", "name b", "sign /", "number 2"]);
    expect(words("x = /a[/]b/g.test(y)").slice(2, 4)).toEqual(["string /a[/]b/g", "sign ."]);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the script has it
    expect(words("`a ${f({ b: 1 })} c` + d").filter((word) => word.startsWith("string"))).toEqual([
      "string `a ${",
      "string } c`",
    ]);
  });

  it("ends with what nobody closed", () => {
    for (const text of ['"abc', "`abc ${", "/* abc", "'a\n'b", "`", "}", "${", "/", "\\"]) {
      expect(tokensOf(text).at(-1)?.to ?? 0).toBeLessThanOrEqual(text.length);
    }
  });

  it("has places in texts where nothing is completed", () => {
    expect(where('f("a|b")').quoted).toBe(true);
    expect(where('f("ab")|').quoted).toBe(false);
    expect(where("// a|").quoted).toBe(true);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the script has it
    expect(where("`a ${b|} c`").quoted).toBe(false);
  });

  it("has members where a class is open, and not in their bodies", () => {
    expect(where("class A extends ExprMutator {\n  vis|").member).toEqual({
      extends: "ExprMutator",
    });
    expect(where("class A extends ExprMutator {\n  visitCall(call) { vis|").member).toBeNull();
    expect(
      where("class A extends ExprMutator {\n  visitCall(call) { f(); }\n  vis|\n}").member,
    ).toEqual({
      extends: "ExprMutator",
    });
    expect(where("if (a) { b|").member).toBeNull();
  });

  it("declares names", () => {
    expect(namesIn("const a = 1; class B {} function c(d, e) { } (f) => f")).toEqual([
      "a",
      "B",
      "c",
      "d",
      "e",
      "f",
    ]);
  });
});
