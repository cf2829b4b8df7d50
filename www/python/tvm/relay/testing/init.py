"""A program with random values for its parameters."""

import numpy as np

from ...ir.module import IRModule
from ...runtime.tensor import tensor
from ..transform import InferType


def create_workload(net, initializer=None, seed=0):
    """A function as a module with types, and values for all parameters but `data` and `label`."""
    mod = InferType()(IRModule.from_expr(net))
    np.random.seed(seed)
    params = {}
    for param in mod["main"].params:
        if param.name_hint in ("data", "label"):
            continue
        ty = param.checked_type
        shape = [int(extent) for extent in ty.shape]
        value = np.random.uniform(-0.1, 0.1, tuple(shape)).astype(str(ty.dtype))
        if param.name_hint.endswith(("gamma", "moving_var")):
            value = np.ones(tuple(shape), str(ty.dtype))
        elif param.name_hint.endswith(("beta", "bias", "moving_mean")):
            value = np.zeros(tuple(shape), str(ty.dtype))
        params[param.name_hint] = tensor(value)
    return mod, params
