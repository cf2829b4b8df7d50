"""Helpers."""

from .._node import Object
from ..ir.expr import Expr, StringImm, Tuple


def convert_to_expr(value):
    """A value of Python as an expression: lists become tuples, texts strings, numbers scalars."""
    from ..tirx.expr import EqualOp
    from .expr import prim_value

    if isinstance(value, EqualOp):
        return value.asobject()
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (tuple, list)):
        return Tuple([convert_to_expr(item) for item in value])
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return prim_value(value)
    raise TypeError(f"Cannot convert {value} with type {type(value)} to `relax.Expr`")


def copy_with_new_vars(func):
    """A copy of a function with variables of its own."""
    from .analysis import _copy

    return _copy(func)


def bind_symbolic_vars(func, binding_map):
    """A function with symbolic variables replaced."""
    from ..ir.module import IRModule
    from .transform import BindSymbolicVars

    mod = BindSymbolicVars(binding_map, "main")(IRModule({"main": func}))
    return mod["main"]


def bind_params(func, binding_map):
    """A function with parameters replaced by constants."""
    from ..ir.module import IRModule
    from .transform import BindParams

    return BindParams("main", binding_map)(IRModule({"main": func}))["main"]


_ = Object
