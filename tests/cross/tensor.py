"""Random tensor programs through our passes of TIR and TVM's: `cargo xtask cross --tensor [SEEDS] [FIRST]`.

Each program goes through TVM's lowering pass by pass. Before each pass its text is given to both, and the results are compared;
the next pass gets TVM's result, so that a difference is one of that pass. A program's random choices come from its seed.
"""

import collections
import difflib
import json
import random
import subprocess
import sys

PIPELINE = """s_tir.CanonicalizeLoop s_tir.LowerCrossThreadReduction s_tir.LowerInitBlock s_tir.PlanAndUpdateBufferAllocationLocation
s_tir.ConvertBlocksToOpaque s_tir.LiftThreadBinding s_tir.ManifestSharedMemoryLocalStage s_tir.CompactBufferAllocation
s_tir.LowerAutoCopy s_tir.UnifyThreadBinding s_tir.LowerMatchBuffer s_tir.StmtSimplify s_tir.InjectPermutedLayout
s_tir.AnnotateIrregularLoop s_tir.InjectSoftwarePipeline s_tir.TransformMmaBufferLayout s_tir.LowerOpaqueBlock tirx.FlattenBuffer
tirx.BF16ComputeLegalize tirx.NarrowDataType s_tir.LoopPartition tirx.VectorizeLoop s_tir.InjectVirtualThread
s_tir.InjectDoubleBuffer tirx.StorageRewrite s_tir.HoistIfThenElse tirx.UnrollLoop s_tir.RenormalizeSplitPattern tirx.StmtSimplify
tirx.RemoveNoOp s_tir.RewriteUnsafeSelect s_tir.HoistExpression tirx.CommonSubexprElim tirx.ConvertSSA""".split()

ARGS = {"tirx.NarrowDataType": "32"}
HEAD = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n"


class Maker:
    """Writes one program."""

    def __init__(self, rng):
        self.rng, self.count, self.lines = rng, 0, []
        self.symbolic = rng.random() < 0.3
        self.vars = ["n"] if self.symbolic else []

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def index(self, names, depth=2):
        """A whole number."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([*names, str(rng.randrange(9))]) if names else str(rng.randrange(9))
        a = self.index(names, depth - 1)
        number = rng.choice([2, 3, 4, 8])
        return rng.choice([f"{a} + {self.index(names, depth - 1)}", f"({a}) * {number}", f"({a}) // {number}", f"({a}) % {number}",
                           f"T.min({a}, {number})", f"T.max({a}, {self.index(names, 0)})", f"({a}) * {number} + {self.index(names, 0)}"])

    def cond(self, names):
        rng = self.rng
        one = f"{self.index(names)} {rng.choice(['<', '<=', '==', '>='])} {self.index(names, 0)}"
        other = f"{self.index(names, 1)} < {rng.choice([4, 8, 16, *self.vars])}"
        return rng.choice([one, other, f"{one} and {other}", f"T.likely({other})", f"not {other}"])

    def value(self, loads, names, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return rng.choice([*loads, f"T.float32({rng.randrange(5)})"])
        a, b = self.value(loads, names, depth - 1), self.value(loads, names, depth - 1)
        return rng.choice([f"({a} + {b})", f"({a} * {b})", f"T.max({a}, {b})", f"T.exp({a})", f"({a} - {b})",
                           f"T.if_then_else({self.cond(names)}, {a}, {b})", f"T.Select({self.cond(names)}, {a}, {b})",
                           f'T.Cast("float32", {self.index(names, 1)})'])

    def loop(self, depth, names, tagged=True):
        """The head of a loop; its variable."""
        rng, var = self.rng, self.name("i")
        extent = rng.choice([1, 2, 3, 4, 8, 16, *self.vars])
        kinds = [f"range({extent})"] * 6 + [f"T.unroll({rng.choice([2, 4])})", f"T.parallel({extent})", f"T.serial({rng.choice([1, 2])}, {extent} + 4)"]
        if tagged:
            kinds += [f"T.vectorized({rng.choice([2, 4])})", f'T.serial({extent}, annotations={{"pragma_loop_partition_hint": 1}})',
                      f'T.serial({extent}, annotations={{"pragma_auto_unroll_max_step": 16}})']
        self.line(depth, f"for {var} in {rng.choice(kinds)}:")
        return var

    def statements(self, depth, names, buffers, budget):
        """Statements without blocks."""
        rng, names = self.rng, list(names)
        for _ in range(rng.choice([1, 1, 2, 3])):
            kind = rng.random()
            loads = [f"{name}[{', '.join(self.index(names) for _ in range(rank))}]" for name, rank in buffers]
            if budget > 0 and kind < 0.4:
                var = self.loop(depth, names)
                self.statements(depth + 1, [*names, var], buffers, budget - 1)
            elif budget > 0 and kind < 0.55:
                self.line(depth, f"if {self.cond(names)}:")
                self.statements(depth + 1, names, buffers, budget - 1)
                if rng.random() < 0.4:
                    self.line(depth, "else:")
                    self.statements(depth + 1, names, buffers, budget - 1)
            elif kind < 0.65:
                var = self.name("x")
                self.line(depth, f"{var}: T.let[T.int32] = {self.index(names)}")
                names.append(var)
            elif kind < 0.75:
                name, shape = self.name("t"), rng.choice(["(8,)", "(4, 4)", "(1,)"])
                scope = rng.choice(["", "", ', scope="shared"', ', scope="local"'])
                self.line(depth, f'{name} = T.alloc_buffer({shape}, "float32"{scope})')
                buffers = [*buffers, (name, shape.count(",") if shape != "(4, 4)" else 2)]
            name, rank = rng.choice(buffers)
            self.line(depth, f"{name}[{', '.join(self.index(names) for _ in range(rank))}] = {self.value(loads, names)}")

    def blocks(self, depth):
        """Stages of blocks, each over all of a buffer."""
        rng = self.rng
        shapes = [tuple(rng.choice([2, 4, 6, 8, 16]) for _ in range(rng.choice([1, 2, 3])))]
        before, threads = ("A", shapes[0]), rng.random() < 0.25
        stages = rng.choice([1, 2, 3])
        self.params = [f'A: T.Buffer({shapes[0]!r}, "float32")'.replace(",)", ",)"), f'B: T.Buffer({shapes[0]!r}, "float32")']
        names = [self.name("t") for _ in range(stages - 1)] + ["B"]
        for name in names[:-1]:
            self.line(depth, f'{name} = T.sblock_alloc_buffer({shapes[0]!r}{rng.choice(["", "", ", scope=" + chr(34) + "local" + chr(34)])})')
        for name in names:
            self.stage(depth, before, (name, shapes[0]), threads)
            before = (name, shapes[0])

    def stage(self, depth, source, target, threads):
        rng, (read, shape), (write, _) = self.rng, source, target
        loops, values, bound = [], [], None
        for extent in shape:
            split = rng.choice([f for f in (1, 2, 4) if extent % f == 0 and f < extent] or [1])
            var = self.name("i")
            if split > 1 and rng.random() < 0.5:
                inner = self.name("j")
                guard = rng.random() < 0.3
                outer = extent // split + guard
                loops += [(var, outer), (inner, split)]
                values.append(f"{var} * {split} + {inner}")
                if guard:
                    bound = f"{var} * {split} + {inner} < {extent}"
            else:
                loops.append((var, extent))
                values.append(var)
        reduce = rng.random() < 0.4
        if reduce:
            loops.append((self.name("k"), 4))
        for at, (var, extent) in enumerate(loops):
            kind = f"range({extent})"
            if at == 0 and threads:
                kind = f'T.thread_binding({extent}, thread="{rng.choice(["blockIdx.x", "threadIdx.x"])}")'
            elif at == len(loops) - 1 and not reduce and rng.random() < 0.3:
                kind = rng.choice([f"T.vectorized({extent})", f"T.unroll({extent})"])
            elif at == 0 and rng.random() < 0.2:
                kind = f"T.parallel({extent})"
            self.line(depth + at, f"for {var} in {kind}:")
        depth += len(loops)
        self.line(depth, f'with T.sblock("{self.name("b")}"):')
        axes = [self.name("v") for _ in shape]
        for axis, extent, value in zip(axes, shape, values):
            self.line(depth + 1, f"{axis} = T.axis.spatial({extent}, {value})")
        if reduce:
            axis = self.name("v")
            self.line(depth + 1, f"{axis} = T.axis.reduce(4, {loops[-1][0]})")
        if bound:
            self.line(depth + 1, f"T.where({bound})")
        at = ", ".join(axes)
        if reduce:
            last = f"({axes[-1]} + {axis}) % {shape[-1]}"
            load = f"{read}[{', '.join([*axes[:-1], last])}]"
            self.line(depth + 1, "with T.init():")
            self.line(depth + 2, f"{write}[{at}] = T.float32(0)")
            self.line(depth + 1, f"{write}[{at}] = {write}[{at}] + {self.value([load], axes, 1)}")
        elif rng.random() < 0.2:
            part = self.name("m")
            region = ", ".join([*axes[:-1], f"{axes[-1]}:{axes[-1]} + 1"])
            self.line(depth + 1, f"T.reads({read}[{at}])")
            self.line(depth + 1, f"T.writes({write}[{at}])")
            self.line(depth + 1, f"{part} = T.match_buffer({write}[{region}], (1,), offset_factor=1)")
            self.line(depth + 1, f"{part}[0] = {self.value([f'{read}[{at}]'], axes, 1)}")
        else:
            self.line(depth + 1, f"{write}[{at}] = {self.value([f'{read}[{at}]'], axes, 2)}")

    def program(self):
        if self.rng.random() < 0.5:
            self.blocks(2)
            head = "    @T.prim_func(s_tir=True)\n"
        else:
            self.params = ['A: T.Buffer((64,), "float32")', 'B: T.Buffer((16, 16), "float32")'] + ["n: T.int32"] * self.symbolic
            self.statements(2, self.vars, [("A", 1), ("B", 2)], 3)
            head = "    @T.prim_func(s_tir=True)\n" if self.rng.random() < 0.5 else "    @T.prim_func\n"
        return HEAD + head + f"    def main({', '.join(self.params)}):\n" + "\n".join(self.lines) + "\n"


def work(engine, first, last):
    """Lines of JSON about each pair of a program and a pass."""
    import tvm
    import tvm.s_tir
    import tvm.tirx
    from tvm.script import from_source

    serve = subprocess.Popen([engine, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for seed in range(first, last):
        program = Maker(random.Random(seed)).program()
        try:
            module = from_source(program)
        except Exception as error:
            print(json.dumps({"seed": seed, "verdict": "no program", "why": str(error)[-200:]}), flush=True)
            continue
        for name in PIPELINE:
            family, short = name.split(".")
            args = ARGS.get(name, "")
            make = getattr({"s_tir": tvm.s_tir, "tirx": tvm.tirx}[family].transform, short)
            text, theirs, after = module.script(), None, None
            # Texts do not hold everything; both begin with what the text says. Layouts of buffers outside of s_tir are the
            # dialect for devices, which is not read.
            if "TileLayout" in text:
                break
            try:
                module = from_source(text)
            except Exception:
                break
            print(json.dumps({"seed": seed, "pass": name, "begins": True}), flush=True)
            try:
                after = make(int(args))(module) if args else make()(module)
                theirs = after.script()
                if "TileLayout" in theirs:
                    continue
            except Exception as error:
                theirs = None
                why = str(error)[-300:]
            calls = f"{name}({args})"
            serve.stdin.write(json.dumps({"program": text, "calls": calls, "level": 2, "theirs": theirs}) + "\n")
            serve.stdin.flush()
            answer = json.loads(serve.stdout.readline())
            verdict = answer["verdict"]
            if theirs is None and verdict == "refuses":
                verdict = "both refuse"
            if theirs is None:
                answer["why"] = why
            line = {"seed": seed, "pass": name, "verdict": verdict, "why": answer.get("why", ""), "changed": theirs not in (None, text)}
            if verdict not in ("equal", "both refuse"):
                line.update(program=text, theirs=theirs, ours=answer.get("ours"))
            print(json.dumps(line), flush=True)
            if after is None:
                break
            module = after


def main(engine, count, first):
    counts, changed, shown = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    at = first
    while at < first + count:
        end = min(at + 50, first + count)
        worker = subprocess.run([sys.executable, __file__, engine, "--work", str(at), str(end)], capture_output=True, text=True)
        last = {}
        for text in worker.stdout.splitlines():
            last = json.loads(text)
            if last.get("begins"):
                continue
            name = last.get("pass", "reading")
            counts[name][last["verdict"]] += 1
            changed[name] += last.get("changed", False)
            if last["verdict"] in ("equal", "both refuse", "no program"):
                continue
            shown[name, last["verdict"]] += 1
            if shown[name, last["verdict"]] <= 2:
                print(f"\n{last['verdict']}: seed {last['seed']} {name}() {last['why']}\n{last['program']}")
                theirs, ours = ((last.get(key) or "").split("\n") for key in ("theirs", "ours"))
                print("\n".join(list(difflib.unified_diff(theirs, ours, "tvm", "passlab", n=1, lineterm=""))[:40]), flush=True)
        # A program that ends TVM itself is counted, and the next one begins.
        at = end if not last.get("begins") and worker.returncode == 0 else last.get("seed", at) + 1
        if worker.returncode:
            counts[last.get("pass", "reading")]["crash"] += 1
    print(f"\n{'pass':44}{'pairs':>7}{'changed':>9}  verdicts")
    for name in ["reading", *PIPELINE]:
        row = counts[name]
        print(f"{name:44}{sum(row.values()):>7}{changed[name]:>9}  " + ", ".join(f"{kind} {n}" for kind, n in row.most_common()))
    good = ("equal", "both refuse", "no program", "crash", "text")
    return 1 if any(n for row in counts.values() for kind, n in row.items() if kind not in good) else 0


if __name__ == "__main__":
    if sys.argv[2] == "--work":
        work(sys.argv[1], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
