"""Classes of errors that operators raise, and types that they deduce where little is known."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.error import InternalError

N = tirx.Var("n", "int64")


def tensor(*shape, dtype="float32"):
    return relax.Var("x", relax.TensorType(list(shape), dtype))


def unknown(ndim=-1, dtype="float32"):
    return relax.Var("x", relax.TensorType(ndim=ndim, dtype=dtype))


@pytest.mark.parametrize(
    "error, make",
    [
        (ValueError, lambda: relax.op.broadcast_to(tensor(2, 3), [2, 4])),
        (ValueError, lambda: relax.op.broadcast_to(unknown(3), [2, 4])),
        (InternalError, lambda: relax.op.reshape(unknown(2), [2, -1])),
        (InternalError, lambda: relax.op.reshape(tensor(2, 3), [-2])),
        (InternalError, lambda: relax.op.permute_dims(unknown(), [1, 0])),
        (ValueError, lambda: relax.op.concat([tensor(4)], 3)),
        (InternalError, lambda: relax.op.split(tensor(4), 0)),
        (ValueError, lambda: relax.op.collapse_sum_to(tensor(N, 3), [4, 3])),
        (ValueError, lambda: relax.op.gather_nd(tensor(4), tensor(2, dtype="int64"), 1)),
        (TypeError, lambda: relax.op.index_tensor(tensor(4), [tensor(2), tensor(2)])),
        (ValueError, lambda: relax.op.meshgrid([unknown(1), unknown()])),
        (InternalError, lambda: relax.op.one_hot(tensor(4, dtype="int32"), relax.prim_value(1), relax.prim_value(0), 0)),
        (InternalError, lambda: relax.op.dynamic_strided_slice(tensor(4), *[tensor(2, dtype="int64")] * 3)),
        (ValueError, lambda: relax.op.eye_like(tensor(4))),
        (TypeError, lambda: relax.op.hamming_window(4, True, 0.5, 0.4, "int32")),
        (TypeError, lambda: relax.op.nn.prelu(tensor(2, 3, dtype="int32"), tensor(3), 1)),
        (InternalError, lambda: relax.op.nn.pad(unknown(2), [1, 1])),
        (ValueError, lambda: relax.op.outer(unknown(2), tensor(4))),
        (InternalError, lambda: relax.op.einsum((tensor(4), tensor(4)), "i->i")),
        (IndexError, lambda: relax.op.topk(tensor(4), 1, 2)),
        (TypeError, lambda: relax.op.sort(relax.Var("s", relax.ShapeType([4])))),
        (InternalError, lambda: relax.op.ccl.scatter_from_worker0(unknown(1), 2)),
        (ValueError, lambda: relax.op.nn.cross_entropy_with_logits(unknown(2), unknown(1))),
        (ValueError, lambda: relax.op.slice_scatter(tensor(4), tensor(2, 2), 0, 2, 1, 0)),
    ],
)
def test_class(error, make):
    with pytest.raises(error):
        relax.BlockBuilder().normalize(make())


@pytest.mark.parametrize(
    "make, ty",
    [
        (lambda: relax.op.matmul(tensor(2, 3), tensor(3, 4, dtype="bool")), relax.TensorType([2, 4], "float32")),
        (lambda: relax.op.outer(tensor(2), tensor(3, dtype="int8")), relax.TensorType([2, 3], "float32")),
        (lambda: relax.op.collapse_sum_like(tensor(3), tensor(2, 3)), relax.TensorType([2, 3], "float32")),
        (lambda: relax.op.einsum((tensor(5, 5),), "...j->..."), relax.TensorType([5], "float32")),
        (lambda: relax.op.einsum((tensor(5, 5), tensor(5)), "...j, j"), relax.TensorType([5], "float32")),
        (lambda: relax.op.clip(relax.Var("s", relax.ShapeType([4])), 0, 1), relax.ShapeType([4])),
    ],
)
def test_type(make, ty):
    tvm.ir.assert_structural_equal(relax.BlockBuilder().normalize(make()).ty, ty)


def test_short_forms_of_attributes():
    pool = relax.op.nn.adaptive_avg_pool2d(tensor(1, 3, 8, 8), 3)
    assert list(pool.attrs.output_size) == [3, 3]
    assert not relax.op.cumsum(tensor(3), 0, exclusive=None).attrs.exclusive
    assert 'mode=""' in str(relax.op.grad.take_backward(tensor(2), tensor(4), tensor(2, dtype="int64"), 0))


def test_what_values_refuse():
    pair = relax.Var("p", relax.TupleType([relax.AnyType(), relax.AnyType()]))
    with pytest.raises(IndexError):
        pair[-1]
    with pytest.raises(TypeError):
        relax.Var("s", relax.ShapeType([4]))[0]
    with pytest.raises(TypeError):
        tensor(4)(tensor(4))
    with pytest.raises(TypeError):
        tensor(4) & tensor(4)
    with pytest.raises(TypeError):
        relax.Function([3], tensor(4), None)
    with pytest.raises(InternalError):
        relax.BlockBuilder().emit_output(tensor(4))
