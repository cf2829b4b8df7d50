"""Patterns in scalar expressions."""

from .._values import Array
from ..tirx import expr as _expr
from ..tirx import op as _op
from .analyzer import Analyzer


def _uses(node, variables):
    from ..tirx.functor import post_order_visit

    found = []
    post_order_visit(node, lambda item: found.append(1) if any(item is var for var in variables) else None)
    return bool(found)


def _linear(node, var):
    """The factor of a variable and what else is in a sum; None where it is not linear (`LinearEqDetector`)."""
    if node is var:
        return _op.const(1, var.dtype), _op.const(0, var.dtype)
    if not _uses(node, [var]):
        return _op.const(0, var.dtype), node
    if isinstance(node, (_expr.Add, _expr.Sub)):
        a, b = _linear(node.a, var), _linear(node.b, var)
        join = _op.add if isinstance(node, _expr.Add) else _op.subtract
        return None if a is None or b is None else (join(a[0], b[0]), join(a[1], b[1]))
    if isinstance(node, _expr.Mul):
        if _uses(node.a, [var]) and _uses(node.b, [var]):
            return None
        held, factor = (node.a, node.b) if _uses(node.a, [var]) else (node.b, node.a)
        found = _linear(held, var)
        return found and tuple(_op.multiply(part, factor) for part in found)
    return None


def detect_linear_equation(expr, var_list):
    """Factors of variables and the rest, where an expression is a sum of them; an empty list where it is none."""
    analyzer, factors, rest = Analyzer(), [], _expr._scalar(expr)
    for at, var in enumerate(var_list):
        found = _linear(rest, var)
        if found is None or _uses(found[0], list(var_list)[at:]):
            return Array()
        factors.append(analyzer.simplify(found[0]))
        rest = found[1]
    # A factor may not depend on a variable that comes after.
    if any(_uses(factor, var_list) for factor in factors):
        return Array()
    return Array([*factors, analyzer.simplify(rest)])


def _conjuncts(cond):
    return [*_conjuncts(cond.a), *_conjuncts(cond.b)] if isinstance(cond, _expr.And) else [cond]


_OPPOSITE = {_expr.LT: _expr.GE, _expr.LE: _expr.GT, _expr.GT: _expr.LE, _expr.GE: _expr.LT}


def _clip(cond, var):
    """Which end a comparison says of a variable, and its value."""
    if isinstance(cond, _expr.Not) and type(cond.a) in _OPPOSITE:
        cond = _OPPOSITE[type(cond.a)](cond.a.a, cond.a.b)
    signs = {_expr.LT: (1, 1), _expr.LE: (1, 0), _expr.GT: (-1, 1), _expr.GE: (-1, 0), _expr.EQ: (0, 0)}
    found = signs.get(type(cond))
    if found is None or not isinstance(cond.a.dtype, str):
        return None
    sign, strict = found
    difference = cond.a - cond.b if sign >= 0 else cond.b - cond.a
    linear = _linear(difference, var)
    if linear is None:
        return None
    analyzer = Analyzer()
    factor, rest = analyzer.simplify(linear[0]), analyzer.simplify(linear[1] + strict)
    if not isinstance(factor, _expr.IntImm) or factor.value == 0:
        return None
    if abs(factor.value) > 1 and not isinstance(rest, _expr.IntImm):
        return None
    # factor * var + rest <= 0, or == 0
    if sign == 0:
        return (0, analyzer.simplify(-rest if factor.value > 0 else rest)) if abs(factor.value) == 1 else None
    if factor.value > 0:
        return 1, analyzer.simplify(_op.floordiv(-rest, factor)) if factor.value > 1 else analyzer.simplify(-rest)
    if factor.value == -1:
        return -1, analyzer.simplify(rest)
    return -1, analyzer.simplify(-_op.floordiv(-rest, -factor))


def detect_clip_bound(expr, var_list):
    """The least and the greatest value that a conjunction of comparisons leaves to each variable; None where it says none.

    The list is empty where a part is no such comparison."""
    bounds = {id(var): [None, None] for var in var_list}
    for cond in _conjuncts(expr):
        used = [var for var in var_list if _uses(cond, [var])]
        found = _clip(cond, used[0]) if len(used) == 1 else None
        if found is None:
            return Array()
        side, value = found
        ends = bounds[id(used[0])]
        for place, join in ((0, _op.max), (1, _op.min)):
            if side == 0 or (side < 0) == (place == 0):
                ends[place] = value if ends[place] is None else join(ends[place], value)
    analyzer = Analyzer()
    ends = [end for var in var_list for end in bounds[id(var)]]
    return Array(None if end is None else analyzer.simplify(end) for end in ends)
