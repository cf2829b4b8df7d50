"""A program with random values for its parameters."""

import math
import random

import numpy as np

from ..._values import DataType
from ...ir.module import IRModule
from ...runtime.device import Device
from ...runtime.tensor import Tensor
from ..transform import InferType


def _noise(count, seed):
    """Bytes of so many numbers of 32 bits: random signs and digits behind one exponent, all at once."""
    digits = int.from_bytes(random.Random(seed).randbytes(4 * count), "little")
    mask, exponent = (int.from_bytes(word * count, "little") for word in (b"\xff\xff\x7f\x80", b"\x00\x00\x00\x3d"))
    return (digits & mask | exponent).to_bytes(4 * count, "little")


class Weights(Tensor):
    """A tensor whose elements are made when they are asked for: networks have millions of them."""

    def __init__(self, name, shape, dtype, seed):
        super().__init__(None, Device(1, 0), None, DataType(dtype))
        self._name, self._shape, self._seed = name, tuple(shape), seed

    shape = property(lambda self: self._shape)

    def _raw(self):
        if self._bytes is None:
            dtype, count = str(self._own_dtype), math.prod(self._shape)
            if self._name.endswith(("gamma", "var")):
                data = np.ones(1, dtype).tobytes() * count
            elif self._name.endswith(("beta", "bias", "mean")):
                data = np.zeros(1, dtype).tobytes() * count
            elif dtype == "float32":
                data = _noise(count, self._seed)
            else:
                np.random.seed(self._seed)
                data = np.random.uniform(-0.1, 0.1, self._shape).astype(dtype).tobytes()
            self._bytes = dtype, self._shape, data
        return self._bytes


def create_workload(net, initializer=None, seed=0):
    """A function as a module with types, and values for all parameters but `data` and `label`."""
    mod = InferType()(IRModule.from_expr(net))
    params = {}
    for at, param in enumerate(mod["main"].params):
        if param.name_hint not in ("data", "label"):
            ty = param.checked_type
            params[param.name_hint] = Weights(param.name_hint, ty.concrete_shape, ty.dtype, seed + at)
    return mod, params
