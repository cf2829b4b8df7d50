"""A rule that is written as a module: the functions `pattern` and `replacement` over the same parameters."""

from ...ir.base import structural_equal
from ...ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from ...ir.op import Op
from ...ir.type import PrimType
from ..expr import DataflowBlock, ExternFunc, Function, MatchCast, SeqExpr, VarBinding
from ..utils import copy_with_new_vars
from .pattern import (
    CallPattern,
    ExprPattern,
    ExternFuncPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    WildcardPattern,
)
from .rewrite import of_pattern

_PURPOSES = {"pattern": "to be matched", "replacement": "to be made on a successful match"}


def of_module(mod):
    """The rewriter of a rule."""
    return _Script(mod).rewriter


class _Script:
    """A rule with the functions that it adds to a module."""

    def __init__(self, mod):
        self.mod = mod
        pattern, replacement = _function(mod, "pattern", "pattern"), _function(mod, "replacement", "replacement")
        self.subroutines = {}
        for var, func in mod.functions.items():
            name = var.name_hint
            if name in _PURPOSES:
                continue
            if func.attrs is not None and "global_symbol" in func.attrs:
                raise ValueError(
                    "Expected module to have no publicly-exposed functions other than 'pattern' and 'replacement'.  "
                    f"However, function '{name}' of type {_key(func)} is publicly exposed."
                )
            self.subroutines[name] = func
        if not structural_equal(pattern.ty, replacement.ty):
            raise ValueError(f"The pattern and replacement must have the same signature, but the pattern has type {pattern.ty}, while the replacement has type {replacement.ty}")
        self.wildcards = [WildcardPattern() for _ in pattern.params]
        self.replacement = replacement
        self.rewriter = of_pattern(_pattern(pattern, self.wildcards), self._new, module=self)

    def _new(self, expr, matched):
        """The replacement over what the parameters stand for, each cast to the type of its parameter."""
        func = copy_with_new_vars(self.replacement)
        bindings = []
        for wildcard, param in zip(self.wildcards, func.params):
            given = matched[wildcard]
            var = Var("intermediate_var", given.ty)
            bindings += [VarBinding(var, given), MatchCast(param, var, param.ty)]
        return SeqExpr([DataflowBlock(bindings), *func.body.blocks], func.body.body)

    def renamed(self, names):
        """The same with other names for the functions that it adds."""
        return _Script(self.mod.replace_global_vars(names))

    def rule_like(self, rule):
        """The rule of this script that stands where `rule` stands in its own."""
        if rule._module is self:
            return rule
        return self.rewriter._rules()[rule._module.rewriter._rules().index(rule)]


def _key(func):
    return "relax.expr.Function" if isinstance(func, Function) else "tirx.PrimFunc"


def _function(mod, name, what):
    meaning = f"a Relax function defining the {what} {_PURPOSES[name]}"
    if name not in mod:
        raise KeyError(f"Expected module to contain '{name}', {meaning}, but the module did not contain a '{name}' function.")
    func = mod[name]
    if not isinstance(func, Function):
        raise TypeError(f"Expected module to contain '{name}', {meaning}, but the '{name}' function was of type {_key(func)}.")
    return func


def _pattern(func, wildcards):
    """The pattern that a function is, whose parameters are wildcards."""
    known = {id(param): TypePattern(wildcard, param.ty) for param, wildcard in zip(func.params, wildcards)}

    def build(expr):
        if isinstance(expr, Var) and id(expr) in known:
            return known[id(expr)]
        if isinstance(expr, Call):
            return CallPattern(build(expr.op), [build(arg) for arg in expr.args])
        if isinstance(expr, Tuple):
            return TuplePattern([build(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return TupleGetItemPattern(build(expr.tuple_value), expr.index)
        if isinstance(expr, Op):
            return ExprPattern(expr)
        if isinstance(expr, ExternFunc):
            return ExternFuncPattern(expr.global_symbol)
        if isinstance(expr, Expr) and isinstance(expr.ty, PrimType):
            return TypePattern(WildcardPattern(), expr.ty)
        place = "ir" if type(expr).__module__.startswith("tvm.ir") else "relax.expr"
        raise TypeError(f"Cannot convert Relax expression of type {place}.{type(expr).__name__} into pattern-matching rule.")

    for block in func.body.blocks:
        for binding in block.bindings:
            found = build(binding.value)
            known[id(binding.var)] = TypePattern(found, binding.ty) if isinstance(binding, MatchCast) else found
    return build(func.body.body)
