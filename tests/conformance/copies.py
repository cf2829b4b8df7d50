"""Programs with blocks that copy between memories (`auto_copy`), for LowerAutoCopy."""

HEAD = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main({params}):
        with T.sblock("root"):
            T.reads()
            T.writes(){warp}
"""
TYPES = ["float32", "float16", "int8", "float64", "int32", "uint8"]
# Other ways to write an index, most of which are still sums of digits.
SPELLINGS = [
    "({v} // 2 * 2 + {v} % 2)",
    "({v} // 4)",
    "({v} % 8)",
    "({v} * 2)",
    "({v} * 4 + {o})",
    "(({v} * 8 + {o}) // 4)",
    "(({v} * 4 + {o}) % 16)",
    "(7 - {v})",
    "T.min({v}, 3)",
]


def listed(items):
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(map(str, items))})"


def alloc(name, shape, dtype, scope):
    return f'{name} = T.sblock_alloc_buffer({listed(shape)}, "{dtype}", scope="{scope}")'


def param(name, rank, dtype):
    return f'{name}: T.Buffer({listed([1024] * rank)}, "{dtype}")'


class Maker:
    """A program under way: its loops, and how its copies are annotated."""

    def __init__(self, rng):
        self.rng, self.chance = rng, lambda share: rng.random() < share
        self.warp = self.chance(0.6)
        loops = [("bx", rng.choice([4, 8]), "blockIdx.x"), ("by", rng.choice([4, 8]), "blockIdx.y")][: rng.choice([0, 1, 2])]
        loops += [("vx", 2, "vthread.x")] * self.chance(0.1) + [("tz", rng.choice([1, 2]), "threadIdx.z")] * self.chance(0.2)
        loops += [("ty", rng.choice([1, 2, 4, 8]), "threadIdx.y")] * self.chance(0.8)
        loops += [("tx", rng.choice([8, 16, 32, 64]), "threadIdx.x")] * (not self.warp and self.chance(0.8))
        self.loops = loops + [("k", rng.choice([1, 4]), None)] * self.chance(0.2)
        marks = ['"auto_copy": True']
        marks += [f'"vector_bytes": {rng.choice([1, 2, 4, 8, 16])}'] * self.chance(0.8)
        marks += [f'"local_stage": {rng.choice(["True", "1", "False"])}'] * self.chance(0.35)
        self.marks = "{" + ", ".join(marks) + "}"
        self.form = rng.choice(["grid"] * 6 + ["last", "wide"])

    def begin(self, size, names=("bx", "by", "k"), share=0.7):
        """The begin of a part of a buffer, as the first terms of a sum."""
        known = [name for name, _, _ in self.loops if name in names]
        return f"{self.rng.choice(known)} * {size} + " if known and self.chance(share) else ""

    def heads(self, loops):
        if self.form == "wide":
            return [f"for {var} in range(T.int64({extent})):" for var, extent in loops]
        kinds = ["range"] * len(loops)
        if self.form == "last":
            kinds[-1] = self.rng.choice(["T.vectorized", "T.unroll"])
        return [f"for {var} in {kind}({extent}):" for (var, extent), kind in zip(loops, kinds)]

    def copy(self, source, target, axes, order, value="{}", reads=""):
        """A block that copies a part of a buffer; a buffer is a name with beginnings and order of its axes."""

        def index(buffer):
            return ", ".join(buffer[1][axis] + axes[axis][0] for axis in buffer[2])

        def part(buffer):
            ranges = ((buffer[1][axis], axes[axis][1]) for axis in buffer[2])
            return ", ".join(f"{begin}0:{begin}{extent}" if extent != 1 else f"{begin}0" for begin, extent in ranges)

        lines = [f'with T.sblock("{target[0]}"):', f"    T.reads({source[0]}[{part(source)}]{reads})"]
        lines += [f"    T.writes({target[0]}[{part(target)}])", f"    T.sblock_attr({self.marks})"]
        heads = self.heads([axes[axis] for axis in order])
        lines += ["    " * (depth + 1) + head for depth, head in enumerate(heads)]
        store = f"{target[0]}[{index(target)}] = " + value.format(f"{source[0]}[{index(source)}]")
        indent = "    " * (len(heads) + 1)
        if self.chance(0.05):
            lines.append(f"{indent}if {axes[0][0]} < 4:")
            indent += "    "
        return [*lines, indent + store]

    def shuffled(self, count):
        order = list(range(count))
        if self.chance(0.3):
            self.rng.shuffle(order)
        return order

    def shared(self):
        """Copies between global and shared memory."""
        rng = self.rng
        rank, dtype = rng.choice([1, 2, 2, 2, 2, 3, 3, 4]), rng.choice(TYPES)
        extents = [rng.choice([1, 2, 4, 8, 16, 32] + [64, 128] * (rank < 3)) for _ in range(rank)]
        if self.chance(0.15):
            extents[rng.randrange(rank)] = rng.choice([3, 5, 6, 12, 24, 48, 100])
        axes = [(f"ax{axis}", extent) for axis, extent in enumerate(extents)]
        inner = self.shuffled(rank)
        shape = [extents[axis] for axis in inner]
        if self.chance(0.3):
            shape = [extent * 2 for extent in shape]
        blocks = []
        for name in rng.choice([["A"], ["A"], ["B"], ["A", "B"]]):
            there = (name, [self.begin(extent) for extent in extents], self.shuffled(rank))
            here = ("S", [self.begin(2, ("ty", "k"), 0.03) for _ in extents], inner)
            if name == "A":
                value = "{} + {}".format("{}", f'T.Cast("{dtype}", 1)') if self.chance(0.1) else "{}"
                blocks.append(self.copy(there, here, axes, self.shuffled(rank), value))
            else:
                blocks.append(self.copy(here, there, axes, self.shuffled(rank)))
        scope = rng.choice(["shared", "shared.dyn"])
        return [param("A", rank, dtype), param("B", rank, dtype)], [alloc("S", shape, dtype, scope)], blocks

    def tiles(self):
        """Copies from and to tensor cores."""
        rng = self.rng
        sizes = [16, 32, 64, 128] if self.chance(0.9) else [8, 16, 20, 24, 40]
        extents = [rng.choice([1, 2])] * self.chance(0.25) + [rng.choice(sizes), rng.choice(sizes)]
        rank = len(extents)
        axes = [(f"ax{axis}", extent) for axis, extent in enumerate(extents)]
        order, none = list(range(rank)), [""] * rank
        there = ("A", [self.begin(extent) for extent in extents], order)
        scope = rng.choice(["shared", "shared.dyn"])
        dtype = rng.choice(["float16", "float32"])
        params = [param("A", rank, dtype), param("D", 1, dtype)]
        kind = rng.choice(["wmma.matrix_a", "wmma.matrix_b", "store", "wmma.accumulator", "wmma.accumulator", "m16n8k8.matrixC"])
        here, tile = ("S", none, order), ("W", none, order)
        if kind.startswith("wmma.matrix"):
            dtype = "float16" if self.chance(0.9) else dtype
            allocs = [alloc("S", extents, dtype, scope), alloc("W", extents, dtype, kind)]
            loads = [self.copy(there, here, axes, order)] * self.chance(0.6)
            return [param("A", rank, dtype)], allocs, [*loads, self.copy(here, tile, axes, order)]
        if kind == "store":
            allocs = [alloc("S", extents, dtype, scope), alloc("W", extents, dtype, "wmma.accumulator")]
            stores = [self.copy(here, there, axes, order)] * self.chance(0.6)
            return params, allocs, [self.copy(tile, here, axes, order), *stores]
        inside = rng.choice(["float16", "float32"])
        value = "{}" if inside == dtype else f'T.Cast("{dtype}", {{}})'
        reads = ""
        if kind == "wmma.accumulator" and self.chance(0.25):
            value, reads = value + f" + D[ax{rank - 1}]", f", D[0:{extents[-1]}]"
        if self.chance(0.2):
            there = (*there[:2], [*order[:-2], order[-1], order[-2]])
        return params, [alloc("W", extents, inside, kind)], [self.copy(tile, there, axes, order, value, reads)]

    def respelled(self, lines):
        """A copy in which one index is written in another way."""
        *rest, store = lines
        names = [f"ax{axis}" for axis in range(4) if f"ax{axis}" in store]
        parts = store.split(name := self.rng.choice(names))
        at = self.rng.randrange(1, len(parts))
        spelling = self.rng.choice(SPELLINGS).format(v=name, o=self.rng.choice(names))
        return [*rest, name.join(parts[:at]) + spelling + name.join(parts[at:])]

    def program(self):
        params, allocs, blocks = self.shared() if self.chance(0.6) else self.tiles()
        if self.chance(0.2):
            blocks = [self.respelled(block) for block in blocks]
        warp = '\n            T.sblock_attr({"warp_execution": True})' if self.warp else ""
        text, indent = HEAD.format(params=", ".join(params), warp=warp), " " * 12
        for var, extent, tag in self.loops:
            head = f'T.thread_binding({extent}, thread="{tag}")' if tag else f"range({extent})"
            text += f"{indent}for {var} in {head}:\n"
            indent += "    "
        text += f'{indent}with T.sblock(""):\n'
        body = ["T.reads()", "T.writes()", *allocs, *(line for block in blocks for line in block)]
        return text + "".join(f"{indent}    {line}\n" for line in body)


def make(rng):
    return Maker(rng).program()
