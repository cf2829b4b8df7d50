import { afterEach, expect, it, vi } from "vitest";
import { explanation } from "./explanations";

const listed = (name: string, dialects: string[], doc: string) => ({
  name,
  dialects,
  doc,
  example: { before: "", after: "" },
});
const LIST = [
  listed("FoldConstant", ["relay"], "of Relay"),
  listed("FoldConstant", ["relax"], "of Relax"),
  listed("tirx.BindTarget", ["tir"], "of TIR"),
];
const doc = async (name: string, dialect: "relay" | "relax") =>
  (await explanation({ name, dialects: [dialect] }))?.doc;

afterEach(() => {
  vi.unstubAllGlobals();
});

it("explanations that failed to load are loaded when the next is shown, and then once", async () => {
  const load = vi.fn(async () => new Response("", { status: 503 }));
  vi.stubGlobal("fetch", load);
  await expect(doc("FoldConstant", "relay")).rejects.toThrow("503");
  load.mockImplementation(async () => new Response(JSON.stringify(LIST)));
  expect(await doc("FoldConstant", "relay")).toBe("of Relay");
  await doc("FoldConstant", "relax");
  expect(load).toHaveBeenCalledTimes(2);
});

it("a pass of Relay and one of Relax with the same name have each its explanation", async () => {
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(LIST)));
  expect(await doc("FoldConstant", "relay")).toBe("of Relay");
  expect(await doc("FoldConstant", "relax")).toBe("of Relax");
  // The engine offers passes over functions of TIR for programs of Relax.
  expect(await doc("tirx.BindTarget", "relax")).toBe("of TIR");
});
