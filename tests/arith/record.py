"""Records what TVM's Analyzer (tvm.sym, 0.27) says of random expressions, for tests/arith.rs.

    python record.py KIND COUNT SEED > cases.txt

Kinds: simplify, rewrite, canonical, bound, modular, mixed (all of these), vector, float, logic, unsigned; set (the values
of an index), iters and bijective (an index, `|`-separated ones as `(list a b)`, as sum of digits), deduce (bounds of i).
A line is `variables | conditions | question | expression | answer`, expressions in prefix notation. A variable is
`name:type` or `name:type[min,extent]`; p and q are truth values, a and b floats.
"""

import random
import sys

import tvm
from tvm import sym, tirx

BINARY = {
    "+": tirx.Add, "-": tirx.Sub, "*": tirx.Mul, "/": tirx.Div, "%": tirx.Mod, "//": tirx.FloorDiv, "%%": tirx.FloorMod,
    "min": tirx.Min, "max": tirx.Max, "==": tirx.EQ, "!=": tirx.NE, "<": tirx.LT, "<=": tirx.LE, ">": tirx.GT,
    ">=": tirx.GE, "and": tirx.And, "or": tirx.Or,
}
NAMES = {cls.__name__: name for name, cls in BINARY.items()}
BITS = {"bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
        "shift_left": lambda a, b: a << b, "shift_right": lambda a, b: a >> b}
BIT_NAMES = {"BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "LShift": "shift_left",
             "RShift": "shift_right", "BitwiseNot": "bitwise_not"}


def dtype_of(e):
    ty = e.ty
    return str(getattr(ty, "dtype", ty))


def show(e):
    kind = type(e).__name__
    if kind in NAMES:
        return f"({NAMES[kind]} {show(e.a)} {show(e.b)})"
    if kind in BIT_NAMES:
        args = [e.a, e.b] if hasattr(e, "b") else [e.a]
        return f"(call {dtype_of(e)} {BIT_NAMES[kind]} {' '.join(map(show, args))})"
    if kind == "IntImm":
        dtype = dtype_of(e)
        if dtype == "bool":
            return "true" if e.value else "false"
        return str(e.value) if dtype == "int32" else f"{e.value}:{dtype}"
    if kind == "FloatImm":
        return f"{e.value!r}:{dtype_of(e)}"
    if kind == "Var":
        return e.name
    if kind == "Not":
        return f"(! {show(e.a)})"
    if kind == "Select":
        return f"(select {show(e.condition)} {show(e.true_value)} {show(e.false_value)})"
    if kind == "Cast":
        return f"(cast {dtype_of(e)} {show(e.value)})"
    if kind == "Ramp":
        return f"(ramp {show(e.base)} {show(e.stride)} {e.lanes})"
    if kind == "Broadcast":
        return f"(bcast {show(e.value)} {e.lanes})"
    if kind == "Let":
        return f"(let {e.var.name} {show(e.value)} {show(e.body)})"
    if kind == "Call":
        name = e.op.name.split(".")[-1]
        return f"(call {dtype_of(e)} {name} {' '.join(map(show, e.args))})"
    raise ValueError(kind)


class Gen:
    """Random expressions over a few variables."""

    def __init__(self, rng, dtype="int32", kind="simplify"):
        self.rng = rng
        self.dtype = dtype
        self.kind = kind
        self.vars = []
        for name in ["i", "j", "k", "n", "m"][: rng.randint(2, 5)]:
            var = tirx.Var(name, dtype)
            style = rng.random()
            if style < 0.6 and name in "ijk":
                dom = (rng.choice([0, 0, 0, 0, 1, -3, 5]), rng.choice([1, 2, 3, 4, 7, 8, 16, 32, 64, 100, 128]))
            elif style < 0.8:
                dom = (0, rng.choice([8, 16, 1000, 2**20])) if rng.random() < 0.7 else (1, 2**31 - 2)
            else:
                dom = None
            self.vars.append((var, dom))
        self.cond_vars = [tirx.Var("p", "bool"), tirx.Var("q", "bool")]

    def const(self, small=False):
        r = self.rng
        v = r.choice([0, 1, 1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16, 32, 64, 100, 128, -1, -1, -2, -3, -4, -8]) if not small else r.choice(
            [1, 2, 2, 3, 4, 4, 5, 8, 8, 16, 32, 64])
        if self.dtype.startswith("u"):
            v = abs(v)
        return tirx.IntImm(self.dtype, v)

    def var(self):
        return self.rng.choice(self.vars)[0]

    def index(self, depth):
        """Like the indices of split, fused and padded loops."""
        r = self.rng
        terms = None
        for _ in range(r.randint(1, 3)):
            t = self.int(depth - 1) if depth > 0 and r.random() < 0.5 else self.var()
            if r.random() < 0.8:
                t = tirx.Mul(t, self.const(True))
            terms = t if terms is None else tirx.Add(terms, t)
        if r.random() < 0.4:
            terms = (tirx.Add if r.random() < 0.6 else tirx.Sub)(terms, self.const())
        if r.random() < 0.6:
            terms = (tirx.FloorDiv if r.random() < 0.5 else tirx.FloorMod)(terms, self.const(True))
        return terms

    def int(self, depth):
        r = self.rng
        x = r.random()
        if depth <= 0 or x < 0.12:
            return self.const() if r.random() < 0.35 else self.var()
        if x < 0.3:
            return self.index(depth - 1)
        if x < 0.62:
            op = r.choice("+ + + - - * *".split())
            a, b = self.int(depth - 1), self.int(depth - 1)
            if op == "*" and r.random() < 0.75:
                b = self.const()
                if r.random() < 0.2:
                    a, b = b, a
            return BINARY[op](a, b)
        if x < 0.8:
            op = r.choice("// // %% %% / %".split())
            b = self.const(True) if r.random() < 0.85 else self.int(depth - 2)
            return BINARY[op](self.int(depth - 1), b)
        if x < 0.92:
            return BINARY[r.choice(["min", "max"])](self.int(depth - 1), self.int(depth - 1))
        if x < 0.96:
            return tirx.Select(self.bool(depth - 1), self.int(depth - 1), self.int(depth - 1))
        if x < 0.98:
            return tirx.if_then_else(self.bool(depth - 1), self.int(depth - 1), self.int(depth - 1))
        if self.kind in ("mixed", "bits") and self.dtype.startswith("int"):
            if r.random() < 0.4:
                other = "int64" if self.dtype == "int32" else "int32"
                return tirx.Cast(self.dtype, tirx.Cast(other, self.int(depth - 1)))
            return BITS[r.choice(list(BITS))](self.int(depth - 1), self.const(True) if r.random() < 0.8 else self.int(depth - 1))
        return self.var()

    def bool(self, depth):
        r = self.rng
        x = r.random()
        if depth <= 0 or x < 0.1:
            if r.random() < 0.2:
                return r.choice(self.cond_vars)
            return BINARY[r.choice("== != < <= > >=".split())](self.var(), self.const() if r.random() < 0.6 else self.var())
        if x < 0.6:
            op = r.choice("== != < < <= <= > >=".split())
            b = self.const() if r.random() < 0.5 else self.int(depth - 1)
            a = self.int(depth - 1)
            return BINARY[op](a, b) if r.random() < 0.85 else BINARY[op](b, a)
        if x < 0.72:
            return tirx.Not(self.bool(depth - 1))
        return BINARY[r.choice(["and", "or"])](self.bool(depth - 1), self.bool(depth - 1))

    def vector(self, depth, lanes):
        r = self.rng
        x = r.random()
        if depth <= 0 or x < 0.4:
            if r.random() < 0.6:
                return tirx.Ramp(self.int(1), self.const(True) if r.random() < 0.8 else self.var(), lanes)
            return tirx.Broadcast(self.int(1) if r.random() < 0.5 else self.const(True), lanes)
        if x < 0.8:
            return BINARY[r.choice("+ - * // %% / % min max".split())](self.vector(depth - 1, lanes), self.vector(depth - 1, lanes)
                if r.random() < 0.5 else tirx.Broadcast(self.const(True), lanes))
        cond = BINARY[r.choice("< <= == !=".split())](self.vector(depth - 2, lanes), self.vector(depth - 2, lanes))
        return tirx.Select(cond, self.vector(depth - 1, lanes), self.vector(depth - 1, lanes))

    def float(self, depth):
        r = self.rng
        x = r.random()
        if depth <= 0 or x < 0.2:
            if r.random() < 0.4:
                return tirx.FloatImm("float32", r.choice([0.0, 1.0, 0.5, 2.0, -1.0, 3.25]))
            return tirx.Cast("float32", self.var()) if r.random() < 0.5 else self.floats[r.randint(0, 1)]
        if x < 0.9:
            return BINARY[r.choice("+ - * / min max".split())](self.float(depth - 1), self.float(depth - 1))
        return tirx.Select(self.bool(depth - 1), self.float(depth - 1), self.float(depth - 1))


def answer(an, question, e):
    if question == "bound":
        b = an.const_int_bound(e)
        return f"{b.min_value} {b.max_value}"
    if question == "modular":
        s = an.modular_set(e)
        return f"{s.coeff} {s.base}"
    if question == "prove":
        return "1" if an.can_prove(e) else "0"
    f = {"simplify": an.simplify, "rewrite": an.rewrite_simplify, "canonical": an.canonical_simplify}[question]
    return show(f(e))


def sets(rng, kind):
    """A line about sets and iterator maps."""
    names = ["i", "j", "k"][: rng.randint(1, 3)]
    loops = [(tirx.Var(name, "int32"), rng.choice([2, 3, 4, 8, 12, 16, 64])) for name in names]
    n = tirx.Var("n", "int32")
    spec = " ".join(f"{v.name}:int32[0,{e}]" for v, e in loops) + " n:int32"

    def const():
        return tirx.IntImm("int32", rng.choice([1, 2, 2, 3, 4, 4, 8, 16]))

    def index(depth):
        order = loops[:]
        if rng.random() < 0.3:
            rng.shuffle(order)
        e, stride = None, 1
        for v, extent in reversed(order):
            t = v if stride == 1 and rng.random() < 0.9 else tirx.Mul(v, tirx.IntImm("int32", stride))
            e = t if e is None else tirx.Add(t, e)
            stride *= extent if rng.random() < 0.85 else rng.choice([2, 3])
            if rng.random() < 0.25:
                break
        if rng.random() < 0.25:
            e = (tirx.Add if rng.random() < 0.7 else tirx.Sub)(e, const())
        for _ in range(depth):
            if rng.random() < 0.6:
                e = (tirx.FloorDiv if rng.random() < 0.5 else tirx.FloorMod)(e, const())
        if kind != "set" and rng.random() < 0.1 or kind == "set" and rng.random() < 0.3:
            e = (tirx.Add if rng.random() < 0.5 else tirx.Min)(e, n)
        return e

    ranges = {v: tvm.ir.Range.from_min_extent(tirx.IntImm("int32", 0), tirx.IntImm("int32", e)) for v, e in loops}
    if kind == "set":
        e = index(2) if rng.random() < 0.8 else tirx.Mul(index(1), rng.choice([const(), n]))
        found = sym.Analyzer().int_set(e, {v: sym.IntervalSet(0, x - 1) for v, x in loops})
        end = lambda x: x.name if isinstance(x, tirx.Var) and x.name.endswith("inf") else show(sym.Analyzer().simplify(x))
        return f"{spec} |  | set | {show(e)} | {end(found.min_value)} {end(found.max_value)}"
    if kind == "deduce":
        i = loops[0][0]
        inner = rng.choice([lambda: tirx.Add(tirx.Mul(i, const()), tirx.Add(*[v for v, _ in (loops * 2)[1:3]]) if len(loops) == 3 else n),
                            lambda: tirx.FloorDiv(tirx.Add(i, const()), const()), lambda: tirx.Sub(n, tirx.Mul(i, const()))])()
        cond = BINARY[rng.choice("< <= > >= ==".split())](inner, rng.choice([const(), tirx.IntImm("int32", 50), tirx.Add(n, const())]))
        relax = {v: sym.IntervalSet(0, x - 1) for v, x in loops[1:]}
        found = sym.deduce_bound(i, cond, {i: sym.IntervalSet(0, loops[0][1] - 1)}, relax)
        end = lambda x: x.name if isinstance(x, tirx.Var) and x.name.endswith("inf") else show(x)
        return f"{spec} |  | deduce | {show(cond)} | {end(found.min_value)} {end(found.max_value)}"
    many = [index(2) for _ in range(rng.choice([1, 1, 2, 3]))]
    pred, conds = tirx.IntImm("bool", 1), ""
    if rng.random() < 0.25:
        pred = tirx.LT(index(0), tirx.IntImm("int32", rng.choice([5, 10, 30, 100])))
        conds = show(pred)
    level = "bijective" if kind == "bijective" else "surjective"
    got = sym.detect_iter_map(many, ranges, pred, level)
    text = "none"
    if len(got.indices):
        text = " ".join(show(sym.normalize_iter_map_to_expr(x)) for x in got.indices)
    return f"{spec} | {conds} | {kind} | {' '.join(map(show, many))} | {text}"


def main():
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    done = 0
    case = 0
    while done < count:
        case += 1
        rng = random.Random(seed * 1000003 + case)
        if kind in ("set", "iters", "bijective", "deduce"):
            print(sets(rng, kind))
            done += 1
            continue
        dtype = "int64" if rng.random() < 0.2 else "int32"
        if kind == "unsigned":
            dtype = rng.choice(["uint32", "uint64", "uint8", "int8", "int16"])
        g = Gen(rng, dtype, kind)
        g.floats = [tirx.Var("a", "float32"), tirx.Var("b", "float32")]
        depth = rng.choice([2, 2, 3, 3, 3, 4])
        try:
            if kind == "vector":
                e = g.vector(depth, rng.choice([2, 4, 8]))
            elif kind == "float":
                e = g.float(depth)
            elif kind == "logic":
                e = g.bool(depth)
            else:
                e = g.bool(depth) if rng.random() < 0.35 else g.int(depth)
            # TVM does not recover from an error inside of a condition.
            conds = [] if kind == "unsigned" else [g.bool(1) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
            question = kind
            if kind in ("mixed", "bits", "vector", "float", "logic", "unsigned"):
                question = rng.choice(["simplify", "simplify", "rewrite", "canonical", "bound", "modular"])
            if dtype_of(e) == "bool" and question in ("bound", "modular"):
                question = "prove"
            an = sym.Analyzer()
            spec = []
            for var, dom in g.vars:
                if dom is None:
                    spec.append(f"{var.name}:{dtype}")
                else:
                    lo, ext = dom if not dtype.startswith("u") else (abs(dom[0]), dom[1])
                    an.bind(var, tvm.ir.Range.from_min_extent(tirx.IntImm(dtype, lo), tirx.IntImm(dtype, ext)))
                    spec.append(f"{var.name}:{dtype}[{lo},{ext}]")
            text = show(e)
            if len(text) > 600:
                continue
            scopes = [an.constraint_scope(c) for c in conds]
            entered = []
            try:
                for s in scopes:
                    s.__enter__()
                    entered.append(s)
                result = answer(an, question, e)
            finally:
                for s in reversed(entered):
                    s.__exit__(None, None, None)
        except Exception as err:  # what TVM refuses
            if "-v" in sys.argv:
                print(str(err)[-300:], file=sys.stderr)
            continue
        print(" | ".join([" ".join(spec), " ".join(map(show, conds)), question, text, result]))
        done += 1


main()
