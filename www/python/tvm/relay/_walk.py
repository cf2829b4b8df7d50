"""Walks over expressions without recursion: parts of a node, all nodes, a node with other parts."""

from .._node import EXPR
from .. import _order
from .._values import Array
from . import adt, expr as _e

_ = EXPR


def children(node):
    """The expressions that a node is made of, in TVM's order of visits."""
    match node:
        case _e.Call():
            return [node.op, *node.args]
        case _e.Tuple():
            return list(node.fields)
        case _e.TupleGetItem():
            return [node.tuple_value]
        case _e.Function():
            return [*node.params, node.body]
        case _e.Let():
            return [node.var, node.value, node.body]
        case _e.If():
            return [node.cond, node.true_branch, node.false_branch]
        case adt.Match():
            return [node.data, *(clause.rhs for clause in node.clauses)]
        case _e.RefCreate():
            return [node.value]
        case _e.RefRead():
            return [node.ref]
        case _e.RefWrite():
            return [node.ref, node.value]
    return []


def post_order(root):
    """All nodes, each once, parts before what they are part of."""
    return _order.post_order(root, children)


def same(a, b):
    """True if two lists hold the very same objects."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def rebuild(node, parts):
    """The node with other parts; itself when they are the same."""
    if same(children(node), parts):
        return node
    match node:
        case _e.Call():
            made = _e.Call(parts[0], parts[1:], node.attrs, node.ty_args, node.span)
        case _e.Tuple():
            made = _e.Tuple(parts, node.span)
        case _e.TupleGetItem():
            made = _e.TupleGetItem(parts[0], node.index, node.span)
        case _e.Function():
            made = _e.Function(parts[:-1], parts[-1], node.ret_type, node.type_params, node.attrs, node.span)
        case _e.Let():
            made = _e.Let(*parts, node.span)
        case _e.If():
            made = _e.If(*parts, node.span)
        case adt.Match():
            clauses = [adt.Clause(clause.lhs, rhs) for clause, rhs in zip(node.clauses, parts[1:])]
            made = adt.Match(parts[0], clauses, node.complete)
        case _e.RefCreate() | _e.RefRead():
            made = type(node)(parts[0], node.span)
        case _e.RefWrite():
            made = _e.RefWrite(*parts, node.span)
        case _:
            return node
    made.__dict__["_from"] = node
    return made


def patterns_of(pattern):
    """A pattern of a match with all that it is made of."""
    found = [pattern]
    for part in found:
        found.extend(getattr(part, "patterns", ()))
    return found


def binders(node):
    """The variables that a node binds."""
    match node:
        case _e.Function():
            return list(node.params)
        case _e.Let():
            return [node.var]
        case adt.Match():
            every = [part for clause in node.clauses for part in patterns_of(clause.lhs)]
            return [part.var for part in every if isinstance(part, adt.PatternVar)]
    return []


_ = Array
