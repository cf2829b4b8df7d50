import { expect, test } from "vitest";
import { phaseOf } from "./phases";

test("the lists of TVM fall into phases in their order", () => {
  const phases = (names: string) =>
    names
      .split(" ")
      .map(phaseOf)
      .filter((phase, at, all) => phase !== all[at - 1]);
  expect(phases("LegalizeOps FoldConstant FuseOps FuseTIR")).toEqual([
    "Legalisation",
    "Simplification",
    "Fusion",
  ]);
  expect(
    phases(
      "RemoveUnusedFunctions ToBasicBlockNormalForm qnn.Legalize Legalize SimplifyInference EliminateCommonSubexpr FoldConstant AlterOpLayout FastMath PlanDevices FuseOps",
    ),
  ).toEqual([
    "Forms and types",
    "Legalisation",
    "Simplification",
    "Layout and precision",
    "Simplification",
    "Lowering",
    "Fusion",
  ]);
});
