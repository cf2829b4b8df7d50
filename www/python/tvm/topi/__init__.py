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


class _Part(types.ModuleType):
    def __getattr__(self, name):
        found = (
            None if name.startswith("_") else _find(f"{self.__name__.rsplit('.', 1)[-1]}.{name}")
        )
        if found is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return found


for _name in ("nn", "image", "vision"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Part(f"{__name__}.{_name}")


def __getattr__(name):
    found = None if name.startswith("_") else _find(name)
    if found is None:
        raise AttributeError(f"module 'tvm.topi' has no attribute '{name}'")
    return found
