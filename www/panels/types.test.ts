import { describe, expect, it } from "vitest";
import { typeAt } from "./types";

const RELAY = [
  "def @main(%x: Tensor[(1, 3), float32] /* ty=Tensor[(1, 3), float32] */, %w: Tensor[(4, 3), float32]) {",
  "  %0 = nn.dense(%x, %w, units=None) /* ty=Tensor[(1, 4), float32] */;",
  "  let %y: float32 = add(1f /* ty=float32 */, 2f) /* ty=float32 */;",
  "  %1 = (%0, %y) /* ty=(Tensor[(1, 4), float32], float32) */;",
  "  %1.0",
];

describe("the type of a name in a text", () => {
  it("is that of the line that binds it", () => {
    expect(typeAt(RELAY, 3, "%0")).toBe("%0: Tensor[(1, 4), float32]");
    expect(typeAt(RELAY, 3, "%y")).toBe("%y: float32");
    expect(typeAt(RELAY, 4, "%1.0")).toBe("%1: (Tensor[(1, 4), float32], float32)");
  });

  it("is the annotation of a parameter", () => {
    expect(typeAt(RELAY, 1, "%x")).toBe("%x: Tensor[(1, 3), float32]");
    expect(typeAt(RELAY, 1, "%w")).toBe("%w: Tensor[(4, 3), float32]");
  });

  it("is that of the line for an operator, and nothing where nothing is said", () => {
    expect(typeAt(RELAY, 1, "nn.dense")).toBe("Tensor[(1, 4), float32]");
    expect(typeAt(RELAY, 1, "%gone")).toBe("");
  });

  it("is the annotation in TVMScript", () => {
    const lines = [
      '    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor:',
      '            lv: R.Tensor((2, 3), dtype="float32") = R.add(x, x)',
      "            return lv",
    ];
    expect(typeAt(lines, 2, "lv")).toBe('lv: R.Tensor((2, 3), dtype="float32")');
    expect(typeAt(lines, 1, "x")).toBe('x: R.Tensor((2, 3), dtype="float32")');
  });
});
