import { describe, expect, test } from "vitest";
import type { Request } from "../engine/protocol";
import { check, LONGEST } from "./validate";

const step = {
  id: "Mine#1",
  name: "Mine",
  depth: 0,
  parent: null,
  row: 0,
  role: "listed",
  outcome: "changed",
  reason: "",
  optLevel: 0,
  before: 0,
  after: 1,
  micros: 12.5,
  rewrites: 1,
  functions: [],
  problems: [],
};
const run = {
  dialect: "relay",
  problems: [],
  ok: true,
  steps: [step],
  versions: 2,
  log: [],
  timing: "",
  millis: 1,
  script: { passes: [], instruments: [], problems: [], output: ["hello"] },
};

/** Checks a message that answers question 7, as the page does. */
function heard(message: unknown, question: Request["type"] = "run") {
  const text = typeof message === "string" ? message : JSON.stringify(message);
  return check(text, new Map([[7, question]]));
}
const answer = (value: unknown, type = "run") => ({ id: 7, type, value });

describe("what comes out of the sandbox", () => {
  test("an answer as it should be is read as it is", () => {
    expect(heard(answer(run))).toEqual(answer(run));
    expect(heard(answer("text", "text"), "text")).toEqual(answer("text", "text"));
    expect(heard({ type: "ready" })).toEqual({ type: "ready" });
    expect(heard({ type: "rest", more: 1 })).toEqual({ type: "rest" });
  });

  /** They were dropped on the way, so that a program beside a script had no quick fixes. */
  test("repairs of a problem come through, and a malformed one is refused", () => {
    const fix = { title: "Write it so", edits: [[0, 4, "text"]], asks: [["n", "1"]] };
    const problem = {
      severity: "error",
      code: "relay-syntax",
      message: "no",
      from: 0,
      to: 4,
      line: 1,
      column: 1,
      notes: [],
      fixes: [fix],
    };
    const wrong = { ...run, ok: false, steps: [], problems: [problem] };
    expect(heard(answer(wrong))).toEqual(answer(wrong));
    const bad = { ...problem, fixes: [{ ...fix, edits: [[0, "4", "text"]] }] };
    expect(() => heard(answer({ ...wrong, problems: [bad] }))).toThrow("a whole number");
  });

  test("a question is answered once, and only with an answer to it", () => {
    const asked = new Map<number, Request["type"]>([[7, "run"]]);
    check(JSON.stringify(answer(run)), asked);
    expect(() => check(JSON.stringify(answer(run)), asked)).toThrow("an answer to a question");
    expect(() => heard({ ...answer(run), id: 8 })).toThrow();
    expect(() => heard(answer("text", "text"))).toThrow();
    expect(() => heard(answer({}, "catalogue"), "catalogue")).toThrow();
    expect(() => heard(answer("#1.x", "encode"), "encode")).toThrow();
  });

  test("a document that was made small is read without a script", () => {
    const document = {
      source: "def @main() { 1 }",
      passes: [{ call: "Mine()", enabled: true }],
      optLevel: 2,
      required: [],
      disabled: [],
      config: { "relay.FuseOps.max_depth": "4" },
      instruments: [],
      script: "stolen()",
      parent: "stolen",
      view: { step: "x", view: "y" },
    };
    const reduced = { problem: "", done: true, bindings: 1, tried: 9, culprit: null, document };
    const { parent, ...kept } = { ...document, script: "", view: { step: "", view: "" } };
    expect(heard(answer(reduced, "reduce"), "reduce")).toEqual(
      answer({ ...reduced, document: kept }, "reduce"),
    );
    const many = { ...document, config: { a: 1 } };
    expect(() => heard(answer({ ...reduced, document: many }, "reduce"), "reduce")).toThrow();
  });

  test("only text of bounded length is looked at", () => {
    expect(() => check({ type: "ready" }, new Map())).toThrow();
    expect(() => check("x".repeat(LONGEST + 1), new Map())).toThrow();
    expect(() => heard("{")).toThrow();
    expect(() => heard("null")).toThrow();
  });

  test("what is not in the protocol is left out, prototypes included", () => {
    const message = JSON.stringify(answer(run)).replace(
      '"dialect"',
      '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"more":1,"dialect"',
    );
    expect(heard(message)).toEqual(answer(run));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    const inherited = JSON.stringify(answer(run)).replace('"ok":true', '"__proto__":{"ok":true}');
    expect(() => heard(inherited)).toThrow();
  });

  test.each([
    ["a version that there is not", { ...run, versions: 1 }],
    ["a step inside of itself", { ...run, steps: [{ ...step, parent: 0 }] }],
    ["two steps of one name", { ...run, steps: [step, step] }],
    ["an outcome of its own", { ...run, steps: [{ ...step, outcome: "great" }] }],
    ["a name that is none", { ...run, steps: [{ ...step, name: { toString: 1 } }] }],
    ["a number that is none", { ...run, millis: "1" }],
    ["a negative place", { ...run, steps: [{ ...step, row: -1 }] }],
    ["a list that is none", { ...run, steps: { length: 1 } }],
    [
      "too many steps",
      { ...run, steps: Array.from({ length: 10_001 }, (_, at) => ({ ...step, id: String(at) })) },
    ],
  ])("refused: %s", (_, value) => {
    expect(() => heard(answer(value))).toThrow();
  });

  test("a value of more parts than the page can draw is refused", () => {
    const part = { name: "a", text: "", dtype: "float32", shape: [], data: [1] };
    const values = (count: number) => ({
      problem: "",
      args: [],
      seen: [],
      times: 0,
      result: new Array(count).fill(part),
    });
    expect(heard(answer(values(3), "eval"), "eval")).toEqual(answer(values(3), "eval"));
    expect(() => heard(answer(values(1_001), "eval"), "eval")).toThrow();
  });

  test("words of any length are cut", () => {
    const long = { ...run, steps: [{ ...step, reason: "x".repeat(50_000) }] };
    const read = heard(answer(long)) as unknown as { value: typeof run };
    expect(read.value.steps[0]?.reason).toHaveLength(10_001);
  });
});

test("an expression that was rebuilt has a history like any other", () => {
  const entry = { version: 1, step: 0, fate: "rebuilt", rule: "", node: 3, label: "add" };
  const history = {
    version: 1,
    node: 3,
    label: "add",
    op: "add",
    ty: "float32",
    attrs: [],
    source: null,
    entries: [entry],
    lines: [2, null],
  };
  expect(heard(answer(history, "history"), "history")).toMatchObject({ value: history });
  const odd = { ...history, entries: [{ ...entry, fate: "lost" }] };
  expect(() => heard(answer(odd, "history"), "history")).toThrow("rebuilt");
});
