"""Weights that are fetched one by one: the engine's pass, and what the two functions are given besides."""

from ...ir.expr import Call
from ...ir.transform import BuiltInPass, PassInfo, PyModulePass, call_text
from ..expr import ExternFunc, Function
from ..expr_functor import PyExprMutator


def lazy_transform_params_pass(fget_item, fset_item, extra_get, extra_set):
    """See `LazyTransformParams`."""
    if fget_item is None:
        raise AssertionError("transforming set_item only is not supported")
    plain = BuiltInPass(call_text("LazyTransformParams", {"fget_item": fget_item, "fset_item": fset_item}))
    if not extra_get and not extra_set:
        return plain
    extra = {fget_item: list(extra_get or ()), fset_item: list(extra_set or ())}

    def apply(mod, ctx):
        made = plain(mod)
        changed = made.clone()
        for var, func in made.functions.items():
            if var.name_hint.endswith("transform_params") and isinstance(func, Function):
                changed[var] = _with_extra(func, extra)
        return changed

    return PyModulePass(apply, PassInfo(0, "LazyTransformParams"))


def _with_extra(func, extra):
    """The function with further parameters, which stand before the others in the calls of linked functions."""

    class Calls(PyExprMutator):
        def visit_call_(self, op):
            call = super().visit_call_(op)
            if isinstance(call.op, ExternFunc) and call.op.global_symbol in extra:
                return Call(call.op, [*extra[call.op.global_symbol], *call.args], call.attrs, call.ty_args)
            return call

    params = [param for given in extra.values() for param in given]
    body = Calls().visit_expr(func.body)
    return Function([*params, *func.params], body, func.ret_ty, func.is_pure, func.attrs)
