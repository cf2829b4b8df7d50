"""Programs for tests of tuning, which is not here: those that other tests use, too."""

from .... import te, topi
from ...._absent import absent


def matmul(n, m, k, in_dtype="float32", out_dtype="float32"):
    """The product of two matrices: both, and it."""
    left = te.placeholder((n, k), name="A", dtype=in_dtype)
    right = te.placeholder((k, m), name="B", dtype=in_dtype)
    axis = te.reduce_axis((0, k), name="k")

    def element(i, j):
        return te.sum(left[i, axis].astype(out_dtype) * right[axis, j].astype(out_dtype), axis=[axis])

    return left, right, te.compute((n, m), element, name="C")


def matmul_relu(n, m, k, in_dtype="float32", out_dtype="float32"):
    """The same, and what of it is positive."""
    left, right, product = matmul(n, m, k, in_dtype, out_dtype)
    return left, right, topi.nn.relu(product)


def softmax_mn(m, n):
    """Rows of a matrix as shares of their sums."""
    source = te.placeholder((m, n), name="A")
    return source, topi.nn.softmax(source, axis=1)


__getattr__ = absent("tvm.s_tir.meta_schedule.testing.te_workload", "tuning measures programs on machines")
