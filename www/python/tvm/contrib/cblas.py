"""Products of matrices by a BLAS library, as calls of functions that are linked in."""

from .. import te
from ..tirx.op import call_packed


def matmul(lhs, rhs, transa=False, transb=False, **kwargs):
    """The product of two matrices."""
    rows, columns = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return te.extern(
        (rows, columns),
        [lhs, rhs],
        lambda ins, outs: call_packed("tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], transa, transb),
        name="C",
        **kwargs,
    )
