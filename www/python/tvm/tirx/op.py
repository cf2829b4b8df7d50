"""Functions over scalars."""

import math
import struct

from .._values import DataType
from ..error import InternalError
from ..ir.expr import Expr, is_prim_expr
from ..ir.op import register_intrin_lowering
from ..ir.type import PrimType
from ._bits import BITS, BitwiseNot
from ._checks import SIGNS, not_whole
from .expr import (
    EQ, GE, GT, LE, LT, NE, Add, And, Cast, Div, FloatImm, FloorDiv, FloorMod, IntImm, Max, Min, Mod, Mul, Not, Or, PrimCall,
    Select, Sub, _lanes_of, _scalar, intrinsic_op,
)  # fmt: skip
from .intrin import *  # noqa: F403
from ._limits import LARGEST, infinity, max_value, min_value
from .intrin import comm_reducer, isfinite, isinf, reinterpret  # noqa: F401


def _exceeds(value, dtype):
    """True for a number, not an infinity, that an element type does not hold."""
    most = LARGEST.get(dtype) if dtype in ("float16", "float32") else None
    return most is not None and math.isfinite(value) and not -most <= value <= most


def const(value, dtype=None, span=None):
    """A number as a scalar expression."""
    if hasattr(value, "item") and not isinstance(value, Expr):
        dtype = dtype or str(value.dtype)
        value = value.item()
    if isinstance(dtype, PrimType):
        dtype = dtype.dtype
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
        else:
            dtype = "float64" if _exceeds(value, "float32") else "float32"
    dtype = DataType(dtype)
    lanes = dtype.lanes
    base = dtype.with_lanes(1)
    if base.type_code in (0, 1, 6):
        made = IntImm(base, int(value))
    else:
        if _exceeds(value, str(base)):
            raise ValueError(f"Literal value {value} exceeds {'maximum' if value > 0 else 'minimum'} of {base}")
        made = FloatImm(base, float(value))
    if lanes != 1:
        from .expr import Broadcast

        return Broadcast(made, _lanes_of(lanes))
    return made


def _is_float(dtype):
    return dtype.type_code in (2, 4) or dtype.type_code >= 7


def _match(a, b):
    """Two scalars of one type, by the rules of arithmetic."""
    if isinstance(a, (int, float, bool)) and not isinstance(b, Expr):
        a = const(a)
    if isinstance(b, (int, float)) and isinstance(a, Expr):
        b = _like(b, a)
    if isinstance(a, (int, float)) and isinstance(b, Expr):
        a = _like(a, b)
    a, b = _scalar(a), _scalar(b)
    if not (is_prim_expr(a) and is_prim_expr(b)):
        raise TypeError(f"a scalar is needed here, not {type(a if not is_prim_expr(a) else b).__name__}")
    if a.dtype == b.dtype:
        return a, b
    from .expr import Broadcast

    x, y = a.dtype, b.dtype
    if x.lanes != y.lanes:
        if x.lanes == 1:
            a = Broadcast(a, _lanes_of(y.lanes))
        elif y.lanes == 1:
            b = Broadcast(b, _lanes_of(x.lanes))
        else:
            raise TypeError(f"Cannot match type {x} vs {y}")
        x, y = a.dtype, b.dtype
        if x == y:
            return a, b
    if _is_float(x) and not _is_float(y):
        return a, cast(b, x)
    if _is_float(y) and not _is_float(x):
        return cast(a, y), b
    if _is_float(x) and _is_float(y):
        return (a, cast(b, x)) if x.bits >= y.bits else (cast(a, y), b)
    if x.type_code == y.type_code:
        return (a, cast(b, x)) if x.bits >= y.bits else (cast(a, y), b)
    if x.type_code == 6:
        return cast(a, y), b
    if y.type_code == 6:
        return a, cast(b, x)
    bits = max(x.bits, y.bits)
    target = DataType(f"int{bits}") if x.bits != y.bits and (x if x.bits > y.bits else y).type_code == 0 else DataType(f"uint{bits}")
    target = target.with_lanes(x.lanes)
    return cast(a, target), cast(b, target)


def _like(value, other):
    if not is_prim_expr(other):
        raise TypeError(f"a scalar is needed here, not {type(other).__name__}")
    return const(value)


def cast(value, dtype, span=None):
    """A scalar in another type; numbers are converted at once."""
    value = _scalar(value)
    dtype = DataType(dtype.dtype if isinstance(dtype, PrimType) else dtype)
    dtype = DataType(_SHORT_NAMES.get(dtype, dtype))
    if not is_prim_expr(value):
        raise TypeError("Cannot cast an expression with the void sentinel type")
    if value.dtype == dtype:
        return value
    from .expr import Broadcast

    if value.dtype.lanes == 1 and dtype.lanes != 1:
        return Broadcast(cast(value, dtype.with_lanes(1)), _lanes_of(dtype.lanes))
    if isinstance(value, Broadcast):
        return Broadcast(cast(value.value, dtype.with_lanes(1)), value.lanes)
    if isinstance(value, IntImm) and dtype.lanes == 1:
        return FloatImm(dtype, value.value) if _is_float(dtype) else _wrapped(dtype, value.value)
    if isinstance(value, FloatImm) and dtype.lanes == 1:
        if _is_float(dtype):
            return FloatImm(dtype, value.value)
        if math.isfinite(value.value):
            return _wrapped(dtype, int(value.value))
    return Cast(dtype, value)


_SHORT_NAMES = {"int": "int32", "uint": "uint32", "float": "float32"}


def _wrapped(dtype, value):
    if dtype.type_code == 6:
        if value not in (0, 1):
            raise ValueError(f"Check failed: (value == 0 || value == 1) is false: {value} exceeds range of bool")
        return IntImm(dtype, value)
    value &= (1 << dtype.bits) - 1
    if dtype.type_code == 0 and value >> dtype.bits - 1:
        value -= 1 << dtype.bits
    return IntImm(dtype, value)


def _ints(a, b):
    return (a.value, b.value) if isinstance(a, IntImm) and isinstance(b, IntImm) else None


def _floats(a, b):
    return (a.value, b.value) if isinstance(a, FloatImm) and isinstance(b, FloatImm) else None


def _is(value, number):
    return isinstance(value, (IntImm, FloatImm)) and value.value == number


def _rounded(value, dtype):
    """A number as the element type holds it."""
    if dtype != "float32" or not math.isfinite(value) or _exceeds(value, "float32"):
        return value
    return struct.unpack("f", struct.pack("f", value))[0]


def _is_index(dtype):
    """True for the types of indices, whose remainders and bits are computed at once."""
    return dtype.type_code == 0 and dtype.bits in (32, 64) and dtype.lanes == 1


def _arith(node, on_ints, on_floats=None, whole=False):
    divides = node in (Div, Mod, FloorDiv, FloorMod)
    index_only = node in (Mod, FloorMod)

    def operation(a, b, span=None):
        if whole:
            a, b = _scalar(a), _scalar(b)
            for value, name in ((a, "a"), (b, "b")):
                refusal = not_whole(value, name)
                if refusal is not None:
                    raise InternalError(f"{refusal}{value}")
        a, b = _match(a, b)
        if divides and isinstance(b, IntImm) and b.value == 0:
            raise InternalError("Check failed: pb->value != 0 (0 vs. 0) : Divide by zero")
        if divides and isinstance(b, FloatImm) and b.value == 0:
            raise InternalError("Check failed: fb->value != 0 (0 vs. 0) : Divide by zero")
        known = None if index_only and not _is_index(a.dtype) else _ints(a, b)
        if known is not None:
            value = on_ints(*known)
            if value is not None:
                return _wrapped(a.dtype, value)
        known = _floats(a, b) if on_floats else None
        if known is not None and a.dtype in ("float32", "float64"):
            value = on_floats(*known)
            if value is not None:
                return FloatImm(a.dtype, _rounded(value, a.dtype))
        short = _SHORT.get(node)
        if short is not None:
            found = short(a, b)
            if found is not None:
                return found
        return node(a, b)

    return operation


def _trunc_div(x, y):
    if y == 0:
        return None
    quotient = (-x if x < 0 else x) // (-y if y < 0 else y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _no_rest(a, b):
    """The remainder of 0, or of a division by 1; None for other numbers."""
    if not _is_index(a.dtype):
        return None
    return a if _is(a, 0) else const(0, a.dtype) if _is(b, 1) else None


_SHORT = {
    Add: lambda a, b: b if _is(a, 0) else a if _is(b, 0) else None,
    Sub: lambda a, b: a if _is(b, 0) else None,
    Mul: lambda a, b: b if _is(a, 1) else a if _is(b, 1) else a if _is(a, 0) else b if _is(b, 0) else None,
    Div: lambda a, b: a if _is(a, 0) or _is(b, 1) else None,
    FloorDiv: lambda a, b: a if _is(a, 0) or _is(b, 1) else None,
    Mod: lambda a, b: _no_rest(a, b),
    FloorMod: lambda a, b: _no_rest(a, b),
    Min: lambda a, b: a if a is b else None,
    Max: lambda a, b: a if a is b else None,
}

add = _op_add = _arith(Add, lambda x, y: x + y, lambda x, y: x + y)
subtract = _op_sub = _arith(Sub, lambda x, y: x - y, lambda x, y: x - y)
multiply = _op_mul = _arith(Mul, lambda x, y: x * y, lambda x, y: x * y)
_divide = _arith(Div, _trunc_div, lambda x, y: x / y if y else None)
truncdiv = _arith(Div, _trunc_div, whole=True)
truncmod = _arith(Mod, lambda x, y: x - _trunc_div(x, y) * y if y else None)
floordiv = indexdiv = _op_floordiv = _arith(FloorDiv, lambda x, y: x // y if y else None, whole=True)
floormod = indexmod = _op_mod = _arith(FloorMod, lambda x, y: x % y if y else None, whole=True)
min_ = _arith(Min, min, min)
max_ = _arith(Max, max, max)


def div(a, b, span=None):
    """The quotient: of whole numbers rounded towards zero."""
    return _divide(a, b)


def _op_div(a, b):
    if all_ints(a, b):
        raise RuntimeError(
            "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, floordiv/floormod  or truncdiv/truncmod directly to avoid ambiguity in the code."
        )
    return _divide(a, b)


def all_ints(*values):
    """True if all are signed whole numbers, of Python or of a program."""
    for value in values:
        value = _scalar(value) if not isinstance(value, int) else value
        if not isinstance(value, int) and not (is_prim_expr(value) and value.dtype.type_code == 0):
            return False
    return True


def _compare(node, function):
    def operation(a, b, span=None):
        a, b = _match(a, b)
        known = _ints(a, b) or _floats(a, b)
        return IntImm("bool", int(function(*known))) if known else node(a, b)

    return operation


_op_less = _compare(LT, lambda x, y: x < y)
_op_less_equal = _compare(LE, lambda x, y: x <= y)
_op_greater = _compare(GT, lambda x, y: x > y)
_op_greater_equal = _compare(GE, lambda x, y: x >= y)
_compare_equal = _compare(EQ, lambda x, y: x == y)


def _equal(a, b, span=None):
    a, b = _scalar(a), _scalar(b)
    if a is b or isinstance(a, PrimCall) and isinstance(b, PrimCall) and a.op is b.op and not a.args and not b.args:
        return IntImm("bool", 1)
    return _compare_equal(a, b)


_not_equal = _compare(NE, lambda x, y: x != y)


def _alike(a, b):
    """Two scalars, of which a number of Python is of the type of the other."""
    if isinstance(a, int) and is_prim_expr(b):
        a = const(a, b.dtype)
    if isinstance(b, int) and is_prim_expr(a):
        b = const(b, a.dtype)
    return _scalar(a), _scalar(b)


def _bits(name, function):
    shifts = name.startswith("shift")
    codes = (0, 1) if shifts else (0, 1, 6)

    def operation(x, y, span=None):
        a, b = (const(item) if shifts and isinstance(item, bool) else item for item in (x, y))
        a, b = _alike(a, b)
        for side, value in (("lhs", a), ("rhs", b)):
            refusal = not_whole(value, side, codes)
            if refusal is not None:
                what = f"Expected integer argument as {side.upper()} of {SIGNS[name]}"
                raise InternalError(f"{refusal}{what}, but received {value} of type T.{value.dtype}")
        a, b = _match(a, b)
        if shifts and isinstance(b, IntImm) and _is_index(a.dtype) and not 0 <= b.value < a.dtype.bits:
            raise InternalError(
                f"Check failed: (pb->value >= 0 && pb->value < result_ty.bits()) is false: Shift amount must be non-negative and less than {a.dtype.bits} for type T.{a.dtype}"
            )
        known = _ints(a, b) if _is_index(a.dtype) else None
        if known is not None and function is not None:
            return _wrapped(a.dtype, function(*known))
        return BITS[name](a, b)

    return operation


bitwise_and = _op_and = _bits("bitwise_and", lambda x, y: x & y)
bitwise_or = _op_or = _bits("bitwise_or", lambda x, y: x | y)
bitwise_xor = _op_xor = _bits("bitwise_xor", lambda x, y: x ^ y)
shift_left = _op_lshift = _bits("shift_left", lambda x, y: x << y)
shift_right = _op_rshift = _bits("shift_right", lambda x, y: x >> y)


def bitwise_not(x, span=None):
    """The other bits."""
    x = _scalar(x)
    refusal = not_whole(x, "arg", (0, 1, 6))
    if refusal is not None:
        what = "Expected integer or boolean argument for ~ operator (bitwise NOT)"
        raise InternalError(f"{refusal}{what}, but received {x} of type T.{x.dtype}")
    return BitwiseNot(x)


def call_intrin(dtype, func_name, *args, attrs=None, span=None):
    """A call of an intrinsic."""
    name = getattr(func_name, "name", func_name)
    return PrimCall(
        intrinsic_op(name.removeprefix("tirx.").removeprefix("tir.")),
        [_scalar(arg) for arg in args],
        dtype,
        attrs,
    )


_FOLDED = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": lambda x: round_even(x), "nearbyint": lambda x: round_even(x),
}  # fmt: skip
round_even = round


def _unary(name):
    def operation(x, span=None):
        x = _scalar(x)
        dtype = x.dtype
        if name in ("sin", "cos") and not _is_float(dtype):
            raise TypeError(f"tirx.{name} only supports floating-point inputs, but got {dtype}")
        fold = _FOLDED.get(name)
        if fold is not None and not _is_float(dtype):
            return x
        if fold is not None and isinstance(x, FloatImm) and math.isfinite(x.value):
            return FloatImm(dtype, float(fold(x.value)))
        return PrimCall(intrinsic_op(name), [x], dtype)

    operation.__name__ = name
    operation.__doc__ = f"`{name}` of a scalar."
    return operation


for _name in ("exp exp2 exp10 erf tanh sigmoid log log2 log10 log1p tan cos cosh acos acosh sin sinh asin asinh atan atanh sqrt rsqrt floor ceil trunc round nearbyint").split():
    globals()[_name] = _unary(_name)


def abs(x, span=None):  # noqa: A001
    """The distance from 0."""
    x = _scalar(x)
    if x.dtype.type_code == 1:
        return x
    if x.dtype.type_code == 6:
        raise InternalError(f"Data type T.{x.dtype} not supported for absolute op. Skipping absolute op...")
    if isinstance(x, IntImm):
        return IntImm(x.dtype, x.value if x.value >= 0 else -x.value)
    if isinstance(x, FloatImm):
        return FloatImm(x.dtype, x.value if x.value >= 0 else -x.value)
    return Select(x >= const(0, x.dtype), x, const(0, x.dtype) - x) if not _is_float(x.dtype) else PrimCall(intrinsic_op("fabs"), [x], x.dtype)


def _binary(name):
    def operation(x1, x2, span=None):
        x, y = _scalar(x1), _scalar(x2)
        return PrimCall(intrinsic_op(name), [x, y], x.dtype)

    operation.__name__ = name
    operation.__doc__ = f"`{name}` of two scalars."
    return operation


for _name in "atan2 copysign hypot ldexp nextafter".split():
    globals()[_name] = _binary(_name)


def fmod(x, y, span=None):
    """The rest of a division, of the sign of the first scalar."""
    x, y = _scalar(x), _scalar(y)
    return PrimCall(intrinsic_op("fmod"), [x, y], x.dtype)


def power(x, y, span=None):
    """The power of two scalars, of which one has a fraction."""
    x, y = _match(x, y)
    if not _is_float(x.dtype):
        raise InternalError("Check failed: (IsFloatType(x.ty())) is false: power only applies to float")
    return PrimCall(intrinsic_op("pow"), [x, y], x.dtype)


pow = _op_power = power  # noqa: A001


def if_then_else(cond, t, f, span=None):
    """One of two values, of which only that one is computed."""
    cond = _scalar(cond)
    t, f = _match(t, f)
    if cond.dtype.with_lanes(1) not in ("bool", "uint1"):
        raise InternalError("Check failed: (cond.ty().MatchesCode(DLDataTypeCode::kDLBool)) is false: if_then_else only accept the condition to be boolean type.")
    if isinstance(cond, IntImm):
        return t if cond.value else f
    return PrimCall(intrinsic_op("if_then_else"), [cond, t, f], t.dtype)


def likely(cond, span=None):
    """A condition that is mostly true."""
    cond = _scalar(cond)
    return cond if isinstance(cond, IntImm) else PrimCall(intrinsic_op("likely"), [cond], cond.dtype)


def isnan(x, span=None):
    """True if a scalar is no number."""
    x = _scalar(x)
    dtype = DataType("bool").with_lanes(x.dtype.lanes)
    if x.dtype.type_code == 6:
        raise InternalError(f"Data type T.{x.dtype} not supported for isnan op. Skipping isnan op...")
    if not _is_float(x.dtype):
        return const(0, dtype)
    if isinstance(x, FloatImm):
        return const(x.value != x.value, dtype)
    if x.dtype.bits == 16:
        x = cast(x, DataType("float32").with_lanes(x.dtype.lanes))
    return PrimCall(intrinsic_op("isnan"), [x], dtype)


def ceildiv(lhs, rhs, span=None):
    """The quotient, rounded up."""
    lhs, rhs = _scalar(lhs), _scalar(rhs)
    for value, name in ((lhs, "a"), (rhs, "b")):
        refusal = not_whole(value, name)
        if refusal is not None:
            raise InternalError(f"{refusal}{value}")
    total = _op_add(lhs, rhs)
    return floordiv(_op_sub(total, const(1, total.dtype)), rhs)


def all(*args, span=None):  # noqa: A001
    """True if all conditions hold."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    made = _scalar(args[0])
    for arg in args[1:]:
        made = logical_and(made, arg)
    return made


def any(*args, span=None):  # noqa: A001
    """True if any condition holds."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    made = _scalar(args[0])
    for arg in args[1:]:
        made = logical_or(made, arg)
    return made


def _conditions(sign, *values):
    values = [_scalar(value) for value in values]
    for value, side in zip(values, ("lhs", "rhs")):
        if value.dtype.type_code != 6 and value.dtype.with_lanes(1) != "uint1":
            raise InternalError(
                f"Check failed: ({side}.ty().MatchesCode(DLDataTypeCode::kDLBool)) is false: Expected boolean argument as {side.upper()} "
                f"of {sign}, but received {value} of type T.{value.dtype}"
            )
    return values


def logical_and(a, b, span=None):
    """True if both conditions hold."""
    a, b = _conditions("&& operator (logical AND)", a, b)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, IntImm):
            return y if x.value else x
    return And(a, b)


def logical_or(a, b, span=None):
    """True if at least one condition holds."""
    a, b = _conditions("|| operator (logical OR)", a, b)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, IntImm):
            return x if x.value else y
    return Or(a, b)


def logical_not(a, span=None):
    """True if a condition does not hold."""
    a = _scalar(a)
    return IntImm("bool", int(not a.value)) if isinstance(a, IntImm) else Not(a)


def call_extern(dtype, func_name, *args, span=None):
    """A call of a function of C."""
    return call_intrin(dtype, "call_extern", func_name, *args)


def call_pure_extern(dtype, func_name, *args, span=None):
    """A call of a function of C that has no side effects."""
    return call_intrin(dtype, "call_pure_extern", func_name, *args)


def call_packed(*args, span=None):
    """A call of a function that is registered by name."""
    from .intrin import packed_operands

    return call_intrin("int32", "tvm_call_packed", *packed_operands(args))


sum = comm_reducer(lambda x, y: add(x, y), lambda dtype: const(0, dtype), name="sum")  # noqa: A001
min = comm_reducer(lambda x, y: min_(x, y), lambda dtype: max_value(dtype), name="min")  # noqa: A001
max = comm_reducer(lambda x, y: max_(x, y), lambda dtype: min_value(dtype), name="max")  # noqa: A001


_DEVICE = (
    "call_ffi_kernel cooperative_tensor_fill cooperative_tensor_load cooperative_tensor_multiply_accumulate cooperative_tensor_store filter selector tensormap_encode_tiled"
).split()


def __getattr__(name):
    if name in _DEVICE:
        from .._absent import DEVICE, Absent

        return Absent(f"tvm.tirx.op.{name}", DEVICE)
    if name in ("buffer_data", "is_buffer_var"):
        from . import buffer

        return getattr(buffer, name)
    raise AttributeError(f"module 'tvm.tirx.op' has no attribute '{name}'")
