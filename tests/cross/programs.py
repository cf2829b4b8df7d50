"""Random modules of Relax as text, for cross.py.

A module has a theme, which says what its functions mostly consist of; every theme has a share of everything else. Types are
followed as far as they are needed to choose operands that fit, so that most modules are well formed; annotations are left out,
written, or written weaker than what follows from the value.
"""

DTYPES = ["float32"] * 12 + ["float16", "float64", "int32", "int64", "int64", "bool", "uint8", "int8"]
DIMS = [1, 2, 2, 3, 4, 4, 8, 16]
SYMBOLS = ["n", "m"]
NAMES = ["x", "y", "z", "a", "b", "c", "w", "lv", "lv1", "gv", "out", "t", "x_1", "lv_2", "n_", "weight", "matmul"]
FLOAT = ("float16", "float32", "float64")
KERNEL = """    @T.prim_func(private=True, s_tir=True)
    def {name}({params}):
        for i in range({extent}):
            with T.sblock("{name}"):
                v = T.axis.spatial({extent}, i)
                T.reads({reads})
                T.writes(O[v])
                O[v] = {value}
"""
THEMES = [
    "general", "general", "elementwise", "matmul", "linear", "conv", "shape", "reshape", "sort", "tuple", "prim", "calls", "packed", "params",
    "constant", "kernels", "branch", "create", "nn", "take",
]


class Ty:
    """The type of a value: `tensor` with dims (None when only their number is known), `shape`, `prim`, `tuple`, `any`."""

    def __init__(self, kind, dims=None, dtype=None, ndim=None, parts=()):
        self.kind, self.dims, self.dtype, self.parts = kind, dims, dtype, list(parts)
        self.ndim = len(dims) if dims is not None else ndim

    def text(self, quoted=False):
        def dim(d):
            return f'"{d}"' if quoted and isinstance(d, str) else str(d)

        if self.kind == "tensor":
            dtype = f', "{self.dtype}"' if self.dtype else ""
            if self.dims is not None:
                inside = ", ".join(map(dim, self.dims)) + ("," if len(self.dims) == 1 else "")
                return f"R.Tensor(({inside}){dtype})"
            parts = [f'dtype="{self.dtype}"'] * bool(self.dtype) + [f"ndim={self.ndim}"] * (self.ndim is not None)
            return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"
        if self.kind == "shape":
            return f"R.Shape([{', '.join(map(dim, self.dims))}])" if self.dims is not None else f"R.Shape(ndim={self.ndim})"
        if self.kind == "prim":
            return f"T.{self.dtype}"
        if self.kind == "tuple":
            return f"R.Tuple({', '.join(part.text(quoted) for part in self.parts)})"
        return "R.Any"

    def symbols(self):
        dims = [d for d in self.dims or () if isinstance(d, str)]
        found = {s for s in SYMBOLS + ["p", "q"] for d in dims if s in d.replace("*", " ").replace("+", " ").split()}
        return found.union(*[part.symbols() for part in self.parts])


def tensor(dims, dtype):
    return Ty("tensor", tuple(dims), dtype)


class Program:
    def __init__(self, rng, theme=None):
        self.rng = rng
        self.theme = theme or rng.choice(THEMES)
        self.helpers = []  # (name, parameter types, result type or None, pure)
        self.kernels = []  # (name, extents, dtype, inputs)
        self.texts = []

    def text(self):
        rng = self.rng
        if self.theme == "kernels" or rng.random() < 0.12:
            for _ in range(rng.randint(1, 3)):
                self.texts.append(self.kernel())
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2]) if self.theme != "calls" else rng.randint(1, 3)):
            self.function(f"f{len(self.helpers)}", private=rng.random() < 0.8)
        if rng.random() < 0.05:
            self.function("other", private=False)
        self.function("main", private=False)
        rng.shuffle(self.texts)
        return "@I.ir_module\nclass Module:\n" + "\n".join(self.texts)

    def kernel(self):
        rng = self.rng
        name = rng.choice(["add", "relu", "k", "scale"]) + str(len(self.kernels))
        extent, dtype, count = rng.choice([2, 4, 8]), rng.choice(["float32", "float32", "float16"]), rng.randint(1, 2)
        names = ["A", "B"][:count]
        params = ", ".join(f'{p}: T.Buffer((T.int64({extent}),), "{dtype}")' for p in names + ["O"])
        value = rng.choice(["A[v] + A[v]", f'A[v] + T.{dtype}(1.0)', f'T.max(A[v], T.{dtype}(0.0))', "T.exp(A[v])"])
        value = rng.choice(["A[v] + B[v]", "A[v] * B[v]"]) if count == 2 else value
        self.kernels.append((name, extent, dtype, count))
        reads = ", ".join(f"{p}[v]" for p in names)
        return KERNEL.format(name=name, params=params, extent=f"T.int64({extent})", reads=reads, value=value)

    def function(self, name, private):
        made = Function(self, name, private)
        self.texts.append(made.text)
        self.helpers.append((name, made.types, made.result, made.pure))


class Function:
    def __init__(self, program, name, private):
        self.program, self.rng, self.theme = program, program.rng, program.theme
        rng = self.rng
        self.lines, self.indent, self.used = [], 2, set()
        self.env, self.pure, self.dataflow = [], True, False
        self.symbols, self.declared, self.aliases = set(), set(), 0
        self.types, params = [], []
        self.dtype = rng.choice(["float32"] * 8 + ["float16", "float64", "int32"])
        self.base = self.base_dims()
        for _ in range(rng.choice([1, 2, 2, 3, 3, 4])):
            ty = self.param_type()
            param = self.fresh(rng.choice(NAMES))
            self.types.append(ty)
            params.append(f"{param}: {ty.text(quoted=True)}")
            self.env.append((param, ty))
            self.declared |= ty.symbols()
        attrs = []
        if private is False and name == "main" and (self.theme == "params" or rng.random() < 0.1):
            attrs.append(f'"num_input": {rng.randint(0, len(params))}')
        for _ in range(rng.choice([1, 1, 2, 3])):
            self.segment()
        result, self.result = self.returned()
        body, head = self.lines, []
        for symbol in sorted(self.declared | self.symbols):
            head.append(f"        {symbol} = T.int64()")
        if attrs:
            head.insert(0, f"        R.func_attr({{{', '.join(attrs)}}})")
        options = [o for o in ("private=True" if private else "", "" if self.pure else "pure=False") if o]
        decorator = f"    @R.function({', '.join(options)})" if options else "    @R.function"
        annotation = ""
        given = set().union(*[ty.symbols() for ty in self.types])
        plain = self.result is None or self.result.kind != "tuple" or all(part.kind != "prim" for part in self.result.parts)
        if self.result is not None and plain and rng.random() < 0.5 and not (self.result.symbols() - given):
            annotation = " -> " + (self.result if rng.random() < 0.8 else self.weaker(self.result)).text(quoted=True)
        signature = f"    def {name}({', '.join(params)}){annotation}:"
        self.text = "\n".join([decorator, signature, *head, *body, f"        return {result}", ""])

    # Types.

    def base_dims(self):
        rng = self.rng
        count = {"conv": 4, "matmul": 2, "linear": 2}.get(self.theme) or rng.choice([1, 2, 2, 2, 3, 4])
        return [rng.choice(SYMBOLS) if rng.random() < 0.15 else rng.choice(DIMS) for _ in range(count)]

    def param_type(self):
        rng = self.rng
        roll = rng.random()
        if self.theme == "conv" and roll < 0.8:
            c = rng.choice([2, 4, 4])
            return tensor(rng.choice([(1, c, 8, 8), (2, 4, 6, 6), (4, c, 3, 3), (c,), (4, 4, 1, 1), (1, 4, 1, 1)]), "float32")
        if self.theme in ("matmul", "linear") and roll < 0.75:
            k = rng.choice([2, 4, 8])
            return tensor(rng.choice([(k, k), (4, 8), (8, 4), (8,), ("n", 8), (2, 4, 8), (2, 8, 4), (k,), ("n", "m")]), "float32")
        if self.theme == "kernels" and self.program.kernels and roll < 0.7:
            _, extent, dtype, _ = rng.choice(self.program.kernels)
            return tensor((extent,), dtype)
        if roll < 0.55:
            return tensor(self.base, self.dtype)
        if roll < 0.62:
            return tensor(self.base[1:], self.dtype)
        if roll < 0.66:
            return tensor((), rng.choice(["bool", self.dtype, "int64"]))
        if roll < 0.72 or (self.theme == "prim" and roll < 0.82):
            return rng.choice([Ty("shape", tuple(self.base)), Ty("shape", ("n", rng.choice(DIMS))), Ty("prim", dtype="int64"), Ty("shape", (4, 3))])
        if roll < 0.78:
            return Ty("tuple", parts=[tensor(self.base, self.dtype) for _ in range(rng.randint(1, 3))])
        if roll < 0.82:
            vague = [Ty("tensor", None, self.dtype, len(self.base)), Ty("tensor", None, self.dtype), Ty("tensor", tuple(self.base), None)]
            return rng.choice([*vague, Ty("any"), Ty("shape", None, ndim=2)])
        dims = [rng.choice(DIMS) for _ in range(rng.choice([1, 2, 2, 3]))]
        return tensor(dims, rng.choice(DTYPES))

    def weaker(self, ty):
        rng = self.rng
        if ty.kind == "tensor":
            choice = [Ty("tensor", None, ty.dtype, ty.ndim), Ty("tensor", None, ty.dtype, ty.ndim), Ty("tensor", None, ty.dtype), Ty("tensor", ty.dims, ty.dtype)]
            return rng.choice(choice + [Ty("any")] * (rng.random() < 0.1))
        if ty.kind == "shape":
            return rng.choice([Ty("shape", None, ndim=ty.ndim), ty])
        if ty.kind == "tuple":
            return Ty("tuple", parts=[self.weaker(part) if rng.random() < 0.5 else part for part in ty.parts])
        return ty

    # Names and lines.

    def fresh(self, hint):
        name, count = hint, 0
        while name in self.used:
            count += 1
            name = f"{hint}_{count}"
        self.used.add(name)
        return name

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def bind(self, value, ty, hint=None):
        rng = self.rng
        roll = rng.random()
        again = [name for name, _ in self.env if rng.random() < 0.02] if not self.dataflow else []
        if again:
            name = again[0]
            self.env = [(other, known) for other, known in self.env if other != name]
        else:
            name = self.fresh(hint or rng.choice(NAMES))
        # TVM does not read scalars in the type of a tuple.
        if ty is not None and ty.kind == "tuple" and any(part.kind == "prim" for part in ty.parts):
            roll = 1
        if ty is not None and roll < 0.12:
            ty = self.weaker(ty)
            self.line(f"{name}: {ty.text()} = {value}")
        elif ty is not None and roll < 0.4:
            self.line(f"{name}: {ty.text()} = {value}")
        else:
            self.line(f"{name} = {value}")
        if ty is not None:
            self.symbols |= ty.symbols()
        self.env.append((name, ty or Ty("unknown")))
        return name

    # The values that there are.

    def pick(self, test=lambda ty: True):
        found = [entry for entry in self.env if test(entry[1])]
        if not found:
            return None
        # Later ones are likelier, so that values are used.
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def shaped(self, test=lambda ty: True):
        return self.pick(lambda ty: ty.kind == "tensor" and ty.dims is not None and ty.dtype is not None and test(ty))

    def floats(self, test=lambda ty: True):
        return self.shaped(lambda ty: ty.dtype in FLOAT and test(ty))

    # Structure.

    def segment(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.55:
            self.dataflow = True
            outer = list(self.env)
            at = len(self.lines)
            self.line("with R.dataflow():")
            self.indent += 1
            for _ in range(rng.choice([1, 2, 3, 4, 5, 6])):
                self.statement()
            inner = [entry for entry in self.env if entry not in outer]
            outputs = [entry for entry in inner if rng.random() < 0.35] or inner[-1:]
            if not inner:
                del self.lines[at:]
                self.indent -= 1
            else:
                self.line(f"R.output({', '.join(name for name, _ in outputs)})")
                self.indent -= 1
            self.env = [entry for entry in self.env if entry in outputs or entry not in inner]
            self.dataflow = False
        elif roll < 0.67 or (self.theme == "branch" and roll < 0.85):
            self.branch()
        elif roll < 0.71:
            self.nested()
        else:
            for _ in range(rng.choice([1, 2, 3, 4])):
                self.statement()

    def branch(self):
        condition = self.pick(lambda ty: ty.kind == "tensor" and ty.dims == () and ty.dtype == "bool")
        if condition is None:
            value = self.shaped(lambda ty: ty.dims == ())
            test = f"R.greater({value[0]}, {value[0]})" if value else 'R.const(True, "bool")'
            if value and value[1].dtype == "bool":
                test = value[0]
            condition = (self.bind(test, tensor((), "bool"), "cond"), None)
        outer, result = list(self.env), self.fresh(self.rng.choice(NAMES))
        wanted = self.shaped()
        same = self.rng.random() < 0.85
        types = []
        for word in (f"if {condition[0]}:", "else:"):
            self.line(word)
            self.indent += 1
            self.env = list(outer)
            for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
                if self.rng.random() < 0.1 and self.indent < 5:
                    self.branch()
                else:
                    self.statement()
            end = wanted or self.pick()
            if end is None:
                end = ('R.const(1.0, "float32")', tensor((), "float32"))
            elif not same or self.rng.random() < 0.6:
                like = self.shaped(lambda ty: same and end[1].kind == "tensor" and ty.dims == end[1].dims and ty.dtype == end[1].dtype)
                end = like or (self.pick() if not same else end)
            value = end[0]
            if end[1].kind == "tensor" and end[1].dtype in FLOAT and self.rng.random() < 0.7:
                value = f"R.{self.rng.choice(['exp', 'nn.relu', 'negative'])}({value})"
            self.line(f"{result} = {value}")
            types.append(end[1])
            self.indent -= 1
        self.env = outer
        ty = types[0] if types[0].text() == types[1].text() else Ty("unknown")
        self.env.append((result, ty))

    def nested(self):
        given = self.floats()
        if given is None:
            return self.statement()
        name, param = self.fresh("inner"), self.fresh("p_")
        ty = given[1]
        self.line("@R.function")
        self.line(f"def {name}({param}: {ty.text()}) -> {ty.text()}:")
        free = self.floats(lambda other: other.dims == ty.dims and other.dtype == ty.dtype)
        self.line(f"    r_ = R.{self.rng.choice(['add', 'multiply'])}({param}, {free[0] if self.rng.random() < 0.5 else param})")
        self.line("    return r_")
        self.symbols |= ty.symbols()
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            other = self.floats(lambda other: other.dims == ty.dims and other.dtype == ty.dtype)
            self.bind(f"{name}({other[0]})", ty)

    def returned(self):
        rng = self.rng
        known = [entry for entry in self.env]
        if not known:
            return "R.tuple()", None
        if rng.random() < 0.3:
            chosen = [rng.choice(known) for _ in range(rng.randint(1, 3))]
            ty = None if any(ty.kind == "unknown" for _, ty in chosen) else Ty("tuple", parts=[ty for _, ty in chosen])
            return f"({', '.join(name for name, _ in chosen)},)", ty
        name, ty = self.pick()
        if rng.random() < 0.06 and ty.kind == "tensor" and ty.dtype in FLOAT:
            return f"R.exp({name})", ty if ty.dims is not None else None
        return name, None if ty.kind == "unknown" else ty

    def statement(self):
        from operators import emit

        rng = self.rng
        if self.lines and rng.random() < 0.06:
            # The value of an earlier line once more.
            earlier = [line.split(" = ", 1)[1] for line in self.lines if " = R." in line and "@" not in line]
            visible = {name for name, _ in self.env}
            import re

            for value in rng.sample(earlier, min(3, len(earlier))):
                names = set(re.findall(r"(?<![\w.\"])([A-Za-z_]\w*)(?![\w(.\"=])", value)) - {"R", "T", "True", "False", "None", "n", "m", "p", "q"}
                if names <= visible | {"cls", "Module"} and "match_cast" not in value and "call_packed" not in value:
                    self.bind(value, None)
                    return None
        for _ in range(5):
            made = emit(self)
            if made is not None:
                value, ty = made
                self.bind(value, ty)
                return None
        return None


def make(rng, theme=None):
    """A module as text."""
    return Program(rng, theme).text()
