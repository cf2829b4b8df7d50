"""Matching of patterns against expressions (TVM's `DFPatternMatcher`)."""

from ...ir.base import structural_equal
from ...ir.op import Op
from ...ir.type import Type
from .. import _walk
from ..expr import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from ..ty import TensorType


class Graph:
    """Who uses whom in an expression."""

    def __init__(self, root):
        self.root = root
        self.order = _walk.post_order(root)
        self.index = {id(node): at for at, node in enumerate(self.order)}
        self.users = {id(node): [] for node in self.order}
        for node in self.order:
            for part in _walk.children(node):
                self.users[id(part)].append(node)

    def dominators(self):
        """For each node the next one that everything computed from it goes through, by number."""
        if not hasattr(self, "_dominators"):
            above = {}
            for node in reversed(self.order):
                found = None
                for user in self.users[id(node)]:
                    found = user if found is None else self._common(found, user, above)
                above[id(node)] = found
            self._dominators = above
        return self._dominators

    def _common(self, a, b, above):
        while a is not None and b is not None and a is not b:
            if self.index[id(a)] < self.index[id(b)]:
                a = above[id(a)]
            else:
                b = above[id(b)]
        return a if a is b else None


class Matcher:
    """Matches patterns against parts of one expression."""

    def __init__(self, root, graph=None):
        self._root = root
        self._graph = graph
        self.found = {}
        self._trail = []

    @property
    def graph(self):
        """Who uses whom."""
        if self._graph is None:
            self._graph = Graph(self._root)
        return self._graph

    def match(self, pattern, expr):
        """What each pattern stands for, a list each; None where the expression does not look like the pattern."""
        self.found, self._trail = {}, []
        return self.found if self.visit(pattern, expr) else None

    def visit(self, pattern, expr):
        """True if an expression looks like a pattern; the same pattern stands for the same expression everywhere."""
        known = self.found.get(pattern)
        if known is not None:
            return known[0] is expr
        mark = len(self._trail)
        if self._kind(pattern, expr):
            self.found[pattern] = [expr]
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

    # ---- calls: sums and products in any order ----

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

    # ---- dominators ----

    def _DominatorPattern(self, p, e):
        return self.visit(p.child, e) and self._path(p, e) and self._parent(p, e)

    def _child_parts(self, p, e):
        """The parts of a child that paths lead to: those that no part of its pattern stands for but as anything."""
        return [part for part in _walk.children(e) if not isinstance(part, Op)]

    def _path(self, p, e):
        """True if every node between child and parent looks like the path."""
        stack, seen = [e], {id(e)}
        reached = False
        while stack:
            node = stack.pop()
            for part in self._child_parts(p, node):
                if id(part) in seen or self._is_input(p, node, part):
                    continue
                mark = len(self._trail)
                kept = dict(self.found)
                if self.visit(p.parent, part):
                    reached = True
                    self.found = kept
                    del self._trail[mark:]
                    continue
                self.found = kept
                del self._trail[mark:]
                if not self._alone(p.path, part):
                    if node is e and reached:
                        return False
                    return False
                self.found.setdefault(p.path, [])
                if part not in self.found[p.path]:
                    self.found[p.path].append(part)
                seen.add(id(part))
                stack.append(part)
        return reached

    def _is_input(self, p, node, part):
        """Constants and variables are operands of the path, not steps of it."""
        return isinstance(part, (Constant, Var)) or not self._from_parent(p, part)

    def _from_parent(self, p, part):
        return any(self._alone(p.parent, node) for node in _walk.post_order(part))

    def _alone(self, pattern, expr):
        return Matcher(self._root, self._graph).match(pattern, expr) is not None

    def _parent(self, p, e):
        """True if something that the child is computed from looks like the parent, and all of it goes through the child."""
        above = self.graph.dominators()
        stack, seen = list(reversed(self._child_parts(p, e))), set()
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            mark, kept = len(self._trail), dict(self.found)
            if self.visit(p.parent, node):
                at = node
                while at is not None and at is not e:
                    at = above.get(id(at))
                if at is e:
                    return True
                return False
            self.found = kept
            del self._trail[mark:]
            stack.extend(reversed(self._child_parts(p, node)))
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
