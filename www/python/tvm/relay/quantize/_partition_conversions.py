"""A quantized program in three functions: its inputs are quantized, it is computed, its outputs are dequantized."""

from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from .. import analysis
from ..expr import Call, Function, Tuple, TupleGetItem, Var
from ..expr_functor import ExprMutator
from ..scope_builder import ScopeBuilder

ALLOWED_CONVERSION_OPS = ["add", "multiply", "right_shift", "clip", "round", "cast"]
"""Operators that a conversion consists of."""


def _is_conversion(call):
    return getattr(call.op, "name", None) in ALLOWED_CONVERSION_OPS


def _typed(func):
    from ..transform import InferType

    return InferType()(IRModule.from_expr(func))


def partition_conversions(mod, quantized_dtypes, ensure_fully_integral):
    """A module with `quantize_inputs`, `quantized_main` and `dequantize_outputs`, which `main` calls one after the other."""
    assert len(mod.functions) == 1
    before, middle = partition_prefix(mod, quantized_dtypes)
    middle, behind = partition_suffix(middle, quantized_dtypes)
    if ensure_fully_integral:
        assert has_only_conversion_ops(before["main"])
        assert {str(dtype) for dtype in analysis.all_dtypes(middle["main"])} <= {str(dtype) for dtype in quantized_dtypes}
        assert has_only_conversion_ops(behind["main"])
    return fuse_partitions(before, middle, behind)


def fuse_partitions(pre_mod, mid_mod, post_mod):
    """The three functions in one module, with one that calls them."""
    from ..transform import InferType

    first, second, third = (mod["main"] for mod in (pre_mod, mid_mod, post_mod))
    names = ("quantize_inputs", "quantized_main", "dequantize_outputs")
    made = IRModule({GlobalVar(name): func for name, func in zip(names, (first, second, third))})
    quantize, compute, dequantize = (made.get_global_var(name) for name in names)
    builder = ScopeBuilder()
    params = [Var(param.name_hint) for param in first.params]
    inputs = builder.let("quantized_inputs", Call(quantize, params))
    fields = [TupleGetItem(inputs, at) for at in range(len(first.ret_type.fields))]
    outputs = builder.let("quantized_outputs", Call(compute, fields))
    builder.ret(builder.let("dequantized_outputs", Call(dequantize, [outputs])))
    made["main"] = Function(params, builder.get())
    return InferType()(made)


class PrefixCutter(ExprMutator):
    """Moves conversions of parameters into a function of their own."""

    def __init__(self, params, quantized_dtypes):
        super().__init__()
        self.params, self.quantized_dtypes = set(params), quantized_dtypes
        self.under = set()
        self.prefix = ScopeBuilder()
        self.bound = {}

    def visit_var(self, var):
        if var in self.params:
            self.under.add(var)
        return var

    def visit_call(self, call):
        if _is_conversion(call):
            return super().visit_call(call)
        args = []
        for arg in call.args:
            new = self.visit(arg)
            if self.under:
                assert len(self.under) == 1
                (param,) = self.under
                value = self.prefix.let(param.name_hint, new)
                self.under.clear()
                new = Var(param.name_hint, arg.checked_type)
                self.bound[new] = value
            args.append(new)
        return Call(call.op, args, call.attrs)


def partition_prefix(mod, quantized_dtypes):
    """The conversions of inputs, and the rest."""
    assert len(mod.functions) == 1
    func = mod["main"]
    cutter = PrefixCutter(func.params, quantized_dtypes)
    body = cutter.visit(func.body)
    params = list(analysis.free_vars(body))
    middle = _typed(Function(params, body))
    # An input without a conversion is passed on.
    typed = zip(params, middle["main"].params)
    results = [cutter.bound[old] if old in cutter.bound else Var(new.name_hint, new.checked_type) for old, new in typed]
    cutter.prefix.ret(Tuple(results))
    before = cutter.prefix.get()
    return _typed(Function(analysis.free_vars(before), before)), middle


class SuffixCutter(ExprMutator):
    """Moves conversions of results into a function of their own; what they convert is kept."""

    def __init__(self, quantized_dtypes):
        super().__init__()
        self.mid_body, self.quantized_dtypes = None, {str(dtype) for dtype in quantized_dtypes}

    def visit(self, expr):
        ty = getattr(expr, "_checked_type_", None)
        if str(getattr(ty, "dtype", "")) in self.quantized_dtypes:
            self.mid_body = expr
            return Var("input", ty)
        return super().visit(expr)


def partition_suffix(mod, quantized_dtypes):
    """The part before the conversions of outputs, and these."""
    assert len(mod.functions) == 1
    func = mod["main"]
    cutter = SuffixCutter(quantized_dtypes)
    body = cutter.visit(func.body)
    behind = _typed(Function(analysis.free_vars(body), body, func.ret_type))
    if cutter.mid_body is not None:
        return _typed(Function(func.params, cutter.mid_body)), behind
    # Nothing is quantized: the function stands in the middle.
    var = Var("input", behind["main"].ret_type)
    return behind, _typed(Function([var], var))


def has_only_conversion_ops(func):
    """True if a function consists of conversions."""
    calls = []
    analysis.post_order_visit(func, lambda expr: calls.append(expr) if isinstance(expr, Call) else None)
    return all(_is_conversion(call) for call in calls)
