/** Tests questions about programs of Relax, the builder's functions and types of parameters against TVM 0.27. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const MAIN = `@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def flat(a: T.Buffer((2, 4), "float32"), b: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("b"):
                vi = T.axis.spatial(8, i)
                b[vi] = a[vi // 4, vi % 4]

    @R.function(private=True)
    def other(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        y: R.Tensor((n,), dtype="float32") = R.exp(x)
        return y

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor(("m",), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.add(x, x)
            lv1 = R.multiply(lv, x)
            lv2 = cls.other(w)
            R.output(lv1, lv2)
        z = R.match_cast(lv1, R.Tensor((2, 4), dtype="float32"))
        u = R.call_packed("vm.print", z, ty_args=[R.Tensor((2, 4), dtype="float32")])
        return lv2
`;

const UPDATE = `@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n,), dtype="float32") = R.exp(x)
            gv: R.Tensor((n,), dtype="float32") = R.add(lv, y)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        y: R.Tensor((3,), dtype="float32") = R.exp(x)
        return y
`;

describe.skipIf(!built)("programs of Relax", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test("analyses answer as TVM's", async () => {
    const out = await bench.run(
      MAIN,
      `const A = relax.analysis;
      const names = (list) => list.map((one) => one.nameHint ?? String(one)).join();
      modulePass({ name: "Look" }, (mod) => {
        const f = mod.get("main");
        console.log(names(A.freeVars(f.body)), names(A.boundVars(f)), names(A.allVars(f)));
        console.log(names(A.allGlobalVars(f)), names(A.calledGlobalVars(f)));
        console.log(names(A.definedSymbolicVars(f)), names(A.freeSymbolicVars(f.body)));
        console.log(A.containsImpureCall(f, mod), A.containsImpureCall(mod.get("other")), A.hasReshapePattern(mod.get("flat")));
        const values = A.getVar2val(f);
        console.log(names([...values.keys()]), Object.keys(A.nameToBinding(f)).join(), A.nameToBinding(f).lv1[0].value);
        for (const [one, users] of A.udchain(f.body.blocks[0])) console.log(one.nameHint + ": " + names(users));
        const t = (shape, ndim) => new TensorType(shape, "float32", ndim);
        const base = (a, b) => A.typeBaseCheck(a, b);
        console.log(base(t(null), t([2])), base(t([2]), t(null)), base(t([2]), t([3])), base(t([2]), t(null, 1)));
        console.log(A.typeLca(t([2]), t([3])), A.checkWellFormed(mod), A.checkWellFormed(f));
        const [x, y] = ["x", "y"].map((name) => new relax.Var(name, t([2])));
        const bad = new Function([x], new SeqExpr([], y), t([2]));
        console.log(A.checkWellFormed(bad));
        try { A.wellFormed(bad); } catch (error) { console.log(error.message); }
        return mod;
      });`,
      ["Look"],
    );
    expect(said(out)).toEqual([
      "x,w x,w,lv,lv1,lv2,z,u x,w,lv,lv1,lv2,z,u",
      "other other",
      "n,m n,m",
      "true false true",
      "lv,lv1,lv2,u lv,lv1,lv2,z,u R.multiply(lv, x)",
      "x: lv,lv1",
      "lv: lv1",
      "lv1: ",
      "w: lv2",
      "lv2: ",
      "3 1 0 2",
      'R.Tensor(dtype="float32", ndim=1) true true',
      "false",
      "the variable `y` is used before it is bound",
    ]);
  });

  test("functions are built with parameters that come late, with tuples as results, and inside of each other", async () => {
    const out = await bench.run(
      MAIN,
      `modulePass({ name: "Build" }, () => {
        const bb = new BlockBuilder();
        const n = tir.Var("n");
        const param = (name) => new relax.Var(name, new TensorType([n, 2]));
        const [a, b, c, d] = ["a", "b", "c", "d"].map(param);
        bb.function("late", null, () => {
          const gv = bb.dataflow(() => bb.emitOutput(relax.exp(bb.emit(relax.add(a, b)))));
          bb.emitFuncOutput([gv, [a, b]], [a, b]);
        });
        bb.function("outer", c, { private: true }, () => {
          const g = bb.emit(relax.exp(c));
          bb.function("inner", [d], () => bb.emitFuncOutput(bb.emit(relax.negative(d))));
          bb.emitFuncOutput(relax.add(g, g));
        });
        const fresh = (params, f) => {
          const bb = new BlockBuilder();
          try { bb.function("f", params, () => f(bb)); } catch (error) { console.log(error.message); }
        };
        fresh([a], (bb) => { bb.emitFuncOutput(a); bb.emitFuncOutput(a); });
        fresh([a], (bb) => bb.emitFuncOutput(a, [a]));
        fresh(null, (bb) => bb.emitFuncOutput(a));
        fresh([a], () => {});
        return bb.get();
      });`,
      ["Build"],
    );
    expect(said(out)).toEqual([
      "emit_func_output must be called exactly once in a relax function.",
      "function parameters have been initialized in the function with scope.",
      "Relax function must have parameter.",
      "emitFuncOutput must be called in a relax function.",
    ]);
    const text = bench.text(1);
    expect(text).toContain('-> R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tuple(');
    expect(text).toContain("        return (gv, (a, b))");
    expect(text).toMatch(/@R.function\(private=True\)\n {4}def outer/);
    expect(text).toContain("def inner(d:");
  });

  test("a function says what types parameters have", async () => {
    const script = `sequential([transform.UpdateParamType({
      ty_func: (param) => param.nameHint === "x" ? new TensorType([4]) : null,
    })], { name: "Update" });`;
    const out = await bench.run(UPDATE, script, ["Update"]);
    said(out);
    const text = bench.text(1);
    expect(text).toContain("def second(x: R.Tensor((4,), dtype=");
    expect(text).toContain('lv: R.Tensor((4,), dtype="float32") = R.exp(x)');
    expect(text).toContain('gv: R.Tensor(dtype="float32", ndim=1) = R.add(lv, y)');
  });
});
