"""Legalize for `cuda`: extents that tensor cores take (`topi/cuda/tensorcore_alter_op.py`, `conv2d_alter_op.py`)."""

import pytest
import tvm
from tvm import relay, topi
from tvm.relay.testing.temp_op_attr import TempOpAttr


def legalized(out, key, rule):
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(out), out))

    def on_cuda(attrs, inputs, types):
        with tvm.target.Target("cuda"):
            return rule(attrs, inputs, types)

    with TempOpAttr(key, "FTVMLegalize", on_cuda):
        by_rule = relay.transform.Legalize()(relay.transform.InferType()(mod))
    with tvm.target.Target("cuda"):
        alone = relay.transform.Legalize()(relay.transform.InferType()(mod))
    assert tvm.ir.structural_equal(by_rule, alone)
    return by_rule["main"].body


def extents(expr):
    return [int(extent) for extent in expr.checked_type.shape]


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_a_dense_layer_is_padded_and_cut(dtype):
    x, w = relay.var("x", shape=(15, 30), dtype=dtype), relay.var("w", shape=(30, 30), dtype=dtype)
    out = legalized(relay.nn.dense(x, w, out_dtype="float32"), "nn.dense", topi.nn.dense_legalize)
    assert out.op.name == "strided_slice" and extents(out) == [15, 30]
    dense = out.args[0]
    assert [extents(arg) for arg in dense.args] == [[16, 32], [32, 32]] and dense.checked_type.dtype == "float32"


def test_what_fits_or_would_grow_too_much_stays():
    x, w = relay.var("x", shape=(16, 32), dtype="float16"), relay.var("w", shape=(16, 32), dtype="float16")
    assert legalized(relay.nn.dense(x, w), "nn.dense", topi.nn.dense_legalize).op.name == "nn.dense"
    x, w = relay.var("x", shape=(1, 3), dtype="float16"), relay.var("w", shape=(1, 3), dtype="float16")
    assert extents(legalized(relay.nn.dense(x, w), "nn.dense", topi.nn.dense_legalize).args[0]) == [1, 3]


def test_products_of_batches_are_padded_behind_their_last_axes():
    x, y = relay.var("x", shape=(4, 15, 16), dtype="float16"), relay.var("y", shape=(4, 32, 16), dtype="float16")
    out = legalized(relay.nn.batch_matmul(x, y), "nn.batch_matmul", topi.nn.batch_matmul_legalize)
    assert extents(out) == [4, 15, 32] and extents(out.args[0].args[0]) == [4, 16, 16]
    assert out.args[0].args[1].name_hint == "y"


def test_a_convolution_gets_batch_and_channels():
    data, weight = relay.var("d", shape=(7, 8, 8, 15), dtype="float16"), relay.var("w", shape=(3, 3, 15, 32), dtype="float16")
    conv = relay.nn.conv2d(data, weight, channels=32, kernel_size=(3, 3), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    out = legalized(conv, "nn.conv2d", topi.nn.conv2d_legalize)
    inner = out.args[0]
    assert extents(out) == [7, 8, 8, 32] and [extents(arg) for arg in inner.args] == [[8, 8, 8, 16], [3, 3, 16, 32]]
    assert [arg.op.name for arg in inner.args] == ["nn.pad", "nn.pad"] and inner.args[0].args[0].op.name == "nn.pad"


def test_bytes_get_multiples_of_four_channels():
    data, weight = relay.var("d", shape=(1, 6, 8, 8), dtype="int8"), relay.var("w", shape=(5, 6, 3, 3), dtype="int8")
    conv = relay.nn.conv2d(data, weight, channels=5, kernel_size=(3, 3), out_dtype="int32")
    out = legalized(conv, "nn.conv2d", topi.nn.conv2d_legalize)
    assert extents(out) == [1, 5, 6, 6] and int(out.args[0].attrs.channels) == 8


def test_rules_of_every_target_are_asked_beside_those_of_cuda():
    data, weight = relay.var("d", shape=(1, 4, 4, 3)), relay.var("w", shape=(3, 3, 2, 3))
    conv = relay.nn.conv2d_transpose(data, weight, channels=2, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI")
    with tvm.target.Target("cuda"):
        body = relay.transform.Legalize()(tvm.IRModule.from_expr(conv))["main"].body
    assert body.op.name == "transpose" and body.args[0].attrs.data_layout == "NCHW"
