import { expect, test } from "vitest";
import { callOf, inserted, type Line, linesOf, moved, removed, toggled, traceOf } from "./trace";

const text = 'b = sch.get_sblock("C")\n# sch.parallel(i)\nsch.unroll(j)\nsch.vectorize(k)\n';
/** The instructions of a text as the engine reads them. */
const read = (source: string) =>
  [...source.matchAll(/^(?!#)\S.*$/gm)].map((found) => ({
    from: found.index,
    to: found.index + found[0].length,
    name: /\.(\w+)/.exec(found[0])?.[1] ?? "",
    changes: !found[0].includes("get_"),
  }));
const lines = (source: string): Line[] => linesOf(source, read(source));
const at = (source: string, index: number) => lines(source)[index] as Line;

test("an instruction that is switched off is a comment, and no other comment is one", () => {
  expect(lines(text).map(({ code, on, changes }) => [code, on, changes])).toEqual([
    ['b = sch.get_sblock("C")', true, false],
    ["sch.parallel(i)", false, true],
    ["sch.unroll(j)", true, true],
    ["sch.vectorize(k)", true, true],
  ]);
  expect(lines("# tiles of 8\n# see split(8)\n")).toEqual([]);
  const off = toggled(text, at(text, 2));
  expect(off).toContain("\n# sch.unroll(j)\n");
  expect(toggled(off, at(off, 2))).toBe(text);
});

test("instructions are moved, taken out and put in, and what stands between them stays", () => {
  const noted = "# first\nsch.unroll(j)\n\n# second\nsch.vectorize(k)\n";
  expect(moved(noted, lines(noted), 1, 0)).toBe(
    "# first\nsch.vectorize(k)\n\n# second\nsch.unroll(j)\n",
  );
  expect(removed(text, at(text, 1))).toBe(text.replace("# sch.parallel(i)\n", ""));
  expect(inserted("", undefined, "sch.unroll(j)\n")).toBe("sch.unroll(j)\n");
  expect(inserted(text, at(text, 0), "sch.fuse(i, j)\n")).toBe(
    text.replace('C")\n', 'C")\nsch.fuse(i, j)\n'),
  );
  const body = "def apply_trace(sch):\n  sch.unroll(j)";
  const line = { from: 24, to: body.length, code: "sch.unroll(j)", on: true, changes: true };
  expect(inserted(body, line, "sch.parallel(i)")).toBe(`${body}\n  sch.parallel(i)\n`);
});

test("a trace goes into a call and comes out of it as it was", () => {
  for (const trace of [text, 'a = "\\n"\t\'', ""]) expect(traceOf(callOf(trace))).toBe(trace);
  expect(traceOf("Schedule")).toBe("");
  expect(traceOf("s_tir.Schedule('sch.x(\"C\")\\n')")).toBe('sch.x("C")\n');
  expect(traceOf("FuseOps(trace=1)")).toBeNull();
});
