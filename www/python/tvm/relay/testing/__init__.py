"""Helpers for tests of Relay: types and passes over an expression, random tensors, small networks."""

import collections

import numpy as np

from ...ir.module import IRModule
from ...ir.transform import Pass
from ...runtime.tensor import tensor
from .. import transform as _transform
from ..expr import Function
from ..expr_functor import ExprVisitor
from ..prelude import Prelude
from ..transform import gradient  # noqa: F401
from . import (
    byoc,
    dcgan,
    densenet,
    dqn,
    inception_v3,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    temp_op_attr,
    vgg,
)
from .init import create_workload
from .nat import count, make_nat_expr, make_nat_value
from .temp_op_attr import TempOpAttr  # noqa: F401


def run_opt_pass(expr, opt_pass, import_prelude=False):
    """An expression after types were inferred and a pass ran over the module that it makes."""
    if not isinstance(opt_pass, Pass):
        raise TypeError("a pass is needed here")
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    mod = opt_pass(_transform.InferType()(mod))
    entry = mod["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr):
    """An expression with types."""
    return run_opt_pass(expr, _transform.InferType())


def rand(dtype, *shape):
    """A tensor of random numbers between 0 and 1."""
    return tensor(np.random.rand(*shape).astype(dtype) if shape else np.array(np.random.rand(), dtype))


def count_ops(expr):
    """Counts the calls of each operator."""
    found = collections.Counter()

    class Count(ExprVisitor):
        """Counts calls."""

        def visit_call(self, call):
            if hasattr(call.op, "name"):
                found[call.op.name] += 1
            super().visit_call(call)

    Count().visit(expr)
    return found


def check_grad(func, inputs=None, test_inputs=None, eps=1e-6, atol=1e-5, rtol=1e-3, scale=None, mean=0, mode="higher_order", target_devices=None, executor_kind="debug"):
    """Compares derivatives with differences."""
    from ..build_module import create_executor

    forward = run_infer_type(func)
    backward = run_infer_type(gradient(forward, mode=mode))
    scale = 10 * eps if scale is None else scale
    if inputs is None:
        types = [param.checked_type for param in forward.params]
        inputs = [np.array(mean + scale * np.random.randn(*map(int, ty.shape))).astype(str(ty.dtype)) for ty in types]
    tested = inputs if test_inputs is None else test_inputs
    run_forward = create_executor(executor_kind).evaluate(forward)
    _, grads = create_executor(executor_kind).evaluate(backward)(*inputs)
    for position, value in enumerate(inputs):
        if not any(value is other for other in tested):
            continue
        expected = np.zeros(value.shape)
        for place in np.ndindex(*value.shape):
            old = value[place]
            value[place] = old + eps
            above = run_forward(*inputs).numpy().astype("float64")
            value[place] = old - eps
            below = run_forward(*inputs).numpy().astype("float64")
            value[place] = old
            expected[place] = np.sum((above - below) / (2 * eps))
        np.testing.assert_allclose(grads[position].numpy().astype("float64"), expected, atol=atol, rtol=rtol)


_ = (byoc, dcgan, densenet, dqn, inception_v3, lstm, mlp, mobilenet, resnet, resnet_3d, squeezenet, synthetic, temp_op_attr, vgg)
