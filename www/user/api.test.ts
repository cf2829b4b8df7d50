import { beforeAll, describe, expect, test } from "vitest";
import { API_OBJECTS } from "./api";
import { API } from "./docs";
import { Bench, built, said } from "./testing";

const PROGRAM = "def @main(%x: Tensor[(2), float32]) { add(nn.relu(%x), 0f) }";

describe.skipIf(!built)("passes written by the user", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test("a function pass that mutates is a pass like any other", async () => {
    const script = `
      class DropZero extends ExprMutator {
        visitCall(call) {
          const post = super.visitCall(call);
          const [x, zero] = post.args;
          return post.op === op("add").op && zero instanceof Constant && zero.value === 0 ? x : post;
        }
      }
      functionPass({ name: "DropZero", optLevel: 1, required: ["InferType"], doc: "No zeros." },
        (func) => new DropZero().visit(func));`;
    const run = await bench.run(PROGRAM, script, ["DropZero"]);
    said(run);
    expect(run.script?.passes).toEqual([
      {
        name: "DropZero",
        kind: "function",
        optLevel: 1,
        required: ["InferType"],
        doc: "No zeros.",
      },
    ]);
    expect(run.steps.map((step) => [step.name, step.role, step.outcome])).toEqual([
      ["InferType", "required", "unchanged"],
      ["DropZero", "listed", "changed"],
      ["InferType", "nested", "unchanged"],
    ]);
    expect(run.steps[1]?.rewrites).toBe(1);
    expect(bench.text(run.steps[1]?.after as number)).toContain("  nn.relu(%x)\n");
  });

  test("opt level and disabled passes gate it", async () => {
    const script = `functionPass({ name: "Mine", optLevel: 4 }, (f) => f);`;
    const low = await bench.run(PROGRAM, script, ["Mine"]);
    expect(low.steps[0]?.reason).toBe("needs opt level 4");
    const off = await bench.run(PROGRAM, script, ["Mine"], { optLevel: 4, disabled: ["Mine"] });
    expect(off.steps[0]?.reason).toBe("disabled");
  });

  test("a mutator without hooks gives the same program back", async () => {
    const script = `
      functionPass({ name: "Nothing" }, (func) => {
        if (new ExprMutator().visit(func) !== func) throw new Error("another one");
        return func;
      });`;
    const run = await bench.run(PROGRAM, script, ["Nothing"]);
    said(run);
    expect(run.steps[0]?.outcome).toBe("unchanged");
  });

  test("an ill-formed result is a failed step, and the version before it stands", async () => {
    const script = `functionPass({ name: "Bad" }, (f) => new Function(f.params, variable("nowhere")));`;
    const run = await bench.run(PROGRAM, script, ["Bad", "FoldConstant"]);
    expect(run.steps[0]?.outcome).toBe("failed");
    expect(run.steps[0]?.reason).toContain("nowhere");
    expect(run.steps.at(-1)?.outcome).toBe("not-reached");
    expect(run.steps[0]?.after).toBe(run.steps[0]?.before);
  });

  test("an ill-typed result of a module pass is a failed step", async () => {
    const script = `modulePass({ name: "Bad" }, (mod) => {
      const x = variable("x", { shape: [2] }), y = variable("y", { shape: [3] });
      return mod.copy().set("sum", new Function([x, y], relay.add(x, y)));
    });`;
    const run = await bench.run(PROGRAM, script, ["Bad"]);
    expect(run.steps[0]?.outcome).toBe("failed");
    expect(run.versions).toBe(1);
  });

  test("what a pass throws that a pass calls has its name and line once", async () => {
    const script = `const inner = modulePass({ name: "Inner" }, () => {
  throw new TypeError("no");
});
modulePass({ name: "Outer" }, (mod) => inner(mod));`;
    const run = await bench.run(PROGRAM, script, ["Outer"]);
    expect(run.steps.find((step) => step.name === "Outer")?.reason).toBe(
      "TypeError: no (line 2 of My passes)",
    );
  });

  test("an exception is shown at the user's line", async () => {
    const script = `// a comment\nfunctionPass({ name: "Throws" }, (func) => {\n  return func.nothing.here;\n});`;
    const run = await bench.run(PROGRAM, script, ["Throws"]);
    expect(run.steps[0]?.outcome).toBe("failed");
    expect(run.steps[0]?.reason).toMatch(/^TypeError: Cannot read .*\(line 3 of My passes\)$/);
    const [found] = run.script?.problems ?? [];
    expect([found?.line, found?.column]).toEqual([3, 23]);
    expect(script.slice(found?.from ?? 0, found?.to ?? 0)).toBe("here;");
  });

  test("an exception while the script is loaded is told, and the passes before it are there", async () => {
    const run = await bench.run(PROGRAM, `functionPass({ name: "A" }, (f) => f); nonsense();`, [
      "A",
    ]);
    expect(run.script?.problems[0]?.message).toBe("ReferenceError: nonsense is not defined");
    expect(run.script?.problems[0]?.column).toBe(40);
    expect(run.steps[0]?.name).toBe("A");
  });

  test("a script that is no JavaScript is told", async () => {
    const run = await bench.run(PROGRAM, "let = ;", []);
    expect(run.script?.problems[0]?.code).toBe("user-syntax");
    const other = await bench.run(PROGRAM, 'import "x";', []);
    expect(other.script?.problems[0]?.message).toContain("imports and exports nothing");
  });

  test("rewrites lead back to the program's text", async () => {
    const script = `functionPass({ name: "Twice" }, (f) => postOrderRewrite(f, (pre, post) =>
      pre instanceof Call && pre.op === op("nn.relu").op ? relay.tanh(relay.nn.relu(post.args[0])) : post));`;
    const run = await bench.run(PROGRAM, script, ["Twice"]);
    said(run);
    const step = run.steps[0];
    expect(step?.rewrites).toBe(1);
    const rows = bench.diff(step?.before as number, step?.after as number);
    // The line of the call it was is the line that changed: the new calls come from the old one.
    expect(rows.filter((row) => row.kind === "removed")).toEqual([]);
    expect(bench.text(step?.after as number)).toContain("tanh(");
  });

  test("a pass runs others inside of itself, which are nested steps", async () => {
    const script = `
      const clean = sequential([transform.FoldConstant(), transform.DeadCodeElimination()], { name: "Clean", optLevel: 2 });
      modulePass({ name: "Outer" }, (mod) => clean(transform.InferType()(mod)));`;
    const run = await bench.run("def @main() { let %a = 1f; add(1f, 2f) }", script, [
      "Outer",
      "Clean",
    ]);
    said(run);
    expect(run.script?.passes.map((pass) => [pass.name, pass.kind])).toEqual([
      ["Clean", "sequential"],
      ["Outer", "module"],
    ]);
    const names = run.steps
      .filter((step) => step.depth < 2)
      .map((step) => `${step.depth} ${step.name}`);
    expect(names.slice(0, 3)).toEqual(["0 Outer", "1 InferType", "1 Clean"]);
    expect(bench.text(run.versions - 1)).toContain("3f");
  });

  test("a user's pass can be required by another", async () => {
    const script = `functionPass({ name: "First" }, (f) => f); functionPass({ name: "Second", required: ["First"] }, (f) => f);`;
    const run = await bench.run(PROGRAM, script, ["Second"]);
    expect(
      run.steps.filter((step) => step.depth === 0).map((step) => [step.name, step.role]),
    ).toEqual([
      ["First", "required"],
      ["Second", "listed"],
    ]);
  });

  test("the name of a pass that is built in is taken", async () => {
    const run = await bench.run(PROGRAM, `functionPass({ name: "FoldConstant" }, (f) => f);`, [
      "FoldConstant",
    ]);
    expect(run.script?.problems[0]?.message).toContain(
      "there is a pass called FoldConstant already",
    );
  });

  test("a chain of a hundred thousand calls goes through visitors and mutators in two seconds", async () => {
    const n = 100_000;
    const chain = Array.from(
      { length: n },
      (_, i) => `%${i} = negative(${i ? `%${i - 1}` : "%x"});\n`,
    ).join("");
    const script = `
      functionPass({ name: "Deep" }, (func) => {
        let calls = 0;
        class Count extends ExprVisitor { visitCall(call) { super.visitCall(call); calls++; } }
        new Count().visit(func);
        const start = performance.now();
        if (new ExprMutator().visit(func) !== func) throw new Error("another one");
        console.log(calls, performance.now() - start);
        class Swap extends ExprMutator { visitOp(op) { return relay.abs.op; } }
        return new Swap().visit(func);
      });`;
    const run = await bench.run(
      `def @main(%x: Tensor[(2), float32]) {\n${chain}%${n - 1}\n}`,
      script,
      ["Deep"],
    );
    const [calls, millis] = (said(run)[0] as string).split(" ").map(Number);
    expect(calls).toBe(n);
    // It should take two seconds on an idle machine.
    expect(millis).toBeLessThan(10_000);
    expect(run.steps[0]?.outcome).toBe("changed");
    console.log(`no-op mutator over a chain of ${n} calls: ${millis} ms`);
  }, 60_000);

  test("a chain of lets as long goes through them too", async () => {
    const n = 50_000;
    const chain = Array.from(
      { length: n },
      (_, i) => `let %v${i} = negative(${i ? `%v${i - 1}` : "%x"});\n`,
    ).join("");
    const script = `functionPass({ name: "Deep" }, (func) => {
      new ExprVisitor().visit(func);
      class Swap extends ExprMutator { visitOp(op) { return relay.abs.op; } }
      return new Swap().visit(func);
    });`;
    const run = await bench.run(
      `def @main(%x: Tensor[(2), float32]) {\n${chain}%v${n - 1}\n}`,
      script,
      ["Deep"],
    );
    said(run);
    expect(run.steps[0]?.outcome).toBe("changed");
  }, 60_000);

  test("recursion without end is an exception, and the session goes on", async () => {
    const script = `functionPass({ name: "Round" }, (func) => {
      const again = (x) => again(relay.abs(x));
      return again(variable("x"));
    });`;
    const run = await bench.run(PROGRAM, script, ["Round"]);
    expect(run.steps[0]?.outcome).toBe("failed");
    expect(run.steps[0]?.reason).toMatch(/RangeError|Maximum call stack/);
    const next = await bench.run(PROGRAM, "", ["FoldConstant"]);
    expect(next.ok).toBe(true);
  });

  test("a pass that runs itself is stopped", async () => {
    const script = `const me = modulePass({ name: "Me" }, (mod) => me(mod));`;
    const run = await bench.run(PROGRAM, script, ["Me"]);
    expect(run.steps[0]?.reason).toContain("passes run each other too deep");
  });

  test("things of an earlier run are refused", async () => {
    const keep = `globalThis.kept ??= []; functionPass({ name: "Keep" }, (f) => { kept.push(f); return kept[0]; });`;
    await bench.run(PROGRAM, keep, ["Keep"]);
    const run = await bench.run(PROGRAM, `${keep}//`, ["Keep"]);
    expect(run.steps[0]?.reason).toContain("belongs to an earlier run");
  });

  test("attributes are completed, checked, and read back", async () => {
    const script = `
      const x = variable("x", { shape: [1, 3, 8, 8] }), w = variable("w");
      const conv = relay.nn.conv2d(x, w, { channels: 4, kernel_size: [3, 3], padding: [1, 1] });
      console.log(conv.attrs.strides, conv.attrs.padding, conv.attrs.data_layout, attrsKey(conv.attrs));
      const other = new Call(conv.op, conv.args, { ...conv.attrs, strides: [2, 2] });
      console.log(other.attrs.strides, structuralEqual(conv, other));
      const func = new Function([x], relay.nn.relu(x)).withAttr("Primitive", 1);
      console.log(func.attrs);
      try { relay.nn.relu(x, { alpha: 1 }) } catch (error) { console.log(error.message.split("\\n")[0]) }
      try { relay.nn.softmax(x, { axes: 1 }) } catch (error) { console.log(error.message.split("\\n")[0]) }`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toMatchInlineSnapshot(`
      [
        "[1,1] [1,1] NCHW relay.attrs.Conv2DAttrs",
        "[2,2] false",
        "{"Primitive":1}",
        "unable to determine the 'attrs_type_key' with which to represent the call attributes for this operator",
        "relay.attrs.SoftmaxAttrs: does not have field 'axes'",
      ]
    `);
  });

  test("types are built, printed and visited", async () => {
    const script = `
      const t = new TensorType([1, Any, 3], "int8");
      console.log(t, t === parseType("Tensor[(1, ?, 3), int8]"), t.shape.map(String));
      const f = new FuncType([t, new TupleType([t])], new RelayRefType(t));
      console.log(f);
      class Widen extends TypeMutator { visitTensorType(t) { return new TensorType(t.shape, "int32"); } }
      console.log(new Widen().visitType(f));
      class Wider extends ExprMutator { visitType(t) { return new Widen().visitType(t); } }
      const x = variable("x", t);
      console.log(new Wider().visit(new Function([x], x)));`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toMatchInlineSnapshot(`
      [
        "Tensor[(1, ?, 3), int8] true ["1","?","3"]",
        "fn (Tensor[(1, ?, 3), int8], (Tensor[(1, ?, 3), int8],)) -> ref(Tensor[(1, ?, 3), int8])",
        "fn (Tensor[(1, ?, 3), int32], (Tensor[(1, ?, 3), int32],)) -> ref(Tensor[(1, ?, 3), int32])",
        "fn (%x: Tensor[(1, ?, 3), int32]) {
        %x
      }",
      ]
    `);
  });

  test("constants are read and written", async () => {
    const script = `
      const c = constant([[1, 2], [3, 4]], "int64");
      console.log(c.shape, c.dtype, [...c.data].map(String));
      console.log(evaluate(relay.add(constant(1.5), constant(2))).value, constant(true, "bool").value);
      console.log(evaluate(relay.multiply(c, constant(2, "int64"))));
      try { constant([[1], [2, 3]]) } catch (error) { console.log(error.message) }
      try { constant("x") } catch (error) { console.log(error.message) }`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toMatchInlineSnapshot(`
      [
        "[2,2] int64 ["1","2","3","4"]",
        "3.5 1",
        "meta[relay.Constant][0]",
        "12 bytes are not a constant of this shape and element type",
        "a constant is made of numbers, not "x"",
      ]
    `);
  });

  test("a match, references and patterns are visited and rebuilt", async () => {
    const program = `type List[A] { Cons(A, List[A]), Nil }
def @main(%l: List[float32], %d: float32) -> float32 {
  let %r = ref(%d);
  let %u = ref_write(%r, add(%d, 0f));
  match (%l) { Cons(%h, _) => add(%h, 0f), Nil => ref_read(%r) }
}`;
    const script = `
      const zero = rule("add(%x, 0f) => %x");
      rulePass({ name: "NoZero" }, [zero]);
      functionPass({ name: "Rename" }, (func) => {
        class Rename extends ExprMutator {
          visitVarDef(v) { const fresh = new Var(v.nameHint + "_", v.typeAnnotation); this.memo.set(v, fresh); return fresh; }
        }
        return new Rename().visit(func);
      });`;
    const run = await bench.run(program, script, ["NoZero", "Rename"]);
    said(run);
    expect(bench.text(run.versions - 1)).toMatchInlineSnapshot(`
      "type List[A] {
        Cons(A, List[A]),
        Nil,
      }

      def @main(%l_: List[float32], %d_: float32) -> float32 {
        let %r_: ref(float32) = ref(%d_);
        let %u_: () = ref_write(%r_, %d_);
        match (%l_) {
          Cons(%h_: float32, _) => {
            %h_
          },
          Nil => {
            ref_read(%r_)
          },
        }
      }"
    `);
  });

  test("what a pass did wrong is shown at the place in the program that it did it to", async () => {
    const program = `def @main(%x: Tensor[(2), float32]) {
  let %y = negative(%x);
  let %z = nn.relu(%y);
  add(%z, %x)
}`;
    const script = `
      class Bad extends ExprMutator {
        visitCall(call) {
          const post = super.visitCall(call);
          return post.op === relay.nn.relu.op ? relay.add(post.args[0], constant([1, 2, 3])) : post;
        }
      }
      functionPass({ name: "Bad" }, (func) => new Bad().visit(func));`;
    const run = await bench.run(program, script, ["Bad"]);
    expect(run.steps[0]?.outcome).toBe("failed");
    // The header is the first line.
    expect(run.steps[0]?.problems.map((one) => one.line)).toEqual([4]);
    expect(run.versions).toBe(1);
  });

  test("functions that may not be optimised are left alone", async () => {
    const program = `def @main(%x: int32) { %x }\ndef @skip(%x: int32, SkipOptimization=1) { %x }\ndef @ext(%x: int32, Compiler="c") { %x }`;
    const script = `functionPass({ name: "Look" }, (func, mod) => {
      console.log(mod.functions.filter(([, other]) => other === func).map(([name]) => name.nameHint));
      return func;
    });`;
    const run = await bench.run(program, script, ["Look"]);
    expect(said(run)).toEqual(['["main"]']);
  });

  test("an instrument that fails to enter leaves those that were entered, and nothing runs", async () => {
    const script = `
      for (const name of ["A", "B", "C"])
        passInstrument({
          name,
          enterPassCtx() { console.log(name, "enters"); if (name === "B") throw new Error("B fails"); },
          exitPassCtx() { console.log(name, "leaves"); },
          runBeforePass() { console.log(name, "before"); },
        });`;
    const run = await bench.run(PROGRAM, script, ["FoldConstant"], {
      instruments: ["A", "B", "C"],
    });
    expect(run.script?.output).toEqual(["A enters", "B enters", "A leaves"]);
    expect(run.script?.problems.map((one) => [one.message, one.line])).toEqual([
      ["Error: B fails", 5],
    ]);
    expect(run.steps).toEqual([]);
  });

  test("an instrument that fails before a pass fails the pass, and the context is left", async () => {
    const script = `passInstrument(class Nervous {
      runBeforePass(mod, info) { if (info.name === "InferType") throw new TypeError("no " + mod.functions.length); }
      exitPassCtx() { console.log("left"); }
    });`;
    const run = await bench.run(PROGRAM, script, ["FoldConstant"], { instruments: ["Nervous"] });
    expect(run.steps[0]?.outcome).toBe("failed");
    expect(run.steps[0]?.reason).toBe("TypeError: no 1 (line 2 of My passes)");
    expect(run.script?.output).toEqual(["left"]);
  });

  test("what would be done only later fails: passes, hooks, and what runs in a context", async () => {
    const reasons = async (script: string, calls: string[], instruments: string[] = []) => {
      const run = await bench.run(PROGRAM, script, calls, { instruments });
      return run.steps.filter((step) => step.outcome === "failed").map((step) => step.reason);
    };
    const late = "cannot be an async function: it must be done when it returns";
    const pass = `functionPass({ name: "Mine" }, async (f) => f);`;
    expect(await reasons(pass, ["Mine"])).toEqual([`TypeError: a pass ${late}`]);
    const hook = `passInstrument(class Mine { async shouldRun() { return false; } });`;
    expect(await reasons(hook, ["FoldConstant"], ["Mine"])).toEqual([`TypeError: a hook ${late}`]);
    const context = `functionPass({ name: "Mine" }, (f) => {
      new PassContext({}).run(async () => f);
      return f;
    });`;
    expect((await reasons(context, ["Mine"]))[0]).toBe(
      `TypeError: what runs in a context ${late} (line 2 of My passes)`,
    );
  });

  test("contexts are entered, current, and left when something throws", async () => {
    const script = `
      console.log(PassContext.current().optLevel);
      const mod = IRModule.fromExpr(relay.add(constant(1), constant(2)));
      const fold = sequential([transform.FoldConstant()]);
      const folds = (options) => new PassContext(options).run(() => String(fold(mod)).includes("3f"));
      console.log(folds({}), folds({ optLevel: 1 }), folds({ optLevel: 1, requiredPass: ["FoldConstant"] }),
        folds({ disabledPass: ["FoldConstant"] }));
      try { new PassContext({ optLevel: 4 }).run((ctx) => { throw new Error(PassContext.current().optLevel) }) }
      catch (error) { console.log(error.message, PassContext.current().optLevel) }
      new PassContext({ config: { "relay.FuseOps.max_depth": 3 } }).run((ctx) => console.log(PassContext.current().config));
      try { new PassContext({ config: { "relay.FuseOps.depth": 3 } }).enter() } catch (error) { console.log(error.message.slice(0, 51)) }`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toEqual([
      "2",
      "true false true false",
      "4 2",
      '{"relay.FuseOps.max_depth":3}',
      "Invalid config option 'relay.FuseOps.depth' candida",
    ]);
  });

  test("rules compare attributes where they are not the default, and end though they undo each other", async () => {
    const script = `
      const x = variable("x", { shape: [1, 2, 4, 4] }), w = variable("w", { shape: [2, 2, 1, 1] });
      const conv = (attrs) => relay.nn.conv2d(x, w, attrs);
      const strided = rule("nn.conv2d(%x, %w, strides=[2, 2]) => %x"), any = rule("nn.conv2d(%x, %w) => %x");
      console.log([{ strides: [2, 2], padding: [1, 1] }, {}].map((attrs) => [strided, any].map((one) => match(one, conv(attrs)) !== null)));
      console.log(match(rule("add(%x, %x) => %x"), relay.add(x, w)), match(rule("add(%x, 1f) => %x"), relay.add(x, constant(2))));
      const swap = [rule("add(%a, %b) => subtract(%a, %b)"), rule("subtract(%a, %b) => add(%b, %a)")];
      console.log(rewrite(relay.add(x, x), swap).op.name);
      for (const text of ["add(%x, %y) => %z", "add(%x, 1f)", "let %a = 1f; %a => 1f"])
        try { rule(text) } catch (error) { console.log(error.message) }`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toEqual([
      "[[true,true],[false,true]]",
      "null null",
      "add",
      "%z is not on the left side of the rule",
      'a rule has two sides, as in "add(%x, 0f) => %x"',
      "a rule is made of calls, tuples, projections, if and constants",
    ]);
  });

  test("forged ids and wrong things are exceptions", async () => {
    const script = `
      const x = variable("x");
      const tries = [
        () => new Call(x, [1]),
        () => new Call(null, []),
        () => new Let(constant(1), x, x),
        () => new TupleGetItem({ id: 5 }),
        () => { const forged = Object.create(Object.getPrototypeOf(x)); return new Tuple([forged]); },
        () => { const y = Object.create(x, { id: { value: 4e9 } }); return new Tuple([y]); },
        () => new Function([constant(1)], x),
        () => new TensorType([-1]),
        () => new TensorType([1.5]),
        () => new TensorType([1], "float33x"),
        () => parseExpr("add(%x"),
        () => parseExpr("nowhere(%x)"),
        () => relay.nowhere(x),
        () => sequential([1]),
        () => new PassContext({ config: { "no.such.key": 1 } }).run(() => 1),
        () => new IRModule({ main: x }),
        () => transform.NoSuchPass()(new IRModule()),
        () => evaluate(x),
        () => inferType(relay.add(x)),
        () => { const { user_expr } = globalThis; return user_expr(3); },
      ];
      for (const one of tries) {
        try { console.log("no:", String(one)); one(); throw new SyntaxError("nothing was thrown by " + one); }
        catch (error) { if (error instanceof SyntaxError) throw error; }
      }`;
    const run = await bench.run(PROGRAM, script);
    expect(said(run)).toHaveLength(20);
    expect((await bench.run(PROGRAM, "", ["FoldConstant"])).ok).toBe(true);
  });
});

describe("the documentation of the API", () => {
  test("names everything that is global, and nothing else", () => {
    const names = new Set(API.map((entry) => entry.name.split(".")[0]));
    // The script's `Function` is not global: only the script gets it.
    expect([...names].sort()).toEqual([...Object.keys(API_OBJECTS), "Function"].sort());
  });

  test("names methods that there are", () => {
    for (const { name } of API) {
      const path = name.split(".");
      const member = path.pop() as string;
      if (path.length === 0 || ["memo", "builder"].includes(member)) continue;
      const made = path.reduce((from, part) => from[part] as never, API_OBJECTS);
      const { prototype } = made as { prototype?: object };
      expect(member in made || (prototype && member in prototype), name).toBe(true);
    }
  });
});
