"""Random programs of Relax or Relay through passlab's passes and through TVM's, compared. `cargo xtask cross [ARGUMENT...]` starts it.

    --pairs N        stop after N pairs of program and passes (1000)
    --changed N      stop after N pairs in which TVM changes the program
    --seed N         where the random numbers begin (0); a seed names a module for ever
    --passes A,B     only these passes; --themes A,B: only these kinds of modules (programs.py)
    --keep FOLDER    where modules of differences are written (target/cross), three for each that are much alike
    --shrink N       leave out lines of such a module as long as the difference stays, for at most N seconds
    --relay          programs of Relay instead of Relax (relay.py): the Python is one with TVM 0.19
    FILE...          no random programs: those in the files, each with its passes in the first line

A FILE is a reproducer as those of tests/filetests/relax: comments with a pass each and perhaps an opt level (2 otherwise), then the
module; `files` stands for all of those. Without passes reading alone is compared. What is written to FOLDER are reproducers, too; with
--shrink they come out shorter. Passes run as a Sequential, for the target llvm.

A pair counts as equal when both results are one structure (as `passlab equal` compares), or both refuse. `varies`: TVM
gives several results for one program, and ours is one of them. `text`: only the text
differs; `structure`: they are different programs; `unread`: the text of one is not read back; `unreadable`: TVM's is read neither
here nor by TVM, so that nothing can be compared; `theirs`: TVM alone refuses; `ours`: we alone do; `panic`: the engine broke;
`ill-formed`: TVM says so of our result and not of its own. TVM runs in a process of its own, so that a crash of it (`crash`) or a
hang costs one pair.
"""

import argparse
import ast
import collections
import difflib
import json
import os
import pathlib
import random
import re
import select
import subprocess
import sys
import time
import types
import typing

KINDS = ["equal", "both refuse", "varies", "unreadable", "text", "structure", "unread", "theirs", "ours", "panic", "ill-formed"]
# Kinds of pairs that show no difference.
FINE = KINDS[:4]
CONV = 'ConvertLayout(desired_layouts={"relax.nn.conv2d": ["%s", "%s"]})'
LOWERING = ["LegalizeOps()", "AnnotateTIROpPattern()", "FoldConstant()", "FuseOps()", "FuseTIR()", "DeadCodeElimination()"]
RUNTIME = ["LegalizeOps()", "RewriteDataflowReshape()", "ToNonDataflow()", "RemovePurityChecking()", "CallTIRRewrite()",
           "StaticPlanBlockMemory()", "RewriteCUDAGraph()", "LowerAllocTensor()", "KillAfterLastUse()", "LowerRuntimeBuiltin()",
           "ComputePrimValue()", "VMShapeLower()", "AttachGlobalSymbol()"]
# Passes that random modules give something to do, the weaker ones more often.
SINGLE = """
Normalize() NormalizeGlobalVar() AttachGlobalSymbol() DeadCodeElimination() CanonicalizeBindings() CanonicalizeBindings()
ConvertToDataflow() ConvertToDataflow(min_size=1) EliminateCommonSubexpr() EliminateCommonSubexpr(call_only=True)
TopologicalSort(order="depth-first",direction="from-inputs") TopologicalSort(order="breadth-first",direction="from-outputs") LambdaLift()
InlinePrivateFunctions() ExpandTupleArguments() RemoveUnusedParameters() RemoveUnusedOutputs() BundleModelParams()
DataflowUseInplaceCalls() DispatchSampling() DispatchSortScan() FastMathTransform() LegalizeOps() LegalizeOps() LegalizeOps()
LiftTransformParams() LiftTransformParams(shared_transform=True) LazyGetInput() LazySetOutput() LazyTransformParams()
LazyTransformParams(fget_item="get_item",fset_item="set_item") LazyTransformParams(fget_item="get_item",fset_item=None)
BindSymbolicVars(binding_map={"n":4}) BindSymbolicVars(binding_map={"n":2,"m":3}) ToNonDataflow() RemovePurityChecking()
DecomposeOpsForInference() DecomposeOpsForTraining() RewriteDataflowReshape() AdjustMatmulOrder() CombineParallelMatmul()
ExpandMatmulOfSum() FoldBatchnormToConv2D() OptimizeLayoutTransform() RemoveRedundantReshape() ReorderPermuteDimsAfterConcat()
ReorderTakeAfterMatmul() CallTIRRewrite() KillAfterLastUse() ComputePrimValue() VMShapeLower() VMShapeLower(emit_err_ctx=False)
ToMixedPrecision() ToMixedPrecision(out_dtype="float16") ToMixedPrecision(fp16_input_names=["x","w"]) AttachAttrLayoutFreeBuffers()
SplitLayoutRewritePreproc() RealizeVDevice() AllocateWorkspace() Gradient("main") FoldConstant() FoldConstant() StaticPlanBlockMemory()
LowerAllocTensor() LowerRuntimeBuiltin() AnnotateTIROpPattern() FuseOps() MergeCompositeFunctions() FuseTransposeMatmul()
SpecializePrimFuncBasedOnCallSite() LowerGPUIPCAllocStorage()
""".split() + [CONV % pair for pair in [("NHWC", "OHWI"), ("NCHW4c", "OIHW4o"), ("NHWC4c", "OHWI4o")]]
# Passes that are likely to have something to do in a module of a theme.
SUITED = {
    "matmul": ["AdjustMatmulOrder()", "CombineParallelMatmul()", "ExpandMatmulOfSum()", "ReorderTakeAfterMatmul()", "FuseTransposeMatmul()"],
    "linear": ["AdjustMatmulOrder()", "CombineParallelMatmul()", "ExpandMatmulOfSum()", "ReorderTakeAfterMatmul()",
               "ReorderPermuteDimsAfterConcat()", "FuseTransposeMatmul()"],
    "conv": [CONV % ("NHWC", "OHWI"), CONV % ("NCHW4c", "OIHW4o"), "FoldBatchnormToConv2D()", "DecomposeOpsForInference()", "ToMixedPrecision()"],
    "shape": ["RemoveRedundantReshape()", "RewriteDataflowReshape()", "LegalizeOps()"],
    "reshape": ["RemoveRedundantReshape()", "RewriteDataflowReshape()", "RemoveRedundantReshape()"],
    "sort": ["DispatchSortScan()", "DispatchSortScan()", "LegalizeOps()"],
    "tuple": ["CanonicalizeBindings()", "ExpandTupleArguments()", "RemoveUnusedOutputs()", "DeadCodeElimination()"],
    "prim": ["VMShapeLower()", "ComputePrimValue()", "CanonicalizeBindings()", "BindSymbolicVars(binding_map={\"n\":4})", "LegalizeOps()"],
    "calls": ["InlinePrivateFunctions()", "ExpandTupleArguments()", "RemoveUnusedParameters()", "RemoveUnusedOutputs()", "DeadCodeElimination()"],
    "packed": ["EliminateCommonSubexpr()", "CallTIRRewrite()", "ConvertToDataflow()"],
    "params": ["LiftTransformParams()", "LazyTransformParams()", "LazyGetInput()", "BundleModelParams()"],
    "constant": ["FoldConstant()", "SEQ LegalizeOps(), FoldConstant()", "CanonicalizeBindings()"],
    "kernels": ["FoldConstant()", "AnnotateTIROpPattern()", "FuseOps()", "CallTIRRewrite()", "SpecializePrimFuncBasedOnCallSite()"],
}


# The worker: programs, TVM, and a line of JSON for what comes out.


class Worker:
    # The opt levels at which passes run by themselves and in sequences; all passes of Relax have the level 0.
    level, levels = 2, [2, 2, 2, 3, 1, 0]
    # Passes that merge composite functions, for modules that have some.
    merging = ["MergeCompositeFunctions()"]

    def __init__(self, engine, passes, themes):
        import tvm
        from tvm import relax
        from tvm.script import ir, tirx
        from tvm.script import relax as script

        self.tvm, self.relax, self.path, self.passes, self.themes = tvm, relax, engine, passes, themes
        self.single, self.suited, self.pipelines = SINGLE, SUITED, [LOWERING, RUNTIME]
        self.names = {"tvm": tvm, "I": ir, "R": script, "T": tirx, "TypeVar": typing.TypeVar}
        self.space = {**vars(relax.transform), "DispatchSampling": relax.backend.DispatchSampling, "DispatchSortScan": relax.backend.DispatchSortScan,
                      "Sequential": tvm.transform.Sequential}
        self.engine = None

    def ask(self, **request):
        if self.engine is None or self.engine.poll() is not None:
            self.engine = subprocess.Popen([self.path, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.engine.stdin.write(json.dumps(request) + "\n")
            self.engine.stdin.flush()
            ready, _, _ = select.select([self.engine.stdout], [], [], 60)
            line = self.engine.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.engine.kill()
        self.engine = None
        return {"verdict": "panic", "why": "no answer: it hangs or is gone"}

    def read(self, text):
        """A program. What stands before it, such as its constants, is Python; TVM's parser reads the rest."""
        head = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
        names = dict(self.names)
        exec(compile(ast.Module(head, []), "constants", "exec"), names)
        lines = text.split("\n")[max([node.end_lineno for node in head], default=0) :]
        return self.tvm.script.from_source("\n".join(lines), names)

    def text(self, module):
        return module.script(show_meta=True)

    def transform(self, module, calls, level):
        made = eval(f"[{calls}]", dict(self.space))
        with self.tvm.transform.PassContext(opt_level=level), self.tvm.target.Target("llvm"):
            return self.tvm.transform.Sequential(made)(module)

    def judge(self, program, calls, level, module=None):
        """Compares the results: gives the kind, what to say of it, whether TVM changes the program, and the two results."""
        try:
            module = module or self.read(program)
            after = self.transform(module, calls, level)
            theirs, refused = self.text(after), None
            changed = theirs != program
        except Exception as error:
            theirs, refused, changed = None, last_line(error), False
        answer = self.ask(program=program, calls=calls, level=level, theirs=theirs)
        verdict = answer["verdict"]
        if verdict == "panic":
            kind = "panic"
        elif theirs is None:
            kind = "both refuse" if verdict == "refuses" else "theirs"
        else:
            kind = "ours" if verdict == "refuses" else verdict
        why = answer.get("why") or (refused if kind == "theirs" else "")
        if kind in ("structure", "text") and self.varies(program, calls, level, theirs):
            kind = "varies"
        if kind == "unread":
            kind = self.unread(answer, theirs)
        if kind in ("structure", "text", "unread") and self.formed(after) and not self.readable(answer["ours"]):
            kind = "ill-formed"
        return kind, why, changed, theirs, answer.get("ours")

    def unread(self, answer, theirs):
        """The kind of a pair of which one text is not read back."""
        return "unreadable" if answer["why"].startswith("TVM's") and not self.readable(theirs) else "unread"

    def varies(self, program, calls, level, theirs):
        """True if TVM gives several results, and ours is one of them: some of its tables are in the order of addresses."""
        results = {theirs}
        for attempt in range(24):
            if attempt == 4 and len(results) == 1:
                return False
            try:
                again = self.text(self.transform(self.read(program), calls, level))
            except Exception:
                return False
            if again not in results:
                results.add(again)
                if self.ask(program=program, calls=calls, level=level, theirs=again)["verdict"] == "equal":
                    return True
        return False

    def formed(self, module):
        try:
            self.read(module.script(show_meta=True))
            return bool(self.relax.analysis.well_formed(module))
        except Exception:
            return False

    def readable(self, text):
        try:
            return bool(self.relax.analysis.well_formed(self.read(text)))
        except Exception:
            return False

    def named(self, module):
        """The module with composite functions in it, for what merges them."""
        from tvm.relax.dpl import is_op, wildcard

        relu = is_op("relax.nn.relu")(wildcard())
        patterns = [("x.matmul_relu", is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))),
                    ("x.matmul", is_op("relax.matmul")(wildcard(), wildcard())), ("x.add", is_op("relax.add")(wildcard(), wildcard())),
                    ("x.relu", relu), ("y.exp", is_op("relax.exp")(wildcard())), ("y.multiply", is_op("relax.multiply")(wildcard(), wildcard()))]
        return self.relax.transform.FuseOpsByPattern(patterns)(module)

    def prepare(self, module, rng):
        """Now and then the module is what earlier passes leave."""
        calls = rng.choice([LOWERING, RUNTIME, RUNTIME])
        for call in calls[: rng.randint(1, len(calls) - 1)]:
            module = self.transform(module, call, 2)
        return module

    def choose(self, rng, theme, count):
        chosen = []
        for _ in range(count):
            roll = rng.random()
            if theme in self.suited and roll < 0.35:
                call = rng.choice(self.suited[theme])
            elif roll < 0.45:
                calls = rng.choice(self.pipelines)
                call = "SEQ " + ", ".join(calls[: rng.randint(2, len(calls))])
            elif roll < 0.55:
                call = "SEQ " + ", ".join(rng.choice(self.single) for _ in range(rng.randint(2, 6)))
            elif roll < 0.6:
                call = "LOW " + rng.choice(self.single)
            else:
                call = rng.choice(self.single)
            chosen.append(call)
        if self.passes:
            calls = [call for call in self.single + sum(self.suited.values(), []) if any(name in call for name in self.passes)]
            chosen = sorted(set(calls or [f"{name}()" if "(" not in name else name for name in self.passes]))
        return dict.fromkeys(chosen)

    def maker(self):
        """The module that makes programs."""
        import programs

        return programs

    def run(self, seed):
        rng, maker = random.Random(f"{seed}"), self.maker()
        theme = rng.choice(self.themes or maker.THEMES)
        text = maker.make(rng, theme)
        say(seed=seed, calls="read", program=text)
        kind, why, _, theirs, ours = self.judge_reading(text)
        say(name="read", kind=kind, why=why, changed=False, calls="", level=2, program=text if kind not in FINE else "", theirs=theirs, ours=ours)
        if theirs is None:
            return
        module = self.read(text)
        stage = rng.random()
        try:
            if stage < 0.12:
                module = self.prepare(module, rng)
            elif stage < 0.22:
                module = self.named(module)
            program = self.text(module)
            module = self.read(program)
        except Exception:
            return
        for call in self.choose(rng, theme, 8):
            word, _, rest = call.partition(" ")
            level = rng.choice(self.levels if word == "SEQ" else [0, 1] if word == "LOW" else [self.level])
            calls = rest if word in ("SEQ", "LOW") else call
            say(seed=seed, calls=calls, program=program)
            kind, why, changed, theirs, ours = self.judge(program, calls, level, module)
            failed = kind not in FINE
            name = "sequence" if word == "SEQ" else "low level" if word == "LOW" else calls.split("(")[0]
            say(name=name, kind=kind, why=why, changed=changed, calls=calls, level=level, program=program if failed else "",
                theirs=theirs if failed else "", ours=ours if failed else "")
        if rng.random() < 0.5 and 0.12 <= stage < 0.22 and not self.passes:
            for calls in self.merging:
                kind, why, changed, theirs, ours = self.judge(program, calls, 2, module)
                failed = kind not in FINE
                say(name=calls.split("(")[0], kind=kind, why=why, changed=changed, calls=calls, level=2, program=program if failed else "",
                    theirs=theirs if failed else "", ours=ours if failed else "")

    def judge_reading(self, text):
        try:
            theirs, refused = self.text(self.read(text)), None
        except Exception as error:
            theirs, refused = None, last_line(error)
        answer = self.ask(program=text, calls="", level=2, theirs=theirs)
        verdict = answer["verdict"]
        if theirs is None:
            kind = "both refuse" if verdict == "refuses" else "theirs" if verdict != "panic" else verdict
        else:
            kind = "ours" if verdict == "refuses" else verdict
        if kind == "unread":
            kind = self.unread(answer, theirs)
        return kind, answer.get("why") or refused, False, theirs, answer.get("ours")


class RelayWorker(Worker):
    """The same for Relay, whose texts TVM 0.19 reads and prints."""

    # At this level every pass runs.
    level, levels = 4, [4, 4, 3, 2, 1, 0]
    merging = []

    def __init__(self, engine, passes, themes):
        import relay as programs
        import tvm

        self.tvm, self.path, self.passes, self.themes, self.programs = tvm, engine, passes, themes, programs
        self.single, self.suited, self.pipelines = programs.SINGLE, programs.SUITED, programs.PIPELINES
        self.engine = None
        if tvm.get_global_func("target.build.llvm", allow_missing=True) is None:
            programs.without_llvm()
        # The sequence that `relay.build` has; the function of this name in Python is its first half.
        qnn = types.SimpleNamespace(Legalize=tvm.get_global_func("relay.qnn._transform.Legalize"))
        self.space = {**vars(tvm.relay.transform), "qnn": qnn, "Sequential": tvm.transform.Sequential}

    def maker(self):
        return self.programs

    def read(self, text):
        return self.tvm.relay.transform.InferType()(self.tvm.relay.parse(text))

    def text(self, module):
        # A place in a source is no part of a program.
        return re.sub(r"( /\*)? span=[^ ]+:-?\d+:-?\d+(?(1) \*/)", "", module.astext(show_meta_data=True))

    def transform(self, module, calls, level):
        made = eval(f"[{calls}]", dict(self.space))
        with self.tvm.transform.PassContext(opt_level=level):
            return self.tvm.transform.Sequential(made)(module)

    def judge(self, program, calls, level, module=None):
        # Passes of Relay write types into expressions that they share with the module before them.
        return super().judge(program, calls, level)

    def judge_reading(self, text):
        kind, *rest = super().judge_reading(text)
        # TVM prints a `let` as the value of another, which its parser refuses.
        return "unreadable" if kind == "theirs" else kind, *rest

    def formed(self, module):
        return False

    def readable(self, text):
        try:
            return bool(self.read(text))
        except Exception:
            return False

    def named(self, module):
        return self.prepare(module, random.Random(0))

    def prepare(self, module, rng):
        calls = rng.choice(self.pipelines)
        for call in calls[: rng.randint(1, len(calls) - 1)]:
            module = self.transform(module, call, 3)
        return module


def last_line(error):
    lines = [line.strip() for line in str(error).strip().split("\n") if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors[-1:] or lines[-1:] or [type(error).__name__])[0][:300]


def say(**line):
    print(json.dumps(line), flush=True)


def work(worker):
    """Answers lines of JSON: a seed, whose programs are made and run, or a pair to judge."""
    for line in sys.stdin:
        request = json.loads(line)
        if "seed" in request:
            worker.run(request["seed"])
            say(done=True)
        elif request["calls"]:
            kind, why, changed, theirs, ours = worker.judge(request["program"], request["calls"], request["level"])
            say(done=True, kind=kind, why=why, theirs=theirs, ours=ours)
        else:
            kind, why, _, theirs, ours = worker.judge_reading(request["program"])
            say(done=True, kind=kind, why=why, theirs=theirs, ours=ours)


# The one who asks.


class Process:
    """A worker that is started again when it is gone."""

    def __init__(self, options):
        self.options, self.process, self.read = options, None, b""

    def start(self):
        command = [sys.executable, __file__, "--engine", self.options.engine, "--work"]
        command += ["--relay"] * self.options.relay
        for name in ("passes", "themes"):
            if getattr(self.options, name):
                command += [f"--{name}", getattr(self.options, name)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.read = b""

    def line(self, seconds):
        """The next line; none when the worker is gone or silent for so long."""
        output = self.process.stdout
        while b"\n" not in self.read:
            ready, _, _ = select.select([output], [], [], seconds)
            more = os.read(output.fileno(), 1 << 16) if ready else b""
            if not more:
                return None
            self.read += more
        line, _, self.read = self.read.partition(b"\n")
        return line

    def ask(self, request, seconds=120):
        """The lines of an answer; the last is None when the worker is gone or silent."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.line(seconds)
            if line is None:
                self.process.kill()
                self.process.wait()
                self.process = None
                yield None
                return
            answer = json.loads(line)
            yield answer
            if answer.get("done"):
                return

    def judge(self, program, calls, level):
        answers = list(self.ask({"program": program, "calls": calls, "level": level}, 60))
        return answers[-1] or {"kind": "crash", "why": "", "theirs": None, "ours": None}


def shrink(process, program, calls, level, kind, seconds):
    """The program with lines left out as long as the pair comes out the same."""
    end = time.time() + seconds

    def message(answer):
        return re.sub(r"[^A-Za-z ]|@\w+|`[^`]*`", "", answer["why"] or "")[:60]

    wanted = message(process.judge(program, calls, level))

    def same(text):
        answer = process.judge(text, calls, level) if time.time() < end else {"kind": ""}
        return answer["kind"] == kind and (kind != "theirs" or message(answer) == wanted)

    parts = split_calls(calls)
    while len(parts) > 1:
        shorter = [parts[:i] + parts[i + 1 :] for i in range(len(parts))]
        found = next((p for p in shorter if same(program) and process.judge(program, ", ".join(p), level)["kind"] == kind), None)
        if found is None:
            break
        parts, calls = found, ", ".join(found)
    free = re.sub(r"\) -> .*:$", "):", program, flags=re.M)
    program = free if same(free) else program
    again = True
    while again and time.time() < end:
        again = False
        lines = program.split("\n")
        for size in (8, 4, 2, 1):
            i = len(lines) - 1
            while i >= 0:
                cut = lines[:i] + lines[i + size :]
                if any(line.strip() for line in lines[i : i + size]) and same("\n".join(cut)):
                    lines, again = cut, True
                i -= size
        program = "\n".join(lines)
        # Another result, and fewer variables that leave a block.
        names = re.findall(r"^\s+(\w+)(?:: [^=]*)? = ", program, flags=re.M)
        for match in list(re.finditer(r"^(\s+return |\s+R\.output\()(.*?)(\)?)$", program, flags=re.M))[::-1]:
            for name in names:
                changed = f"{program[: match.start(2)]}{name}{program[match.end(2) :]}"
                if match[2] not in names and same(changed):
                    program, again = changed, True
                    break
    return program, calls


def split_calls(calls):
    parts, depth = [""], 0
    for c in calls:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def difference(theirs, ours):
    if not theirs or not ours:
        return ""
    def strip(text):
        return text.split('\n}""")\n')[-1].split("\n")

    return "\n".join(list(difflib.unified_diff(strip(theirs), strip(ours), "tvm", "passlab", n=1, lineterm=""))[:60])


def head(options, calls, level):
    """The first lines of a reproducer."""
    lines = ["passlab 1", *[f"pass: {call}" for call in split_calls(calls)], *[f"opt_level: {level}"] * (level != 2)]
    return "\n".join(f"{options.comment} {line}" for line in lines)


def files(options):
    process, wrong = Process(options), 0
    tests = pathlib.Path(__file__).parent.parent / "filetests"
    ours = sorted(map(str, tests.glob("*.relay") if options.relay else tests.glob("relax/*.py")))
    for path in [path for given in options.files for path in (ours if given == "files" else [given])]:
        lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
        said = [line.removeprefix(f"{options.comment} ") for line in lines if line.startswith(f"{options.comment} ")]
        calls = ", ".join(line.removeprefix("pass: ") for line in said if line.startswith("pass: "))
        level = next((int(line.removeprefix("opt_level: ")) for line in said if line.startswith("opt_level: ")), 2)
        program = "\n".join(line for line in lines if not line.startswith(f"{options.comment} ") or " import " in line)
        answer = process.judge(program, calls, level)
        print(f"{answer['kind']:12} {path}  {calls}  {answer['why'] or ''}")
        if answer["kind"] not in FINE:
            wrong += 1
            if options.shrink:
                program, calls = shrink(process, program, calls, level, answer["kind"], options.shrink)
                print(f"{head(options, calls, level)}\n{program}")
                answer = process.judge(program, calls, level)
            print(difference(answer["theirs"], answer["ours"]))
    return 1 if wrong else 0


def table(counts, changed):
    print(f"\n{'pass':34}{'pairs':>7}{'changed':>9}" + "".join(f"{kind:>12}" for kind in [*KINDS, "crash"]) + f"{'same':>9}")
    total = collections.Counter()
    for name in [*sorted(counts), "all"]:
        row = counts[name] if name != "all" else total
        if name != "all":
            total.update(row)
        pairs = sum(row[kind] for kind in KINDS if kind != "unreadable")
        moved = changed[name] if name != "all" else sum(changed.values())
        same = 100 * (row["equal"] + row["both refuse"] + row["varies"] + row["text"]) / max(pairs, 1)
        print(f"{name:34}{pairs:>7}{moved:>9}" + "".join(f"{row[kind] or '':>12}" for kind in [*KINDS, "crash"]) + f"{same:>8.2f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--engine", required=True, help=argparse.SUPPRESS)
    for name in ("--work", "--relay"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name, kind, default in [("pairs", int, None), ("changed", int, None), ("seed", int, 0), ("passes", str, ""), ("themes", str, ""),
                                ("keep", str, "target/cross")]:
        parser.add_argument(f"--{name}", type=kind, default=default, help=argparse.SUPPRESS)
    parser.add_argument("--shrink", type=float, default=0, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.comment = "//" if options.relay else "#"
    if options.work:
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        worker = RelayWorker if options.relay else Worker
        work(worker(options.engine, [p for p in options.passes.split(",") if p], [t for t in options.themes.split(",") if t]))
        return 0
    if options.files:
        return files(options)
    return random_programs(options)


def random_programs(options):
    process, shrinker = Process(options), Process(options)
    counts, changed, seen = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    keep = pathlib.Path(options.keep)
    keep.mkdir(parents=True, exist_ok=True)
    limit = options.pairs or (None if options.changed else 1000)
    seed, begin = options.seed, time.time()
    while (limit is None or sum(map(lambda row: sum(row.values()), counts.values())) < limit) and (
        not options.changed or sum(changed.values()) < options.changed
    ):
        last = {}
        for answer in process.ask({"seed": seed}):
            if answer is None:
                counts[last.get("calls", "").split("(")[0]]["crash"] += 1
                print(f"crash: seed {seed} {last.get('calls')}", flush=True)
            elif "kind" in answer:
                counts[answer["name"]][answer["kind"]] += 1
                changed[answer["name"]] += answer["changed"]
                if answer["kind"] not in FINE:
                    report(options, shrinker, keep, seed, answer, seen)
            else:
                last = answer
        seed += 1
        if seed % 200 == 0:
            pairs = sum(sum(row.values()) for row in counts.values())
            print(f"seed {seed}: {pairs} pairs, {sum(changed.values())} changed, {time.time() - begin:.0f} s", flush=True)
    table(counts, changed)
    return 0 if all(row[kind] == 0 for row in counts.values() for kind in KINDS[5:]) else 1


def report(options, shrinker, keep, seed, answer, seen):
    """Says a difference, unless three like it were said, and keeps its module."""
    like = re.sub(r"[\d\[\]]+|@\w+|`[^`]*`|body\S*", "", f"{answer['kind']} {answer['name']} {answer['why'] or ''}")
    seen[like] += 1
    if seen[like] > 3:
        return
    program, calls, level = answer["program"], answer["calls"], answer["level"]
    if options.shrink:
        program, calls = shrink(shrinker, program, calls, level, answer["kind"], options.shrink)
        answer = {**answer, **{k: v for k, v in shrinker.judge(program, calls, level).items() if k in ("why", "theirs", "ours")}}
    path = keep / f"{answer['kind'].replace(' ', '-')}_{answer['name'].replace(' ', '-')}_{seed}{'.relay' if options.relay else '.py'}"
    path.write_text(f"{head(options, calls, level)}\n{program}\n", encoding="utf-8")
    print(f"\n{answer['kind']}: {path} {calls} {answer['why'] or ''}\n{difference(answer['theirs'], answer['ours'])}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
