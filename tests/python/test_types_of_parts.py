"""Parts of what a builder binds have their types afterwards. Expected values are those of TVM 0.27."""

import tvm_ffi
from tvm import relax, tirx
from tvm.relax.frontend import nn


def test_a_call_in_the_arguments_has_its_type_once_it_is_bound():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        flat = relax.call_pure_packed("vm.builtin.reshape", x, ty_args=relax.TensorType([n * 4], "float32"))
        one = builder.emit(relax.call_dps_packed("first", [flat, x], out_ty=x.ty))
        assert flat.ty.ndim == 1 and tvm_ffi.structural_equal(flat.ty.shape[0], n * 4)
        half = relax.op.nn.relu(one)
        builder.emit(relax.op.add(half, one))
        two = builder.emit(relax.call_dps_packed("second", [half, flat], out_ty=half.ty))
        builder.emit_func_output(two)
    assert tvm_ffi.structural_equal(builder.get()["main"].ret_ty, x.ty)


def test_values_are_wrapped_by_name():
    x = relax.Var("x", relax.TensorType([4], "float16"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        left, right = nn.wrap_nested(relax.op.split(x, 2), "half")
        assert (left.shape, right.dtype, left._expr.name) == ([2], "float16", "half_0")
        builder.emit_func_output(left._expr)
