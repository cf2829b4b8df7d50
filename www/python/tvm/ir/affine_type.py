"""Types of quantized values."""

from .base import Node, structural_equal


class AffineType(Node):
    """The base class of the types of quantized values."""

    __hash__ = Node.__hash__

    def _parts(self):
        return ()

    def __eq__(self, other):
        return type(self) is type(other) and all(_same(a, b) for a, b in zip(self._parts(), other._parts()))

    def __ne__(self, other):
        return not self == other


def _same(a, b):
    if hasattr(a, "_row_e") and hasattr(b, "_row_e"):
        return structural_equal(a, b)
    return a == b


class TensorAffineType(AffineType):
    """A quantized tensor: the scale and zero point of its elements, along an axis or for all."""

    def __init__(self, scale, zero_point, dtype, axis=-1):
        self.scale, self.zero_point, self.dtype, self.axis = scale, zero_point, str(dtype), int(axis)

    def _parts(self):
        return self.scale, self.zero_point, self.dtype, self.axis

    def __repr__(self):
        return f"TensorAffineType({self.scale}, {self.zero_point}, {self.dtype}, {self.axis})"


class TupleAffineType(AffineType):
    """Several quantized tensors."""

    def __init__(self, types):
        self.types = list(types)

    def _parts(self):
        return len(self.types), *self.types

    def __repr__(self):
        return f"TupleAffineType([{', '.join(map(repr, self.types))}])"
