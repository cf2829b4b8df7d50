import { describe, expect, test } from "vitest";
import type { Run, RunDocument } from "../engine/protocol";
import { type Action, asView, initial, type State, toShared } from "./model";
import { update } from "./update";

const reached = (...actions: Action[]): State => actions.reduce(update, initial);
const passes = (state: State) => state.document.passes.map((pass) => pass.call);
const list: Action = { type: "pipeline", passes: ["A", "B", "C"], optLevel: 3 };

const run = (ok: boolean): Run => ({
  dialect: "relay",
  problems: ok
    ? []
    : [
        {
          severity: "error",
          code: "x",
          message: "wrong",
          from: 0,
          to: 1,
          line: 1,
          column: 1,
          notes: [],
        },
      ],
  ok,
  steps: [],
  versions: 1,
  log: [],
  timing: "",
  millis: 1,
});

describe("the pass list", () => {
  test("a pipeline replaces the list and sets its level", () => {
    const state = reached(list);
    expect(passes(state)).toEqual(["A", "B", "C"]);
    expect(state.document.optLevel).toBe(3);
  });

  test("a row keeps its number when it moves or changes", () => {
    const state = reached(list);
    const [a, b, c] = state.rows;
    const moved = update(state, { type: "move", from: 0, to: 2 });
    expect(passes(moved)).toEqual(["B", "C", "A"]);
    expect(moved.rows).toEqual([b, c, a]);
    expect(update(moved, { type: "toggle", row: 2 }).rows).toEqual([b, c, a]);
    expect(update(moved, { type: "call", row: 2, call: "A(x=1)" }).rows).toEqual([b, c, a]);
  });

  test("a move out of the list changes nothing, not even the identity", () => {
    const state = reached(list);
    expect(update(state, { type: "move", from: 0, to: -1 })).toBe(state);
    expect(update(state, { type: "move", from: 2, to: 3 })).toBe(state);
  });

  test("toggle, remove and add touch one row", () => {
    const state = reached(
      list,
      { type: "toggle", row: 1 },
      { type: "remove", row: 0 },
      { type: "add", call: "D", at: 1 },
    );
    expect(state.document.passes).toEqual([
      { call: "B", enabled: false },
      { call: "D", enabled: true },
      { call: "C", enabled: true },
    ]);
    expect(new Set(state.rows).size).toBe(3);
  });
});

describe("the program", () => {
  test("editing an example makes it the user's own", () => {
    const state = reached(
      { type: "example", id: "mlp", source: "a" },
      { type: "edit", source: "b" },
    );
    expect(state.example).toBe("");
    expect(state.document.source).toBe("b");
  });

  test("an example of the other dialect brings passes that fit it", () => {
    const state = reached(
      { type: "passes", passes: [{ call: "FuseOps", enabled: true }] },
      { type: "example", id: "relax-conv", source: "a", passes: ["Normalize"] },
    );
    expect(state.document.passes).toEqual([{ call: "Normalize", enabled: true }]);
    expect(state.rows.length).toBe(1);
  });

  test("an edit that changes nothing keeps the state", () => {
    const state = reached({ type: "example", id: "mlp", source: "a" });
    expect(update(state, { type: "edit", source: "a" })).toBe(state);
  });
});

describe("answers", () => {
  const answered = (document: RunDocument, ok: boolean): Action => ({
    type: "answered",
    document,
    sent: document,
    rows: [],
    run: run(ok),
  });

  test("a run with errors leaves the last good one on the screen, marked as stale", () => {
    const good = reached(answered(initial.document, true));
    const bad = update(good, answered({ ...initial.document, source: "x" }, false));
    expect(bad.good).toBe(good.good);
    expect(bad.stale).toBe(true);
    expect(bad.problems).toHaveLength(1);
    const fixed = update(bad, answered(initial.document, true));
    expect(fixed.stale).toBe(false);
    expect(fixed.good?.number).toBe(3);
  });

  test("an engine that gave up is forgotten with the next answer", () => {
    const state = reached({ type: "gave-up", message: "hung" }, answered(initial.document, true));
    expect(state.gaveUp).toBe("");
    expect(state.stale).toBe(false);
  });
});

describe("context", () => {
  test("a setting is set, changed and taken back", () => {
    const set = reached({ type: "config", key: "k", value: "1" });
    expect(set.document.config).toEqual({ k: "1" });
    expect(update(set, { type: "config", key: "k", value: null }).document.config).toEqual({});
  });

  test("an instrument is switched on once", () => {
    const on: Action = { type: "instrument", name: "DumpIR", call: "DumpIR" };
    expect(reached(on, on).document.instruments).toEqual(["DumpIR"]);
    const other: Action = { type: "instrument", name: "VerifyEach", call: "VerifyEach" };
    const changed: Action = { ...on, call: 'DumpIR("here")' };
    expect(reached(on, other, changed).document.instruments).toEqual([
      'DumpIR("here")',
      "VerifyEach",
    ]);
    expect(reached(on, { ...on, call: null }).document.instruments).toEqual([]);
  });
});

test("opening a shared document brings back what was shared", () => {
  const state = reached(
    list,
    { type: "edit", source: "program" },
    { type: "config", key: "k", value: "1" },
    { type: "view", view: "before" },
  );
  const opened = update(initial, {
    type: "open",
    document: toShared(state, "B#1"),
    trust: "own",
  });
  expect(opened.document).toEqual(state.document);
  expect(opened.step).toBe("B#1");
  expect(opened.view).toBe("before");
});

test("an unknown view from a link is the diff", () => {
  expect(asView("galaxy")).toBe("diff");
  expect(asView("after")).toBe("before");
});
