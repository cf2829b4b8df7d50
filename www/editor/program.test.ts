import { expect, it } from "vitest";
import type { OpDoc } from "../engine/protocol";
import { dialectOf, docOf, namesOf, signatureOf } from "./program";

const op: OpDoc = {
  name: "nn.conv2d",
  dialects: ["relay"],
  args: ["data", "weight"],
  attrs: [
    { name: "strides", type: "list", default: "[1, 1]" },
    { name: "channels", type: "int", default: null },
  ],
  pattern: "OutEWiseFusable",
  hasKernel: true,
  doc: "A convolution.",
};

it("an operator is explained by how it is called, what it does and how it fuses", () => {
  expect(signatureOf(op)).toBe("nn.conv2d(data, weight, strides=[1, 1], channels)");
  expect(docOf(op).doc).toMatch(/^A convolution\.\nFor fusion: large/);
});

it("the names of a program are completed, each once, and its dialect decides the operators", () => {
  expect(namesOf("def @main(%x, %y) { add(%x, %0) }", "%")).toEqual(["%x", "%y"]);
  expect(namesOf("def @main(%x) { @f(%x) }", "@")).toEqual(["@main", "@f"]);
  expect(dialectOf("def @main(%x) { nn.relu(%x) }")).toBe("relay");
  expect(dialectOf("@I.ir_module\nclass Module:")).toBe("relax");
});
