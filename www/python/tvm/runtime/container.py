"""Values of several parts, as TVM 0.19 names them."""

from .._node import Object
from .._values import Array, Map
from .registry import PackedFunc

String = str


class ADT(Array):
    """Fields under a tag, which says how they were made."""

    def __init__(self, tag=0, fields=()):
        fields = list(fields)
        for field in fields:
            if not isinstance(field, (Object, Array, Map, String, PackedFunc)):
                raise TypeError(f"a field is an object, not {type(field).__name__}")
        super().__init__(fields)
        self.tag = tag


def tuple_object(fields=None):
    """A tuple of fields."""
    return ADT(0, fields or ())


class ShapeTuple(tuple):
    """Extents; equal to every list or tuple of the same ones."""

    def __new__(cls, shape):
        if not isinstance(shape, (list, tuple)) or not all(isinstance(extent, int) for extent in shape):
            raise TypeError(f"a shape is a list of whole numbers, not {shape!r}")
        return super().__new__(cls, shape)

    def __eq__(self, other):
        return isinstance(other, (list, tuple)) and tuple(self) == tuple(other)

    def __ne__(self, other):
        return not self == other

    __hash__ = tuple.__hash__
