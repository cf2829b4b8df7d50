"""Modules that become functions of their own (`define_subroutine = True`), each once for equal arguments."""

import collections
import contextlib
import functools
import inspect
import re


def _snake_case(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _typed(builder, value):
    """An argument whose type is known, so that a parameter can have it."""
    from .... import relax

    if isinstance(value, (list, tuple)):
        value = relax.Tuple([_typed(builder, item) for item in value])
    return builder.emit(value) if isinstance(value, relax.Expr) and value.ty.is_missing() else value


class SubroutineMixin:
    """Lets `forward` of subclasses call a function for the module instead of emitting its parts in place."""

    define_subroutine = False

    def __init_subclass__(cls):
        forward = cls.__dict__.get("forward")
        if forward is not None and not getattr(forward, "_is_subroutine_mixin", False):

            @functools.wraps(forward)
            def dispatch(self, *args, **kwargs):
                if self.define_subroutine:
                    return self._call_subroutine(forward, *args, **kwargs)
                return forward(self, *args, **kwargs)

            dispatch._is_subroutine_mixin = True
            cls.forward = dispatch

    def _call_subroutine(self, forward, *args, **kwargs):
        from .... import relax
        from . import core

        builder = relax.BlockBuilder.current()
        assert builder is not None, f"Class {type(self)} defines subroutines, but is called outside of a BlockBuilder"
        bound = inspect.signature(self.forward).bind(*args, **kwargs).arguments
        inputs = collections.OrderedDict((name, _typed(builder, arg)) for name, arg in bound.items())
        operands = [arg._expr if isinstance(arg, core.Tensor) else arg for arg in inputs.values()]
        weights = [getattr(param, "_expr", param) for param in self.parameters()]
        callee, is_tensor = self._subroutine(builder, forward, inputs, operands, weights)
        out = callee(*operands, *weights)
        if not is_tensor:
            return out
        return core.Tensor(_expr=builder.emit(out, name_hint=f"{callee.name_hint}_output"))

    def _subroutine(self, builder, forward, inputs, operands, weights):
        from .... import ir, relax
        from ...expr_functor import copy_with_new_vars
        from . import core

        flow = builder.current_block_is_dataflow()
        types = relax.TupleType([operand.ty for operand in [*operands, *weights]])
        known = type(self).__dict__.get("_gvar")
        if known is None:
            known = type(self)._gvar = []
        for made, where, in_flow, result in known:
            if where is builder and in_flow == flow and ir.structural_equal(made, types, map_free_vars=True):
                return result
        params = [relax.Var(name, operand.ty) for name, operand in zip(inputs, operands)]
        arguments = [
            core.Tensor(_expr=param) if isinstance(given, core.Tensor) else param
            for param, given in zip(params, inputs.values())
        ]
        with builder.function(_snake_case(type(self).__name__), [*params, *weights], private=True):
            with builder.dataflow() if flow else contextlib.nullcontext():
                out = forward(self, *arguments)
                is_tensor = isinstance(out, core.Tensor)
                out = out._expr if is_tensor else out
                if flow:
                    out = builder.emit_output(out)
            callee = builder.emit_func_output(out)
        # The parameters stand in the caller as well, so the function gets variables of its own.
        mod = builder.get()
        builder.update_func(callee, copy_with_new_vars(mod[callee], mod))
        result = (callee, is_tensor)
        known.append((types, builder, flow, result))
        return result
