/** Scripts are recognised for what they are: a wrong guess answers with errors of the other language. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inLanguage, languageOf, languageProblems } from "./language";

test("the samples are of the language of their files", () => {
  const folder = join(import.meta.dirname, "samples");
  for (const name of readdirSync(folder).filter((name) => /\.(js|py)$/.test(name))) {
    const text = readFileSync(join(folder, name), "utf8");
    expect([name, languageOf(text)]).toEqual([name, name.endsWith("js") ? "javascript" : "python"]);
  }
});

test("short texts are told apart", () => {
  expect(languageOf("")).toBe("javascript");
  expect(languageOf("console.log(1)")).toBe("javascript");
  expect(languageOf("import tvm\nprint(tvm.__version__)")).toBe("python");
  expect(languageOf("for x in range(3):\n    print(x)")).toBe("python");
  expect(languageOf("for (const x of [1]) {\n  console.log(x);\n}")).toBe("javascript");
  expect(languageOf("@relay.transform.function_pass(opt_level=1)\nclass A:\n    pass")).toBe(
    "python",
  );
});

test("a first line says it where the text does not", () => {
  expect(inLanguage("", "python")).toBe("# language: python\n");
  expect(languageOf(inLanguage("x = 1", "python"))).toBe("python");
  expect(languageOf(inLanguage("x = 1", "javascript"))).toBe("javascript");
  expect(inLanguage("# language: python\nimport tvm\n", "python")).toBe("import tvm\n");
});

test("a language that is not here is a warning with the nearest one, and the text decides", () => {
  const script = "# language: pyhton\nimport tvm\n";
  expect(languageOf(script)).toBe("python");
  expect(languageProblems(script)).toMatchObject([
    { severity: "warning", from: 0, to: 18, line: 1 },
  ]);
  expect(languageProblems(script)[0]?.message).toContain('"pyhton" here: python?');
  expect(languageProblems("# language: python\nimport tvm\n")).toEqual([]);
});
