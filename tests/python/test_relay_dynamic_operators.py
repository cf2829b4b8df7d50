"""Operators of Relay whose attributes are operands, and functions that compute their operands before they make a call."""

import numpy as np
import pytest
import tvm
from tvm import relay

X = np.arange(8, dtype="float32").reshape(4, 2)


def value(expr, *args):
    """The value of an expression for arguments in the order of its free variables."""
    func = relay.Function(relay.analysis.free_vars(expr), expr)
    return relay.create_executor("debug").evaluate(func)(*args).numpy()


def operands():
    return relay.var("x", shape=(4, 2)), relay.var("s", shape=(2,), dtype="int64")


def test_shapes_are_operands():
    x, s = operands()
    assert value(relay.reshape(x, s), X, np.array([2, 4])).shape == (2, 4)
    assert value(relay.tile(x, s), X, np.array([1, 2])).shape == (4, 4)
    assert value(relay.broadcast_to(relay.var("y", shape=(2,)), s), np.ones(2, "float32"), np.array([3, 2])).shape == (3, 2)
    assert value(relay.zeros(s, "int32"), np.array([3, 1])).tolist() == [[0], [0], [0]]
    assert str(relay.reshape(x, s).attrs.newshape) == "[]"


def test_counts_and_bounds_are_operands():
    x, s = operands()
    k = relay.var("k", shape=(), dtype="int64")
    assert value(relay.topk(x, k)[0], X, np.int64(1)).tolist() == [[1], [3], [5], [7]]
    hot = relay.one_hot(relay.var("i", shape=(2,), dtype="int32"), relay.const(1.0), relay.const(0.0), k, -1, "float32")
    assert value(hot, np.array([1, 0], "int32"), np.int64(2)).tolist() == [[0, 1], [1, 0]]
    assert value(relay.strided_slice(x, s, relay.const([3, 2], "int64")), X, np.array([1, 0])).tolist() == X[1:3].tolist()
    assert value(relay.arange(k, dtype="int64"), np.int64(4)).tolist() == [0, 1, 2, 3]
    assert value(relay.expand_dims(x, k), X, np.int64(0)).shape == (1, 4, 2)


def test_widths_and_scales_are_operands():
    x, s = operands()
    widths = relay.var("w", shape=(2, 2), dtype="int64")
    padded = value(relay.nn.pad(x, widths, 9.0), X, np.array([[1, 0], [0, 1]]))
    assert padded.tolist() == np.pad(X, [(1, 0), (0, 1)], constant_values=9).tolist()
    image = np.ones((1, 1, 2, 2), "float32")
    im = relay.var("im", shape=(1, 1, 2, 2))
    assert value(relay.image.resize2d(im, s), image, np.array([4, 6])).shape == (1, 1, 4, 6)
    assert value(relay.nn.upsampling(im, relay.var("f", shape=()), 3.0), image, np.float32(2)).shape == (1, 1, 4, 6)


def test_the_fields_of_a_wrapped_tuple_become_a_tuple():
    x, _ = operands()
    joined = relay.concatenate(relay.split(x, 2), 0)
    assert isinstance(joined.args[0], relay.Tuple) and len(joined.args[0].fields) == 2
    with pytest.raises(ValueError):
        relay.concatenate([], 0)


def test_segments_are_added():
    x, _ = operands()
    sums = relay.segment_sum(x, relay.const(np.array([0, 0, 1, 2], "int32")))
    assert value(sums, X).tolist() == [[2, 4], [4, 5], [6, 7]]


def test_a_slice_is_set():
    x, _ = operands()
    new = relay.strided_set(x, relay.const(np.full((2, 2), 9, "float32")), [1, 0], [3, 2])
    assert value(new, X).tolist() == [[0, 1], [9, 9], [9, 9], [6, 7]]


def test_places_are_attributes():
    x, _ = operands()
    text = relay.annotation.on_device(x, tvm.cpu(), constrain_result=True).astext(False)
    assert "on_device(%x, virtual_device=meta[VirtualDevice][0], constrain_result=True)" in text
    with pytest.raises(ValueError):
        relay.annotation.on_device(x, 3.5)
