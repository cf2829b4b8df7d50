import { describe, expect, test } from "vitest";
import type { Catalogue } from "../engine/protocol";
import { emptyDocument, initial, type State, update } from "./model";
import { Keeper, type Storage } from "./persist";
import { decide, judgeScript, toSend } from "./trust";

function keeper(): Keeper {
  const map = new Map<string, string>();
  const storage: Storage = {
    getItem: (key) => map.get(key) ?? null,
    setItem: (key, value) => void map.set(key, value),
  };
  return new Keeper(storage);
}

describe("a script that came from elsewhere", () => {
  test("waits for a decision, which holds for exactly that text", async () => {
    const kept = keeper();
    expect(await judgeScript("a", initial, kept)).toBe("ask");
    await decide("a", "own", kept);
    await decide("b", "held", kept);
    expect(await judgeScript("a", initial, kept)).toBe("own");
    expect(await judgeScript("b", initial, kept)).toBe("held");
    expect(await judgeScript("a ", initial, kept)).toBe("ask");
    await decide("a", "held", kept);
    expect(await judgeScript("a", initial, kept)).toBe("held");
  });

  test("is no question when it is empty, or what is being worked on anyway", async () => {
    expect(await judgeScript(" \n", initial, keeper())).toBe("own");
    const document = { ...emptyDocument, script: "mine" };
    expect(await judgeScript("mine", { document, trust: "own" }, keeper())).toBe("own");
    expect(await judgeScript("mine", { document, trust: "ask" }, keeper())).toBe("ask");
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
