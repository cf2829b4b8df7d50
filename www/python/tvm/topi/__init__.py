"""Operators as tensor expressions. Here they are names of operators of Relax, for `emit_te`."""

import sys
import types


class _Operator:
    def __init__(self, name):
        self._relax_name = name
        self.__name__ = name

    def __call__(self, *args, **kwargs):
        from ..relax import op

        return op.call(self._relax_name, args, kwargs)


_RENAMED = {"transpose": "permute_dims", "nn.dense": "matmul", "cast": "astype", "concatenate": "concat", "nn.batch_matmul": "matmul",
            "nn.leaky_relu": "nn.leakyrelu", "nn.fast_softmax": "nn.softmax"}  # fmt: skip


def _find(name):
    from .._catalogue import relax_operators

    target = _RENAMED.get(name, name)
    return _Operator(target) if target in relax_operators() else None


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
_FILES = ("math broadcast reduction transform tensor nn nn.pooling nn.conv2d nn.dense nn.elemwise nn.softmax nn.pad image vision").split()
for _name in _FILES:
    _part = sys.modules[f"{__name__}.{_name}"] = _Part(f"{__name__}.{_name}")
    _part.__path__ = []
    if "." not in _name:
        globals()[_name] = _part


def __getattr__(name):
    if name == "utils":
        import importlib

        return importlib.import_module("tvm.topi.utils")
    found = None if name.startswith("_") else _find(name)
    if found is None:
        raise AttributeError(f"module 'tvm.topi' has no attribute '{name}'")
    return found
