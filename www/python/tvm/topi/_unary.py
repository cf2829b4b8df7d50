"""Functions of each element by itself (`python/tvm/topi/math.py`)."""

from .. import te
from ..tirx import op
from ..tirx.expr import PrimCall, Select, intrinsic_op
from ..tirx.op import const
from ._axes import absolute, computed


def _called(name, value):
    """A call of an intrinsic. A whole number keeps its type, which a function of scalars makes one with a fraction."""
    return PrimCall(intrinsic_op(name), [value], value.dtype)


def _function(name, only_floats=False):
    @te.tag_scope(tag="elemwise")
    def operator(x):
        if only_floats and "float" not in str(x.dtype):
            raise TypeError(f"topi.{name} only supports floating-point inputs, but got {x.dtype}")
        return te.compute(x.shape, lambda *at: _called(name, x(*at)))

    operator.__doc__ = f"`{name}` of each element."
    return operator


def _plain(function, described):
    @te.tag_scope(tag="elemwise")
    def operator(x):
        return te.compute(x.shape, lambda *at: function(x(*at)))

    operator.__doc__ = described
    return operator


def _of_fractions(name):
    """A function whose operand becomes a number with a fraction by an operation of its own."""

    @te.tag_scope(tag="elemwise")
    def operator(x):
        if x.dtype.type_code == 0:
            whole = x
            x = te.compute(whole.shape, lambda *at: whole(*at).astype("float32"))
        return te.compute(x.shape, lambda *at: _called(name, x(*at)))

    operator.__doc__ = f"`{name}` of each element; of whole numbers, in 32 bits."
    return operator


def sign(x):
    """Ones where elements are positive, minus ones where they are negative."""
    zero, one, less = (const(value, x.dtype) for value in (0, 1, -1))
    return computed(x.shape, lambda *at: Select(x(*at) > zero, one, Select(x(*at) < zero, less, zero)), "T_sign", "elemwise")


UNARY = {
    **{name: _function(name) for name in ("exp", "erf", "tanh", "tan", "cos", "cosh", "sin", "sinh", "atan", "sigmoid")},
    **{name: _function(name, True) for name in ("acos", "acosh", "asin", "asinh", "atanh")},
    **{name: _plain(getattr(op, name), f"`{name}` of each element.") for name in ("floor", "ceil", "trunc", "isnan", "isfinite", "isinf")},
    **{name: _of_fractions(name) for name in ("log", "sqrt", "rsqrt")},
    "round": _plain(op.nearbyint, "The closest whole number; of two, the even one."),
    "negative": _plain(lambda value: -value, "The opposite of each element."), "abs": _plain(absolute, "The distance of each element from 0."),
    "identity": _plain(lambda value: value, "The same elements."), "sign": sign,
}  # fmt: skip
"""By the name in `topi`."""
