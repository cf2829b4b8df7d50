"""A rule that is written as a module: the functions `pattern` and `replacement` over the same parameters."""

from ..._values import Map
from ...ir.expr import Call, GlobalVar, Tuple, TupleGetItem, Var
from ...ir.type import TupleType
from ..expr import Function
from .pattern import (
    CallPattern,
    ConstantPattern,
    ExprPattern,
    ExternFuncPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    WildcardPattern,
)


def of_module(mod):
    """The rewriter of a rule."""
    from .rewrite import PatternMatchingRewriter

    if "pattern" not in mod:
        raise KeyError(f"Expected module to contain a function named 'pattern', but the module only contains {list(mod._functions)}")
    if "replacement" not in mod:
        raise KeyError("Expected module to contain a function named 'replacement'")
    pattern, replacement = mod["pattern"], mod["replacement"]
    for name, func in (("pattern", pattern), ("replacement", replacement)):
        if not isinstance(func, Function):
            raise TypeError(f"the function '{name}' must be a function of Relax")
    from ...ir.base import structural_equal

    if not structural_equal(pattern.ty, replacement.ty):
        raise ValueError(f"The pattern and replacement must have the same signature, but the pattern has type {pattern.ty} and the replacement {replacement.ty}")
    params = {id(param): WildcardPattern() for param in pattern.params}
    root = _pattern(pattern, params)
    subroutines = {}
    for var, func in mod.functions.items():
        if var.name_hint in ("pattern", "replacement"):
            continue
        if func.attrs is not None and "global_symbol" in func.attrs:
            raise ValueError(f"the function {var.name_hint} must be private")
        subroutines[var.name_hint] = func

    def apply(expr, matched):
        known = {id(new): matched[params[id(old)]] for new, old in zip(replacement.params, pattern.params) if params[id(old)] in matched}
        return _inline(replacement, known)

    return PatternMatchingRewriter(root, apply, new_subroutines=subroutines)


def _values(func):
    found = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            found[id(binding.var)] = binding.value
    return found


def _pattern(func, params):
    values = _values(func)
    made = {}

    def visit(expr):
        found = made.get(id(expr))
        if found is None:
            found = made[id(expr)] = build(expr)
        return found

    def build(expr):
        if isinstance(expr, Var):
            if id(expr) in params:
                return TypePattern(params[id(expr)], expr.ty) if expr.ty else params[id(expr)]
            return visit(values[id(expr)])
        if isinstance(expr, Call):
            callee = visit(expr.op)
            return CallPattern(callee, [visit(arg) for arg in expr.args])
        if isinstance(expr, Tuple):
            return TuplePattern([visit(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return TupleGetItemPattern(visit(expr.tuple_value), expr.index)
        if hasattr(expr, "global_symbol"):
            return ExternFuncPattern(expr.global_symbol)
        return ExprPattern(expr)

    return visit(func.body.body)


def _inline(func, known):
    values = _values(func)
    made = {}

    def visit(expr):
        found = made.get(id(expr))
        if found is None:
            found = made[id(expr)] = build(expr)
        return found

    def build(expr):
        if isinstance(expr, Var):
            if id(expr) in known:
                return known[id(expr)]
            return visit(values[id(expr)]) if id(expr) in values else expr
        if isinstance(expr, Call):
            args = [visit(arg) for arg in expr.args]
            new = Call(expr.op, args, expr.attrs, expr.ty_args)
            return new
        if isinstance(expr, Tuple):
            return Tuple([visit(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return TupleGetItem(visit(expr.tuple_value), expr.index)
        return expr

    return visit(func.body.body)


_ = (Map, GlobalVar, TupleType, ConstantPattern)
