"""Programs with a product of matrices, for tests."""

from ...ir.expr import Var
from ...ir.type import TensorType
from .. import op
from ..block_builder import BlockBuilder


def chained(params, value, steps):
    """A module whose function `main` computes one step after the other from a value, in one dataflow block."""
    builder = BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            for step in steps[:-1]:
                value = builder.emit(step(value))
            value = builder.emit_output(steps[-1](value))
        builder.emit_func_output(value)
    return builder.finalize()


def get_relax_matmul_module(
    x_shape,
    y_shape,
    in_dtype,
    out_dtype=None,
    transposed_y=False,
    bias_shape=None,
    activation=None,
    residual_bin_op=None,
    residual_activation=None,
):
    """A product of matrices, and what is done with it afterwards."""
    out_dtype = out_dtype or in_dtype
    x, y = Var("x", TensorType(x_shape, in_dtype)), Var("y", TensorType(y_shape, in_dtype))
    params, steps = [x, y], []
    if transposed_y:
        axes = [*range(len(y_shape) - 2), -1, -2]
        steps = [lambda right: op.permute_dims(right, axes=axes)]
    steps.append(lambda right: op.matmul(x, right, out_dtype=out_dtype))
    if bias_shape is not None:
        bias = Var("bias", TensorType(bias_shape, out_dtype))
        params.append(bias)
        steps.append(lambda product: product + bias)
    if activation is not None:
        steps.append(activation)
    if residual_bin_op is not None:
        steps.append(lambda left: residual_bin_op(left, x))
        if residual_activation is not None:
            steps.append(residual_activation)
    return chained(params, y, steps)
