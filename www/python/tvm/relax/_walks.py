"""Walks over expressions of Relax."""

from .._order import post_order
from .._values import Array
from ..ir.expr import Call, Tuple, TupleGetItem, is_prim_expr
from .expr import Function, If, SeqExpr, ShapeExpr
from .expr_functor import PyExprVisitor


def children(expr):
    """The expressions directly inside of one, in the order in which they are evaluated."""
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    if isinstance(expr, If):
        return [expr.cond, expr.true_branch, expr.false_branch]
    if isinstance(expr, SeqExpr):
        found = [part for block in expr.blocks for binding in block.bindings for part in (binding.value, binding.var)]
        return [*found, expr.body]
    if isinstance(expr, Function):
        return [*expr.params, expr.body]
    if isinstance(expr, ShapeExpr):
        return list(expr.values)
    if isinstance(expr, Call) and not is_prim_expr(expr):
        return [expr.op, *expr.args]
    return []


def post_order_visit(expr, fvisit):
    """Calls a function with every expression once, children first."""
    for node in post_order(expr, children):
        fvisit(node)


def all_bindings(expr):
    """All bindings in an expression."""
    found = []

    def visit(node):
        if isinstance(node, SeqExpr):
            for block in node.blocks:
                found.extend(block.bindings)

    post_order_visit(expr, visit)
    return found


def used_vars(expr):
    """Variables that an expression uses, each once."""
    found = {}

    class Find(PyExprVisitor):
        def visit_var_(self, op):
            found.setdefault(id(op), op)

        visit_dataflow_var_ = visit_var_

    Find().visit_expr(expr)
    return Array(found.values())
