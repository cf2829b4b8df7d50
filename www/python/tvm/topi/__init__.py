"""Operators as tensor expressions. Over tensors of tensor expressions they give such; `emit_te` takes them by name."""

import importlib
import sys
import types

from ._signatures import ABSENT, ADAPTED, KEYWORDS, RENAMED


class _Operator:
    """An operator whose tensor program the engine has, by its name in Relax."""

    def __init__(self, name, target):
        self._name, self._target = name, target
        self.__name__ = name.rsplit(".", 1)[-1]
        self.__qualname__ = f"topi.{name}"

    def in_relax(self, args, kwargs):
        """The name of the operator of Relax and its arguments."""
        adapt = ADAPTED.get(self._name)
        if adapt is not None:
            return adapt(*args, **kwargs)
        return self._target, args, {KEYWORDS.get(name, name): value for name, value in kwargs.items()}

    def __call__(self, *args, **kwargs):
        from ._lowered import compute, tensors_of

        tensors = [*tensors_of(args), *tensors_of(kwargs)]
        if not tensors:
            raise TypeError(f"topi.{self._name} takes tensors of te.placeholder and te.compute, and none is given")
        if self._name in _OF_FLOATS and "float" not in str(tensors[0].dtype):
            raise TypeError(f"topi.{self._name} only supports floating-point inputs, but got {tensors[0].dtype}")
        return compute(*self.in_relax(args, kwargs))


_OF_FLOATS = ("acos", "acosh", "asin", "asinh", "atanh")


def _find(name):
    from .._catalogue import relax_operators

    from ._registry import COMPUTED, REEXPORTED

    if name in COMPUTED:
        return COMPUTED[name]
    if name in REEXPORTED:
        return getattr(importlib.import_module(REEXPORTED[name]), name.rsplit(".", 1)[-1])
    if name in ABSENT:
        return _missing(f"topi.{name}")
    target = RENAMED.get(name, name)
    return _Operator(name, target) if name in ADAPTED or target in relax_operators() else None


def _missing(name):
    """An operator that can be imported, and says that it is not here when it is called."""

    def refused(*args, **kwargs):
        raise NotImplementedError(f"{name} is not here")

    return refused


class _Part(types.ModuleType):
    """A module of operators. Those of `topi.math` and its like stand in `topi` itself."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        place = self.__name__.removeprefix("tvm.topi.").split(".")[0]
        found = _find(f"{place}.{name}" if place in _PLACES else name)
        if found is None and "." not in self.__name__.removeprefix("tvm.topi."):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return found or _missing(f"{self.__name__}.{name}")


_PLACES = ("nn", "image", "vision")
_FILES = (
    "math broadcast reduction transform tensor einsum scan scatter searchsorted signal sort image image.resize image.dilation2d image.grid_sample vision "
    "nn nn.batch_matmul nn.bitserial_conv2d nn.bitserial_dense nn.bitserial_util nn.bnn nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose "
    "nn.conv3d nn.conv3d_transpose nn.correlation nn.deformable_conv2d nn.dense nn.depth_to_space nn.depthwise_conv2d nn.dilate nn.elemwise "
    "nn.fifo_buffer nn.flatten nn.local_response_norm nn.mapping nn.pad nn.pooling nn.qnn nn.softmax nn.space_to_depth nn.upsampling nn.utils "
    "nn.winograd_util"
).split()
for _name in _FILES:
    _part = sys.modules[f"{__name__}.{_name}"] = _Part(f"{__name__}.{_name}")
    _part.__path__ = []
    if "." not in _name and _name not in ("einsum", "searchsorted", "sort"):
        globals()[_name] = _part


def __getattr__(name):
    if name in ("tag", "utils"):
        return importlib.import_module(f"tvm.topi.{name}")
    found = None if name.startswith("_") else _find(name)
    if found is None:
        # Modules of schedules for devices: the finder of what is not here has them.
        if name in ("arm_cpu", "cuda", "generic", "gpu", "hexagon", "mali", "rocm", "x86"):
            return importlib.import_module(f"tvm.topi.{name}")
        raise AttributeError(f"module 'tvm.topi' has no attribute '{name}'")
    return found
