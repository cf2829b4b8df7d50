"""The graph of what is computed from what in an expression (TVM's `IndexedGraph`)."""

from ... import _order
from .. import _walk, adt
from ..expr import Function, Let


class Node:
    """An expression in the graph."""

    __slots__ = ("ref", "index", "inputs", "outputs", "depth", "above", "below")

    def __init__(self, ref, index):
        self.ref = ref
        self.index = index
        self.inputs = []
        self.outputs = []
        self.depth = 1
        self.above = None
        """The first node that everything computed from this one goes through."""
        self.below = []
        """The nodes of which this is that node."""

    def dominates(self, other):
        """True if everything computed from another node goes through this one."""
        stack, seen = [self], set()
        while stack:
            for node in stack.pop().below:
                if node is other:
                    return True
                if node not in seen:
                    seen.add(node)
                    stack.append(node)
        return False


def _bound(clause):
    return [part.var for part in _walk.patterns_of(clause.lhs) if isinstance(part, adt.PatternVar)]


def _visited(node):
    """The parts of an expression, bound values before their variables."""
    match node:
        case Let():
            return [node.value, node.var, node.body]
        case adt.Match():
            return [node.data, *(part for clause in node.clauses for part in (*_bound(clause), clause.rhs))]
    return _walk.children(node)


class Graph:
    """The nodes of an expression, those that others are computed from before these."""

    def __init__(self, root):
        self.order = _order.post_order(root, _visited)
        self.nodes = {id(ref): Node(ref, index) for index, ref in enumerate(self.order)}
        self.index = {key: node.index for key, node in self.nodes.items()}
        for ref in self.order:
            self._connect(ref)
        for ref in reversed(self.order):
            node = self.nodes[id(ref)]
            if ref is not root and node.outputs:
                self._dominate(node)

    def of(self, ref):
        """The node of an expression."""
        return self.nodes[id(ref)]

    def _edge(self, part, user):
        below, above = self.of(part), self.of(user)
        # A function that calls itself would make a circle.
        if below.index < above.index:
            below.outputs.append(above)
            above.inputs.append(below)

    def _connect(self, ref):
        match ref:
            case Function():
                self._edge(ref.body, ref)
            case Let():
                self._edge(ref.value, ref.var)
                self._edge(ref.body, ref)
            case adt.Match():
                for clause in ref.clauses:
                    for var in _bound(clause):
                        self._edge(ref.data, var)
                    self._edge(clause.rhs, ref)
            case _:
                for part in _walk.children(ref):
                    self._edge(part, ref)

    def _dominate(self, node):
        found = node.outputs[0]
        for other in node.outputs[1:]:
            while found is not other and found is not None and other is not None:
                left, right = found.depth, other.depth
                if left <= right:
                    other = other.above
                if left >= right:
                    found = found.above
            if found is not other:
                found = None
        node.above = found
        if found is not None:
            node.depth = found.depth + 1
            found.below.append(node)

    def dominators(self):
        """For each expression, by its number, the one that everything computed from it goes through; None for a result."""
        return {key: None if node.above is None else node.above.ref for key, node in self.nodes.items()}
