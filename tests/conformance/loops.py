"""Random tensor programs as text, for record.py: some of blocks, as they are scheduled, some of bare loops.

A program of blocks is a chain of stages, each of which computes a buffer from earlier ones: elementwise, shifted, padded,
reduced, multiplied, convolved, transposed, gathered. Its loops are plain, tiled with or without a rest, bound to threads, or
annotated. A program of loops has what passes after the blocks meet: branches, locals, scratch buffers, threads, attributes.
"""

FLOATS = ["float32"] * 6 + ["float16", "float64", "bfloat16"]
ELEMENTS = FLOATS + ["int32", "int8", "int64"]
SCOPES = [None, None, None, "shared", "local", "global"]
KINDS = ["plain"] * 8 + ["tiled", "tiled", "rest", "vectorized", "parallel", "unroll", "annotated", "threads"]


def number(rng, dtype):
    if "float" in dtype:
        return f'T.{dtype}({rng.choice(["0.5", "1.0", "2.0", "3.0", "-1.0"])})'
    return f"T.{dtype}({rng.choice([1, 2, 3, 5])})"


class Buffer:
    def __init__(self, name, dims, dtype):
        self.name, self.dims, self.dtype = name, list(dims), dtype

    def at(self, indices):
        return f"{self.name}[{', '.join(map(str, indices))}]"

    def made(self):
        inside = ", ".join(map(str, self.dims)) + ("," if len(self.dims) == 1 else "")
        return f'({inside}), "{self.dtype}"'


class Program:
    """Lines of one function."""

    def __init__(self, rng):
        self.rng, self.lines, self.depth, self.count, self.names = rng, [], 0, 0, set()
        self.wide = rng.random() < 0.3

    def put(self, line):
        self.lines.append("    " * (self.depth + 2) + line)

    def fresh(self, stem):
        """A name that no other has."""
        name, self.count = stem, self.count
        while name in self.names:
            self.count += 1
            name = f"{stem}{self.count}"
        self.names.add(name)
        return name

    def int(self, value):
        return f"T.int64({value})" if self.wide else str(value)

    def value(self, dtype, leaves, deep=2):
        """An expression of the element type over the loads given."""
        rng = self.rng
        if deep == 0 or rng.random() < 0.25:
            return rng.choice(leaves) if leaves and rng.random() < 0.85 else number(rng, dtype)
        a, b = (self.value(dtype, leaves, deep - 1) for _ in range(2))
        real = "float" in dtype
        roll = rng.random()
        if roll < 0.5:
            return f"({a} {rng.choice('+-*')} {b})"
        if roll < 0.66:
            return f"T.{rng.choice(['max', 'min'])}({a}, {b})"
        if roll < 0.8 and real:
            return f"T.{rng.choice(['exp', 'sqrt', 'tanh', 'sigmoid', 'log', 'fabs'])}({a})"
        if roll < 0.88:
            return f"T.{rng.choice(['Select', 'if_then_else'])}({a} {rng.choice(['<', '<=', '=='])} {b}, {a}, {b})"
        if roll < 0.94:
            other = rng.choice(["float32", "int32"]) if dtype != "int32" else "int64"
            return f'T.Cast("{dtype}", T.Cast("{other}", {a}))'
        return f"{a} / {b}" if real else f"T.floordiv({a}, {number(rng, dtype)})"


def blocks(rng):
    """A module of one function of blocks."""
    p = Program(rng)
    dtype = rng.choice(FLOATS if rng.random() < 0.8 else ELEMENTS)
    dims = rng.choice([[16], [8, 8], [4, 16], [4, 6], [7, 9], [2, 4, 8], [16, 16], [32], [128], [1, 8], [3, 5]])
    inputs = [Buffer(p.fresh(name), dims, dtype) for name in "AB"[: rng.randint(1, 2)]]
    known, stages = list(inputs), rng.choice([1, 1, 2, 2, 3, 4])
    body, buffers = [], []
    for _ in range(stages):
        make = rng.choice(STAGES)
        made = make(p, known, p.fresh(rng.choice(["compute", "T_add", "conv", "matmul", "C", "pad", "out"])))
        buffers.append(made)
        known.append(made)
        body.append(p.lines)
        p.lines = []
    out = buffers[-1]
    lines = []
    for made in buffers[:-1]:
        scope = rng.choice(SCOPES)
        lines.append(f'        {made.name} = T.sblock_alloc_buffer({made.made()}{f", scope={scope!r}" if scope else ""})')
    attrs = ['"global_symbol": "main"'] * (rng.random() < 0.3) + [target(rng)] * (rng.random() < 0.6) + ['"tirx.noalias": True'] * (rng.random() < 0.7)
    if attrs:
        lines.insert(0, f"        T.func_attr({{{', '.join(attrs)}}})")
    params = ", ".join(f"{b.name}: T.Buffer({b.made()})" for b in inputs + [out])
    head = ["@I.ir_module", "class Module:", "    @T.prim_func(s_tir=True)", f"    def main({params}):"]
    return "\n".join(head + lines + sum(body, [])) + "\n"


def target(rng):
    kinds = ['{"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}}', '{"kind": "llvm"}', '{"kind": "llvm"}']
    return f'"target": T.target({rng.choice(kinds)})'


def nest(p, dims, reduce=(), kind=None):
    """Opens loops over spatial and reduction dims; gives what to put into a block: bindings, and a condition to be met."""
    rng = p.rng
    kind = kind or rng.choice(KINDS)
    loops, axes, where = [], [], []
    all_dims = [(d, "spatial") for d in dims] + [(d, "reduce") for d in reduce]
    for at, (d, role) in enumerate(all_dims):
        first = at == 0
        if kind in ("tiled", "rest") and d > 3 and (first or rng.random() < 0.4):
            factors = [f for f in (2, 3, 4, 5, 8) if (d % f == 0) == (kind == "tiled") and f < d]
            if factors:
                f = rng.choice(factors)
                o, i = p.fresh(f"i{at}_0"), p.fresh(f"i{at}_1")
                loops += [(o, -(-d // f), "plain", role), (i, f, "plain", role)]
                axes.append((role, d, f"{o} * {p.int(f)} + {i}"))
                if d % f:
                    where.append(f"{o} * {p.int(f)} + {i} < {p.int(d)}")
                continue
        name = p.fresh(rng.choice(["i", "j", "ax", "k"] if role == "spatial" else ["k", "rk"]))
        how = kind if kind in ("parallel", "threads") and first or kind in ("vectorized", "unroll") and at == len(dims) - 1 else "plain"
        loops.append((name, d, how, role))
        axes.append((role, d, name))
    if len(loops) > 2 and rng.random() < 0.15:
        a, b = rng.sample(range(len(loops)), 2)
        loops[a], loops[b] = loops[b], loops[a]
    plain = all(how == "plain" for _, _, how, _ in loops)
    depth = p.depth
    if plain and len(loops) > 1 and rng.random() < 0.6:
        p.put(f"for {', '.join(loop[0] for loop in loops)} in T.grid({', '.join(p.int(loop[1]) for loop in loops)}):")
        p.depth += 1
    else:
        for name, extent, how, _ in loops:
            e = p.int(extent)
            if how == "threads":
                thread = rng.choice(["blockIdx.x", "threadIdx.x", "vthread.x"])
                p.put(f'for {name} in T.thread_binding({e}, thread="{thread}"):')
            elif how == "plain" and kind == "annotated" and rng.random() < 0.5:
                note = rng.choice(['"pragma_auto_unroll_max_step": 16', '"pragma_unroll_explicit": True', '"my_note": "x"'])
                p.put(f"for {name} in T.serial({e}, annotations={{{note}}}):")
            else:
                p.put(f"for {name} in {'range' if how == 'plain' else 'T.' + how}({e}):")
            p.depth += 1
    return axes, where, depth


def block(p, name, axes, where, reads=None, writes=None):
    p.put(f'with T.sblock("{name}"):')
    p.depth += 1
    names = []
    for role, d, value in axes:
        v = p.fresh("v" + ("r" if role == "reduce" else "i"))
        names.append(v)
        p.put(f"{v} = T.axis.{role}({p.int(d)}, {value})")
    if where:
        p.put(f"T.where({' and '.join(where)})")
    return names


def regions(p, reads, writes):
    if p.rng.random() < 0.5:
        p.put(f"T.reads({', '.join(dict.fromkeys(reads))})")
        p.put(f"T.writes({', '.join(writes)})")


def elementwise(p, known, name):
    a = known[-1]
    others = [b for b in known if b.dims == a.dims and b.dtype == a.dtype]
    out = Buffer(name, a.dims, a.dtype)
    axes, where, depth = nest(p, a.dims)
    v = block(p, name, axes, where)
    leaves = [b.at(v) for b in p.rng.sample(others, min(len(others), 2))]
    value = p.value(a.dtype, leaves)
    regions(p, [leaf for leaf in leaves if leaf in value], [out.at(v)])
    if p.rng.random() < 0.1:
        p.put('T.sblock_attr({"my_attr": 1})')
    p.put(f"{out.at(v)} = {value}")
    p.depth = depth
    return out


def reduced(p, known, name):
    a = known[-1]
    if len(a.dims) < 2:
        return elementwise(p, known, name)
    out = Buffer(name, a.dims[:-1], a.dtype)
    axes, where, depth = nest(p, out.dims, a.dims[-1:])
    v = block(p, name, axes, where)
    regions(p, [a.at(v)], [out.at(v[:-1])])
    zero = f"T.{a.dtype}({'0.0' if 'float' in a.dtype else 0})"
    p.put("with T.init():")
    p.put(f"    {out.at(v[:-1])} = {zero}")
    old = out.at(v[:-1])
    p.put(f"{old} = " + p.rng.choice([f"{old} + {a.at(v)}", f"T.max({old}, {a.at(v)})", f"{old} + {a.at(v)} * {a.at(v)}"]))
    p.depth = depth
    return out


def multiplied(p, known, name):
    pairs = [(a, b) for a in known for b in known if len(a.dims) == len(b.dims) == 2 and a.dtype == b.dtype and a.dims[1] == b.dims[0]]
    if not pairs:
        return reduced(p, known, name)
    a, b = p.rng.choice(pairs)
    out = Buffer(name, [a.dims[0], b.dims[1]], a.dtype)
    axes, where, depth = nest(p, out.dims, a.dims[1:])
    i, j, k = block(p, name, axes, where)
    regions(p, [a.at([i, k]), b.at([k, j])], [out.at([i, j])])
    p.put("with T.init():")
    p.put(f"    {out.at([i, j])} = T.{a.dtype}({'0.0' if 'float' in a.dtype else 0})")
    p.put(f"{out.at([i, j])} = {out.at([i, j])} + {a.at([i, k])} * {b.at([k, j])}")
    p.depth = depth
    return out


def padded(p, known, name):
    a, rng = known[-1], p.rng
    pad = [(rng.randint(0, 2), rng.randint(0, 1)) for _ in a.dims]
    out = Buffer(name, [d + x + y for d, (x, y) in zip(a.dims, pad)], a.dtype)
    axes, where, depth = nest(p, out.dims)
    v = block(p, name, axes, where)
    tests, index = [], []
    for x, d, (before, after) in zip(v, a.dims, pad):
        tests += [f"{p.int(before)} <= {x}"] * bool(before) + [f"{x} < {p.int(d + before)}"] * bool(after or before)
        index.append(f"{x} - {p.int(before)}" if before else x)
    zero = f"T.{a.dtype}({'0.0' if 'float' in a.dtype else 0})"
    regions(p, [a.at(index)], [out.at(v)])
    p.put(f"{out.at(v)} = " + (f"T.if_then_else({' and '.join(tests)}, {a.at(index)}, {zero})" if tests else a.at(index)))
    p.depth = depth
    return out


def slid(p, known, name):
    """A convolution along the last axis."""
    a, rng = known[-1], p.rng
    window = rng.choice([2, 3])
    if a.dims[-1] <= window:
        return elementwise(p, known, name)
    out = Buffer(name, [*a.dims[:-1], a.dims[-1] - window + 1], a.dtype)
    axes, where, depth = nest(p, out.dims, [window])
    v = block(p, name, axes, where)
    target, load = out.at(v[:-1]), a.at([*v[:-2], f"{v[-2]} + {v[-1]}"])
    regions(p, [load], [target])
    p.put("with T.init():")
    p.put(f"    {target} = T.{a.dtype}({'0.0' if 'float' in a.dtype else 0})")
    p.put(f"{target} = {target} + {load}" if rng.random() < 0.7 else f"{target} = T.max({target}, {load})")
    p.depth = depth
    return out


def moved(p, known, name):
    """Transposed, reshaped, reversed, sliced."""
    a, rng = known[-1], p.rng
    roll = rng.random()
    if roll < 0.4 and len(a.dims) > 1:
        order = list(range(len(a.dims)))
        rng.shuffle(order)
        dims = [a.dims[at] for at in order]
        index = lambda v: [v[order.index(at)] for at in range(len(order))]
    elif roll < 0.7 and len(a.dims) == 1 and a.dims[0] % 4 == 0:
        dims, index = [a.dims[0] // 4, 4], lambda v: [f"{v[0]} * {p.int(4)} + {v[1]}"]
    elif roll < 0.7 and len(a.dims) == 2:
        dims = [a.dims[0] * a.dims[1]]
        index = lambda v: [f"{v[0]} // {p.int(a.dims[1])}", f"{v[0]} % {p.int(a.dims[1])}"]
    elif a.dims[0] > 2 and roll < 0.85:
        dims, index = [a.dims[0] // 2, *a.dims[1:]], lambda v: [f"{v[0]} * {p.int(2)}", *v[1:]]
    else:
        dims, index = a.dims, lambda v: [f"{p.int(a.dims[0] - 1)} - {v[0]}", *v[1:]]
    out = Buffer(name, dims, a.dtype)
    axes, where, depth = nest(p, dims)
    v = block(p, name, axes, where)
    regions(p, [a.at(index(v))], [out.at(v)])
    p.put(f"{out.at(v)} = {a.at(index(v))}")
    p.depth = depth
    return out


STAGES = [elementwise] * 4 + [reduced] * 2 + [multiplied] * 2 + [padded] * 2 + [slid, moved, moved]


def loops(rng):
    """A module of one function of bare loops."""
    p = Program(rng)
    size, dtype = rng.choice([4, 8, 16, 20, 64]), rng.choice(ELEMENTS)
    buffers = [Buffer(p.fresh(name), [size] if rng.random() < 0.6 else [size, rng.choice([4, 8])], dtype) for name in "ABC"[: rng.randint(2, 3)]]
    scalars = []
    params = [f"{b.name}: T.Buffer({b.made()})" for b in buffers]
    if rng.random() < 0.3:
        scalars.append(p.fresh("n"))
        params.append(f"{scalars[0]}: T.int32")
    attrs = ['"tirx.noalias": True'] * (rng.random() < 0.5) + ['"global_symbol": "main"'] * (rng.random() < 0.4)
    if rng.random() < 0.4:
        attrs.append(target(rng))
    if attrs:
        p.put(f"T.func_attr({{{', '.join(attrs)}}})")
    gpu = "cuda" in "".join(attrs) or rng.random() < 0.1
    names = []
    if gpu:
        for thread, extent in [("blockIdx.x", rng.choice([2, 4])), ("threadIdx.x", rng.choice([4, 32]))][: rng.randint(1, 2)]:
            name = p.fresh(thread[0] + "x")
            p.put(f'{name} = T.launch_thread("{thread}", {extent})')
            names.append((name, extent))
    scratch = []
    for _ in range(rng.choice([0, 0, 1, 2])):
        made = Buffer(p.fresh("buf"), [rng.choice([1, 4, 16])], dtype)
        scope = rng.choice(["local", "shared"] if gpu else ["global", "local"])
        p.put(f'{made.name} = T.alloc_buffer({made.made()}, scope="{scope}")')
        scratch.append(made)
    for _ in range(rng.randint(1, 3)):
        statement(p, buffers, scratch, names, scalars, 3)
    head = ["@I.ir_module", "class Module:", "    @T.prim_func", f"    def main({', '.join(params)}):"]
    return "\n".join(head + p.lines) + "\n"


def index(p, extent, names):
    """An index below the extent."""
    rng = p.rng
    fits = [name for name, e in names if e <= extent]
    roll = rng.random()
    if roll < 0.2 or not names:
        return str(rng.randrange(extent))
    if fits and roll < 0.7:
        return rng.choice(fits)
    name, e = rng.choice(names)
    if roll < 0.85:
        return f"{name} % {extent}"
    other, o = rng.choice(names)
    return f"({name} * {o} + {other}) % {extent}"


def load(p, b, names):
    return b.at([index(p, d, names) for d in b.dims])


def condition(p, names, scalars):
    rng = p.rng
    terms = names or [("0", 1)]
    name, extent = rng.choice(terms)
    bound = rng.choice([str(max(extent // 2, 1)), str(extent), str(extent - 1), *scalars])
    one = f"{name} {rng.choice(['<', '<', '>=', '=='])} {bound}"
    if rng.random() < 0.2 and len(names) > 1:
        other, e = rng.choice(names)
        return f"{one} {rng.choice(['and', 'or'])} {other} < {max(e - 1, 1)}"
    return one


def statement(p, buffers, scratch, names, scalars, deep):
    rng = p.rng
    roll = rng.random()
    if deep and roll < 0.5:
        name, extent = p.fresh(rng.choice("ijk")), rng.choice([1, 2, 4, 4, 8, 16])
        how = rng.choice(["range", "range", "range", "T.serial", "T.unroll", "T.vectorized", "T.parallel"])
        if how == "T.vectorized" and deep > 1:
            how = "range"
        if how == "range" and scalars and rng.random() < 0.3:
            p.put(f"for {name} in range({scalars[0]}):")
        elif how == "range" and rng.random() < 0.1:
            p.put(f"for {name} in range(2, {extent + 2}):")
            extent += 2
        elif how == "T.serial" and rng.random() < 0.5:
            p.put(f'for {name} in T.serial({extent}, annotations={{"pragma_loop_partition_hint": True}}):')
        else:
            p.put(f"for {name} in {how}({extent}):")
        p.depth += 1
        inner = 0 if how == "T.vectorized" else deep - 1
        for _ in range(rng.choice([1, 1, 2])):
            statement(p, buffers, scratch, names + [(name, extent)], scalars, inner)
        p.depth -= 1
    elif deep and roll < 0.65:
        p.put(f"if {condition(p, names, scalars)}:")
        p.depth += 1
        statement(p, buffers, scratch, names, scalars, deep - 1)
        p.depth -= 1
        if rng.random() < 0.4:
            p.put("else:")
            p.depth += 1
            statement(p, buffers, scratch, names, scalars, deep - 1)
            p.depth -= 1
    elif deep and roll < 0.72:
        name = p.fresh("t")
        p.put(f"{name}: T.let[T.int32] = {index(p, 8, names)}")
        statement(p, buffers, scratch, names + [(name, 8)], scalars, deep - 1)
    elif deep and roll < 0.77:
        p.put(rng.choice([f'T.attr("x", "pragma_{rng.choice(["unroll", "note"])}", 1)', f'assert {condition(p, names, scalars)}, "is met"',
                          "T.evaluate(0)"]))
        statement(p, buffers, scratch, names, scalars, deep - 1)
    elif deep and roll < 0.82:
        made = Buffer(p.fresh("tmp"), [rng.choice([1, 4])], buffers[0].dtype)
        p.put(f'{made.name} = T.alloc_buffer({made.made()}, scope="local")')
        p.put(f"{load(p, made, [])} = {number(rng, made.dtype)}")
        statement(p, buffers, [*scratch, made], names, scalars, deep - 1)
    else:
        target = rng.choice(buffers[1:] + scratch)
        leaves = [load(p, b, names) for b in rng.sample(buffers + scratch, min(2, len(buffers + scratch)))]
        at = load(p, target, names)
        p.put(f"{at} = {p.value(target.dtype, [*leaves, at])}")
