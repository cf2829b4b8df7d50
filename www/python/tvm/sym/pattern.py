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


def _joined(a, b, join):
    """Both parts of a sum or product; the other one where one is absent."""
    if a is None or b is None:
        return a if b is None else b
    return join(a, b)


def _negated(value):
    return _op.subtract(_op.const(0, value.dtype), value)


def _parts(node, var):
    """The factor of a variable and what else is in a sum, each None where absent (`LinearEqDetector`).

    Nothing is simplified here. The whole is None where the expression is not linear."""
    if node is var:
        return _op.const(1, var.dtype), None
    if isinstance(node, (_expr.Add, _expr.Sub, _expr.Mul)):
        a, b = _parts(node.a, var), _parts(node.b, var)
        if a is None or b is None:
            return None
        if isinstance(node, _expr.Add):
            return tuple(_joined(*pair, _op.add) for pair in zip(a, b))
        if isinstance(node, _expr.Sub):
            return tuple(_negated(y) if x is None and y is not None else _joined(x, y, _op.subtract) for x, y in zip(a, b))
        if a[0] is not None:
            a, b = b, a
        if a[0] is not None:
            return None
        rest = None if a[1] is None or b[1] is None else _op.multiply(a[1], b[1])
        return None if b[0] is None else _op.multiply(a[1], b[0]), rest
    return None if _uses(node, [var]) else (None, node)


def _linear(node, var):
    """The factor of a variable and the rest, zero where absent; None where the expression is not linear."""
    found = _parts(node, var)
    return found and tuple(_op.const(0, var.dtype) if part is None else part for part in found)


def detect_linear_equation(expr, var_list):
    """Factors of variables and the rest, where an expression is a sum of them; an empty list where it is none."""
    factors, rest = [], _expr._scalar(expr)
    for var in var_list:
        found = _linear(rest, var)
        if found is None:
            return Array()
        factors.append(found[0])
        rest = found[1]
    # A factor may not depend on a variable that comes after.
    if any(_uses(factor, list(var_list)[at + 1 :]) for at, factor in enumerate(factors)):
        return Array()
    return Array([*factors, rest])


def _conjuncts(cond):
    return [*_conjuncts(cond.a), *_conjuncts(cond.b)] if isinstance(cond, _expr.And) else [cond]


def _clip(cond, var, analyzer):
    """The least and the greatest value that a comparison leaves to a variable; None where it says neither."""
    if not isinstance(cond, (_expr.LT, _expr.LE, _expr.GT, _expr.GE, _expr.EQ)) or not cond.a.dtype.startswith("int"):
        return None
    at_least = cond.b - cond.a if isinstance(cond, (_expr.LT, _expr.LE)) else cond.a - cond.b
    if isinstance(cond, (_expr.LT, _expr.GT)):
        at_least = at_least - 1
    linear = _linear(at_least, var)
    factor = linear and analyzer.simplify(linear[0])
    if not isinstance(factor, _expr.IntImm) or abs(factor.value) != 1:
        return None
    end = _negated(linear[1]) if factor.value == 1 else linear[1]
    if isinstance(cond, _expr.EQ):
        return end, end
    return (end, None) if factor.value == 1 else (None, end)


def detect_clip_bound(expr, var_list):
    """The least and the greatest value that a conjunction of comparisons leaves to each variable; None where it says none.

    The list is empty where a part is no such comparison."""
    analyzer, bounds = Analyzer(), {id(var): (None, None) for var in var_list}
    for cond in _conjuncts(analyzer.simplify(expr)):
        used = [var for var in var_list if _uses(cond, [var])]
        found = _clip(cond, used[0], analyzer) if len(used) == 1 else None
        if found is None:
            return Array()
        known = bounds[id(used[0])]
        bounds[id(used[0])] = _joined(known[0], found[0], _op.max), _joined(known[1], found[1], _op.min)
    ends = [end for var in var_list for end in bounds[id(var)]]
    return Array(None if end is None else analyzer.simplify(end) for end in ends)
