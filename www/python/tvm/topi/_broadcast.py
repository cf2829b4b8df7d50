"""Operators of two operands, of which each is a tensor or a scalar (`include/tvm/topi/broadcast.h`)."""

from ..ir.base import structural_equal
from ..ir.expr import is_prim_expr
from ..sym import Analyzer
from ..te.tensor import Tensor
from ..tirx import op
from ..tirx.op import cast, const
from ._axes import computed, known


def _same(a, b):
    if known(a) is not None and known(b) is not None:
        return known(a) == known(b)
    return structural_equal(a, b) or known(Analyzer().simplify(a - b)) == 0


def _widened(a, b):
    """The type of indices along an axis whose extents are `a` and `b`."""
    if a.dtype.type_code != b.dtype.type_code:
        raise TypeError(f"extents of the types {a.dtype} and {b.dtype} are not broadcast")
    return a.dtype if a.dtype.bits >= b.dtype.bits else b.dtype


def broadcast(first, second):
    """The shape that two shapes are broadcast to, and for each of them the axes that it has more than one element along."""
    first, second = ([extent if hasattr(extent, "dtype") else const(extent, "int32") for extent in shape] for shape in (first, second))
    rank = max(len(first), len(second))
    common, uses = [], ([], [])
    for at in range(rank):
        a, b = (shape[at - rank + len(shape)] if at >= rank - len(shape) else None for shape in (first, second))
        if a is None or b is None:
            common.append(b if a is None else a)
            uses[0 if b is None else 1].append(at)
            continue
        dtype = _widened(a, b)
        single = [known(extent) == 1 for extent in (a, b)]
        if _same(a, b):
            extent = a
        elif any(single):
            extent = b if single[0] else a
        elif known(a) is None and known(b) is None:
            extent = op.max_(a, b)
        elif known(a) is None or known(b) is None:
            extent = b if known(a) is None else a
        else:
            raise ValueError(f"Incompatible broadcast dims: {a} and {b} in: {first} and {second}")
        common.append(cast(extent, dtype))
        for part, alone, other in zip(uses, single, reversed(single)):
            if not alone or other:
                part.append(at)
    return common, uses


def element_of(tensor, at, used):
    """The element of a tensor that is broadcast, by the indices of the result and the axes that it is read along."""
    first = len(at) - len(tensor.shape)
    return tensor(*(index if first + place in used else const(0, index.dtype) for place, index in enumerate(at[first:])))


def broadcast_to(data, shape):
    """The tensor, repeated along axes of one element, in a shape."""
    shape = [extent if hasattr(extent, "dtype") else const(extent, "int32") for extent in shape]
    if len(shape) < len(data.shape):
        raise ValueError("Not a broadcast, output dimensionality smaller than input.")
    common, (_, used) = broadcast(shape, data.shape)
    if any(known(wanted) is not None and not _same(wanted, got) for wanted, got in zip(shape, common)):
        raise ValueError(f"a tensor of the shape {list(data.shape)} is not broadcast to {shape}")
    extents = [wanted if known(wanted) is None else got for wanted, got in zip(shape, common)]
    return computed(extents, lambda *at: element_of(data, at, used), "T_broadcast_to", "broadcast")


def _operand(value):
    value = value.asobject() if hasattr(value, "asobject") else value
    return value if isinstance(value, Tensor) or is_prim_expr(value) else const(value)


def _operator(name, rule):
    def operator(lhs, rhs):
        lhs, rhs = _operand(lhs), _operand(rhs)
        tensors = [value for value in (lhs, rhs) if isinstance(value, Tensor)]
        if not tensors:
            return rule(lhs, rhs)
        if len(tensors) == 1:
            shape = tensors[0].shape
            return computed(shape, lambda *at: rule(*(value(*at) if value is tensors[0] else value for value in (lhs, rhs))), f"T_{name}", "elemwise")
        common, used = broadcast(lhs.shape, rhs.shape)
        return computed(common, lambda *at: rule(element_of(lhs, at, used[0]), element_of(rhs, at, used[1])), f"T_{name}", "broadcast")

    operator.__doc__ = "The operator on two tensors, which are broadcast, or on a tensor and a scalar."
    return operator


def _whole(value):
    return value.dtype.type_code in (0, 1)


def _floor_divide(a, b):
    return op.floordiv(a, b) if _whole(a) else op.floor(op.div(a, b))


_RULES = {
    "add": op.add, "subtract": op.subtract, "multiply": op.multiply, "divide": op.div, "floor_divide": _floor_divide, "mod": op.truncmod,
    "floor_mod": lambda a, b: op.floormod(a, b) if _whole(a) else a - _floor_divide(a, b) * b,
    "maximum": op.max_, "minimum": op.min_, "power": op.power, "atan2": op.atan2, "log_add_exp": lambda a, b: op.log(op.exp(a) + op.exp(b)),
    "left_shift": op.shift_left, "right_shift": op.shift_right, "greater": lambda a, b: a > b, "less": lambda a, b: a < b,
    "equal": lambda a, b: a.equal(b), "not_equal": op._not_equal, "greater_equal": lambda a, b: a >= b, "less_equal": lambda a, b: a <= b,
    "logical_and": op.logical_and, "logical_or": op.logical_or, "logical_xor": op.bitwise_xor, "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or, "bitwise_xor": op.bitwise_xor,
}  # fmt: skip

BROADCAST = {name: _operator(name, rule) for name, rule in _RULES.items()} | {"broadcast_to": broadcast_to}
"""By the name in `topi`."""
