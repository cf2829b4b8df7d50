import { expect, it, vi } from "vitest";
import { freshCall } from "../state/calls";
import { explanations, keyOf } from "./explanations";
import type { PassDoc } from "./protocol";

const listed = (name: string, dialects: string[], doc: string, before = "") => ({
  name,
  dialects,
  doc,
  example: { before, after: "" },
});
const LIST = [
  listed("FoldConstant", ["relay"], "of Relay"),
  listed("FoldConstant", ["relax"], "of Relax"),
  listed("tirx.BindTarget", ["tir"], "of TIR", '# tirx.BindTarget("llvm")\n@T.prim_func'),
];

it("a pass of Relay and one of Relax with the same name have each its explanation", async () => {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(LIST)));
  const texts = await explanations();
  const doc = (name: string, dialect: string) => texts[keyOf({ name, dialects: [dialect] })]?.doc;
  expect(doc("FoldConstant", "relay")).toBe("of Relay");
  expect(doc("FoldConstant", "relax")).toBe("of Relax");
  // The engine offers passes over functions of TIR for programs of Relax.
  expect(doc("tirx.BindTarget", "relax")).toBe("of TIR");
  vi.unstubAllGlobals();
});

it("a new row of a pass of Relax or TIR with arguments has the call of its example", () => {
  const example = LIST[2]?.example;
  const explanation = { doc: "", exampleBefore: example?.before ?? "", exampleAfter: "" };
  const pass = { name: "tirx.BindTarget", explanation } as PassDoc;
  expect(freshCall(pass)).toBe('tirx.BindTarget("llvm")');
});
