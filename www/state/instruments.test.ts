import { describe, expect, it } from "vitest";
import type { InstrumentDoc, LogEntry, Step } from "../engine/protocol";
import { flame } from "./flame";
import {
  argumentsOf,
  callWith,
  fromNames,
  instrumentName,
  logText,
  passProblems,
  splitArguments,
  toNames,
} from "./instruments";
import { crc32, zip } from "./zip";

const printing: InstrumentDoc = {
  name: "PassPrintingInstrument",
  params: [
    { name: "before", default: "[]", doc: "" },
    { name: "after", default: "[]", doc: "" },
  ],
  doc: "",
};

const step = (id: string, more: Partial<Step> = {}): Step => ({
  id,
  name: id,
  depth: 0,
  parent: null,
  row: 0,
  role: "listed",
  outcome: "changed",
  reason: "",
  optLevel: 0,
  before: 0,
  after: 0,
  micros: 0,
  rewrites: 0,
  functions: [],
  problems: [],
  ...more,
});

describe("calls of instruments", () => {
  it("are taken apart at commas that separate arguments", () => {
    expect(splitArguments('A(["x, y"], b={"k": (1, 2)}, "=")')).toEqual([
      { name: "", text: '["x, y"]' },
      { name: "b", text: '{"k": (1, 2)}' },
      { name: "", text: '"="' },
    ]);
    expect(splitArguments("A")).toEqual([]);
  });

  it("are written with what is not the default only", () => {
    const call = callWith(printing, ["[]", fromNames(["FuseOps", 'a"b'])]);
    expect(call).toBe('PassPrintingInstrument(after=["FuseOps", "a\\"b"])');
    expect(argumentsOf(printing, call)).toEqual(["[]", '["FuseOps", "a\\"b"]']);
    expect(callWith(printing, ["[]", ""])).toBe("PassPrintingInstrument");
    expect(toNames("['a', \"b\"]")).toBe("a, b");
  });

  it("have names that links of the first days wrote shorter", () => {
    expect(instrumentName("PrintAfter")).toBe("PrintAfterAll");
    expect(instrumentName('DumpIR("x")')).toBe("DumpIR");
  });
});

it("the log is indented by the depth of steps, and what is printed stays as it is", () => {
  const steps = [step("a"), step("b", { depth: 1, parent: 0 })];
  const log: LogEntry[] = [
    { kind: "call", text: "i.enter_pass_ctx()", step: null },
    { kind: "call", text: "i.should_run(b)", step: 1 },
    { kind: "refused", text: "i refuses b", step: 1 },
    { kind: "printed", text: "def @main() {\n  1\n}\n", step: 0 },
  ];
  const shown =
    "› i.enter_pass_ctx()\n    › i.should_run(b)\n    – i refuses b\ndef @main() {\n  1\n}";
  expect(logText(log, steps, true)).toBe(shown);
  expect(logText(log, steps, false)).toBe("    – i refuses b\ndef @main() {\n  1\n}");
});

it("a finding that fails a nested pass and the one around it is listed once", () => {
  const problem = (severity: "error" | "warning", message: string) => ({
    severity,
    code: "x",
    message,
    from: null,
    to: null,
    line: null,
    column: null,
    notes: [],
  });
  const steps = [
    step("outer", { outcome: "failed", problems: [problem("error", "bad")] }),
    step("inner", {
      outcome: "failed",
      parent: 0,
      problems: [problem("warning", "odd"), problem("error", "bad")],
    }),
  ];
  expect(passProblems(steps).map(({ problem, step }) => `${step.id} ${problem.message}`)).toEqual([
    "outer bad",
    "inner odd",
  ]);
});

it("blocks lie one after the other, nested ones under the step they ran in", () => {
  const blocks = flame([
    step("a", { micros: 60 }),
    step("a1", { micros: 20, parent: 0, depth: 1 }),
    step("a2", { micros: 10, parent: 0, depth: 1 }),
    step("s", { outcome: "skipped" }),
    step("b", { micros: 40 }),
  ]);
  expect(blocks.map(({ step, left, width, own }) => [step.id, left, width, own])).toEqual([
    ["a", 0, 60, 30],
    ["a1", 0, 20, 20],
    ["a2", 20, 10, 10],
    ["b", 60, 40, 40],
  ]);
  expect(blocks[2]?.ofParent).toBeCloseTo(16.67, 2);
});

describe("zip", () => {
  it("has the checksum of the standard", () => {
    // The check value of CRC-32: that of the digits 1 to 9.
    expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  });

  it("lays files out as local headers, data, directory and end", () => {
    const bytes = zip([{ name: "d/0.txt", text: "hé" }]);
    const view = new DataView(bytes.buffer);
    expect(view.getUint32(0, true)).toBe(0x04034b50);
    // 30 bytes of header, 7 of name, 3 of text.
    expect(view.getUint32(40, true)).toBe(0x02014b50);
    const end = bytes.length - 22;
    expect(view.getUint32(end, true)).toBe(0x06054b50);
    expect(view.getUint16(end + 10, true)).toBe(1);
    expect(view.getUint32(end + 16, true)).toBe(40);
    expect(new TextDecoder().decode(bytes.subarray(37, 40))).toBe("hé");
  });
});
