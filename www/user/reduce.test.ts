/** Programs made small while the passes of a script run over them. */
import { describe, expect, test } from "vitest";
import type { Reduced } from "../engine/protocol";
import { Bench, built } from "./testing";

const PROGRAM = `def @main(%x: Tensor[(4, 8), float32], %y: Tensor[(4, 8), float32]) {
  let %a = exp(%x);
  let %b = add(%a, %y);
  let %c = nn.relu(%b);
  let %d = multiply(%c, %y);
  let %e = tanh(%d);
  add(%e, %a)
}`;

const RELU = `op("nn.relu").op`;

const WRONG = `class Wrong extends ExprMutator {
  visitCall(old) {
    const made = super.visitCall(old);
    return made.op === ${RELU} ? relay.negative(made.args[0]) : made;
  }
}
const wrong = functionPass({ name: "Inner", optLevel: 0 }, (func) => new Wrong().visit(func));
`;

async function reduced(script: string, calls: string[], more = {}): Promise<Reduced> {
  const bench = await Bench.open();
  const run = await bench.run(PROGRAM, script, calls, more);
  expect(run.problems).toEqual([]);
  for (let property = "check"; ; property = "") {
    const found = bench.handle({ id: 9, type: "reduce", property, tries: 50 }) as Reduced;
    expect(found.problem).toBe("");
    if (found.done) return found;
  }
}

describe.skipIf(!built)("a reduction", () => {
  test("runs the passes of a script over other programs, whose nodes are none of the first", async () => {
    const found = await reduced(WRONG, ["Inner"]);
    expect(found.culprit?.name).toBe("Inner");
    expect(found.bindings).toBe(1);
    expect(found.document?.source).toContain("nn.relu");
    expect(found.document?.source).not.toMatch(/exp|tanh|multiply/);
  });

  test("runs passes that a pass of the script runs, made while it was loaded", async () => {
    const outer = `const both = transform.Sequential([wrong, transform.InferType()]);
modulePass({ name: "Outer", optLevel: 0 }, (mod) => both(mod));
`;
    const found = await reduced(WRONG + outer, ["Outer"]);
    expect(found.culprit?.name).toBe("Inner");
    expect(found.bindings).toBe(1);
  });

  test("keeps the instruments and configuration keys that a script defines", async () => {
    const own = `PassContext.registerConfigOption("demo.key", "int");
passInstrument({ name: "Watcher", runBeforePass() {} });
`;
    const found = await reduced(WRONG + own, ["Inner"], {
      config: { "demo.key": "1" },
      instruments: ["Watcher"],
    });
    expect(found.culprit?.name).toBe("Inner");
    expect(found.bindings).toBe(1);
  });
});
