"""Types of calls that stand in no function, and of tensors whose shape a variable holds."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op


def _type(call):
    return relax.BlockBuilder().normalize(call).ty


def _held(shape, dtype="float32"):
    return relax.Var("x", relax.TensorType(relax.Var("s", relax.ShapeType(shape)), dtype))


def test_nothing_is_known_of_symbols_outside_of_functions():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 3), "float32"))
    assert str(_type(op.split(x, [1], 0)).fields[0].shape[0]) == "T.max(T.min(T.int64(1), n) - T.min(T.int64(0), n), T.int64(0))"
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        parts = bb.emit(op.split(x, [1], 0))
        bb.emit_func_output(parts)
    assert str(parts.ty.fields[0].shape[0]) == "T.min(T.int64(1), n)"


def test_an_end_of_unknown_sign_counts_from_either_side():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((8,), "float32"))
    assert "if_then_else(n < " in str(_type(op.strided_slice(x, axes=[0], begin=[0], end=[n])).shape)


def test_most_rules_do_not_look_into_a_variable():
    assert _type(op.permute_dims(_held((2, 3)))).shape is None
    assert _type(op.nn.batch_flatten(_held((2, 3, 4)))).shape is None
    assert _type(op.stack([_held((2, 3)), _held((2, 3))], axis=0)).shape is None
    assert [int(extent) for extent in _type(op.ccl.allgather(_held((2, 3)), 4)).shape] == [8, 3]


def test_sequences_have_one_length_for_each_batch():
    x = relax.Var("x", relax.TensorType((3, 4), "float32"))
    lengths = relax.Var("l", relax.TensorType((4,), "int64"))
    with pytest.raises(ValueError):
        _type(op.reverse_sequence(x, lengths, 1, 0))


def test_statistics_have_the_element_type_of_the_data():
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    v = relax.Var("v", relax.TensorType((3,), "float16"))
    with pytest.raises(TypeError):
        _type(op.nn.batch_norm(x, v, v, v, v, axis=1))


def test_numbers_that_are_operands_keep_their_types():
    x = relax.Var("x", relax.TensorType((2,), "int32"))
    one, zero = tirx.FloatImm("float32", 1.0), tirx.FloatImm("float32", 0.0)
    assert _type(op.one_hot(x, one, zero, 3)).dtype == "float32"
    with pytest.raises(tvm.error.InternalError, match="same dtype"):
        _type(op.one_hot(x, one, tirx.FloatImm("float64", 0.0), 3))


def test_attributes_that_are_numbers_are_no_symbols():
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    for call in (lambda: op.repeat(x, tirx.Var("n", "int64")), lambda: op.sort(x, axis=None), lambda: op.astype(x, None)):
        with pytest.raises(TypeError):
            call()


def test_what_needs_a_binding_needs_a_block():
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    calls = op.add(op.add(x, x), x), op.concat([op.add(x, x), x]), relax.Tuple([relax.Tuple([op.add(x, x)])])
    for expr in (*calls, relax.TupleGetItem(op.split(x, 2), 0), op.add(relax.TupleGetItem(relax.Tuple([x, x]), 0), x)):
        with pytest.raises(tvm.error.InternalError, match="without a scope"):
            relax.BlockBuilder().normalize(expr)
    assert len(relax.BlockBuilder().normalize(relax.Tuple([x, x])).ty.fields) == 2


def test_a_type_without_element_type_says_none():
    assert relax.TensorType(dtype="", ndim=2).dtype is None
    x = relax.Var("x", relax.TensorType(dtype=None, ndim=2))
    assert _type(op.permute_dims(x)).dtype is None
