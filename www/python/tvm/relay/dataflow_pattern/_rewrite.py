"""Replacing what patterns match, and making functions of it (TVM's `PatternGrouper`, `PatternRewriter`, `PatternPartitioner`)."""

from ..._values import Array, Map
from ...ir.base import structural_equal
from ...ir.op import Op
from .. import _walk
from ...error import InternalError
from ..adt import Match
from ..expr import Call, Constant, Function, If, Let, Tuple, TupleGetItem, TupleWrapper, Var
from ._graph import Graph
from ._match import Matcher


class Group:
    """A match: its root, what patterns stand for, its operands, its body as a function and the names of its operators."""

    def __init__(self, root, found, args, function, name):
        self.root = root
        self.found = found
        self.args = args
        self.function = function
        self.name = name


def _pattern_order(pattern):
    """All patterns that a pattern is made of, parts first."""
    seen, order, stack = set(), [], [(pattern, False)]
    while stack:
        at, done = stack.pop()
        if done:
            order.append(at)
            continue
        if at in seen:
            continue
        seen.add(at)
        stack.append((at, True))
        stack.extend((part, False) for part in reversed(_parts(at)))
    return order


class Grouper:
    """Finds matches that do not overlap, from the results of the expression on."""

    def __init__(self, pattern, root):
        self.order = _pattern_order(pattern)
        self.graph = Graph(root)
        self.matcher = Matcher(root, self.graph)
        self.groups = []
        self.grouped = set()
        self._number = 0
        apart = set()
        for node in reversed(self.graph.order):
            if id(node) in self.grouped:
                continue
            if isinstance(node, Function) and node.attrs is not None and "PartitionedFromPattern" in node.attrs:
                apart.add(id(node))
                apart.update(id(part) for part in _walk.post_order(node.body))
            if id(node) in apart:
                continue
            found = self.matcher.match(pattern, node)
            if found is not None:
                self._add(node, {key: list(value) for key, value in found.items()})

    def _inner(self, found):
        """The nodes from a parent to a child, and the bodies of functions: no operands of the match."""
        from . import DominatorPattern, FunctionPattern

        inner = set()
        for pattern in self.order:
            if isinstance(pattern, DominatorPattern):
                for part in (pattern.parent, pattern.path):
                    inner.update(id(node) for node in found.get(part, ()))
            elif isinstance(pattern, FunctionPattern):
                for function in found.get(pattern, ()):
                    inner.update(id(node) for node in Graph(function.body).order)
        return inner

    def _embeds(self, node, pattern):
        """True for a constant that a pattern asks for: it stays in the function."""
        from . import AltPattern, ConstantPattern, ExprPattern

        while isinstance(pattern, AltPattern):
            fits = Matcher(node).match(pattern.left, node) is not None
            pattern = pattern.left if fits else pattern.right
        return isinstance(pattern, ConstantPattern) or (isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Constant))

    def _operands(self, found):
        """The operands of a match in their order, with the parameters that stand for them."""
        from . import CallPattern, TuplePattern

        inner, operands = self._inner(found), {}

        def add(node, pattern):
            known = id(node) in inner or id(node) in operands or isinstance(node, (Op, Function))
            if not known and not (isinstance(node, Constant) and self._embeds(node, pattern)):
                operands[id(node)] = (node, Var(f"FunctionVar_{self._number}_{len(operands)}"))

        for pattern in self.order:
            matches = found.get(pattern, ())
            if isinstance(pattern, TuplePattern) and pattern.fields is None:
                nodes = [field for match in matches for field in match.fields]
            elif isinstance(pattern, CallPattern) and pattern.args is None:
                nodes = [arg for match in matches for arg in match.args]
            else:
                nodes = [] if _parts(pattern) else matches
            for node in nodes:
                add(node, pattern)
        return operands

    def _add(self, root, found):
        operands = self._operands(found)
        self._number += 1
        params = {key: param for key, (_, param) in operands.items()}
        body, inside, name = _extracted(root, params)
        held = {id(node) for node in inside}
        top = self.graph.of(root)
        for node in inside:
            if isinstance(node, (Op, Function, Constant)):
                continue
            if id(node) in self.grouped:
                return
            if node is not root and id(node) in self.graph.nodes:
                for user in self.graph.of(node).outputs:
                    # A value that is used elsewhere may only be so on the way to the root.
                    if id(user.ref) not in held and not top.dominates(user):
                        return
        self.grouped |= held
        args = [node for node, _ in operands.values()]
        self.groups.append(Group(root, found, args, Function([params[id(arg)] for arg in args], body), name))


def _parts(pattern):
    target = getattr(pattern, "pattern", None)
    return pattern.parts() or ([target] if target is not None else [])


def _extracted(root, params):
    """An expression over parameters, the nodes that it has besides these, and the names of its operators."""
    made, inside, name = {}, [], []
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if id(node) in made:
            continue
        if id(node) in params:
            made[id(node)] = params[id(node)]
        elif done:
            made[id(node)] = _walk.rebuild(node, [made[id(part)] for part in _walk.children(node)])
            inside.append(node)
            name.append(_name(node))
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(_walk.children(node)))
    return made[id(root)], inside, "".join(name)


def _name(node):
    """The name of an expression in that of a match."""
    match node:
        case Call():
            return f"{node.op.name}_" if isinstance(node.op, Op) else "Call_"
        case Function():
            return "Function"
        case TupleGetItem():
            return f"TupleGetItem{node.index}_"
        case Tuple() | Let() | If() | Match():
            return f"{type(node).__name__}_"
    return ""


def partition_groups(pattern, expr, attrs, check):
    """The expression in which matches are functions that are called."""
    from . import FunctionPattern

    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    if isinstance(pattern, FunctionPattern):
        return expr
    roots = {id(group.root): group for group in Grouper(pattern, expr).groups}
    made = {}

    def finish(node):
        group = roots.get(id(node))
        if group is None or (check is not None and not check(node)):
            return _walk.rebuild(node, [made[id(part)] for part in _walk.children(node)])
        function = group.function.with_attr({"PartitionedFromPattern": group.name, **dict(attrs)})
        return Call(function, [made[id(arg)] for arg in group.args])

    _in_order(expr, made, finish)
    return made[id(expr)]


def _in_order(root, made, finish):
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if id(node) in made:
            continue
        if done:
            made[id(node)] = finish(node)
            continue
        stack.append((node, True))
        stack.extend((part, False) for part in reversed(_walk.children(node)) if id(part) not in made)


def rewrite_with(callbacks, expr, mod):
    """The expression in which callbacks have replaced what their patterns match, until nothing changes."""
    from ..build_module import infer

    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    done, count = set(), 0
    while True:
        last = expr
        for callback in callbacks:
            if id(callback) in done:
                continue
            before = expr
            if callback.require_type:
                expr = infer(expr, mod)
            expr = _rewrite_once(callback, expr)
            count += 1
            if callback.rewrite_once and not _equal(before, expr):
                done.add(id(callback))
        if _equal(last, expr):
            return expr
        if count >= 100:
            raise InternalError("Observed 100 rewrite passes, possible conflicting passes?")


def _equal(a, b):
    return a is b or structural_equal(a, b, True)


def _rewrite_once(callback, expr):
    grouper = Grouper(callback.pattern, expr)
    if not grouper.groups:
        return expr
    roots = {id(group.root): group for group in grouper.groups}
    made = {}

    def finish(node):
        post = _walk.rebuild(node, [made[id(part)] for part in _walk.children(node)])
        group = roots.get(id(node))
        if group is None:
            return post
        made[id(node)] = post
        found = Map({key: Array(made.get(id(item), item) for item in items) for key, items in group.found.items()})
        result = callback.callback(node, post, found)
        if isinstance(result, TupleWrapper):
            result = result.astuple()
        return post if result is None else result

    _in_order(expr, made, finish)
    return made[id(expr)]
