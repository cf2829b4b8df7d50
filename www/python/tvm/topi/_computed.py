"""Operators of `topi` that no operator of Relax is lowered to, as tensor expressions (`include/tvm/topi`, `python/tvm/topi/nn`)."""

from .. import te
from ..tirx.expr import Cast
from ..tirx.op import const, exp, floor, max_, min_, reinterpret
from ._axes import computed
from ._math import as_float, narrow, widened


def full(shape, dtype, fill_value):
    """A tensor of one value."""
    value = te.operation._scalar(fill_value).astype(dtype) if hasattr(fill_value, "dtype") else const(fill_value, dtype)
    return computed(list(shape), lambda *at: value, "T_full", "elemwise")


def full_like(x, fill_value):
    """A tensor of one value that has the shape and the type of another."""
    value = fill_value.astype(x.dtype) if hasattr(fill_value, "dtype") else const(fill_value, x.dtype)
    return computed(list(x.shape), lambda *at: value, "T_full_like", "elemwise")


def expand_dims(a, axis, num_newaxis=1):
    """The tensor with axes of one element; `axis` is the place of the first."""
    rank = len(a.shape)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"topi.expand_dims: axis {axis} is not within {-rank - 1} and {rank}")
    first = axis if axis >= 0 else rank + axis + 1
    shape = [*a.shape[:first], *[1] * num_newaxis, *a.shape[first:]]
    return computed(shape, lambda *at: a(*at[:first], *at[first + num_newaxis :]), "T_expand_dims", "broadcast")


def clip(x, a_min, a_max):
    """The elements, no less than one bound and no more than the other."""

    def bound(value):
        return Cast(x.dtype, value) if hasattr(value, "dtype") else const(value, x.dtype)

    return te.compute(x.shape, lambda *at: max_(min_(x(*at), bound(a_max)), bound(a_min)), tag="elemwise")


def matmul(a, b, transp_a=False, transp_b=False):
    """The product of two matrices."""
    k = te.reduce_axis((0, a.shape[0 if transp_a else 1]), name="k")
    left = (lambda i: a[k, i]) if transp_a else (lambda i: a[i, k])
    right = (lambda j: b[j, k]) if transp_b else (lambda j: b[k, j])
    shape = [a.shape[1 if transp_a else 0], b.shape[0 if transp_b else 1]]
    return te.compute(shape, lambda ax0, ax1: te.sum(left(ax0) * right(ax1), axis=k), name="T_matmul", tag="matmul")


def _is_one(extent):
    return hasattr(extent, "value") and int(extent) == 1


def _same(a, b, what):
    if hasattr(a, "value") and hasattr(b, "value") and int(a) != int(b):
        raise AssertionError(f"{what} do not match. {a} vs {b}.")


def nn_matmul(tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False):
    """The product of matrices, batches broadcast."""
    out_dtype = out_dtype or tensor_a.dtype
    *batch_a, rows, inner = tensor_a.shape
    *batch_b, inner_b, columns = tensor_b.shape
    rows, inner = (inner, rows) if transpose_a else (rows, inner)
    inner_b, columns = (columns, inner_b) if transpose_b else (inner_b, columns)
    _same(inner, inner_b, "Reduction dimensions of dense")
    rank = max(len(batch_a), len(batch_b))
    outer_a, outer_b = ([1] * (rank - len(batch)) + batch for batch in (batch_a, batch_b))
    outer = [b if a == 1 or _is_one(a) else a for a, b in zip(outer_a, outer_b)]
    k = te.reduce_axis((0, inner), name="k")

    def of(tensor, batch, at, ends):
        first = len(at) - len(batch)
        places = [0 if _is_one(extent) else index for extent, index in zip(batch, at[first:])]
        return tensor[(*places, *ends)].astype(out_dtype)

    def element(*at):
        *outer_at, i, j = at
        left = of(tensor_a, batch_a, outer_at, (k, i) if transpose_a else (i, k))
        return te.sum(left * of(tensor_b, batch_b, outer_at, (j, k) if transpose_b else (k, j)), axis=k)

    name = f"T_matmul_{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    tag = "dense" if transpose_b and not transpose_a else "matmul"
    made = te.compute([*outer, rows, columns], element, name=name, tag=tag, attrs={"layout_free_placeholders": [tensor_b]})
    if bias is None:
        return made
    from . import add

    return add(made, bias.astype(out_dtype))


def nn_dense(data, weight, bias=None, out_dtype=None):
    """The product with a matrix that is transposed."""
    return nn_matmul(data, weight, bias, out_dtype, False, True)


def nn_batch_matmul(tensor_a, tensor_b, oshape=None, out_dtype=None, transpose_a=False, transpose_b=True):
    """Products of as many matrices as a batch has; the second are transposed."""
    (batch_a, *_), (batch_b, *_) = tensor_a.shape, tensor_b.shape
    if len(tensor_a.shape) != 3 or len(tensor_b.shape) != 3:
        raise AssertionError("tensor_a and tensor_b only support 3-dim")
    rows, inner = tensor_a.shape[1:][::-1] if transpose_a else tensor_a.shape[1:]
    columns = tensor_b.shape[1 if transpose_b else 2]
    _same(inner, tensor_b.shape[2 if transpose_b else 1], "Reduction dimensions of batch_matmul")
    if not _is_one(batch_a) and not _is_one(batch_b):
        _same(batch_a, batch_b, "Batch dimensions of batch_matmul")
    out_dtype = out_dtype or tensor_a.dtype
    k = te.reduce_axis((0, inner), name="k")

    def element(b, i, j):
        left = tensor_a[(0 if _is_one(batch_a) else b, *((k, i) if transpose_a else (i, k)))]
        right = tensor_b[(0 if _is_one(batch_b) else b, *((j, k) if transpose_b else (k, j)))]
        return te.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=k)

    shape = [batch_b if _is_one(batch_a) else batch_a, rows, columns] if oshape is None else oshape
    name = f"T_batch_matmul_{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    return te.compute(shape, element, name=name, tag="batch_matmul", attrs={"layout_free_placeholders": [tensor_b]})


def fast_exp(x):
    """The exponential, for elements of 32 bits as a power of two times a polynomial of what remains."""
    x = as_float(x)
    if x.dtype != "float32":
        return computed(x.shape, lambda *at: widened(exp, x(*at)), "T_fast_exp", "elemwise")

    def number(value):
        return const(narrow(value), "float32")

    def element(*at):
        inside = max_(min_(x(*at), number(88.37626647949)), number(-88.37625885))
        times = floor(inside * number(1.44269504088896341) + number(0.5))
        rest = inside - times * number(0.6931471805599453)
        value = number(1.9875691500e-4)
        for following in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5):
            value = value * rest + number(following)
        value = value * rest * rest + rest + number(1.0)
        power = reinterpret("float32", Cast("int32", times + number(127.0)) << 23)
        return max_(power * value, x(*at))

    return computed(x.shape, element, "T_fast_exp", "elemwise")


COMPUTED = {
    "clip": clip, "expand_dims": expand_dims, "full": full, "full_like": full_like, "matmul": matmul,
    "nn.matmul": nn_matmul, "nn.dense": nn_dense, "nn.batch_matmul": nn_batch_matmul,
    "fast_exp": fast_exp,
}  # fmt: skip
"""By the name in `topi`."""
