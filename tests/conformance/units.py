"""Programs and schedules for the primitives that random steps seldom fit: intrinsics, paddings, copies in loops and of indices."""

FILLED = '''
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main({params}):
{allocs}{body}
'''


def program(params, body, allocs=""):
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return FILLED.format(params=params, body=lines, allocs=allocs)


def product(rng, a, b, c, m, n, k, wide=False, trans=False):
    i = (lambda x: f"T.int64({x})") if wide else str
    right = "B[vj, vk]" if trans else "B[vk, vj]"
    left, right = (x if t == c else f'T.Cast("{c}", {x})' for x, t in (("A[vi, vk]", a), (right, b)))
    shape = (n, k) if trans else (k, n)
    zero = f"T.{c}(0)" if "int" in c else f"T.{c}(0.0)"
    return program(
        f'A: T.Buffer(({i(m)}, {i(k)}), "{a}"), B: T.Buffer(({i(shape[0])}, {i(shape[1])}), "{b}"), C: T.Buffer(({i(m)}, {i(n)}), "{c}")',
        f"""
for i, j, k in T.grid({i(m)}, {i(n)}, {i(k)}):
    with T.sblock("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = {zero}
        C[vi, vj] = C[vi, vj] + {left} * {right}
""",
    )


TILES = ["b = sch.get_sblock('C')", "i, j, k = sch.get_loops(b)"]


def tiles(m, n, k):
    return TILES + [
        f"io, ii = sch.split(i, [None, {m}])",
        f"jo, ji = sch.split(j, [None, {n}])",
        f"ko, ki = sch.split(k, [None, {k}])",
        "sch.reorder(io, jo, ko, ii, ji, ki)",
    ]


def wmma(rng):
    a, c, trans = rng.choice([("float16", "float32", 0), ("float16", "float16", 0), ("float16", "float32", 1), ("int8", "int32", 0)])
    size = rng.choice([32, 48])
    source = product(rng, a, a, c, size, 32, rng.choice([32, 64]), rng.random() < 0.3, trans)
    short = {"float16": "f16", "float32": "f32", "int8": "s8", "int32": "s32"}
    types = short[a] * 2 + short[c]
    lines = tiles(16, 16, 16)
    where = rng.choice(["shared", "shared.dyn"])
    loads = rng.random() < 0.7
    if loads:
        lines += [f"s = sch.cache_read(b, 0, '{where}')", f"t = sch.cache_read(b, 1, '{where}')"]
    lines += ["x = sch.cache_read(b, 0, 'wmma.matrix_a')", "y = sch.cache_read(b, 1, 'wmma.matrix_b')"]
    lines += ["z = sch.cache_write(b, 0, 'wmma.accumulator')", "sch.reverse_compute_at(z, jo)"]
    if rng.random() < 0.6:
        lines += ["sch.compute_at(x, ko)", "sch.compute_at(y, ko)"]
    lines += ["n = sch.decompose_reduction(b, ko)", "nl = sch.get_loops(n)", f"sch.tensorize(nl[-2], 'wmma_fill_16x16x16_{short[c]}')"]
    lines += [f"sch.tensorize(ii, 'wmma_sync_16x16x16_{types}{'_trans' * (trans ^ (rng.random() < 0.1))}')"]
    if loads:
        scope = where.replace(".", "_")
        lines += ["xl = sch.get_loops(x)"]
        if rng.random() < 0.5:
            lines += ["x0, x1 = sch.split(xl[-2], [None, 16])", "x2, x3 = sch.split(xl[-1], [None, 16])", "sch.reorder(x0, x2, x1, x3)"]
            lines += [f"sch.tensorize(x1, 'wmma_load_16x16x16_{short[a]}_a_{scope}')"]
        else:
            lines += [f"sch.tensorize(xl[-2], 'wmma_load_16x16x16_{short[a]}_a_{scope}')"]
    lines += ["zl = sch.get_loops(z)", f"sch.tensorize(zl[-2], 'wmma_store_16x16x16_{short[c]}_{rng.choice(['global', 'global', 'shared'])}')"]
    return source, lines


def dots(rng):
    name, a, b, c, rows, depth = rng.choice([
        ("dot_16x4_vnni", "uint8", "int8", "int32", 16, 4), ("dot_16x4_avx512", "uint8", "int8", "int32", 16, 4),
        ("dot_4x4_i8i8s32_neon", "int8", "int8", "int32", 4, 4), ("dot_4x4_i8i8s32_sdot", "int8", "int8", "int32", 4, 4),
        ("dot_4x4_u8u8u32_udot", "uint8", "uint8", "uint32", 4, 4), ("dot_4x4_u8u8i32_hdot", "uint8", "uint8", "int32", 4, 4),
    ])  # fmt: skip
    i = (lambda x: f"T.int64({x})") if rng.random() < 0.3 else str
    n, k = rows * 2, depth * 4
    zero = f"T.{c}(0)"
    source = program(
        f'A: T.Buffer(({i(6)}, {i(k)}), "{a}"), B: T.Buffer(({i(2)}, {i(4)}, {i(rows)}, {i(depth)}), "{b}"), C: T.Buffer(({i(6)}, {i(n)}), "{c}")',
        f"""
for i, jo, ji, ko, ki in T.grid({i(6)}, {i(2)}, {i(rows)}, {i(4)}, {i(depth)}):
    with T.sblock("C"):
        vi = T.axis.spatial({i(6)}, i)
        vj = T.axis.spatial({i(n)}, jo * {i(rows)} + ji)
        vk = T.axis.reduce({i(k)}, ko * {i(depth)} + ki)
        with T.init():
            C[vi, vj] = {zero}
        C[vi, vj] = C[vi, vj] + T.Cast("{c}", A[vi, vk]) * T.Cast("{c}", B[vj // {i(rows)}, vk // {i(depth)}, vj % {i(rows)}, vk % {i(depth)}])
""",
    )
    lines = ["b = sch.get_sblock('C')", "i, jo, ji, ko, ki = sch.get_loops(b)"]
    if rng.random() < 0.85:
        lines.append("sch.reorder(ko, ji)")
    if rng.random() < 0.85:
        lines.append("n = sch.decompose_reduction(b, ko)")
    if rng.random() < 0.3:
        lines += ["o = sch.blockize(ji)", f"sch.tensorize(o, '{name}')"]
    else:
        lines.append(f"sch.tensorize({rng.choice(['ji', 'ji', 'ji', 'ki'])}, '{name}')")
    return source, lines


def simdgroups(rng):
    source = product(rng, "float16", "float16", "float16", 16, 32, 16, rng.random() < 0.3)
    lines = tiles(8, 8, 8) + ["s = sch.cache_read(b, 0, 'shared')", "x = sch.cache_read(b, 0, 'metal.simdgroup')"]
    lines += ["y = sch.cache_read(b, 1, 'metal.simdgroup')", "z = sch.cache_write(b, 0, 'metal.simdgroup')", "sch.reverse_compute_at(z, jo)"]
    lines += ["sch.compute_at(x, ko)", "n = sch.decompose_reduction(b, ko)", "nl = sch.get_loops(n)", "xl = sch.get_loops(x)", "zl = sch.get_loops(z)"]
    lines += ["sch.tensorize(nl[-2], 'simdgroup_make_filled_8x8x8_f16')", "sch.tensorize(ii, 'simdgroup_multiply_accumulate_8x8x8_f16')"]
    lines += ["sch.tensorize(xl[-2], 'simdgroup_load_8x8x8_f16_shared')", "sch.tensorize(zl[-2], 'simdgroup_store_8x8x8_f16_global')"]
    return source, lines


PLACE = "4 * ({i} % 8) + {j} % 8 // 2, 4 * ({j} // 8) + {i} // 8 * 2 + {j} % 2"
MAP = "lambda i, j: (i // 16, j // 16, 4 * (i % 16 % 8) + j % 16 % 8 // 2, 4 * (j % 16 // 8) + i % 16 // 8 * 2 + j % 16 % 2)"


def mma(rng):
    c = rng.choice(["float32", "float16"])
    source = product(rng, "float16", "float16", c, 32, 32, 32)
    short = {"float16": "f16", "float32": "f32"}[c]
    lines = tiles(16, 16, 16) + ["s = sch.cache_read(b, 0, 'shared')", "t = sch.cache_read(b, 1, 'shared')"]
    lines += ["x = sch.cache_read(b, 0, 'warp')", "y = sch.cache_read(b, 1, 'warp')", "z = sch.cache_write(b, 0, 'warp')"]
    lines += ["sch.reverse_compute_at(z, jo)", "sch.compute_at(x, ko)", "sch.compute_at(y, ko)"]
    for block in "xyb":
        lines += [f"sch.transform_layout({block}, ('write', 0), {MAP})"]
    lines += ["n = sch.decompose_reduction(b, ko)", "nl = sch.get_loops(n)", "xl = sch.get_loops(x)", "yl = sch.get_loops(y)", "zl = sch.get_loops(z)"]
    lines += ["sch.tensorize(xl[-2], 'mma_ldmatrix_f16_a')", "sch.tensorize(yl[-2], 'mma_ldmatrix_f16_b')", f"sch.tensorize(nl[-2], 'mma_fill_16x16_{short}')"]
    lines += [f"sch.tensorize(ii, 'mma_f16f16{short}')", f"sch.tensorize(zl[-2], 'mma_store_16x16_{short}_global_')"]
    return source, lines[: rng.randrange(len(lines) - 5, len(lines) + 1)]


def padding(rng):
    m, n, low, high = rng.choice([4, 6]), rng.choice([7, 8]), rng.choice([1, 2]), rng.choice([0, 1, 3])
    rows, cols = m + low + high, n + low + high
    i = (lambda x: f"T.int64({x})") if rng.random() < 0.3 else str
    value = rng.choice([f"X[vi - {i(low)}, vj - {i(low)}]", f"X[vi - {i(low)}, vj - {i(low)}] * T.float32(2.0)"])
    source = program(
        f'X: T.Buffer(({i(m)}, {i(n)}), "float32"), Z: T.Buffer(({i(rows)}, {i(cols)}), "float32")',
        f"""
for i, j in T.grid({i(rows)}, {i(cols)}):
    with T.sblock("pad"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = T.if_then_else(vi >= {i(low)} and vi < {i(low + m)} and {i(low)} <= vj and vj < {i(low + n)}, {value}, T.float32(0.0))
for i, j in T.grid({i(rows)}, {i(cols)}):
    with T.sblock("Z"):
        vi, vj = T.axis.remap("SS", [i, j])
        Z[vi, vj] = Y[vi, vj] + T.float32(1.0)
""",
        f"        Y = T.sblock_alloc_buffer(({i(rows)}, {i(cols)}))\n",
    )
    lines = ["b = sch.get_sblock('pad')", "z = sch.get_sblock('Z')"]
    if rng.random() < 0.4:
        lines += ["zl = sch.get_loops(z)", f"sch.compute_at(b, zl[{rng.choice([0, 1])}], {rng.random() < 0.7})"]
    lines += ["bl = sch.get_loops(b)"]
    if rng.random() < 0.3:
        lines += [f"sch.split(bl[{rng.choice([0, -1])}], [None, {rng.choice([2, 4])}])", "bl = sch.get_loops(b)"]
    if rng.random() < 0.2:
        lines += [f"sch.parallel(bl[{rng.choice([0, -1])}])"]
    block = "z" if rng.random() < 0.05 else "b"
    lines += [f"p = sch.decompose_padding({block}, bl[{rng.choice([0, 0, 1, -1])}])"]
    if rng.random() < 0.3:
        lines += [rng.choice(["sch.compute_inline(b)", "sch.compute_inline(p)", "sch.reverse_compute_at(z, bl[0])", "sch.vectorize(bl[-1])"])]
    return source, lines


def at(rng):
    source = product(rng, "float32", "float32", "float32", 32, 16, 24, rng.random() < 0.2)
    lines = tiles(8, 8, rng.choice([4, 8]))
    for _ in range(rng.choice([0, 1, 2])):
        lines.append(f"sch.bind({rng.choice(['io', 'jo', 'ii', 'ji'])}, '{rng.choice(['blockIdx.x', 'threadIdx.x', 'threadIdx.y'])}')")
    for _ in range(rng.choice([1, 2, 2])):
        kind = rng.choice(["read", "read", "write"])
        number = 0 if kind == "write" else rng.choice([0, 1, 2])
        lines.append(f"sch.{kind}_at({rng.choice(['jo', 'ko', 'ko', 'ii', 'io'])}, b, {number}, '{rng.choice(['shared', 'local', 'global'])}')")
    return source, lines


def several(rng):
    k = rng.choice([4, 8])
    source = program(
        'A: T.Buffer((64, 16), "float32"), B: T.Buffer((64, 16), "float32"), C: T.Buffer((64, 16), "float32")',
        f"""
for i in range({64 // k}):
    for j, k in T.grid({k}, 16):
        with T.sblock("B"):
            vi = T.axis.spatial(64, i * {k} + j)
            vj = T.axis.spatial(16, k)
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for j, k in T.grid({k}, 16):
        with T.sblock("C"):
            vi = T.axis.spatial(64, i * {k} + j)
            vj = T.axis.spatial(16, k)
            C[vi, vj] = B[{rng.choice(['vi', 'vi', '63 - vi'])}, vj] + T.float32(2.0)
""",
    )
    lines = ["b = sch.get_sblock('B')", "c = sch.get_sblock('C')", "cl = sch.get_loops(c)", "bl = sch.get_loops(b)"]
    lines += rng.choice([[], ["sch.split(cl[2], [None, 4])"], ["sch.split(bl[1], [2, None])"], ["sch.reorder(cl[2], cl[1])"]])
    if rng.random() < 0.4:
        kind = rng.choice(["read", "write"])
        return source, lines + [f"sch.{kind}_at(bl[{rng.choice([0, 0, 1])}], {rng.choice('bc')}, 0, '{rng.choice(['shared', 'local'])}')"]
    if rng.random() < 0.2:
        return source, lines + [f"sch.unsafe_hide_buffer_access(c, '{rng.choice(['read', 'write'])}', [0])"]
    return source, lines + [f"o = sch.blockize([b, c], {rng.random() < 0.7})"]


def inplace(rng):
    body = rng.choice(["A[vi, vj] = A[vi, vj] + T.float32(1.0)", "A[vi, vj] = A[vi, vj] * B[vi]"])
    source = program(
        'A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")',
        f"""
for i, j in T.grid(16, 8):
    with T.sblock("first"):
        vi, vj = T.axis.remap("SS", [i, j])
        {body}
for i in range(4):
    with T.sblock("whole"):
        vi = T.axis.opaque(4, i)
        T.reads(A[0:16, 0:8], B[0:16])
        T.writes(A[0:16, 0:8])
        T.call_extern("int32", "work", A.data, B.data, vi)
""",
    )
    block, number = rng.choice(["first", "whole", "whole"]), rng.choice([0, 0, 1])
    lines = [f"b = sch.get_sblock('{block}')", f"x, y = sch.cache_inplace(b, {number}, '{rng.choice(['local', 'shared'])}')"]
    return source, lines


def index(rng):
    pick = lambda: rng.choice(["vj // 2", "(vi * 2 + vj) // 4 % 16", "vi", "vj % 8 + vi % 8", "vj // 4", "T.max(vi, vj // 8)"])  # noqa: E731
    source = program(
        'A: T.Buffer((40, 40), "float32"), B: T.Buffer((16, 40), "float32")',
        f"""
for i, j in T.grid(16, 40):
    with T.sblock("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[{pick()}, {pick()}] + A[{pick()}, {pick()}] * T.Cast("float32", {pick()})
""",
    )
    lines = ["b = sch.get_sblock('B')"]
    if rng.random() < 0.3:
        lines += ["bl = sch.get_loops(b)", rng.choice(["sch.split(bl[1], [None, 8])", "sch.fuse(bl[0], bl[1])", "sch.reorder(bl[1], bl[0])"])]
    return source, lines + [f"x = sch.cache_index(b, '{rng.choice(['global', 'local'])}', {rng.choice([0, 0, 1, 2, 3])})"]


KINDS = [wmma, wmma, dots, dots, simdgroups, mma, padding, padding, padding, at, at, several, several, inplace, index, index]


def make(rng):
    """The text of a program, and lines for its schedule."""
    return rng.choice(KINDS)(rng)
