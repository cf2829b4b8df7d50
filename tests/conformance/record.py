"""Records what TVM makes of programs of our own generators: the suite that tests/conformance.rs reads.

    cargo xtask record [KIND...]        KIND: relax, tir, schedule, units, copies; all of them unless some are named
    cargo xtask record relay            by another Python, with TVM 0.19, the last version that has Relay

It writes tests/conformance/KIND.jsonl.z, lines of JSON compressed by zlib. A line is a program and what was made of it:

    {"id": "relax-17", "texts": [text, ...], "pairs": [{"from": 0, "to": 1, "call": "DeadCodeElimination()", ...}, ...]}

A text stands once in a line; `from` and `to` are places in `texts`. A pair is what one call makes of one text: passes as they are
written in Python, or with `"trace": true` the lines of a schedule; the call "" is reading alone. `error` stands where TVM refuses, and
`context` holds the opt level and options that are not the default. The seed of a program is in its id.

Each program is made in a process of its own, so that a crash or a hang of TVM costs one program. A pass is recorded a limited number
of times, and seldom where it changes nothing.
"""

import collections
import importlib
import json
import os
import pathlib
import random
import resource
import select
import signal
import sys
import time
import zlib

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cross")]

import cross  # noqa: E402

# TVM 0.19 has none of what the others are about.
if sys.argv[1:] != ["relay"]:
    import copies
    import loops
    import steps
    import units
    from tvm_ffi import structural_equal

# For each kind the number of pairs, the most of them that one pass has, and the most of those that leave the program as it is.
LIMITS = {"relay": (2200, 60, 6), "relax": (2800, 80, 10), "tir": (1100, 120, 8), "schedule": (1400, 1400, 0), "units": (360, 360, 0), "copies": (240, 240, 8)}
LONGEST = 9000
LOWERING = """
s_tir.CanonicalizeLoop() s_tir.LowerCrossThreadReduction() s_tir.LowerInitBlock() s_tir.PlanAndUpdateBufferAllocationLocation()
s_tir.ConvertBlocksToOpaque() s_tir.LiftThreadBinding() s_tir.ManifestSharedMemoryLocalStage() s_tir.CompactBufferAllocation()
s_tir.LowerAutoCopy() s_tir.UnifyThreadBinding() s_tir.LowerMatchBuffer() s_tir.StmtSimplify() s_tir.InjectPermutedLayout()
s_tir.AnnotateIrregularLoop() s_tir.InjectSoftwarePipeline() s_tir.TransformMmaBufferLayout() s_tir.LowerOpaqueBlock()
tirx.FlattenBuffer() tirx.BF16ComputeLegalize() tirx.NarrowDataType(target_bits=32) s_tir.LoopPartition() tirx.VectorizeLoop()
s_tir.InjectVirtualThread() s_tir.InjectDoubleBuffer() tirx.StorageRewrite() s_tir.HoistIfThenElse() tirx.UnrollLoop()
s_tir.RenormalizeSplitPattern() tirx.StmtSimplify() tirx.RemoveNoOp() s_tir.RewriteUnsafeSelect() tirx.CommonSubexprElim()
tirx.FP8ComputeLegalize() s_tir.VerifyVTCMLimit() s_tir.LowerVtcmAlloc() tirx.VerifyMemory() tirx.AnnotateEntryFunc()
s_tir.ThreadSync(storage_scope="shared") s_tir.InferFragment() s_tir.LowerThreadAllreduce() s_tir.MergeSharedMemoryAllocations()
tirx.SplitHostDevice() tirx.MakePackedAPI() tirx.BF16StorageLegalize()
""".split()
ASIDE = """
s_tir.HoistExpression() s_tir.HoistIfThenElse() tirx.ForceNarrowIndexToInt32() tirx.StorageRewrite() tirx.RemoveNoOp() tirx.UnrollLoop()
tirx.StmtSimplify() s_tir.StmtSimplify() s_tir.CanonicalizeLoop() tirx.CommonSubexprElim() s_tir.LoopPartition() tirx.VectorizeLoop()
tirx.VectorizeLoop(enable_vectorize=False) s_tir.RewriteUnsafeSelect() s_tir.RenormalizeSplitPattern() tirx.ConvertSSA()
s_tir.InjectVirtualThread() tirx.PointerValueTypeRewrite() tirx.SkipAssert() tirx.BF16ComputeLegalize() tirx.FlattenBuffer()
tirx.NarrowDataType(target_bits=32) tirx.LowerIntrin() s_tir.InstrumentBoundCheckers() tirx.MakePackedAPI() tirx.SplitHostDevice()
s_tir.CompactBufferAllocation(is_strict=True) tirx.InlinePrivateFunctions() tirx.RemoveAssume() s_tir.LowerInitBlock()
s_tir.ConvertBlocksToOpaque() s_tir.PlanAndUpdateBufferAllocationLocation() s_tir.LiftThreadBinding() s_tir.UnifyThreadBinding()
""".split()
CONFIGS = {
    "tirx.UnrollLoop": [{"tirx.UnrollLoop": {"auto_max_step": 16}}, {"tirx.UnrollLoop": {"auto_max_step": 8, "explicit_unroll": False}}],
    "s_tir.LoopPartition": [{"s_tir.LoopPartition": {"partition_const_loop": True}}, {"s_tir.LoopPartition": {"no_unroll_loop_with_extent_one": True}}],
    "s_tir.HoistIfThenElse": [{"s_tir.HoistIfThenElse": {"support_block_scope_hoisting": True}}],
}


class Line:
    """A program and its pairs; each text once."""

    def __init__(self, name):
        self.name, self.texts, self.pairs = name, [], []

    def place(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def add(self, before, after, call, error=None, **more):
        pair = {"from": self.place(before), "call": call, **more}
        pair.update({"error": error} if after is None else {"to": self.place(after)})
        self.pairs.append(pair)


def group(pair):
    if pair.get("trace"):
        return "schedule"
    return pair["call"].split("(")[0] if pair["call"].count("()") < 2 else "sequence"


class Recorder:
    def __init__(self, kind):
        self.kind, self.worker = kind, (cross.RelayWorker if kind == "relay" else cross.Worker)(None, [], [])
        self.counts, self.same = collections.Counter(), collections.Counter()
        if kind == "relay":
            return
        tvm = self.worker.tvm
        if kind == "units":
            # Registers all intrinsics; that takes seconds, which the processes of the programs need not spend again.
            importlib.import_module("tvm.s_tir.tensor_intrin.metal")
        self.space = {"tirx": tvm.tirx.transform, "s_tir": tvm.s_tir.transform, "tvm": tvm}

    def wants(self, name, changed):
        _, most, alike = LIMITS[self.kind]
        return self.counts[name] < most and (changed or self.same[name] < alike)

    def read(self, line, source):
        """Records a program; gives the text that TVM prints of it, or nothing."""
        try:
            printed, error = self.worker.text(self.worker.read(source)), None
        except Exception as failed:
            printed, error = None, cross.last_line(failed)
        if len(printed or "") < LONGEST:
            line.add(source, printed, "", error)
        return printed

    def pair(self, line, before, module, call, run, **more):
        """Records a call; gives the text after it."""
        made = None
        try:
            made = run(module)
            after, error = self.worker.text(made), None
        except Exception as failed:
            after, error = None, f"{type(failed).__name__}: {cross.last_line(failed)}"
            # A pass that breaks where it does not belong says nothing about itself.
            if self.kind in ("tir", "relay") and type(failed).__name__ in ("InternalError", "TypeError", "TVMError", "CalledProcessError"):
                return None
        name = group({"call": call})
        if max(len(before), len(after or "")) < LONGEST and self.wants(name, after != before) and self.says_all(made, after):
            line.add(before, after, call, error, **more)
        return after

    def says_all(self, module, text):
        """True if the text is all of the module: it is not where a variable stands outside of what binds it."""
        if self.kind in ("relay", "relax") or text is None:
            return True
        try:
            read = self.load(text)
        except Exception:
            return "tvm_struct_get" in text  # what MakePackedAPI makes is not read by TVM
        # An offset of 64 bits is printed as one of 32 is.
        return structural_equal(read, module) or "elem_offset=0" in text

    def relax(self, rng, line):
        maker = self.worker.maker()
        theme = rng.choice(maker.THEMES)
        printed = self.read(line, maker.make(rng, theme))
        if printed is None:
            return
        module, stage = self.worker.read(printed), rng.random()
        try:
            if stage < 0.15:
                module = self.worker.prepare(module, rng)
            elif stage < 0.25:
                module = self.worker.named(module)
            before = self.worker.text(module)
            module = self.worker.read(before)
        except Exception:
            return
        for call in self.worker.choose(rng, theme, 8):
            word, _, rest = call.partition(" ")
            calls = rest if word in ("SEQ", "LOW") else call
            level = rng.choice([0, 1]) if word == "LOW" and self.kind == "relax" else self.worker.level
            more = {"context": {"opt_level": level}} if level != 2 else {}
            if "LambdaLift" in calls and self.kind == "relay":
                continue  # its names are hashes that differ from build to build
            if self.kind == "relay":
                # Passes of Relay write types into what they share with the module before them.
                module = self.worker.read(before)
            run = self.direct if self.kind == "relay" and word != "SEQ" else self.worker.transform
            self.pair(line, before, module, calls, lambda m: run(m, calls, level), **more)

    relay = relax

    def direct(self, module, call, level):
        """One pass by itself: in a sequence those that it requires would run before it."""
        with self.worker.tvm.transform.PassContext(opt_level=level):
            return eval(call, dict(self.worker.space))(module)

    def tir(self, rng, line):
        blocks = rng.random() < 0.6
        before = self.read(line, (loops.blocks if blocks else loops.loops)(rng))
        start = 0 if blocks else rng.choice([LOWERING.index("tirx.FlattenBuffer()"), LOWERING.index("tirx.UnrollLoop()")])
        if blocks and before and rng.random() < 0.5:
            made = steps.Steps(rng, self.worker.tvm, self.load(before))
            made.make(rng.randint(2, 6))
            before = made.schedule.mod.script(show_meta=True)
        for call in LOWERING[start:]:
            if before is None or len(before) > LONGEST:
                return
            try:
                module = self.load(before)
            except Exception:
                return
            for aside in rng.sample(ASIDE, 1):
                if rng.random() < 0.5:
                    self.lower(line, before, module, aside, rng)
            before = self.lower(line, before, module, call, None)

    def load(self, text):
        return self.worker.tvm.script.from_source(text, check_well_formed=False)

    def lower(self, line, before, module, call, rng):
        options = CONFIGS.get(call.split("(")[0], [])
        config = rng.choice(options) if rng and options and rng.random() < 0.7 else {}
        made = eval(call, dict(self.space))

        def run(module):
            with self.worker.tvm.transform.PassContext(opt_level=2, config=config):
                return made(module)

        return self.pair(line, before, module, call, run, **({"context": {"config": config}} if config else {}))

    def schedule(self, rng, line):
        before = self.read(line, loops.blocks(rng))
        if before is None:
            return
        for _ in range(3):
            made = steps.Steps(rng, self.worker.tvm, self.load(before))
            trace = made.make(rng.choice([1, 2, 3, 5, 8]))
            after = made.schedule.mod.script(show_meta=True)
            if trace and len(after) < LONGEST and self.says_all(made.schedule.mod, after):
                line.add(before, None if made.error else after, trace, made.error, trace=True)

    def units(self, rng, line):
        source, lines = units.make(rng)
        before = self.read(line, source)
        if before is None:
            return
        made = steps.Steps(rng, self.worker.tvm, self.load(before))
        for text in lines:
            refused = made.run([text])
            if refused is not None:
                made.lines.append(text)
                made.error = refused[1]
                break
        if made.error is None and rng.random() < 0.3:
            made.make(rng.choice([1, 2]))
        after = made.schedule.mod.script(show_meta=True)
        if len(after) < LONGEST and self.says_all(made.schedule.mod, after):
            line.add(before, None if made.error else after, "\n".join(made.lines), made.error, trace=True)

    def copies(self, rng, line):
        before = self.read(line, copies.make(rng))
        if before is not None:
            self.lower(line, before, self.load(before), "s_tir.LowerAutoCopy()", None)

    def alone(self, seed, seconds=120):
        """The line of a seed, made in a process of its own; nothing when that is gone or hangs."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            # Seconds of the processor, so that what is recorded does not depend on what else runs.
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
            line = Line(f"{self.kind}-{seed}")
            getattr(self, self.kind)(random.Random(line.name), line)
            with os.fdopen(writer, "w") as out:
                json.dump({"id": line.name, "texts": line.texts, "pairs": line.pairs}, out)
            os._exit(0)
        os.close(writer)
        parts, end = [], time.time() + seconds
        while select.select([reader], [], [], max(end - time.time(), 0))[0]:
            part = os.read(reader, 1 << 16)
            if not part:
                break
            parts.append(part)
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            return json.loads(b"".join(parts))
        except ValueError:
            return None

    def record(self):
        lines, seed, gone = [], 0, 0
        while sum(self.counts.values()) < LIMITS[self.kind][0]:
            line = self.alone(seed)
            seed += 1
            gone += line is None
            pairs = [pair for pair in line["pairs"] if self.keeps(line["texts"], pair)] if line else []
            if not any(pair["call"] for pair in pairs):
                continue
            lines.append(json.dumps(packed(line, pairs), ensure_ascii=False, separators=(",", ":")))
            if len(lines) % 50 == 0:
                print(f"{self.kind}: {seed} seeds, {gone} crashes, {sum(self.counts.values())} pairs", flush=True)
        data = zlib.compress("\n".join(lines).encode() + b"\n", 9)
        (HERE / f"{self.kind}.jsonl.z").write_bytes(data)
        print(f"{self.kind}: {sum(self.counts.values())} pairs of {len(lines)} programs, {len(data)} bytes; {gone} programs crashed TVM")

    def keeps(self, texts, pair):
        name = group(pair) or "read"
        changed = "to" not in pair or pair["to"] != pair["from"]
        if not self.wants(name, changed):
            return False
        self.counts[name] += 1
        self.same[name] += not changed
        return True


def packed(line, pairs):
    """The line with the texts that its pairs use."""
    texts = []
    for pair in pairs:
        for key in ("from", "to"):
            if key in pair:
                text = line["texts"][pair[key]]
                if text not in texts:
                    texts.append(text)
                pair[key] = texts.index(text)
    return {"id": line["id"], "texts": texts, "pairs": pairs}


if __name__ == "__main__":
    for kind in sys.argv[1:] or [kind for kind in LIMITS if kind != "relay"]:
        if kind not in LIMITS:
            sys.exit(f"there is no kind {kind}; kinds are {', '.join(LIMITS)}")
        Recorder(kind).record()
