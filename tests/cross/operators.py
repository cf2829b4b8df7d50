"""Calls of operators with operands that fit, for programs.py: each function gives the text of a value and its type, or None when
the function at hand has nothing that it could be applied to."""

from programs import FLOAT, Ty, tensor

UNARY = ["exp", "tanh", "sqrt", "negative", "abs", "sigmoid", "nn.relu", "nn.gelu", "nn.silu", "erf", "log", "rsqrt", "sin", "cos", "ceil",
         "floor", "round", "square", "sign", "nn.softplus", "nn.gelu_tanh", "nn.leakyrelu", "clip"]
BINARY = ["add", "add", "add", "subtract", "multiply", "multiply", "divide", "maximum", "minimum", "power", "floor_divide", "mod"]
COMPARE = ["less", "greater", "equal", "not_equal", "less_equal", "greater_equal"]
REDUCE = ["sum", "sum", "mean", "max", "min", "prod", "variance", "std"]
# The groups that a theme draws from, apart from all.
THEMES = {
    "elementwise": ["unary", "binary", "scalar"],
    "matmul": ["matmul", "matmul", "matmul", "transpose", "binary"],
    "linear": ["matmul", "transpose", "binary", "take", "concat", "split"],
    "conv": ["conv", "conv", "bias", "batch_norm", "pool", "unary", "binary"],
    "shape": ["reshape", "transpose", "slice", "concat", "split", "expand", "squeeze", "broadcast", "tile", "flip", "cast_shape"],
    "reshape": ["reshape", "reshape", "reshape", "reshape", "expand", "squeeze", "scalar_reshape"],
    "sort": ["sort", "scan", "topk", "scan"],
    "tuple": ["make_tuple", "item", "split", "copy", "unary"],
    "prim": ["shape_of", "prim", "shape_expr", "create", "match_cast", "copy", "tensor_shape"],
    "calls": ["call", "call", "call", "unary", "make_tuple", "item"],
    "packed": ["packed", "packed", "dps", "unary"],
    "params": ["unary", "transpose", "matmul", "reshape", "split", "binary", "astype"],
    "constant": ["constant", "constant", "binary", "scalar", "create"],
    "kernels": ["kernel", "kernel", "kernel", "unary"],
    "branch": ["unary", "binary", "compare", "match_cast"],
    "create": ["create", "like", "arange", "triangle", "constant"],
    "nn": ["norm", "softmax", "dropout", "attention", "pool1d", "loss", "pad", "unary"],
    "take": ["take", "gather", "one_hot", "slice", "index", "cumulate"],
}


def emit(f):
    mine = THEMES.get(f.theme)
    group = f.rng.choice(mine) if mine and f.rng.random() < 0.75 else f.rng.choice(sorted(GROUPS))
    return GROUPS[group](f)


def number(f, dtype):
    if dtype == "bool":
        return f.rng.choice(["True", "False"])
    if dtype.startswith("uint"):
        return str(f.rng.choice([0, 1, 2, 200]))
    if dtype.startswith("int"):
        return str(f.rng.choice([0, 1, 2, 3, -1, 100]))
    return f.rng.choice(["0.0", "1.0", "2.0", "0.5", "-1.5", "1e-05", "3.0", "0.1"])


def const(f, dtype, dims=()):
    if not dims:
        return f'R.const({number(f, dtype)}, "{dtype}")'
    inner = "[" + ", ".join(number(f, dtype) for _ in range(dims[-1])) + "]"
    for dim in reversed(dims[:-1]):
        inner = "[" + ", ".join([inner] * dim) + "]"
    return f'R.const({inner}, "{dtype}")'


def product(dims):
    whole, symbols = 1, []
    for dim in dims:
        if isinstance(dim, int):
            whole *= dim
        else:
            symbols.append(dim)
    if not symbols:
        return whole
    if any(" " in s for s in symbols):
        return None
    return " * ".join(symbols + [str(whole)] * (whole != 1))


def unary(f):
    x = f.pick(lambda ty: ty.kind == "tensor" and (ty.dtype in FLOAT))
    if x is None:
        x = f.pick(lambda ty: ty.kind == "tensor")
        return x and (f"R.{f.rng.choice(['negative', 'abs', 'bitwise_not', 'logical_not'])}({x[0]})", x[1])
    op = f.rng.choice(UNARY)
    extra = ", min=0.0, max=6.0" if op == "clip" else ""
    return f"R.{op}({x[0]}{extra})", x[1]


def binary(f):
    # TVM hands arithmetic of truth values to LLVM, which refuses some of it.
    x = f.shaped(lambda ty: ty.dtype != "bool")
    y = x and f.shaped(lambda ty: ty.dtype == x[1].dtype and broadcasts(x[1].dims, ty.dims) is not None)
    if y is None:
        return None
    op = f.rng.choice(BINARY)
    return f"R.{op}({x[0]}, {y[0]})", tensor(broadcasts(x[1].dims, y[1].dims), x[1].dtype)


def broadcasts(a, b):
    a, b = list(a), list(b)
    size = max(len(a), len(b))
    out = []
    for x, y in zip([1] * (size - len(a)) + a, [1] * (size - len(b)) + b, strict=True):
        if x != y and x != 1 and y != 1:
            return None
        out.append(y if x == 1 else x)
    return out


def scalar(f):
    x = f.shaped(lambda ty: ty.dtype != "bool")
    if x is None:
        return None
    op, value = f.rng.choice(BINARY), const(f, x[1].dtype)
    text = f"{x[0]}, {value}" if f.rng.random() < 0.7 else f"{value}, {x[0]}"
    return f"R.{op}({text})", x[1]


def compare(f):
    x = f.shaped()
    y = x and f.shaped(lambda ty: ty.dtype == x[1].dtype and ty.dims == x[1].dims)
    return x and (f"R.{f.rng.choice(COMPARE)}({x[0]}, {y[0]})", tensor(x[1].dims, "bool"))


def where(f):
    c = f.shaped(lambda ty: ty.dtype == "bool")
    x = c and f.shaped(lambda ty: ty.dims == c[1].dims and ty.dtype != "bool")
    return x and (f"R.where({c[0]}, {x[0]}, {x[0]})", x[1])


def astype(f):
    x = f.shaped()
    dtype = f.rng.choice(["float32", "float16", "int32", "float64", "bool"])
    return x and (f'R.astype({x[0]}, dtype="{dtype}")', tensor(x[1].dims, dtype))


def reduce(f):
    x = f.floats(lambda ty: ty.ndim > 0)
    if x is None:
        return None
    axis, keep = f.rng.randrange(x[1].ndim), f.rng.random() < 0.5
    dims = list(x[1].dims)
    dims[axis : axis + 1] = [1] if keep else []
    axis = axis if f.rng.random() < 0.6 else axis - x[1].ndim
    return f"R.{f.rng.choice(REDUCE)}({x[0]}, axis={f.rng.choice([axis, [axis]])}, keepdims={keep})", tensor(dims, x[1].dtype)


def index(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    if x is None:
        return None
    axis = f.rng.randrange(x[1].ndim)
    dims = list(x[1].dims)
    del dims[axis]
    return f"R.{f.rng.choice(['argmax', 'argmin'])}({x[0]}, axis={axis})", tensor(dims, "int64")


def transpose(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    if x is None:
        return None
    axes = list(range(x[1].ndim))
    if f.theme in ("matmul", "linear", "params") and len(axes) >= 2:
        axes[-2:] = [axes[-1], axes[-2]]
    else:
        f.rng.shuffle(axes)
    written = "" if axes == sorted(axes, reverse=True) and f.rng.random() < 0.5 else f", axes={axes}"
    return f"R.permute_dims({x[0]}{written})", tensor([x[1].dims[i] for i in axes], x[1].dtype)


def matmul(f):
    x = f.floats(lambda ty: ty.ndim > 0)
    if x is None:
        return None
    k = x[1].dims[-1]

    def fits(ty):
        if ty.dtype != x[1].dtype or ty.ndim == 0:
            return False
        if ty.ndim == 1:
            return ty.dims[0] == k
        return ty.dims[-2] == k and broadcasts(x[1].dims[:-2], ty.dims[:-2]) is not None

    y = f.floats(fits)
    if y is None:
        return None
    batch = broadcasts(x[1].dims[:-2], y[1].dims[:-2])
    dims = batch + ([x[1].dims[-2]] if x[1].ndim > 1 else []) + ([y[1].dims[-1]] if y[1].ndim > 1 else [])
    if f.rng.random() < 0.1:
        return f'R.matmul({x[0]}, {y[0]}, out_dtype="float32")', tensor(dims, "float32")
    return f"R.matmul({x[0]}, {y[0]})", tensor(dims, x[1].dtype)


def linear(f):
    x = f.floats(lambda ty: ty.ndim > 0)
    w = x and f.floats(lambda ty: ty.ndim == 2 and ty.dtype == x[1].dtype and ty.dims[1] == x[1].dims[-1])
    return w and (f"R.linear({x[0]}, {w[0]})", tensor([*x[1].dims[:-1], w[1].dims[0]], x[1].dtype))


def reshape(f):
    x = f.shaped()
    whole = x and product(x[1].dims)
    if whole is None:
        return None
    options = [[whole], [1, whole], [whole, 1], list(x[1].dims)]
    if isinstance(whole, int):
        options += [[d, whole // d] for d in (2, 4, 8) if whole % d == 0]
        options += [[2, 2, whole // 4]] if whole % 4 == 0 else []
        options += [[]] if whole == 1 else []
    dims = f.rng.choice(options)
    written = list(dims)
    if written and f.rng.random() < 0.15:
        written[f.rng.randrange(len(written))] = -1
    shape = ", ".join(map(str, written)) + ("," if len(written) == 1 else "")
    text = f.rng.choice([f"({shape})", f"R.shape([{', '.join(map(str, written))}])"])
    if -1 in written:
        text = f"({shape})"
    return f"R.reshape({x[0]}, {text})", tensor(dims, x[1].dtype)


def scalar_reshape(f):
    x = f.shaped(lambda ty: product(ty.dims) == 1)
    return x and (f"R.reshape({x[0]}, R.shape({f.rng.choice([[], [1], [1, 1]])}))", None)


def flatten(f):
    x = f.shaped()
    whole = x and product(x[1].dims)
    return whole and (f"R.flatten({x[0]})", tensor([whole], x[1].dtype))


def expand(f):
    x = f.shaped()
    if x is None:
        return None
    axis = f.rng.randint(0, x[1].ndim)
    dims = list(x[1].dims)
    dims.insert(axis, 1)
    return f"R.expand_dims({x[0]}, axis={axis})", tensor(dims, x[1].dtype)


def squeeze(f):
    x = f.shaped(lambda ty: 1 in ty.dims)
    if x is None:
        return None
    axis = x[1].dims.index(1)
    if f.rng.random() < 0.3 and all(isinstance(d, int) for d in x[1].dims):
        return f"R.squeeze({x[0]})", tensor([d for d in x[1].dims if d != 1], x[1].dtype)
    return f"R.squeeze({x[0]}, axis=[{axis}])", tensor(x[1].dims[:axis] + x[1].dims[axis + 1 :], x[1].dtype)


def concat(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    if x is None:
        return None
    y = f.shaped(lambda ty: ty.dims == x[1].dims and ty.dtype == x[1].dtype)
    axis = f.rng.randrange(x[1].ndim)
    dims = list(x[1].dims)
    dims[axis] = dims[axis] * 2 if isinstance(dims[axis], int) else None
    ty = None if dims[axis] is None else tensor(dims, x[1].dtype)
    if f.rng.random() < 0.15:
        return f"R.stack(({x[0]}, {y[0]}), axis={axis})", tensor([*x[1].dims[:axis], 2, *x[1].dims[axis:]], x[1].dtype)
    return f"R.concat(({x[0]}, {y[0]}), axis={axis})", ty


def split(f):
    x = f.shaped(lambda ty: any(isinstance(d, int) and d % 2 == 0 for d in ty.dims))
    if x is None:
        return None
    axis = next(i for i, d in enumerate(x[1].dims) if isinstance(d, int) and d % 2 == 0)
    dims = list(x[1].dims)
    dims[axis] //= 2
    how = f.rng.choice(["2", f"[{dims[axis]}]"])
    return f"R.split({x[0]}, indices_or_sections={how}, axis={axis})", Ty("tuple", parts=[tensor(dims, x[1].dtype)] * 2)


def slice_(f):
    x = f.shaped(lambda ty: any(isinstance(d, int) and d > 1 for d in ty.dims))
    if x is None:
        return None
    axis = next(i for i, d in enumerate(x[1].dims) if isinstance(d, int) and d > 1)
    size = x[1].dims[axis]
    begin, end = f.rng.choice([(0, size), (1, size), (0, 1), (0, size - 1), (-1, size), (0, size + 3)])
    if f.rng.random() < 0.2:
        return f"R.strided_slice({x[0]}, axes=[{axis}], begin=[{begin}], end=[{end}], strides=[{f.rng.choice([1, 2])}])", None
    size = min(end, size) - begin if begin >= 0 else 1
    dims = list(x[1].dims)
    dims[axis] = size
    return f"R.strided_slice({x[0]}, axes=[{axis}], begin=[{begin}], end=[{end}])", tensor(dims, x[1].dtype)


def broadcast(f):
    x = f.shaped(lambda ty: ty.ndim < 4)
    if x is None:
        return None
    s = f.pick(lambda ty: ty.kind == "shape" and ty.dims is not None and broadcasts(x[1].dims, ty.dims) == list(ty.dims))
    if s is not None and f.rng.random() < 0.6:
        return f"R.broadcast_to({x[0]}, {s[0]})", Ty("tensor", None, x[1].dtype, s[1].ndim)
    dims = [f.rng.choice([2, 3]), *x[1].dims]
    return f"R.broadcast_to({x[0]}, ({', '.join(map(str, dims))},))", tensor(dims, x[1].dtype)


def tile(f):
    x = f.shaped(lambda ty: ty.ndim > 0 and all(isinstance(d, int) for d in ty.dims))
    if x is None:
        return None
    dims = list(x[1].dims)
    if f.rng.random() < 0.5:
        dims[0] *= 2
        return f"R.repeat({x[0]}, repeats=2, axis=0)", tensor(dims, x[1].dtype)
    return f"R.tile({x[0]}, repeats={[2] + [1] * (x[1].ndim - 1)})", tensor([dims[0] * 2, *dims[1:]], x[1].dtype)


def flip(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    return x and (f"R.flip({x[0]}, axis={f.rng.randrange(x[1].ndim)})", x[1])


def sort(f):
    x = f.shaped(lambda ty: ty.ndim > 0 and ty.dtype != "bool")
    if x is None:
        return None
    axis = f.rng.choice([-1, f.rng.randrange(x[1].ndim)])
    descending = f.rng.random() < 0.5
    if f.rng.random() < 0.5:
        return f"R.sort({x[0]}, axis={axis}, descending={descending})", x[1]
    dtype = f.rng.choice(["int32", "int64"])
    return f'R.argsort({x[0]}, axis={axis}, descending={descending}, dtype="{dtype}")', tensor(x[1].dims, dtype)


def topk(f):
    x = f.shaped(lambda ty: ty.ndim > 0 and isinstance(ty.dims[-1], int) and ty.dims[-1] > 1 and ty.dtype != "bool")
    if x is None:
        return None
    kind, k = f.rng.choice(["both", "values", "indices"]), f.rng.choice([1, x[1].dims[-1]])
    return f'R.topk({x[0]}, k={k}, axis=-1, ret_type="{kind}", largest={f.rng.random() < 0.5}, dtype="int32")', None


def scan(f):
    x = f.shaped(lambda ty: ty.ndim > 0 and ty.dtype != "bool")
    if x is None:
        return None
    op = f.rng.choice(["cumsum", "cumsum", "cumprod"])
    exclusive = f.rng.choice(["", ", exclusive=True", ", exclusive=False"])
    dtype = f.rng.choice(["", "", ', dtype="float32"', ', dtype="int32"'])
    out = dtype.split('"')[1] if dtype else x[1].dtype
    if f.rng.random() < 0.15:
        whole = product(x[1].dims)
        return f"R.{op}({x[0]}{dtype}{exclusive})", tensor([whole], out) if whole is not None else None
    return f"R.{op}({x[0]}, axis={f.rng.choice([-1, f.rng.randrange(x[1].ndim)])}{dtype}{exclusive})", tensor(x[1].dims, out)


def take(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    i = x and f.shaped(lambda ty: ty.dtype in ("int32", "int64") and ty.ndim <= 2)
    if x is None:
        return None
    axis = f.rng.randrange(x[1].ndim)
    mode = f.rng.choice(["", "", ', mode="clip"', ', mode="fast"'])
    if i is None or f.rng.random() < 0.3:
        text, dims = f.rng.choice([('R.const([0, 1], "int64")', [2]), ('R.const(0, "int64")', []), ('R.const([0], "int32")', [1])])
    else:
        text, dims = i[0], list(i[1].dims)
    return f"R.take({x[0]}, {text}, axis={axis}{mode})", tensor([*x[1].dims[:axis], *dims, *x[1].dims[axis + 1 :]], x[1].dtype)


def gather(f):
    x = f.shaped(lambda ty: ty.ndim > 0)
    i = x and f.shaped(lambda ty: ty.dtype == "int64" and ty.ndim == x[1].ndim)
    return i and (f"R.gather_elements({x[0]}, {i[0]}, axis={f.rng.randrange(x[1].ndim)})", tensor(i[1].dims, x[1].dtype))


def one_hot(f):
    x = f.shaped(lambda ty: ty.dtype in ("int32", "int64"))
    dtype = f.rng.choice(["float32", "int32"])
    values = ("1.0", "0.0") if dtype == "float32" else ("1", "0")
    prims = [f'R.prim_value(T.{dtype}({value}))' for value in values]
    return x and (f"R.one_hot({x[0]}, {prims[0]}, {prims[1]}, depth=3, axis=-1)", tensor([*x[1].dims, 3], dtype))


def create(f):
    rng = f.rng
    dtype = rng.choice([f.dtype, "float32", "int64"])
    s = f.pick(lambda ty: ty.kind == "shape")
    if s is not None and rng.random() < 0.5:
        shape, ty = s[0], Ty("tensor", None, dtype, s[1].ndim) if s[1].ndim is not None else None
    else:
        dims = rng.choice([f.base, [2, 3], [rng.choice(sorted(f.declared)) if f.declared else 4, 2]])
        shape, ty = f"R.shape([{', '.join(map(str, dims))}])", tensor(dims, dtype)
        f.symbols |= ty.symbols()
    op = rng.choice(["zeros", "ones", "full"])
    if op == "full":
        return f'R.full({shape}, {const(f, dtype)}, dtype="{dtype}")', ty
    return f'R.{op}({shape}, dtype="{dtype}")', ty


def like(f):
    x = f.shaped()
    if x is None:
        return None
    op = f.rng.choice(["zeros_like", "ones_like", "full_like"])
    extra = f", {const(f, x[1].dtype)}" if op == "full_like" else ""
    return f"R.{op}({x[0]}{extra})", x[1]


def arange(f):
    end = f.rng.choice(["4", "8", *sorted(f.declared)])
    return f'R.arange(0, {end}, 1, dtype="{f.rng.choice(["int64", "float32"])}")', None


def triangle(f):
    x = f.shaped(lambda ty: ty.ndim >= 2)
    return x and (f"R.{f.rng.choice(['tril', 'triu'])}({x[0]}, {f.rng.choice([0, 1, -1])})", x[1])


def constant(f):
    dtype = f.rng.choice(["float32", "float32", f.dtype, "int64", "bool"])
    dims = f.rng.choice([(), (), (2,), (4,), (2, 2), (1, 3)])
    return const(f, dtype, dims), tensor(dims, dtype)


def folded(f):
    dtype = f.rng.choice(["float32", f.dtype])
    dims = f.rng.choice([(), (2,), (2, 2)])
    op = f.rng.choice(BINARY)
    return f"R.{op}({const(f, dtype, dims)}, {const(f, dtype, dims)})", tensor(dims, dtype)


def make_tuple(f):
    chosen = [f.pick() for _ in range(f.rng.randint(1, 3))]
    if any(x is None for x in chosen):
        return None
    ty = None if any(ty.kind == "unknown" for _, ty in chosen) else Ty("tuple", parts=[ty for _, ty in chosen])
    return f"({', '.join(name for name, _ in chosen)},)", ty


def item(f):
    x = f.pick(lambda ty: ty.kind == "tuple" and ty.parts)
    if x is None:
        return None
    i = f.rng.randrange(len(x[1].parts))
    return f"{x[0]}[{i}]", x[1].parts[i]


def copy(f):
    x = f.pick()
    return x and (x[0], None if x[1].kind == "unknown" else x[1])


def shape_of(f):
    x = f.pick(lambda ty: ty.kind == "tensor")
    return x and (f"R.shape_of({x[0]})", Ty("shape", x[1].dims, ndim=x[1].ndim) if x[1].ndim is not None else None)


def tensor_shape(f):
    s = f.pick(lambda ty: ty.kind == "shape" and ty.ndim is not None)
    x = f.shaped(lambda ty: ty.ndim == 1 and ty.dtype == "int64" and isinstance(ty.dims[0], int))
    if s is not None and (x is None or f.rng.random() < 0.5):
        return f"R.shape_to_tensor({s[0]})", tensor([s[1].ndim], "int64")
    return x and (f"R.tensor_to_shape({x[0]})", Ty("shape", None, ndim=x[1].dims[0]))


def prim(f):
    options = ["1", "T.int64(4)", *sorted(f.declared), *[f"{s} + 1" for s in sorted(f.declared)]]
    return f"R.prim_value({f.rng.choice(options)})", Ty("prim", dtype="int64")


def shape_expr(f):
    dims = [f.rng.choice([2, 3, *sorted(f.declared), *[f"{s} + 1" for s in sorted(f.declared)]]) for _ in range(f.rng.randint(1, 3))]
    return f"R.shape({[*dims]})".replace("'", ""), Ty("shape", tuple(dims))


def match_cast(f):
    x = f.pick(lambda ty: ty.kind in ("tensor", "shape") and ty.ndim is not None)
    if x is None:
        return None
    known = list(x[1].dims) if x[1].dims is not None else [None] * x[1].ndim
    dims = [s if d is None or f.rng.random() < 0.3 else d for d, s in zip(known, [f.rng.choice(["p", "q", "n", *sorted(f.declared)]) for _ in known], strict=True)]
    ty = Ty(x[1].kind, tuple(dims), x[1].dtype)
    f.symbols |= ty.symbols()
    f.declared |= ty.symbols() if not f.indent > 3 else set()
    return f"R.match_cast({x[0]}, {ty.text()})", ty


def call(f):
    if not f.program.helpers:
        return None
    name, types, result, pure = f.rng.choice(f.program.helpers)
    if not pure and f.dataflow:
        return None
    given = []
    for wanted in types:
        found = f.pick(lambda ty, wanted=wanted: ty.kind != "unknown" and ty.text() == wanted.text())
        if found is None:
            found = fitting(f, wanted)
        if found is None:
            return None
        given.append(found[0])
    f.pure &= pure
    known = result if result is not None and not result.symbols() else None
    return f"Module.{name}({', '.join(given)})", known


def fitting(f, wanted):
    """An operand for a parameter whose symbolic dimensions may be anything."""
    if wanted.kind == "tensor" and wanted.dims is not None:
        if all(isinstance(d, int) for d in wanted.dims) and f.rng.random() < 0.5 and not f.dataflow:
            return (f.bind(f'R.zeros(R.shape({list(wanted.dims)}), dtype="{wanted.dtype or "float32"}")', None), None)
        return f.shaped(lambda ty: ty.dtype == (wanted.dtype or ty.dtype) and ty.ndim == wanted.ndim
                        and all(isinstance(w, str) or w == d for w, d in zip(wanted.dims, ty.dims, strict=True)))
    if wanted.kind == "tuple":
        parts = [f.pick(lambda ty, part=part: ty.text() == part.text()) for part in wanted.parts]
        return None if None in parts else (f"({', '.join(part[0] for part in parts)},)", None)
    if wanted.kind == "shape" and wanted.dims is not None:
        return (f"R.shape({[2 if isinstance(d, str) else d for d in wanted.dims]})", None)
    if wanted.kind == "prim":
        return ("R.prim_value(3)", None)
    return f.pick(lambda ty: ty.kind == wanted.kind)


def out_type(f):
    x = f.shaped()
    if x is None or f.rng.random() < 0.3:
        return tensor(f.rng.choice([(2, 3), (4,), f.base]), "float32")
    return x[1]


def packed(f):
    x, ty = f.pick(), out_type(f)
    if x is None:
        return None
    f.symbols |= ty.symbols()
    name = f.rng.choice(["env.f", "g"])
    if not f.dataflow and f.rng.random() < 0.3:
        f.pure = False
        return f'R.call_packed("{name}", {x[0]}, ty_args={ty.text()})', ty
    return f'R.call_pure_packed("{name}", {x[0]}, ty_args={ty.text()})', ty


def dps(f):
    x, ty = f.pick(lambda ty: ty.kind == "tensor"), out_type(f)
    f.symbols |= ty.symbols()
    return x and (f'R.call_dps_packed("{f.rng.choice(["env.f", "g"])}", ({x[0]},), out_ty={ty.text()})', ty)


def impure(f):
    x = f.pick()
    if x is None or f.dataflow:
        return None
    f.pure = False
    return f.rng.choice([f'R.print({x[0]}, format="{{}}")', 'R.assert_op(R.const(True, "bool"), format="no")']), Ty("tuple")


def kernel(f):
    if not f.program.kernels:
        return None
    name, extent, dtype, count = f.rng.choice(f.program.kernels)
    given = [f.shaped(lambda ty: ty.dims == (extent,) and ty.dtype == dtype) for _ in range(count)]
    if None in given:
        return None
    ty = tensor((extent,), dtype)
    names = [x[0] for x in given]
    if f.rng.random() < 0.07 and not f.dataflow:
        return f"R.call_tir_inplace(Module.{name}, ({', '.join(names)},), inplace_indices=[0], out_ty=[{ty.text()}])", None
    return f"R.call_tir(Module.{name}, ({', '.join(names)},), out_ty={ty.text()})", ty


def conv(f):
    x = f.floats(lambda ty: ty.ndim == 4 and isinstance(ty.dims[2], int) and ty.dims[2] >= 3)
    w = x and f.floats(lambda ty: ty.ndim == 4 and ty.dtype == x[1].dtype and ty.dims[1] == x[1].dims[1] and ty.dims[2] in (1, 3) and ty.dims[2] == ty.dims[3])
    if w is None or not all(isinstance(d, int) for d in x[1].dims[1:]):
        return None
    pad, stride = f.rng.choice([0, 0, 1]), f.rng.choice([1, 1, 2])
    size = [(d + 2 * pad - w[1].dims[2]) // stride + 1 for d in x[1].dims[2:]]
    options = f"strides={[stride] * 2}, padding={[pad] * 2}" if stride > 1 or pad else ""
    return f"R.nn.conv2d({', '.join([x[0], w[0], *[options] * bool(options)])})", tensor([x[1].dims[0], w[1].dims[0], *size], x[1].dtype)


def bias(f):
    x = f.floats(lambda ty: ty.ndim == 4)
    b = x and f.floats(lambda ty: ty.dtype == x[1].dtype and ty.ndim == 4 and ty.dims[0] == 1 and ty.dims[2:] == (1, 1) and ty.dims[1] == x[1].dims[1])
    return b and (f"R.{f.rng.choice(['add', 'multiply'])}({x[0]}, {b[0]})", x[1])


def batch_norm(f):
    x = f.floats(lambda ty: ty.ndim == 4)
    b = x and f.floats(lambda ty: ty.ndim == 1 and ty.dims[0] == x[1].dims[1] and ty.dtype == x[1].dtype)
    if b is None:
        return None
    return f"R.nn.batch_norm({x[0]}, {', '.join([b[0]] * 4)}, axis=1)", Ty("tuple", parts=[x[1], b[1], b[1]])


def pool(f):
    x = f.floats(lambda ty: ty.ndim == 4 and all(isinstance(d, int) and d >= 2 for d in ty.dims[2:]))
    if x is None:
        return None
    op = f.rng.choice(["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"])
    if op.startswith("adaptive"):
        size = f.rng.choice([1, 2])
        return f"R.nn.{op}({x[0]}, output_size=[{size}, {size}])", tensor([*x[1].dims[:2], size, size], x[1].dtype)
    dims = [*x[1].dims[:2], x[1].dims[2] // 2, x[1].dims[3] // 2]
    return f"R.nn.{op}({x[0]}, pool_size=[2, 2], strides=[2, 2])", tensor(dims, x[1].dtype)


def pool1d(f):
    x = f.floats(lambda ty: ty.ndim == 3 and isinstance(ty.dims[2], int) and ty.dims[2] >= 2)
    return x and (f"R.nn.max_pool1d({x[0]}, pool_size=[2], strides=[1])", tensor([*x[1].dims[:2], x[1].dims[2] - 1], x[1].dtype))


def norm(f):
    x = f.floats(lambda ty: ty.ndim > 0)
    w = x and f.floats(lambda ty: ty.ndim == 1 and ty.dims[0] == x[1].dims[-1] and ty.dtype == x[1].dtype)
    if w is None:
        return None
    if f.rng.random() < 0.5:
        return f"R.nn.rms_norm({x[0]}, {w[0]}, axes=[-1])", x[1]
    return f"R.nn.layer_norm({x[0]}, {w[0]}, {w[0]}, axes=[-1], epsilon=1e-05)", x[1]


def softmax(f):
    x = f.floats(lambda ty: ty.ndim > 0)
    return x and (f"R.nn.{f.rng.choice(['softmax', 'log_softmax'])}({x[0]}, axis={f.rng.choice([-1, 0])})", x[1])


def dropout(f):
    x = f.floats()
    return x and (f"R.nn.dropout({x[0]}, rate=0.5)", Ty("tuple", parts=[x[1], x[1]]))


def attention(f):
    x = f.floats(lambda ty: ty.ndim == 4 and ty.dtype != "float64")
    return x and (f"R.nn.attention({x[0]}, {x[0]}, {x[0]})", x[1])


def loss(f):
    x = f.floats(lambda ty: ty.ndim == 2)
    y = x and f.floats(lambda ty: ty.dims == x[1].dims and ty.dtype == x[1].dtype)
    return y and (f"R.nn.cross_entropy_with_logits({x[0]}, {y[0]})", tensor((), x[1].dtype))


def pad(f):
    x = f.floats(lambda ty: ty.ndim == 2 and all(isinstance(d, int) for d in ty.dims))
    return x and (f"R.nn.pad({x[0]}, pad_width=[0, 0, 1, 1])", tensor([x[1].dims[0], x[1].dims[1] + 2], x[1].dtype))


GROUPS = {
    "unary": unary, "binary": binary, "scalar": scalar, "compare": compare, "where": where, "astype": astype, "reduce": reduce,
    "index": index, "transpose": transpose, "matmul": matmul, "linear_op": linear, "reshape": reshape, "scalar_reshape": scalar_reshape,
    "flatten": flatten, "expand": expand, "squeeze": squeeze, "concat": concat, "split": split, "slice": slice_, "broadcast": broadcast,
    "tile": tile, "flip": flip, "sort": sort, "topk": topk, "scan": scan, "cumulate": scan, "take": take, "gather": gather, "one_hot": one_hot,
    "create": create, "like": like, "arange": arange, "triangle": triangle, "constant": constant, "folded": folded,
    "make_tuple": make_tuple, "item": item, "copy": copy, "shape_of": shape_of, "cast_shape": match_cast, "tensor_shape": tensor_shape,
    "prim": prim, "shape_expr": shape_expr, "match_cast": match_cast, "call": call, "packed": packed, "dps": dps, "impure": impure,
    "kernel": kernel, "conv": conv, "bias": bias, "batch_norm": batch_norm, "pool": pool, "pool1d": pool1d, "norm": norm,
    "softmax": softmax, "dropout": dropout, "attention": attention, "loss": loss, "pad": pad,
}
