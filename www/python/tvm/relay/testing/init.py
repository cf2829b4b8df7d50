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


_STARTS = {"bias": 0.0, "gamma": 1.0, "beta": 0.0, "mean": 0.0, "var": 1.0}


def _start(name):
    """The value that all elements of a parameter start as; None of a weight."""
    return next((value for end, value in _STARTS.items() if name.endswith(end)), None)


class Initializer:
    """Fills an array with what a parameter starts as; a subclass says what a weight does."""

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, desc, arr):
        if desc.endswith("weight"):
            self._init_weight(desc, arr)
        elif (value := _start(desc)) is not None:
            arr[:] = value
        else:
            raise ValueError(f"nothing is known of how {desc} starts: a name ends with weight, {', '.join(_STARTS)}")

    def _init_weight(self, name, arr):
        raise NotImplementedError("a subclass says what a weight starts as")


class Xavier(Initializer):
    """Random numbers of a range that goes with the numbers of inputs and outputs (Glorot and Bengio, 2010)."""

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name, arr):
        if len(arr.shape) < 2:
            raise ValueError(f"{name} is a vector: the range needs a number of inputs and one of outputs")
        outputs, inputs, *window = arr.shape
        factors = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}
        if self.factor_type not in factors or self.rnd_type != "uniform":
            raise ValueError(f"there are no {self.rnd_type} numbers for the factor {self.factor_type}")
        factor = math.prod(window) * (1 if "depthwise" in name else factors[self.factor_type])
        scale = math.sqrt(self.magnitude / factor)
        arr[:] = np.random.uniform(-scale, scale, arr.shape)


class Constant(Initializer):
    """Elements of a weight are equal, and their sum is 1."""

    def _init_weight(self, name, arr):
        arr[:] = 1.0 / math.prod(arr.shape)


class Weights(Tensor):
    """A tensor whose elements are made when they are asked for: networks have millions of them."""

    def __init__(self, name, shape, dtype, seed, initializer=None):
        super().__init__(None, Device(1, 0), None, DataType(dtype))
        self._name, self._shape, self._seed, self._initializer = name, tuple(shape), seed, initializer

    shape = property(lambda self: self._shape)

    def _raw(self):
        if self._bytes is None:
            dtype, count = str(self._own_dtype), math.prod(self._shape)
            if self._initializer:
                np.random.seed(self._seed)
                array = np.zeros(self._shape, dtype)
                self._initializer(self._name, array)
                data = array.tobytes()
            elif (value := _start(self._name)) is not None:
                data = np.full(1, value, dtype).tobytes() * count
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
            params[param.name_hint] = Weights(param.name_hint, ty.concrete_shape, ty.dtype, seed + at, initializer)
    return mod, params
