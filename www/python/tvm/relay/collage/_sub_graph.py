"""Parts of an expression, and functions made of them (TVM's `collage/sub_graph.cc`). Sets of nodes are bits of a number."""

from ...ir.op import Op
from ...ir.type import MISSING
from .. import _walk
from ..adt import Constructor, Match
from ..dataflow_pattern._graph import Graph
from ..expr import Call, Constant, Function, GlobalVar, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from ..expr_functor import ExprMutator
from ..ty import TensorType, TupleType, type_has_any

ELEMWISE, BROADCAST, INJECTIVE, REDUCE, OUT_FUSABLE, OPAQUE = 0, 1, 2, 3, 4, 8
"""Kinds of operators, by how freely they are fused."""


def indexes(mask):
    """The numbers in a set, in their order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def order_key(mask, size):
    """A key by which sets are ordered: that of the smallest number comes first."""
    return "".join("0" if mask >> at & 1 else "1" for at in range(size))


def can_inline(expr):
    """True of what is written again where it is used, instead of being handed in."""
    if isinstance(expr, Constant):
        return len(expr.data.shape) == 0
    return isinstance(expr, (Op, Constructor, Function))


def joined(left, right, mark="+"):
    """Two labels as one."""
    return left + mark + right if left and right else left or right


def nested(left, right):
    """A label inside of another."""
    return right if left and len(right) > len(left) and right.startswith(left) else joined(left, right, ".")


_LABELS = ((Function, "fn"), (Let, "let"), (If, "if"), (RefCreate, "ref"), (RefRead, "ref_read"), (RefWrite, "ref_write"), (Match, "match"))


def kind_and_label(expr):
    """The kind of fusion that an expression allows, and a word for it."""
    match expr:
        case Call() if isinstance(expr.op, Op):
            kind = expr.op.get_attr("TOpPattern")
            moves = type_has_any(expr.checked_type) and bool(expr.op.get_attr("TShapeDataDependent"))
            return OPAQUE if kind is None or moves else int(kind), expr.op.name
        case Call() if isinstance(expr.op, Function):
            kind = expr.op.attrs.get("TOpPattern")
            return (OPAQUE, "call_fun") if kind is None else (int(kind), "call_prim")
        case Call():
            return OPAQUE, "call_any"
        case Constant():
            return ELEMWISE, "const" if len(expr.data.shape) else "scalar"
        case Tuple() | TupleGetItem():
            whole = expr if isinstance(expr, Tuple) else expr.tuple_value
            plain = all(isinstance(field, TensorType) for field in whole.checked_type.fields)
            return INJECTIVE if plain else OPAQUE, "tuple" if whole is expr else "proj"
        case Var():
            return OPAQUE, f"%{expr.name_hint}"
        case GlobalVar():
            return OPAQUE, f"@{expr.name_hint}"
        case Op():
            return OPAQUE, f"`{expr.name}"
        case Constructor():
            return OPAQUE, f"`{expr.name_hint}"
    return OPAQUE, next(label for cls, label in _LABELS if isinstance(expr, cls))


class Dataflow:
    """The nodes of an expression in post-order, and what flows where."""

    def __init__(self, expr):
        self.expr = expr
        graph = Graph(expr)
        self.refs = graph.order
        self.size = len(self.refs)
        self.index = graph.index
        nodes = [graph.of(ref) for ref in self.refs]
        self.inputs = [sum({1 << part.index for part in node.inputs}) for node in nodes]
        self.outputs = [sum({1 << part.index for part in node.outputs}) for node in nodes]
        self.inline = sum(1 << at for at, ref in enumerate(self.refs) if can_inline(ref))
        self.downstream = [0] * self.size
        for at in reversed(range(self.size)):
            for user in indexes(self.outputs[at]):
                self.downstream[at] |= 1 << user | self.downstream[user]
        self.blocks = {}
        self._find_blocks(expr)

    def _find_blocks(self, root):
        """Notes for each node the function, branch or arm that it is in."""
        stack = [(root, None)]
        while stack:
            node, block = stack.pop()
            if id(node) in self.blocks:
                continue
            self.blocks[id(node)] = block
            for part in _walk.children(node):
                apart = isinstance(node, Function) or isinstance(node, If) and part is not node.cond
                apart = apart or isinstance(node, Match) and part is not node.data
                stack.append((part, (id(node), None if isinstance(node, Function) else id(part)) if apart else block))

    def at(self, expr):
        """The number of an expression."""
        return self.index[id(expr)]


def kind_and_label_of(graph, inside):
    """The kind of fusion that a set of nodes allows, and a word for it."""
    found = [kind_and_label(graph.refs[at]) for at in indexes(inside)]
    return max([ELEMWISE, *(kind for kind, _ in found)]), "+".join(label for _, label in found if label)


class Nested:
    """A part that becomes a function with attributes."""

    def __init__(self, sub, attrs):
        self.sub, self.attrs = sub, attrs

    def renumbered(self, graph, numbers):
        """The same over another expression."""
        return Nested(self.sub.renumbered(graph, numbers), self.attrs)

    def joins(self, other):
        """True if two such functions may be one."""
        return "Composite" not in self.attrs and self.attrs == other.attrs

    def extract(self, graph):
        """The function."""
        return _Extract(graph, self.sub, self.attrs).run().extracted

    def rewrite(self, graph, expr):
        """The expression with a call of the function."""
        return _Rewrite(_Extract(graph, self.sub, self.attrs).run().replaced).visit(expr)


class SubGraph:
    """A part of an expression."""

    def __init__(self, graph, inside, kind=OPAQUE, label="", inner=()):
        self.graph, self.inside, self.kind, self.label = graph, inside, kind, label
        self.inner = sorted(inner, key=lambda one: one.sub.order)
        self.first = (inside & -inside).bit_length() - 1 if inside else graph.size
        self.last = inside.bit_length() - 1 if inside else graph.size
        self.order = (self.first, order_key(inside, graph.size))
        self.key = (inside, *(one.sub.key for one in self.inner))
        self.entry = self.exit = self.input = self.output = 0
        for at in range(graph.size):
            self._place(at)
        self.depth = self._depth()

    def _place(self, at):
        graph, inside, bit = self.graph, self.inside, 1 << at
        if inside & bit:
            if graph.inputs[at] & ~inside & ~graph.inline:
                self.entry |= bit
            if graph.outputs[at] & ~inside or at == graph.size - 1:
                self.exit |= bit
        else:
            if graph.inputs[at] & inside:
                self.output |= bit
            if graph.outputs[at] & inside and not graph.inline & bit:
                self.input |= bit

    def _depth(self):
        depths, stack, most = dict.fromkeys(indexes(self.entry), 0), list(indexes(self.entry)), 0
        while stack:
            at = stack.pop()
            next_depth = depths[at] + 1
            if self.exit >> at & 1:
                most = max(most, next_depth)
            for user in indexes(self.graph.outputs[at] & self.inside):
                if next_depth > depths.get(user, -1):
                    depths[user] = next_depth
                    stack.append(user)
        return most

    def is_valid(self, max_exits=0, allow_taps=False, max_depth=0):
        """True if it can become a function within these limits; 0 is none."""
        graph = self.graph
        if max_exits and self.exit.bit_count() > max_exits or max_depth and self.depth > max_depth:
            return False
        if len({graph.blocks[id(graph.refs[at])] for at in indexes(self.inside)}) > 1:
            return False
        if any(one.sub.inside & ~self.inside for one in self.inner):
            return False
        if not allow_taps and any(graph.outputs[at] & self.inside for at in indexes(self.exit)):
            return False
        return not any(graph.downstream[at] & self.entry for at in indexes(self.output))

    def _flows_into(self, other):
        outside = indexes(self.output & ~other.inside)
        return any(self.graph.downstream[at] & other.entry for at in outside)

    def touches(self, other):
        """True if the other part uses results of this one, and both can be one."""
        if self.inside & other.inside or not self.output & other.entry:
            return False
        return not (self._flows_into(other) or other._flows_into(self))

    def union(self, other):
        """Both parts as one."""
        inner = list(self.inner)
        for one in other.inner:
            at = next((at for at, known in enumerate(inner) if known.joins(one)), None)
            if at is None:
                inner.append(one)
            else:
                inner[at] = Nested(inner[at].sub.union(one.sub), one.attrs)
        kind = max(self.kind, other.kind)
        return SubGraph(self.graph, self.inside | other.inside, kind, joined(self.label, other.label), inner)

    def with_attrs(self, attrs):
        """The part as a function with attributes."""
        return SubGraph(self.graph, self.inside, self.kind, self.label, [Nested(self, attrs)])

    def renumbered(self, graph, numbers):
        """The same over another expression."""
        inside = sum({1 << numbers[at] for at in indexes(self.inside)})
        return SubGraph(graph, inside, self.kind, self.label, [one.renumbered(graph, numbers) for one in self.inner])

    def rewrite(self, expr):
        """The expression with calls of the functions that are inside."""
        return _Rewrite(_Extract(self.graph, self, None).run().replaced).visit(expr) if self.inner else expr


def rewrite_all(graph, subs):
    """The expression with all of these parts as calls; the last ones first, so that numbers stay."""
    result = graph.expr
    for sub in sorted(subs, key=lambda sub: -sub.last):
        result = sub.rewrite(result)
    return result


class _Typed(ExprMutator):
    """Rewrites expressions, which keep the types that they had."""

    def visit(self, expr):
        new = super().visit(expr)
        return new if new is expr else _typed(new, expr.ty)


def _typed(expr, ty):
    if expr.ty is MISSING:
        expr.ty = ty
    return expr


class _Rewrite(_Typed):
    """Puts other expressions in the place of some."""

    def __init__(self, replaced):
        super().__init__()
        self.replaced = replaced

    def visit(self, expr):
        known = self.replaced.get(id(expr))
        return super().visit(expr) if known is None else known


class _Extract(_Typed):
    """Makes a function, or without attributes an expression, of a part."""

    def __init__(self, graph, sub, attrs):
        super().__init__()
        self.graph, self.sub, self.attrs = graph, sub, attrs
        self.params, self.args, self.param_of = [], [], {}
        self.extracted, self.replaced, self.done = None, {}, {}

    def visit(self, expr):
        at = self.graph.index.get(id(expr))
        if at is not None and self.sub.inside >> at & 1:
            if id(expr) not in self.done:
                self.done[id(expr)] = super().visit(expr)
            return self.done[id(expr)]
        if can_inline(expr) or self.attrs is None:
            return expr
        if id(expr) not in self.param_of:
            self.param_of[id(expr)] = _typed(Var(f"FunctionVar_{len(self.params)}", expr.checked_type), expr.checked_type)
            self.params.append(self.param_of[id(expr)])
            self.args.append(expr)
        return self.param_of[id(expr)]

    def visit_function(self, fn):
        return fn if fn.attrs.get("Primitive") else super().visit_function(fn)

    def run(self):
        """Does it."""
        refs, outputs = [], []
        for at in reversed(list(indexes(self.sub.inside))):
            ref = self.graph.refs[at]
            if self.sub.exit >> at & 1 or id(ref) not in self.done:
                outputs.append(self.visit(ref))
                refs.append(ref)
        refs.reverse()
        outputs.reverse()
        types = [ref.checked_type for ref in refs]
        body_type = TupleType(types) if len(outputs) > 1 else types[0]
        body = _typed(Tuple(outputs), body_type) if len(outputs) > 1 else outputs[0]
        body = self._with_inner(body)
        self.extracted = body
        if self.attrs is not None:
            self.extracted = Function(self.params, body, body_type)
            for name, value in self.attrs.items():
                self.extracted = self.extracted.with_attr(name, value)
            body = _typed(Call(self.extracted, self.args), body_type)
        for at, ref in enumerate(refs):
            if len(refs) == 1:
                self.replaced[id(ref)] = body
            else:
                self.replaced[id(ref)] = body.fields[at] if self.attrs is None else _typed(TupleGetItem(body, at), types[at])
        return self

    def _with_inner(self, body):
        if not self.sub.inner:
            return body
        graph = Dataflow(body)
        numbers = {at: graph.at(self.done[id(self.graph.refs[at])]) for at in indexes(self.sub.inside)}
        made = [one.renumbered(graph, numbers) for one in self.sub.inner]
        for one in sorted(made, key=lambda one: -one.sub.last):
            body = one.rewrite(graph, body)
        return body
