"""Operators of `topi.math` and `topi.tensor` that no operator of Relax is lowered to (`include/tvm/topi/elemwise.h`)."""

import struct

from .. import te
from ..ir.expr import is_prim_expr
from ..te import Tensor
from ..tirx import FloatImm, op
from ..tirx.op import const
from ._axes import computed
from .utils import get_const_tuple


def narrow(value):
    """A number as one of 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def stored(value):
    """A scalar; a number of 32 bits as it is stored."""
    return const(narrow(value.value), "float32") if isinstance(value, FloatImm) and value.dtype == "float32" else value


def as_float(x):
    """The tensor, of 32 bits with a fraction if it is one of whole numbers."""
    return cast(x, "float32") if x.dtype.type_code in (0, 1) else x


def widened(function, value):
    """A function of a scalar, which is computed in 32 bits for a `bfloat16`."""
    return function(value.astype("float32")).astype("bfloat16") if value.dtype == "bfloat16" else function(value)


def _polynomial(x, numbers):
    """The polynomial of powers of `x`, the coefficients of the highest power first."""
    first, *rest = numbers
    made = first
    for number in rest:
        made = x * made + number
    return made


def _ratio(x, above, below):
    """The quotient of an odd polynomial of `x` and an even one."""
    square = x * x
    return x * _polynomial(square, above) / _polynomial(square, below)


_TANH = (
    (-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03),
    (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03),
)  # fmt: skip
_ERF = (
    (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
    (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02),
)  # fmt: skip


def fast_tanh(x):
    """The hyperbolic tangent, for elements of 32 bits as a quotient of two polynomials."""
    from . import maximum, minimum

    x = as_float(x)
    if x.dtype != "float32":
        return computed(x.shape, lambda *at: widened(op.tanh, x(*at)), "T_fast_tanh", "elemwise")
    inside = maximum(const(-9.0, "float32"), minimum(const(9.0, "float32"), x))
    above, below = ([const(value, "float32") for value in part] for part in _TANH)
    return computed(x.shape, lambda *at: _ratio(inside(*at), above, below), "T_fast_tanh", "elemwise")


def fast_erf(x):
    """The error function, for elements of 16 and of 32 bits as a quotient of two polynomials."""
    if x.dtype not in ("float32", "float16"):
        return computed(x.shape, lambda *at: widened(op.erf, x(*at)), "T_erf", "elemwise")
    above, below = ([const(narrow(value), x.dtype) for value in part] for part in _ERF)

    def element(*at):
        inside = op.max_(op.min_(x(*at), const(4.0, x.dtype)), const(-4.0, x.dtype))
        return _ratio(inside, above, below)

    return computed(x.shape, element, "T_fast_erf", "elemwise")


def _logarithm(function):
    def operator(x):
        if x.dtype.type_code == 0:
            whole = x
            x = te.compute(whole.shape, lambda *at: whole(*at).astype("float32"))
        return te.compute(x.shape, lambda *at: function(x(*at)), tag="elemwise")

    operator.__doc__ = "The logarithm; of whole numbers, in 32 bits."
    return operator


log2, log10 = _logarithm(op.log2), _logarithm(op.log10)


def cast(x, dtype, span=None):
    """A tensor or a scalar in another type."""
    return te.compute(x.shape, lambda *at: x(*at).astype(dtype), tag="elemwise") if isinstance(x, Tensor) else op.cast(x, dtype)


def reinterpret(x, dtype):
    """The bits of the elements as elements of another type."""
    return computed(x.shape, lambda *at: x(*at) if x.dtype == dtype else op.reinterpret(dtype, x(*at)), "tensor", "elemwise")


def logical_not(data):
    """Conditions that do not hold."""
    return computed(data.shape, lambda *at: op.logical_not(data(*at)), "T_logical_not", "elemwise")


def bitwise_not(data):
    """The other bits."""
    return computed(data.shape, lambda *at: op.bitwise_not(data(*at)), "T_bitwise_not", "elemwise")


def elemwise_sum(xs):
    """The sum of tensors of one shape."""

    def element(*at):
        first, *rest = (x(*at) for x in xs)
        for value in rest:
            first = first + value
        return first

    return computed(xs[0].shape, element, "T_elemwise_sum", "elemwise")


@te.tag_scope(tag="elemwise")
def fixed_point_multiply(x, multiplier, shift):
    """The product with `multiplier` times two to the power of `shift`, where 31 bits of the first are a fraction."""
    numbers = [const(value, "int32") for value in (multiplier, 31, shift)]
    return te.compute(x.shape, lambda *at: op.q_multiply_shift(x(*at), *numbers))


@te.tag_scope(tag="broadcast")
def fixed_point_multiply_per_axis(x, y, lshift, rshift, is_lshift_required, is_rshift_required, axes):
    """The product with numbers of which 31 bits are a fraction, and shifts, that tensors along some axes hold."""
    flags = [const(31, "int32"), const(is_lshift_required, "bool"), const(is_rshift_required, "bool")]

    def element(*at):
        places = [at[axis] for axis in get_const_tuple(axes)]
        return op.q_multiply_shift_per_axis(x(*at), *(tensor(*places) for tensor in (y, lshift, rshift)), *flags)

    return te.compute(x.shape, element)


def ceil_log2(x):
    """The logarithm to the base 2 of a scalar, rounded up; a target may have its own way to it."""
    from ..target import Target

    x = x if is_prim_expr(x) else const(x)
    if x.dtype.type_code in (2, 4):
        return op.ceil(op.log2(x))
    target = Target.current()
    name = "" if target is None else target.kind.name
    if "vulkan" in name:
        zeros, bits = op.clz(x), x.dtype.bits
        return cast(op.if_then_else((x & (x - 1)).equal(0), bits - zeros - 1, bits - zeros), x.dtype)
    narrow = target is not None and (name in ("metal", "rocm", "webgpu") or "adreno" in str(target.attrs.get("device", "")))
    return cast(op.ceil(op.log2(cast(x, "float32" if narrow else "float64"))), x.dtype)


MATH = {
    "fast_tanh": fast_tanh, "fast_erf": fast_erf, "log2": log2, "log10": log10, "reinterpret": reinterpret,
    "elemwise_sum": elemwise_sum, "cast": cast, "logical_not": logical_not, "bitwise_not": bitwise_not, "fixed_point_multiply": fixed_point_multiply, "ceil_log2": ceil_log2,
    "fixed_point_multiply_per_axis": fixed_point_multiply_per_axis,
}  # fmt: skip
"""By the name in `topi`."""
