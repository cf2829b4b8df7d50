"""Matching of patterns against expressions (TVM's `DFPatternMatcher`)."""

from ...ir.base import structural_equal
from ...ir.op import Op
from ...ir.type import Type
from ..expr import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from ..ty import TensorType
from ._graph import Graph


class Matcher:
    """Matches patterns against parts of one expression."""

    def __init__(self, root, graph=None):
        self._root = root
        self._graph = graph
        self.found = {}
        self._trail = []
        self._remembers = True

    @property
    def graph(self):
        """The graph of the uses of each expression."""
        if self._graph is None:
            self._graph = Graph(self._root)
        return self._graph

    def match(self, pattern, expr):
        """The expressions that each pattern stands for, as lists; None where the expression does not look like the pattern."""
        self.found, self._trail = {}, []
        return self.found if self.visit(pattern, expr) else None

    def visit(self, pattern, expr):
        """True if an expression looks like a pattern; the same pattern stands for the same expression everywhere."""
        if self._remembers and pattern in self.found:
            return self.found[pattern][0] is expr
        mark = len(self._trail)
        if self._kind(pattern, expr):
            self.found.setdefault(pattern, []).append(expr)
            self._trail.append(pattern)
            return True
        self._forget(mark)
        return False

    def _forget(self, mark):
        while len(self._trail) > mark:
            self.found.pop(self._trail.pop(), None)

    def _all(self, patterns, exprs):
        return len(patterns) == len(exprs) and all(self.visit(a, b) for a, b in zip(patterns, exprs))

    def _kind(self, p, e):
        return getattr(self, f"_{type(p).__name__}")(p, e)

    def _WildcardPattern(self, p, e):
        target = getattr(p, "pattern", None)
        return target is None or self.visit(target, e)

    def _ExprPattern(self, p, e):
        if isinstance(p.expr, Op) or isinstance(e, Op):
            return isinstance(p.expr, Op) and isinstance(e, Op) and p.expr == e
        return p.expr is e or structural_equal(p.expr, e)

    def _VarPattern(self, p, e):
        return isinstance(e, Var) and (not p.name or p.name == e.name_hint)

    def _ConstantPattern(self, p, e):
        return isinstance(e, Constant)

    def _AltPattern(self, p, e):
        return self.visit(p.left, e) or self.visit(p.right, e)

    def _TuplePattern(self, p, e):
        return isinstance(e, Tuple) and (p.fields is None or self._all(p.fields, e.fields))

    def _TupleGetItemPattern(self, p, e):
        return isinstance(e, TupleGetItem) and p.index in (-1, e.index) and self.visit(p.tuple, e.tuple_value)

    def _IfPattern(self, p, e):
        return isinstance(e, If) and self._all(p.parts(), [e.cond, e.true_branch, e.false_branch])

    def _LetPattern(self, p, e):
        return isinstance(e, Let) and self._all(p.parts(), [e.var, e.value, e.body])

    def _FunctionPattern(self, p, e):
        if not isinstance(e, Function):
            return False
        return (p.params is None or self._all(p.params, e.params)) and self.visit(p.body, e.body)

    def _AttrPattern(self, p, e):
        if not self.visit(p.pattern, e):
            return False
        if isinstance(e, Op):
            return all(_equal(e.get_attr(name), value) for name, value in p.attrs.items())
        attrs = getattr(e, "attrs", None)
        if attrs is None:
            return False
        return all(name in attrs and _equal(attrs[name], value) for name, value in p.attrs.items())

    def _type(self, e):
        ty = e.ty
        if isinstance(ty, Type) and not ty.is_missing():
            return ty
        from ..build_module import infer

        return infer(e).checked_type

    def _TypePattern(self, p, e):
        return self.visit(p.pattern, e) and structural_equal(p.type, self._type(e))

    def _DataTypePattern(self, p, e):
        ty = self._type(e)
        return isinstance(ty, TensorType) and str(ty.dtype) == str(p.dtype) and self.visit(p.pattern, e)

    def _ShapePattern(self, p, e):
        ty = self._type(e)
        if not isinstance(ty, TensorType) or len(ty.shape) != len(p.shape):
            return False
        return all(_equal(a, b) for a, b in zip(ty.shape, p.shape)) and self.visit(p.pattern, e)

    def _CallPattern(self, p, e):
        if not isinstance(e, Call):
            return False
        mark = len(self._trail)
        if self._call(p, e):
            return True
        self._forget(mark)
        return self._regrouped(p, e)

    def _call(self, p, e):
        if not self.visit(p.op, e.op):
            return False
        if p.args is None:
            return True
        if len(p.args) != len(e.args):
            return False
        mark = len(self._trail)
        if self._all(p.args, e.args):
            return True
        self._forget(mark)
        if not (isinstance(e.op, Op) and e.op.name in ("add", "multiply") and len(p.args) == 2):
            return False
        return self.visit(p.op, e.op) and self._all(p.args, [e.args[1], e.args[0]])

    def _regrouped(self, p, e):
        """Products and quotients may be grouped otherwise: `(a * b) / c` is `a * (b / c)`."""
        from . import CallPattern, ExprPattern

        def op_of(pattern):
            callee = pattern.op
            return callee.expr.name if isinstance(callee, ExprPattern) and isinstance(callee.expr, Op) else ""

        if not isinstance(e.op, Op) or not p.args:
            return False
        for at, arg in enumerate(p.args):
            if not isinstance(arg, CallPattern) or not arg.args:
                continue
            outer, inner = op_of(p), op_of(arg)
            if (outer, inner) == ("divide", "multiply") and e.op.name == "multiply" and at == 0:
                for side in (0, 1):
                    below = e.args[side]
                    if isinstance(below, Call) and isinstance(below.op, Op) and below.op.name == "divide":
                        for left, right in ((0, 1), (1, 0)):
                            mark = len(self._trail)
                            pairs = [(arg.args[left], e.args[1 - side]), (arg.args[right], below.args[0]), (p.args[1], below.args[1])]
                            if all(self.visit(*pair) for pair in pairs):
                                return True
                            self._forget(mark)
            if (outer, inner) == ("multiply", "divide") and e.op.name == "divide":
                below = e.args[0]
                if isinstance(below, Call) and isinstance(below.op, Op) and below.op.name == "multiply":
                    for side in (0, 1):
                        mark = len(self._trail)
                        pairs = [(arg.args[0], below.args[side]), (arg.args[1], e.args[1]), (p.args[1 - at], below.args[1 - side])]
                        if all(self.visit(*pair) for pair in pairs):
                            return True
                        self._forget(mark)
        return False

    def _DominatorPattern(self, p, e):
        if not self.visit(p.child, e):
            return False
        fits = self._path(p, e)
        self._remembers = True
        return fits and self._parent(p, e)

    def _path(self, p, e):
        """True if every way from an expression down leads to the parent, over what looks like the path."""
        first = self._steps(e)
        stack = [iter(first)]
        while stack:
            part = next(stack[-1], None)
            if part is None:
                stack.pop()
                continue
            self._remembers = True
            if self.visit(p.parent, part):
                continue
            self._remembers = False
            if not self.visit(p.path, part):
                return False
            below = self._steps(part)
            if not below:
                return False
            stack.append(iter(below))
        return bool(first)

    def _steps(self, e):
        """The expressions that one is computed from; of a call without its callee, constants and variables."""
        parts = [node.ref for node in self.graph.of(e).inputs]
        if not isinstance(e, Call):
            return parts
        return [part for part in parts if part is not e.op and not isinstance(part, (Constant, Var))]

    def _parent(self, p, e):
        """True if the parent is among what an expression dominates."""
        stack, seen = [self.graph.of(e)], set()
        while stack:
            for node in stack.pop().below:
                if node not in seen:
                    if self.visit(p.parent, node.ref):
                        return True
                    stack.append(node)
                    seen.add(node)
        return False


def _equal(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b))
    a, b = getattr(a, "value", a), getattr(b, "value", b)
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return bool(a == b)
