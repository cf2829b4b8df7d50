"""A program with random values for its parameters."""

import numpy as np

from ..._values import DataType
from ...ir.module import IRModule
from ...runtime.device import Device
from ...runtime.tensor import Tensor
from ..transform import InferType


class Weights(Tensor):
    """A tensor whose elements are made when they are asked for: networks have millions of them."""

    def __init__(self, name, shape, dtype, seed):
        self._array = self._engine = None
        self._own_dtype = DataType(dtype)
        self.device = Device(1, 0)
        self._name, self._shape, self._seed = name, tuple(shape), seed

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._own_dtype)

    def _facts(self):
        if self._array is None:
            dtype = str(self._own_dtype)
            if self._name.endswith(("gamma", "moving_var")):
                self._array = np.ones(self._shape, dtype)
            elif self._name.endswith(("beta", "bias", "moving_mean")):
                self._array = np.zeros(self._shape, dtype)
            else:
                np.random.seed(self._seed)
                self._array = np.random.uniform(-0.1, 0.1, self._shape).astype(dtype)
        return self._array


def create_workload(net, initializer=None, seed=0):
    """A function as a module with types, and values for all parameters but `data` and `label`."""
    mod = InferType()(IRModule.from_expr(net))
    params = {}
    for at, param in enumerate(mod["main"].params):
        if param.name_hint not in ("data", "label"):
            ty = param.checked_type
            params[param.name_hint] = Weights(param.name_hint, ty.concrete_shape, ty.dtype, seed + at)
    return mod, params
