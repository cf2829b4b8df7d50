"""The refusals of constructors and operators of scalars and statements, in TVM's words."""

import math

from .._values import DataType
from ..error import InternalError
from ..ir.expr import is_prim_expr


_FLOATS = (
    "DLDataTypeCode::kDLFloat, DLDataTypeCode::kDLFloat8_e3m4, DLDataTypeCode::kDLFloat8_e4m3, DLDataTypeCode::kDLFloat8_e4m3b11fnuz, "
    "DLDataTypeCode::kDLFloat8_e4m3fn, DLDataTypeCode::kDLFloat8_e4m3fnuz"
)
_MOST = {
    "float16": (65504.0, "support::kMaxFloat16"),
    "bfloat16": (3.895313892515355e38, "support::kMaxBFloat16"),
    "float8_e4m3fn": (448.0, "bound"),
    "float8_e5m2": (57344.0, "bound"),
    "float32": (3.4028234663852886e38, None),
}
"""The greatest numbers of element types, and what TVM calls them."""


def check_int(dtype, value):
    """Refuses a whole number of another type, or one that the type does not hold."""
    if dtype.type_code not in (0, 1, 6):
        raise ValueError(
            "Check failed: (value_ty.MatchesCode(DLDataTypeCode::kDLInt, DLDataTypeCode::kDLUInt, DLDataTypeCode::kDLBool)) is false: "
            f"IntImm supports only int or uint or bool type, but {dtype} was supplied."
        )
    if dtype.lanes != 1:
        raise ValueError(f"Check failed: (!value_ty.IsScalableVector() && !value_ty.IsFixedLengthVector()) is false: IntImm can only take scalar, but {dtype} was supplied.")
    if dtype.type_code == 1 and value < 0:
        raise ValueError(f"Check failed: value >= 0 ({value} vs. 0) : Literal value {value} is negative for unsigned integer type {dtype}")
    if dtype.type_code == 6 and value not in (0, 1):
        raise ValueError(f"Check failed: (value == 0 || value == 1) is false: {value} exceeds range of bool")
    if dtype.type_code == 0 and 1 < dtype.bits < 64 and not -(1 << dtype.bits - 1) <= value < 1 << dtype.bits - 1:
        raise ValueError(
            "Check failed: (small.has_value() && (bits == 64 || (*small >= -(int64_t{1} << (bits - 1)) && *small < (int64_t{1} << "
            f"(bits - 1))))) is false: Literal value {value} exceeds range of {dtype}"
        )
    if dtype.type_code == 1 and 1 < dtype.bits <= 64 and value >> dtype.bits:
        raise ValueError(f"Literal value {value} exceeds the range of {dtype}")


def check_float(dtype, value):
    """Refuses a number with a fraction of another type, or one that the type does not hold."""
    if dtype.type_code in (0, 1, 6):
        raise ValueError(f"Check failed: (value_ty.MatchesCode({_FLOATS})) is false: FloatImm supports only float, but {dtype} was supplied.")
    most, name = _MOST.get(str(dtype), (math.inf, ""))
    if not math.isfinite(value) or -most <= value <= most:
        return
    above = value > 0
    bound = ("std::numeric_limits<float>::max()" if above else "std::numeric_limits<float>::lowest()") if name is None else name
    bound = bound if above or name is None else f"-{bound}"
    word = "exceeds maximum" if above else "below minimum" if name == "bound" else "exceeds minimum"
    raise ValueError(f"Check failed: value {'<=' if above else '>='} {bound} ({value:g} vs. {most if above else -most:g}) : Literal value {value:g} {word} of {dtype}")


def check_indices(buffer, indices):
    """Refuses indices of an element that are too few or too many, or of which not the last one is a vector."""
    rank = len(buffer.shape)
    if len(indices) != rank:
        raise InternalError(
            f"Check failed: buffer->shape.size() == indices.size() ({rank} vs. {len(indices)}) : BufferVar {buffer.name} is "
            f"{rank}-dimensional, cannot be indexed with the {len(indices)}-dimensional indices provided."
        )
    if any(index.dtype.lanes != 1 for index in indices[:-1]):
        raise InternalError("Check failed: (indices[i].ty().IsScalar()) is false: Only the last index of a buffer access may be a vector type.")


def check_vector(value, count, name):
    """Refuses a vector of vectors, and one of fewer than two lanes."""
    if value.dtype.lanes != 1:
        raise InternalError(f"Check failed: ({name}.IsScalar()) is false: ")
    if 0 <= count < 2:
        raise InternalError(f"Check failed: lanes > 1 ({count} vs. 1) : ")


def check_truth(value, name):
    if value.dtype.type_code != 6 and value.dtype.with_lanes(1) != "uint1":
        raise InternalError(f"Check failed: ({name}.MatchesCode(DLDataTypeCode::kDLBool)) is false: ")


def check_predicate(predicate, lanes, what, verb):
    """Raises unless a mask fits the vector that it is about."""
    if predicate is None:
        return
    dtype = predicate.dtype
    if (dtype.lanes < 0) != (lanes < 0):
        raise InternalError(f"Predicate mask dtype and {what} must both be scalable.")
    if dtype.lanes != lanes:
        raise InternalError(f"Got a predicate mask with {abs(dtype.lanes)} lanes, but trying to {verb} with {abs(lanes)} lanes. The number of lanes must match.")
    if dtype.type_code not in (1, 6) and dtype.bits != 1:
        raise InternalError(f"Predicate mask elements must be boolean values, but got {dtype.with_lanes(1)}.")


def check_loop(loop_var, low, extent):
    """Refuses a loop that does not count whole numbers, or counts more than its variable holds."""
    for value, name in ((loop_var, "loop_var"), (low, "min"), (extent, "extent")):
        if value.dtype.type_code not in (0, 1) or value.dtype.lanes != 1:
            raise InternalError(
                "Check failed: (dtype.IsScalar() && (dtype.MatchesCode(DLDataTypeCode::kDLUInt, DLDataTypeCode::kDLInt))) is false: "
                f"TIR For nodes require a scalar integer as the {name}, but received {value} with dtype T.{value.dtype}"
            )
        if value.dtype.bits > loop_var.dtype.bits:
            raise InternalError(
                "Check failed: (e_ty.bits() <= loop_var_ty.bits()) is false:  Loop variable's dtype "
                f"(T.{loop_var.dtype}) is narrower than that of `min` or `extent` (T.{value.dtype})"
            )


def check_store(buffer, value, indices):
    """Refuses a store of a value that the elements that it names do not hold."""
    check_indices(buffer, indices)
    lanes = indices[-1].dtype.lanes if indices else 1
    element, given = DataType(buffer.dtype), value.dtype
    if lanes * element.lanes != given.lanes:
        count, own, found = abs(lanes), abs(element.lanes), abs(given.lanes)
        raise InternalError(
            f"Check failed: index_lanes * buffer_lanes == value_dtype_lanes ({count * own} vs. {found}) : Cannot store value with "
            f"{found}, expected value with {count * own} ({count} index lanes * {own} buffer element lanes)"
        )
    if element.with_lanes(1) != given.with_lanes(1):
        raise TypeError(
            f"dtype mismatch on BufferStore: buffer's dtype is `T.{element}`, the lanes of indexing are: `{abs(lanes)}`, the scalability "
            f"is: `{int(lanes < 0)}`, but RHS's dtype is `T.{given}`"
        )


def not_whole(value, name, codes=(0, 1)):
    """Refuses a scalar that is not a whole number."""
    if is_prim_expr(value) and value.dtype.type_code not in codes:
        kinds = ", ".join(f"DLDataTypeCode::{kind}" for kind in ("kDLInt", "kDLUInt", "kDLBool")[: len(codes)])
        return f"Check failed: ({name}.ty().MatchesCode({kinds})) is false: "
    return None


SIGNS = {
    "bitwise_and": "& operator (bitwise AND)", "bitwise_or": "| operator (bitwise OR)", "bitwise_xor": "^ operator (bitwise XOR)",
    "shift_left": "<< operator (left shift)", "shift_right": ">> operator (right shift)",
}  # fmt: skip


def check_match(buffer, source):
    """Raises unless a buffer has the element type and the extents of the part that it stands for."""
    from ..sym import Analyzer

    def equal(extent, wanted):
        return extent is wanted or Analyzer().can_prove_equal(extent, wanted)

    if buffer.dtype != source.buffer.dtype:
        types = f"T.{buffer.dtype} vs. T.{source.buffer.dtype}"
        raise InternalError(f"Check failed: buffer->dtype == source_buffer->dtype ({types}) : MatchBuffer {buffer.name} data type mismatch:{types}")
    extents, outer = [item.extent for item in source.region], len(source.region) - len(buffer.shape)
    if outer < 0:
        raise InternalError(
            "Check failed: (source->region.size() >= buffer->shape.size()) is false: Dimension of source ffi::Array<Range> expected to be larger or "
            f"equal than target buffer shape, but got {len(extents)} vs. {len(buffer.shape)}"
        )
    for extent in extents[:outer]:
        if not equal(extent, 1):
            raise InternalError(f"Check failed: (analyzer->CanProve(source->region[i]->extent == 1)) is false: The higher dimension should be 1, but got {extent}.")
    for extent, wanted in zip(extents[outer:], buffer.shape):
        if not equal(extent, wanted):
            raise InternalError(
                "Check failed: (analyzer->CanProve(source_range->extent == buffer_shape)) is false: The dimension mismatched between source region "
                f"and target buffer shape, got {extent} vs. {wanted}."
            )
