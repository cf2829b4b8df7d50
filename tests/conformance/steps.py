"""Random schedules of a module, line by line, for record.py.

Every line is tried on TVM's schedule. What it refuses is left out, or ends the schedule as the line that must be refused.
"""

import re

THREADS = ["blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "vthread.x"]
SCOPES = ["global", "local", "shared"]


class Steps:
    def __init__(self, rng, tvm, module):
        self.rng = rng
        self.schedule = tvm.s_tir.Schedule(module)
        self.names = {"sch": self.schedule, "tvm": tvm, "T": __import__("tvm.script.tirx", fromlist=["tirx"])}
        self.lines, self.count, self.error = [], 0, None

    def fresh(self, letter, many=1):
        self.count += many
        return [f"{letter}{self.count - many + i}" for i in range(many)]

    def run(self, lines):
        """Runs lines together; says why when one is refused."""
        for at, line in enumerate(lines):
            try:
                exec(line, self.names)
            except Exception as error:
                return at, f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"
        self.lines += lines
        return None

    def blocks(self):
        found = re.findall(r'T\.sblock\("(\w+)"\)', self.schedule.mod.script())
        return [name for name in found if name != "root" and found.count(name) == 1]

    def block(self, name=None):
        variable = self.fresh("b")[0]
        name = name or self.rng.choice(self.blocks())
        self.run([f'{variable} = sch.get_sblock(name="{name}", func_name="main")'])
        return variable

    def loops(self, block):
        count = len(self.schedule.get_loops(self.names[block]))
        if not count:
            return []
        variables = self.fresh("l", count)
        self.run([f"{', '.join(variables)}{',' * (count == 1)} = sch.get_loops(block={block})"])
        return variables

    def counts(self, block):
        """The number of buffers that a block reads, of those that it writes, and of its variables."""
        it = self.schedule.get(self.names[block])
        return len(it.reads), len(it.writes), len(it.iter_vars)

    def step(self):
        """A primitive with arguments that may fit, as lines."""
        rng = self.rng
        block = self.block()
        loops = self.loops(block)
        if not loops:
            return []
        loop = rng.choice(loops)
        reads, writes, axes = self.counts(block)
        other = self.block() if len(self.blocks()) > 1 else block
        kind = rng.choice(KINDS)
        names = [f"v{i}" for i in range(axes)]
        lambdas = f"lambda {', '.join(names)}: "
        b, c = self.fresh("b", 2)
        if kind == "split":
            many = rng.choice([2, 2, 2, 3])
            factors = ["None"] + [str(rng.choice([2, 2, 3, 4, 8])) for _ in range(many - 1)]
            rng.shuffle(factors)
            out = self.fresh("l", many)
            return [f"{', '.join(out)} = sch.split(loop={loop}, factors=[{', '.join(factors)}], preserve_unit_iters={rng.random() < 0.8}, disable_predication=False)"]
        if kind == "fuse":
            at = rng.randrange(len(loops))
            some = loops[at : at + rng.choice([1, 2, 2, 3])]
            return [f"{self.fresh('l')[0]} = sch.fuse({', '.join(some)}, preserve_unit_iters={rng.random() < 0.8})"]
        if kind == "reorder":
            some = rng.sample(loops, min(len(loops), rng.choice([2, 3])))
            return [f"sch.reorder({', '.join(some)})"]
        if kind == "bind":
            return [f'sch.bind(loop={loop}, thread_axis="{rng.choice(THREADS)}")']
        if kind in ("parallel", "vectorize", "unroll"):
            return [f"sch.{kind}(loop={loop})"]
        if kind == "annotate":
            key, value = rng.choice([("pragma_auto_unroll_max_step", "16"), ("note", '"word"'), ("pragma_unroll_explicit", "1"), ("list", "[1, 2]")])
            target = rng.choice([loop, block])
            lines = [f'sch.annotate(block_or_loop={target}, ann_key="{key}", ann_val={value})']
            return lines + [f'sch.unannotate(block_or_loop={target}, ann_key="{key}")'] * (rng.random() < 0.2)
        if kind in ("cache_read", "cache_write"):
            which, count = ("read", reads) if kind == "cache_read" else ("write", writes)
            at = rng.randrange(count + (rng.random() < 0.05)) if count else 0
            return [f'{b} = sch.{kind}(block={block}, {which}_buffer_index={at}, storage_scope="{rng.choice(SCOPES)}")']
        if kind in ("compute_at", "reverse_compute_at"):
            targets = self.loops(other) or [loop]
            return [f"sch.{kind}(block={block}, loop={rng.choice(targets)}, preserve_unit_loops={rng.random() < 0.5}, index=-1)"]
        if kind in ("compute_inline", "reverse_compute_inline"):
            return [f"sch.{kind}(block={block})"]
        if kind == "rfactor":
            return [f"{b} = sch.rfactor(loop={loop}, factor_axis={rng.choice([0, 0, 1, -1])})"]
        if kind == "decompose_reduction":
            return [f"{b} = sch.decompose_reduction(block={block}, loop={loop})"]
        if kind == "set_scope":
            return [f'sch.set_scope(block={block}, buffer_index=0, storage_scope="{rng.choice(SCOPES)}")']
        if kind == "storage_align":
            return [f"sch.storage_align(block={block}, buffer_index=0, axis={rng.choice([0, -2])}, factor={rng.choice([16, 32])}, offset={rng.choice([0, 8])})"]
        if kind == "blockize":
            return [f"{b} = sch.blockize(target={loop}, preserve_unit_iters={rng.random() < 0.8})"]
        if kind == "add_unit_loop":
            return [f"{self.fresh('l')[0]} = sch.add_unit_loop(block_or_loop={rng.choice([loop, block])})"]
        if kind == "reindex":
            which = rng.choice(["read"] * reads + ["write"])
            return [f'{b} = sch.reindex(block={block}, buffer=("{which}", {rng.randrange(max(reads, 1)) if which == "read" else 0}))']
        if kind == "transform_layout":
            buffer = self.schedule.get(self.names[block]).writes[0].buffer
            names = [f"i{i}" for i in range(len(buffer.shape))]
            first = names[0]
            maps = [", ".join(reversed(names)), ", ".join([f"{first} // 4", *names[1:], f"{first} % 4"]), ", ".join([*names[1:], first])]
            text = f"lambda {', '.join(names)}: ({rng.choice(maps)},)"
            return [f'sch.transform_layout(block={block}, buffer=("write", 0), index_map={text}, pad_value=None, assume_injective_transform=False)']
        if kind == "transform_block_layout":
            maps = [", ".join(reversed(names)), ", ".join([*names[:-1], f"{names[-1]} // 2", f"{names[-1]} % 2"]), ", ".join(names)]
            return [f"sch.transform_block_layout(block={block}, index_map={lambdas}({rng.choice(maps)},))"]
        if kind == "pad_einsum":
            return [f"sch.pad_einsum(block={block}, padding=[{', '.join(str(rng.choice([1, 4, 8])) for _ in range(axes))}])"]
        if kind == "loop_partition":
            out = self.fresh("l", 2)
            return [f"{', '.join(out)} = sch.loop_partition(loop={loop}, factors=[{rng.choice([2, 3])}, None], preserve_unit_iters=True)"]
        if kind == "sample_perfect_tile":
            extent = int(self.schedule.get(self.names[loop]).extent)
            inner = rng.choice([f for f in (1, 2, 4, 8) if extent % f == 0])
            factors = self.fresh("v", 2)
            out = self.fresh("l", 2)
            tile = f"{', '.join(factors)} = sch.sample_perfect_tile(loop={loop}, n=2, max_innermost_factor=16, decision=[{extent // inner}, {inner}])"
            return [tile, f"{', '.join(out)} = sch.split(loop={loop}, factors=[{', '.join(factors)}], preserve_unit_iters=True, disable_predication=False)"]
        if kind == "reindex_cache_read":
            names = names[:axes]
            return [f'{b} = sch.reindex_cache_read(block={block}, read_buffer_index=0, storage_scope="shared", index_map={lambdas}({", ".join(reversed(names))},))']
        return [f"{b} = sch.cache_inplace(block={block}, read_buffer_index=0, storage_scope=\"local\")".replace(b, f"{b}, {c}", 1)]

    def make(self, many):
        """Up to so many primitives."""
        for _ in range(many * 3):
            if many == 0 or not self.blocks():
                break
            try:
                lines = self.step()
            except Exception:
                continue
            if not lines:
                continue
            refused = self.run(lines)
            if refused is None:
                many -= 1
            elif self.rng.random() < 0.12:
                at, why = refused
                self.lines += lines[: at + 1]
                self.error = why
                break
        return "\n".join(self.lines)


KINDS = (
    ["split"] * 5 + ["fuse"] * 3 + ["reorder"] * 3 + ["bind"] * 2 + ["parallel", "vectorize", "unroll", "annotate"] + ["cache_read"] * 3
    + ["cache_write"] * 2 + ["compute_at"] * 4 + ["reverse_compute_at"] * 3 + ["compute_inline"] * 3 + ["reverse_compute_inline"] * 2
    + ["rfactor"] * 2 + ["decompose_reduction"] * 2 + ["set_scope", "storage_align", "blockize", "blockize", "add_unit_loop", "reindex"]
    + ["transform_layout"] * 2 + ["transform_block_layout", "pad_einsum", "loop_partition", "sample_perfect_tile", "reindex_cache_read", "cache_inplace"]
)
