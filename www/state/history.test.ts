import { describe, expect, test } from "vitest";
import { createHistory } from "./history";
import { type Action, defaultPreferences } from "./model";
import { createStore } from "./store";

function page() {
  let now = 0;
  const store = createStore(defaultPreferences);
  const history = createHistory(store, () => now);
  const shown = () => store.state().document.source;
  return {
    ...store,
    ...history,
    shown,
    passes: () => store.state().document.passes.map((pass) => pass.call),
    wait(millis: number) {
      now += millis;
    },
    act(...actions: Action[]) {
      for (const action of actions) store.dispatch(action);
    },
    type(text: string) {
      for (const letter of text) store.dispatch({ type: "edit", source: shown() + letter });
    },
  };
}

describe("undo", () => {
  const begun = () => {
    const one = page();
    one.act({ type: "example", id: "mlp", source: "a", passes: ["A", "B"], optLevel: 3 });
    return one;
  };

  test("takes back what was typed in one go, and the next one by itself", () => {
    const one = begun();
    one.type("bc");
    one.wait(5000);
    one.type("de");
    one.undo();
    expect(one.shown()).toBe("abc");
    one.undo();
    expect(one.shown()).toBe("a");
    expect(one.state().example).toBe("mlp");
    expect(one.undo()).toBe(false);
    one.redo();
    one.redo();
    expect(one.shown()).toBe("abcde");
    expect(one.redo()).toBe(false);
  });

  test("is one way back through text, list and context", () => {
    const one = begun();
    const rows = one.state().rows;
    one.type("b");
    one.act({ type: "toggle", row: 0 }, { type: "remove", row: 1 });
    one.act({ type: "config", key: "k", value: "1" });
    one.type("c");
    expect(one.depth()).toEqual([5, 0]);
    for (let count = 0; count < 5; count++) one.undo();
    expect([one.shown(), one.passes(), one.state().document.config]).toEqual(["a", ["A", "B"], {}]);
    expect(one.state().rows).toEqual(rows);
    expect(one.depth()).toEqual([0, 5]);
    one.redo();
    one.type("x");
    expect(one.redo()).toBe(false);
  });

  /** After a fork it restored the program, and not the list. */
  test("of a fork brings back the program, the list, and what was looked at", () => {
    const one = begun();
    one.act({ type: "step", id: "A#1" }, { type: "view", view: "graph" });
    one.act({ type: "fork", source: "after A", passes: [], parent: "" });
    one.act({ type: "step", id: "" }, { type: "view", view: "diff" });
    one.undo();
    expect([one.shown(), one.passes()]).toEqual(["a", ["A", "B"]]);
    expect([one.state().step, one.state().view]).toEqual(["A#1", "graph"]);
  });

  /** One letter cost the whole trace, and nothing brought it back. */
  test("of a letter beside a trace brings back the trace", () => {
    const one = begun();
    const files = [{ name: "1_A.relay", text: "b" }];
    const document = { ...one.state().document, files, view: { step: "", view: "diff" } };
    one.act({ type: "open", document, trust: "own", own: true });
    one.type("x");
    expect(one.state().document.files).toBeUndefined();
    one.undo();
    expect(one.state().document.files).toEqual(files);
  });

  test("does not make a refused script one's own", () => {
    const one = begun();
    const document = { ...one.state().document, script: "theirs", view: { step: "", view: "" } };
    one.act({ type: "open", document, trust: "ask" }, { type: "trust", trust: "held" });
    one.act({ type: "script", script: "" });
    expect(one.state().trust).toBe("own");
    one.undo();
    expect([one.state().document.script, one.state().trust]).toEqual(["theirs", "held"]);
  });
});
