"""Fields of values, `x[0]`, and what can be called."""

from .. import _engine
from .expr import TupleGetItem, is_prim_expr
from .type import MISSING, ShapeType, TensorType, TupleType, Type


def item(expr, index):
    """A field of a tuple; a value of which nothing is known, or a tensor, is taken for one."""
    ty = expr.ty
    if is_prim_expr(expr) or not isinstance(index, int):
        raise TypeError(f"'{type(expr).__name__}' object is not subscriptable")
    if isinstance(ty, TupleType):
        if index < 0:
            raise IndexError(f"Index out of bounds: Tuple {expr} cannot be accessed with negative index {index}")
        if index >= len(ty.fields):
            raise IndexError(f"Index out of bounds: Tuple {expr} is of size {len(ty.fields)}, and cannot be accessed with index {index}")
    elif ty is not MISSING and not isinstance(ty, TensorType) and not getattr(expr, "_is_relay", False) and type(ty).__module__ == Type.__module__:
        raise TypeError(f"Type relax.{type(ty).__name__} does not support subscript")
    return TupleGetItem(expr, index)


def check_callee(expr):
    """Raises if a value is no function."""
    if is_prim_expr(expr):
        raise TypeError("A primitive-valued expression cannot be called")
    if isinstance(expr.ty, (TensorType, ShapeType, TupleType)) and _engine.is_relax():
        raise TypeError(f"Expression of type {expr.ty} cannot be called")
