/** Tests scripts on programs of Relax. Their output is compared with TVM 0.27's or with the program's own text. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const MAIN = `@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.add(x, x)
            gv: R.Tensor((n, 4), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        y: R.Tensor((n, 4), dtype="float32") = R.exp(gv)
        return y
`;

describe.skipIf(!built)("Relax", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  const run = (script: string, calls: string[] = [], source = MAIN) =>
    bench.run(source, script, calls);

  test("nodes say what they are", async () => {
    const out = await run(
      `modulePass({ name: "Look" }, (mod) => {
        const main = mod.get("main");
        console.log(main.isPure, main.params[0].checkedType, main.body.blocks.length);
        const [flow, plain] = main.body.blocks;
        console.log(flow instanceof DataflowBlock, plain.isDataflow, plain instanceof BindingBlock);
        const [lv, gv] = flow.bindings;
        console.log(lv.var instanceof DataflowVar, gv.var.isDataflow, lv.var === gv.value.args[0]);
        console.log(lv.value, lv.value.op.name, lv.value.op.isPure, lv === flow.bindings[0]);
        const type = lv.var.checkedType;
        console.log(type.shape.map(String).join(), type.ndim, type.dtype, type.shape[0].mul(2).add(1));
        console.log(main.body.body === plain.bindings[0].var);
        return mod;
      });`,
      ["Look"],
    );
    expect(said(out)).toEqual([
      'true R.Tensor((n, 4), dtype="float32") 2',
      "true false true",
      "true false true",
      "R.add(x, x) relax.add true true",
      "n,4 2 float32 n * 2 + 1",
      "true",
    ]);
  });

  test("values, types and texts", async () => {
    const out = await run(`
      const n = tir.Var("n");
      console.log(new ShapeExpr([n, 4, n.mul(2)]), new PrimValue(3), new PrimValue(-2).value, new PrimValue(0.5).value);
      console.log(new StringImm("a"), new DataTypeImm("int8"), new ExternFunc("f").globalSymbol, new PrimValue(n).checkedType);
      console.log(new TensorType([n, 4]), new TensorType(null, "float16", 2), new TensorType(null, null), new AnyType());
      console.log(new ShapeType([n]), new ShapeType(null, 2), new PrimType("int64"), new relax.TensorStructInfo([1], "int8"));
      console.log(new FuncType([new AnyType()], new AnyType(), false), new FuncType(null, new AnyType()), new TupleType([new StringType()]));
      console.log(parseType("R.Tuple(R.Tensor((2,), 'float32'), R.Shape(ndim=1))").fields[1].ndim);
      console.log(parseType("R.Tensor((2, 3), 'float32')") === new TensorType([2, 3]));
      const x = new relax.Var("x", "R.Tensor((2, 4), 'float32')");
      console.log(relax.reshape(x, [4, 2]), relax.reshape(x, [n, 2]), relax.concat([x, x], { axis: 1 }));
      console.log(new Call(op("nn.softmax").op, [x], { axis: 0 }).attrs.axis, relax.nn.relu(x).args[0] === x);
      console.log(parseExpr("R.add(R.exp(x), x)", { x }), relax.callPacked("f", [x], "R.Tensor"));
      console.log(relax.callTIR(new GlobalVar("f"), [x], new TensorType([2])));
      functionPass({ name: "Same" }, (func) => func);
    `);
    expect(said(out)).toEqual([
      "R.shape([n, 4, n * 2]) 3 -2 0.5",
      'R.str("a") R.dtype("int8") f T.int64',
      'R.Tensor((n, 4), dtype="float32") R.Tensor(dtype="float16", ndim=2) R.Tensor R.Any',
      'R.Shape([n]) R.Shape(ndim=2) T.int64 R.Tensor((1,), dtype="int8")',
      "R.Callable((R.Any,), R.Any, False) R.Callable(purity=True) R.Tuple(I.StringType())",
      "1",
      "true",
      "R.reshape(x, R.shape([4, 2])) R.reshape(x, R.shape([n, 2])) R.concat((x, x), axis=1)",
      "0 true",
      'R.add(R.exp(x), x) R.call_packed("f", x, ty_args=(R.Tensor,))',
      'R.call_tir(f, (x,), out_ty=R.Tensor((2,), dtype="float32"))',
    ]);
  });

  test("the builder builds a function, and an ill-typed emit is an exception at its line", async () => {
    const out = await run(
      `modulePass({ name: "Build" }, () => {
        const bb = new BlockBuilder();
        const n = tir.Var("n");
        const x = new relax.Var("x", new TensorType([n, 4]));
        const w = new relax.Var("w", new TensorType([4, 8]));
        bb.function("main", [x, w], () => {
          const gv = bb.dataflow(() => {
            const lv = bb.emit(relax.matmul(relax.nn.relu(x), w));
            console.log(bb.lookupBinding(lv), lv.checkedType, bb.lookupBinding(x));
            return bb.emitOutput(relax.exp(lv));
          });
          bb.matchCast(gv, "R.Tensor((3, 8), 'float32')", "y");
          bb.emitFuncOutput(new Tuple([gv, x]));
        });
        return bb.get();
      });
      modulePass({ name: "Wrong" }, (mod) => {
        const bb = new BlockBuilder(mod);
        bb.beginBindingBlock();
        bb.emit(relax.matmul(new relax.Var("a", "R.Tensor((2, 3))"), new relax.Var("b", "R.Tensor((2, 3))")));
        return mod;
      });`,
      ["Build"],
    );
    expect(said(out)).toEqual([
      'R.matmul(lv, w, out_dtype=None) R.Tensor((n, 8), dtype="float32") null',
    ]);
    expect(
      bench.text(out.versions - 1),
    ).toContain(`    def main(x: R.Tensor((n, 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32")) -> R.Tuple(R.Tensor((n, 8), dtype="float32"), R.Tensor((n, 4), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
            lv1: R.Tensor((n, 8), dtype="float32") = R.matmul(lv, w, out_dtype=None)
            gv: R.Tensor((n, 8), dtype="float32") = R.exp(lv1)
            R.output(gv)
        y: R.Tensor((3, 8), dtype="float32") = R.match_cast(gv, R.Tensor((3, 8), dtype="float32"))
        return (gv, x)`);
    const script =
      'modulePass({ name: "Wrong" }, (mod) => {\n  const bb = new BlockBuilder(mod);\n  bb.beginBindingBlock();\n  bb.emit(relax.matmul(new relax.Var("a", "R.Tensor((2, 3))"), new relax.Var("b", "R.Tensor((2, 3))")));\n  return mod;\n});';
    const wrong = await run(script, ["Wrong"]);
    expect(wrong.steps[0]?.outcome).toBe("failed");
    expect(wrong.script?.problems[0]).toMatchObject({ line: 4 });
    expect(wrong.script?.problems[0]?.message).toContain("Matmul requires");
  });

  test("an operator becomes a tensor program, and equal programs are one", async () => {
    const out = await run(
      `modulePass({ name: "Build" }, () => {
        const bb = new BlockBuilder();
        const x = new relax.Var("x", new TensorType([2, 4]));
        bb.function("main", [x], () => {
          const y = bb.emitTE(relax.add, x, x);
          bb.emitFuncOutput(bb.emitTE("add", y, y));
        });
        bb.beginBindingBlock();
        try { bb.emitTE("topk", x); } catch (e) { console.log(e.message); }
        try { bb.emitTE(relax.exp, new relax.Var("y", "R.Tensor(ndim=1)")); } catch (e) { console.log(e.message); }
        bb.endBlock();
        return bb.get();
      });`,
      ["Build"],
    );
    expect(said(out)).toEqual([
      "R.topk has no tensor-expression form",
      "R.exp cannot be lowered for these arguments: their shapes have to be known",
    ]);
    const text = bench.text(out.versions - 1);
    expect(text).toContain("T_add[v_ax0, v_ax1] = x[v_ax0, v_ax1] + x_1[v_ax0, v_ax1]");
    expect(text).toContain(`        cls = Module
        gv = R.call_tir(cls.add, (x, x), out_ty=R.Tensor((2, 4), dtype="float32"))
        gv1 = R.call_tir(cls.add, (gv, gv), out_ty=R.Tensor((2, 4), dtype="float32"))
        return gv1`);
  });

  /** The output of TVM 0.27 for the same lambdas. It lowered only the outer operator, and called `exp` `tir_exp`. */
  test("a function of several operators becomes one tensor program", async () => {
    const out = await run(
      `modulePass({ name: "Build" }, () => {
        const bb = new BlockBuilder();
        const [x, w] = [new relax.Var("x", new TensorType([4, 8])), new relax.Var("w", new TensorType([8, 2]))];
        bb.function("main", [x, w], () => {
          const y = bb.emitTE((a, b) => relax.nn.relu(relax.matmul(a, b)), x, w);
          const z = bb.emitTE(relax.exp, y);
          bb.emitFuncOutput(bb.emitTE((a) => relax.add(relax.exp(a), a), z, { primfuncNameHint: "mine" }));
          try { bb.emitTE((a) => relax.add(relax.topk(a), a), z); } catch (e) { console.log(e.message); }
        });
        return bb.get();
      });`,
      ["Build"],
    );
    expect(said(out)).toHaveLength(1);
    const text = bench.text(out.versions - 1);
    expect(text).toContain(
      'def lambda_(x: T.Buffer((T.int64(4), T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(2)), "float32"), compute: T.Buffer((T.int64(4), T.int64(2)), "float32"))',
    );
    expect(text).toContain("compute[v_i0, v_i1] = T.max(matmul[v_i0, v_i1], T.float32(0.0))");
    expect(text).toContain("def exp(gv: T.Buffer(");
    expect(text).toContain("T_add[v_ax0, v_ax1] = compute[v_ax0, v_ax1] + gv1[v_ax0, v_ax1]");
    expect(text).toContain(
      'gv2 = R.call_tir(cls.mine, (gv1,), out_ty=R.Tensor((4, 2), dtype="float32"))',
    );
  });

  test("a mutator of normal form emits, and types follow", async () => {
    const out = await run(
      `class Longer extends relax.ExprMutator {
        visitCall(call) {
          const post = super.visitCall(call);
          if (post.op !== op("add").op) return post;
          const joined = this.builder.emit(relax.concat([...post.args]));
          return relax.exp(relax.exp(joined));
        }
      }
      functionPass({ name: "Longer" }, (func, mod) => new Longer(mod).visit(func));`,
      ["Longer"],
    );
    said(out);
    expect(bench.text(out.versions - 1)).toContain(`-> R.Tensor(("n * 2", 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((n * 2, 4), dtype="float32") = R.concat((x, x), axis=0)
            lv1: R.Tensor((n * 2, 4), dtype="float32") = R.exp(lv)
            lv_1: R.Tensor((n * 2, 4), dtype="float32") = R.exp(lv1)
            gv: R.Tensor((n * 2, 4), dtype="float32") = R.nn.relu(lv_1)
            R.output(gv)
        y: R.Tensor((n * 2, 4), dtype="float32") = R.exp(gv)
        return y`);
    expect(out.steps[0]?.rewrites).toBe(1);
  });

  test("a mutator that changes nothing gives the same function, through branches and inner functions", async () => {
    const program = `@I.ir_module
class Module:
    @R.function(pure=False)
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
            z: R.Tensor((n,), dtype="float32") = R.exp(y)
            return z
        if c:
            a: R.Tensor((n,), dtype="float32") = inner(x)
            b: R.Tensor((n,), dtype="float32") = a
        else:
            b: R.Tensor((n,), dtype="float32") = x
        s: R.Shape([n]) = R.shape_of(b)
        m = T.int64()
        t: R.Tensor((m,), dtype="float32") = R.match_cast(b, R.Tensor((m,), dtype="float32"))
        u: R.Any = R.call_packed("vm.show", t)
        return b
`;
    const script = `functionPass({ name: "Same" }, (func, mod) => {
        for (const one of [new relax.ExprMutator(mod), new relax.ExprMutatorBase(), new relax.DataflowMutator(mod)])
          console.log(one.visit(func) === func);
        const seen = [];
        class See extends relax.ExprVisitor {
          visitVarDef_(v) { seen.push(v.nameHint); }
          visitMatchCast(b) { seen.push(String(b.type)); super.visitMatchCast(b); }
        }
        new See().visit(func);
        console.log(seen);
        return func;
      });`;
    const out = await run(script, ["Same"], program);
    expect(said(out)).toEqual([
      "true",
      "true",
      "true",
      '["c","x","y","z","inner","a","b","s","R.Tensor((m,), dtype=\\"float32\\")","t","u"]',
    ]);
  });

  test("a pass over dataflow blocks keeps what is visible behind them", async () => {
    const script = `
      class NoRelu extends relax.ExprMutator {
        visitCall(call) {
          const post = super.visitCall(call);
          return post.op === op("nn.relu").op ? post.args[0] : post;
        }
      }
      dataflowBlockPass({ name: "NoRelu", optLevel: 1 }, (block, mod) => new NoRelu(mod).visitDataflowBlock(block));
      dataflowBlockPass({ name: "Drop" }, (block) => new DataflowBlock(block.bindings.slice(0, 1)));
      dataflowBlockPass({ name: "Nothing" }, () => {});`;
    const out = await run(script, ["NoRelu"]);
    said(out);
    const text = bench.text(out.versions - 1);
    expect(text).toContain('gv: R.Tensor((n, 4), dtype="float32") = lv\n');
    expect(text).toContain("= R.exp(gv)");
    expect(out.steps[0]?.rewrites).toBe(1);
    const reason = async (name: string) => (await run(script, [name])).steps[0]?.reason;
    expect(await reason("Drop")).toContain("should not rewrite or delete any global-scope Var: gv");
    expect(await reason("Nothing")).toContain("must return a block, not undefined");
    const relay = await bench.run("def @main(%x: int32) { %x }", script, ["Drop"]);
    expect(relay.steps[0]?.outcome).toBe("unchanged");
  });

  test("a pass over tensor programs sees their buffers and sets attributes", async () => {
    const program = `@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        return y
`;
    const script = `primFuncPass({ name: "Mark" }, (func, mod) => {
      console.log(func.buffers.map((one) => [one.name, one.dtype, one.shape.join()]), func.attrs.noalias, mod.get("double") === func);
      console.log(String(func).includes("A[v] * T.float32(2.0)"));
      return func.withAttr("my_kind", "double");
    });`;
    const out = await run(script, ["Mark"], program);
    expect(said(out)).toEqual(['[["A","float32","4"],["B","float32","4"]] undefined true', "true"]);
    expect(bench.text(out.versions - 1)).toContain('T.func_attr({"my_kind": "double"})');
  });

  test("what is impure in a dataflow block or ill-typed is a failed step, what is nested is for Normalize", async () => {
    const script = `
      const change = (name, f) => functionPass({ name }, (func) => {
        class Change extends relax.ExprMutatorBase {
          visitCall(call) { return call.op === op("add").op ? f(call.args[0]) : call; }
        }
        return new Change().visit(func);
      });
      change("Impure", (x) => relax.callPacked("vm.show", [x], "R.Tensor"));
      change("Nested", (x) => relax.exp(relax.exp(x)));
      change("IllTyped", (x) => relax.nn.conv2d(x, x));
      change("Unbound", () => relax.exp(new relax.Var("other", "R.Tensor((2, 4), 'float32')")));`;
    const reason = async (name: string) => {
      const out = await run(script, [name]);
      expect(out.steps[0]?.outcome).toBe("failed");
      expect(out.versions).toBe(1);
      return out.steps[0]?.reason;
    };
    expect(await reason("Impure")).toMatch(/impure|side effects/i);
    expect(await reason("IllTyped")).toMatch(/conv2d/i);
    expect(await reason("Unbound")).toContain("other");
    const out = await run(script, ["Nested", "Normalize"]);
    expect(out.steps.map((step) => step.outcome)).toEqual(["changed", "changed"]);
    expect(out.steps[0]?.problems[0]?.message).toContain("which Normalize makes of it");
    expect(bench.text(1)).toContain("R.exp(R.exp(");
    expect(bench.text(2)).not.toContain("R.exp(R.exp(");
  });
});
