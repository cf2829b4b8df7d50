"""Replacing what patterns match, and making functions of it (TVM's `PatternGrouper`, `PatternRewriter`, `PatternPartitioner`)."""

from ..._values import Array, Map
from ...ir.base import structural_equal
from ...ir.op import Op
from .. import _walk
from ..expr import Call, Constant, Function, TupleWrapper, Var
from ._match import Graph, Matcher


class Group:
    """A match: its root, what patterns stand for, its operands, and its body as a function."""

    def __init__(self, root, found, args, function, name, inside):
        self.root = root
        self.found = found
        self.args = args
        self.function = function
        self.name = name
        self.inside = inside


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
        target = getattr(at, "pattern", None)
        parts = at.parts() or ([target] if target is not None else [])
        stack.append((at, True))
        stack.extend((part, False) for part in reversed(parts))
    return order


def _embeds(pattern):
    from . import AltPattern, ConstantPattern, ExprPattern

    if isinstance(pattern, ConstantPattern):
        return True
    if isinstance(pattern, ExprPattern):
        return isinstance(pattern.expr, Constant)
    return isinstance(pattern, AltPattern) and (_embeds(pattern.left) or _embeds(pattern.right))


class Grouper:
    """Finds matches that do not overlap, from the results of the expression on."""

    def __init__(self, pattern, root, check=None):
        self.pattern = pattern
        self.order = _pattern_order(pattern)
        self.graph = Graph(root)
        self.groups = []
        self.group_of = {}
        self.check = check
        excluded = set()
        for node in self.graph.order:
            if isinstance(node, Function) and node.attrs is not None and (
                "Composite" in node.attrs or "PartitionedFromPattern" in node.attrs
            ):
                excluded.update(id(part) for part in _walk.post_order(node.body))
        matcher = Matcher(root, self.graph)
        for node in reversed(self.graph.order):
            if id(node) in self.group_of or id(node) in excluded:
                continue
            found = matcher.match(pattern, node)
            if found is not None:
                self._add(node, {key: list(value) for key, value in found.items()})

    def _fuzzy(self, found):
        """What stands on the way between a parent and a child, and the patterns of it."""
        from . import DominatorPattern

        matches, patterns = set(), set()
        for pattern in self.order:
            if isinstance(pattern, DominatorPattern):
                patterns.update(_pattern_order(pattern.parent))
                patterns.update(_pattern_order(pattern.path))
                for part in [*_pattern_order(pattern.parent)[-1:], *_pattern_order(pattern.path)]:
                    matches.update(id(node) for node in found.get(part, ()))
        return matches, patterns

    def _add(self, root, found):
        fuzzy, _ = self._fuzzy(found)
        inputs, args = {}, []

        def make(node):
            if id(node) not in inputs:
                inputs[id(node)] = Var(f"FunctionVar_{len(self.groups)}_{len(inputs)}", _annotation(node))
                args.append(node)

        for pattern in self.order:
            if pattern.parts() or getattr(pattern, "pattern", None) is not None:
                continue
            for node in found.get(pattern, ()):
                if id(node) in fuzzy or isinstance(node, (Op, Function)):
                    continue
                if isinstance(node, Constant) and _embeds(pattern):
                    continue
                make(node)
        if id(root) in inputs:
            return
        body, inside, names = self._extract(root, inputs, fuzzy, make)
        for node in inside:
            if isinstance(node, (Op, Function, Constant)) or id(node) in inputs:
                continue
            if id(node) in self.group_of:
                return
            if node is not root:
                held = {id(other) for other in inside}
                if any(id(user) not in held for user in self.graph.users.get(id(node), ())):
                    return
        number = len(self.groups)
        function = Function([inputs[id(arg)] for arg in args], body)
        group = Group(root, found, args, function, "".join(f"{name}_" for name in names), inside)
        if self.check is not None and not self.check(root):
            return
        self.groups.append(group)
        for node in inside:
            if not isinstance(node, (Op, Constant)) and id(node) not in inputs:
                self.group_of[id(node)] = number

    def _extract(self, root, inputs, fuzzy, make):
        """The body of a match over its parameters, the nodes in it, and the names of its operators."""
        made, inside, names = {}, [], []
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if id(node) in made:
                continue
            if id(node) in inputs:
                made[id(node)] = inputs[id(node)]
                continue
            if done:
                parts = [made[id(part)] for part in _walk.children(node)]
                made[id(node)] = _walk.rebuild(node, parts)
                inside.append(node)
                if isinstance(node, Op):
                    continue
                match node:
                    case Call() if isinstance(node.op, Op):
                        names.append(node.op.name)
                    case Call():
                        names.append("Function" if isinstance(node.op, Function) else "Call")
                    case Function():
                        names.append("Function")
                    case _ if type(node).__name__ in ("Tuple", "TupleGetItem"):
                        names.append(type(node).__name__ + (str(node.index) if hasattr(node, "index") else ""))
                continue
            # An operand of a node on the way that is not on the way itself is one of the function.
            if fuzzy and isinstance(node, (Constant, Var)):
                make(node)
                made[id(node)] = inputs[id(node)]
                continue
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(_walk.children(node)))
        return made[id(root)], inside, names


def _annotation(node):
    return node.ty if node.__dict__.get("_ty") is not None else None


def partition_groups(pattern, expr, attrs, check):
    """The expression in which matches are functions that are called."""
    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    grouper = Grouper(pattern, expr, check)
    if not grouper.groups:
        return expr
    roots = {id(group.root): group for group in grouper.groups}
    made = {}

    def finish(node):
        group = roots.get(id(node))
        if group is None:
            return _walk.rebuild(node, [made[id(part)] for part in _walk.children(node)])
        function = group.function.with_attr({"PartitionedFromPattern": group.name, **dict(attrs)})
        return Call(function, [made[id(arg)] for arg in group.args])

    _in_order(expr, lambda node: roots[id(node)].args if id(node) in roots else _walk.children(node), made, finish)
    return made[id(expr)]


def _in_order(root, parts, made, finish):
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if id(node) in made:
            continue
        if done:
            made[id(node)] = finish(node)
            continue
        stack.append((node, True))
        stack.extend((part, False) for part in reversed(parts(node)) if id(part) not in made)


def rewrite_with(callbacks, expr, mod):
    """The expression in which callbacks have replaced what their patterns match, until nothing changes."""
    from ..build_module import infer

    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    for _ in range(100):
        last = expr
        again = False
        for callback in callbacks:
            if callback.require_type:
                expr = infer(expr, mod)
            expr = _rewrite_once(callback, expr)
            again |= not callback.rewrite_once
        if not again or expr is last or structural_equal(last, expr):
            return expr
    raise RuntimeError("the rewrites did not come to an end")


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

    _in_order(expr, _walk.children, made, finish)
    return made[id(expr)]
