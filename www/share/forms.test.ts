import { describe, expect, test } from "vitest";
import { packed } from "../engine/diff";
import type { Diff, DiffRow, RunDocument } from "../engine/protocol";
import { emptyDocument } from "../state/model";
import { commandLine, fits, markdownDiff, markdownLink, titleOf, unified } from "./forms";
import { htmlPage } from "./page";

const same = (text: string) => ({ left: text, right: text, kind: "same" as const });
const lines: { left?: string; right?: string; kind: DiffRow["kind"] }[] = [
  ...["1", "2", "3", "4", "5"].map(same),
  { left: "add(%x)", right: "sub(%x)", kind: "changed" },
  { left: "```", kind: "removed" },
  ...["6", "7", "8", "9"].map(same),
];
const before = lines.flatMap(({ left }) => left ?? []);
const after = lines.flatMap(({ right }) => right ?? []);
const number = (text: string[], line?: string) => (line ? text.indexOf(line) + 1 : null);
const diff: Diff = {
  before: before.join("\n"),
  after: after.join("\n"),
  rows: packed(
    lines.map(({ left, right, kind }) => ({
      kind,
      left: number(before, left),
      right: number(after, right),
      leftText: "",
      rightText: "",
      leftWords: [],
      rightWords: [],
    })),
  ),
  added: 0,
  removed: 1,
  changed: 1,
  moved: 0,
  renumbered: 0,
  summary: ["one call became another"],
};

const document: RunDocument = {
  ...emptyDocument,
  source: "@I.ir_module\nclass Module: pass\n",
  passes: [
    { call: "FuseOps(fuse_opt_level=2)", enabled: true },
    { call: "DeadCodeElimination()", enabled: false },
  ],
  optLevel: 3,
  disabled: ["FoldConstant"],
  config: { "relax.x": "True" },
};

describe("forms of sharing", () => {
  test("a link says where it fits", () => {
    expect(fits(300)).toMatch(/everywhere/);
    expect(fits(3000)).toBe(
      "It is too long for a Discord message, an Outlook or Teams link or a QR code; elsewhere it fits.",
    );
    expect(fits(3_000_000)).toMatch(/any browser/);
  });

  test("a patch shows changes with three lines around them", () => {
    const lines = unified(diff).split("\n");
    expect(lines).toEqual([
      "@@ … @@",
      " 3",
      " 4",
      " 5",
      "-add(%x)",
      "+sub(%x)",
      "-```",
      " 6",
      " 7",
      " 8",
      "@@ … @@",
    ]);
  });

  test("Markdown keeps its fence whatever the program holds", () => {
    const text = markdownDiff("t", "http://x/#2.a", diff.summary, diff);
    expect(text).toContain("\n````diff\n");
    expect(text.startsWith("[t](http://x/#2.a)\n\n- one call became another\n")).toBe(true);
    expect(markdownLink("a]b", "u")).toBe("[a\\]b](u)");
    expect(commandLine("#2.a")).toBe("passlab open '#2.a' | passlab opt -");
  });

  test("a title names the step and the program's first function", () => {
    expect(titleOf({ ...document, source: "def @fine(%x: int32) { %x }" }, "FuseOps")).toBe(
      "passlab: FuseOps on fine",
    );
    const script = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x):";
    expect(titleOf({ ...document, source: script }, "")).toBe("passlab: main");
  });

  test("names that a link brought are text in Markdown, whatever they hold", () => {
    expect(markdownLink("<img src=x onerror=y> `*a*\u202e\r\n# b", "http://x/(y)#2.a")).toBe(
      "[\\<img src=x onerror=y\\> \\`\\*a\\* \\# b](http://x/%28y%29#2.a)",
    );
  });

  test("the page is one file that asks for nothing and runs nothing of the program", () => {
    const step = { name: "Fuse</script>", outcome: "changed", reason: "", depth: 0 } as const;
    const page = htmlPage("<b>", "http://x/#2.a", "<img src=x>", [{ step, diff }], 0);
    expect(page).not.toMatch(/<img|<b>|<\/script>.*<\/script>/s);
    expect(page).toContain("default-src 'none'");
    expect(page.match(/https?:/g)).toHaveLength(1);
    expect(page).toContain("const first=1;");
  });
});
