import { describe, expect, test } from "vitest";
import type { Catalogue } from "../engine/protocol";
import { emptyDocument, initial, type State } from "./model";
import { Keeper } from "./persist";
import { memory } from "./testing";
import { Judge, toSend } from "./trust";
import { update } from "./update";

const judge = () => new Judge(new Keeper(memory()));

describe("a script that came from elsewhere", () => {
  test("waits for a decision, which holds for exactly that text", async () => {
    const store = memory();
    const one = new Judge(new Keeper(store));
    expect(await one.arrived("a")).toBe("ask");
    await one.decide("a", "own");
    await one.decide("b", "held");
    // Another visit.
    const other = new Judge(new Keeper(store));
    expect(await other.arrived("a")).toBe("own");
    expect(await other.arrived("b")).toBe("held");
    expect(await other.arrived("a ")).toBe("ask");
    await other.decide("a", "held");
    expect(await other.arrived("a")).toBe("held");
    expect(await other.arrived(" \n")).toBe("own");
  });

  /** Undo brought it back into an editor that had been emptied, where everything counted as one's own. */
  test("is judged by its text when it comes back, however it does", async () => {
    const one = judge();
    expect(await one.judge("mine", "own")).toBe("own");
    expect(await one.arrived("theirs")).toBe("ask");
    expect(await one.judge("theirs", "own")).toBe("ask");
    await one.decide("theirs", "held");
    expect(await one.judge("theirs", "own")).toBe("held");
    expect(one.verdict("theirs")).toBe("held");
    // Also without a hash, on an address without https, and after much has been typed.
    for (let count = 0; count < 500; count++) await one.judge(`mine ${count}`, "own");
    expect(one.verdict("theirs")).toBe("held");
  });

  test("stays one while it is edited, until nothing of it is left", () => {
    const shared = { ...emptyDocument, script: "theirs", view: { step: "", view: "diff" } };
    let state = update(initial, { type: "open", document: shared, trust: "ask" });
    expect(state.editor).toBe("script");
    state = update(state, { type: "script", script: "theirs, and mine" });
    expect(state.trust).toBe("ask");
    state = update(state, { type: "script", script: "" });
    expect(state.trust).toBe("own");
  });

  test("is not sent before, and the rows that need it are not either", () => {
    const document = {
      ...emptyDocument,
      script: "functionPass(…)",
      passes: [
        { call: "FoldConstant", enabled: true },
        { call: "Mine", enabled: true },
      ],
    };
    const catalogue = {
      passes: [{ name: "FoldConstant", infoName: "FoldConstant", dialects: ["relay"] }],
    };
    const state: State = { ...initial, document, catalogue: catalogue as unknown as Catalogue };
    expect(toSend(state).document).toBe(document);
    const sent = toSend({ ...state, rows: [4, 5], trust: "ask" });
    expect(sent.document.script).toBe("");
    expect(sent.document.passes.map((pass) => pass.call)).toEqual(["FoldConstant"]);
    expect(sent.rows).toEqual([4]);
  });
});
