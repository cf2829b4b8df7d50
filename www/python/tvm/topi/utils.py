"""Constants in shapes, as operators' implementations ask for them."""

from tvm.sym import Analyzer
from tvm.te import Tensor
from tvm.tirx import IntImm, Var


def get_const_int(expr):
    """The number that an expression is known to be."""
    if isinstance(expr, int):
        return expr
    if not isinstance(expr, IntImm):
        expr = Analyzer().simplify(expr)
    if not isinstance(expr, IntImm):
        raise ValueError("Expect value to be constant int")
    return int(expr.value)


def get_const_tuple(in_tuple):
    """A shape as numbers; what is no constant stays, simplified."""
    if isinstance(in_tuple, Tensor):
        raise TypeError("get_const_tuple expects a shape (tensor.shape), but got a te.Tensor")
    found = []
    for extent in in_tuple:
        if not isinstance(extent, (int, IntImm, Var)):
            extent = Analyzer().simplify(extent)
        found.append(int(extent.value) if isinstance(extent, IntImm) else extent)
    return tuple(found)
