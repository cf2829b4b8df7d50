"""Operations whose axes are those of TVM's operators in C++: `ax0`, `ax1`, each as wide as its extent."""

from ..ir.expr import Range, Var
from ..te.tensor import ComputeOp
from ..tirx.expr import IntImm, IterVar, Select, _scalar
from ..tirx.op import const, floordiv, floormod
from ..tirx.op import abs as _abs


def computed(shape, value, name, tag="", attrs=None):
    """The tensors whose elements a function of indices gives. A scope of tags does not count for them."""
    axes = []
    for at, extent in enumerate(_scalar(extent) for extent in shape):
        dom = Range.from_min_extent(const(0, extent.dtype), extent)
        axes.append(IterVar(dom, Var(f"ax{at}", extent.dtype), IterVar.DataPar))
    body = value(*[axis.var for axis in axes])
    op = ComputeOp(name, tag, attrs, axes, body if isinstance(body, (list, tuple)) else [body])
    outputs = [op.output(at) for at in range(op.num_outputs)]
    return outputs[0] if len(outputs) == 1 else outputs


def known(extent):
    """The number that an extent is, or None."""
    return int(extent) if isinstance(extent, (int, IntImm)) else None


def ravelled(indices, shape):
    """The place of an element among all in row-major order."""
    place = None
    for extent, index in zip(shape, indices):
        place = index if place is None else place * extent + index
    return place


def unravelled(place, shape):
    """The indices of the element at a place in row-major order."""
    indices = []
    for extent in reversed(shape):
        indices.insert(0, floormod(place, extent))
        place = floordiv(place, extent)
    return indices


def absolute(value):
    """The distance from 0; of whole numbers, the opposite is a difference."""
    if value.dtype.type_code == 1:
        return value
    zero = const(0, value.dtype)
    return _abs(value) if value.dtype.type_code != 0 or known(value) is not None else Select(value >= zero, value, zero - value)
