"""The scopes in which values of a program would be computed (Sabry and Wadler's basic blocks; TVM's `CalcScope`)."""

from ...error import TVMError
from ...ir.op import Op
from .. import _walk
from ..adt import Match
from ..expr import Function, If, Let


class _Node:
    def __init__(self, expr=None):
        self.expr = expr
        self.parents = []


def _graph(root):
    """Nodes in the order in which they were finished; branches and bodies have nodes of their own."""
    nodes, order = {}, []

    def parts(expr, node):
        """The dependencies of an expression: pairs of a parent and a child, which is an expression or a node."""
        match expr:
            case If():
                yes, no = _Node(), _Node()
                return [(node, expr.cond), (node, yes), (node, no), (yes, expr.true_branch), (no, expr.false_branch)], [no, yes]
            case Function():
                body = _Node()
                return [(node, body), *((body, param) for param in expr.params), (body, expr.body)], [body]
            case Let():
                inside = _Node()
                return [(node, inside), (inside, expr.var), (inside, expr.value), (inside, expr.body)], [inside]
            case Match():
                arms = [_Node() for _ in expr.clauses]
                rows = [(node, expr.data)]
                for arm, clause in zip(arms, expr.clauses):
                    rows += [(node, arm), (arm, clause.rhs)]
                return rows, arms[::-1]
        return [(node, part) for part in _walk.children(expr)], []

    def open_(expr):
        node = nodes[id(expr)] = _Node(expr)
        rows, scopes = parts(expr, node)
        return [node, iter(rows), scopes]

    stack = [open_(root)]
    while stack:
        node, rows, scopes = stack[-1]
        for parent, child in rows:
            if isinstance(child, _Node):
                child.parents.append(parent)
                continue
            known = nodes.get(id(child))
            if known is None:
                stack.append(open_(child))
                nodes[id(child)].parents.append(parent)
                break
            known.parents.append(parent)
        else:
            order.extend([*scopes, node])
            stack.pop()
    return order


def check_basic_block_normal_form(expr):
    """True if no value is shared between scopes without being bound in one that holds both; otherwise raises."""
    scope_of = {}
    depth, above = {0: 0}, {0: 0}

    def common(a, b):
        while a != b:
            if depth[a] > depth[b]:
                a = above[a]
            else:
                b = above[b]
        return a

    for node in reversed(_graph(expr)):
        scope = 0
        if node.parents:
            scope = first = scope_of[node.parents[0]]
            for parent in node.parents[1:]:
                scope = common(scope, scope_of[parent])
            if scope != first and node.expr is not None and not isinstance(node.expr, Op):
                raise TVMError(
                    "The expression below violates the basic block normal form in that its scope should be lifted:\n"
                    f"{node.expr}"
                )
        if node.expr is None:
            made = len(depth)
            depth[made], above[made] = depth[scope] + 1, scope
            scope = made
        scope_of[node] = scope
    return True
