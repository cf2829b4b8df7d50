"""Operations over the bits of whole numbers: nodes here, calls of intrinsics for the engine."""

from .._codes import ScalarKind
from .._node import PRIM
from .expr import BinaryOpExpr, PrimNode, _scalar


class _BitsExpr(BinaryOpExpr):
    """The base class of operations over the bits of two whole numbers."""

    def _row_p(self, w):
        self._prim(w, ScalarKind.CALL)
        w.text(BITS_NAMES[type(self)])
        w.refer(PRIM, self.a)
        w.refer(PRIM, self.b)


def _bits_class(name):
    return type(name, (_BitsExpr,), {"__doc__": f"`{name}` of two scalars.", "__module__": "tvm.tirx.expr"})


BitwiseAnd, BitwiseOr, BitwiseXor, LShift, RShift = map(_bits_class, ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LShift", "RShift"))


class BitwiseNot(PrimNode):
    """The other bits of a whole number."""

    def __init__(self, a, span=None):
        self.a = _scalar(a)
        self._ty = self.a.ty

    def _row_p(self, w):
        self._prim(w, ScalarKind.CALL)
        w.text("bitwise_not")
        w.refer(PRIM, self.a)


BITS = {
    "bitwise_and": BitwiseAnd,
    "bitwise_or": BitwiseOr,
    "bitwise_xor": BitwiseXor,
    "shift_left": LShift,
    "shift_right": RShift,
    "bitwise_not": BitwiseNot,
}
"""Classes of operations over bits, by the name of the intrinsic that the engine has."""
BITS_NAMES = {cls: name for name, cls in BITS.items()}
