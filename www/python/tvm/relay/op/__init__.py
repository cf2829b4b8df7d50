"""Operators of Relay: a function for each, which makes a call. They are generated from what the engine lists."""

import sys
import types

from ..._catalogue import relay_operators
from . import _make, _more
from .op import (
    OpPattern,
    OpStrategy,
    debug,
    get,
    register,
    register_alter_op_layout,
    register_compute,
    register_convert_op_layout,
    register_external_compiler,
    register_fake_quantization_to_integer,
    register_infer_correct_layout,
    register_optional_fake_quantization_to_integer,
    register_schedule,
    register_shape_func,
    register_stateful,
    register_reduce_schedule,
    register_broadcast_schedule,
    register_gradient,
    register_injective_schedule,
    register_legalize,
    register_mixed_precision_conversion,
    register_pattern,
    register_strategy,
)

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE_FUSABLE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8


def _namespace(path):
    """The module of a namespace such as `nn`."""
    here = sys.modules[__name__]
    for part in path:
        name = f"{here.__name__}.{part}"
        if name not in sys.modules:
            sys.modules[name] = types.ModuleType(name, f"Operators of Relay: {'.'.join(path)}.")
            sys.modules[name].__path__ = []
            setattr(here, part, sys.modules[name])
        here = sys.modules[name]
    return here


def _fill():
    for name in [*relay_operators(), *_make.OTHER_NAMES]:
        if name.startswith(("parser.", "relay.")):
            continue
        *path, short = name.split(".")
        space = _namespace(path)
        if not hasattr(space, short):
            setattr(space, short, _make.function(name))
    for name, value in (_make.BY_HAND | _more.BY_HAND).items():
        *path, short = name.split(".")
        setattr(_namespace(path), short, value)
    nn = _namespace(["nn"])
    sys.modules[f"{nn.__name__}.nn"] = nn
    nn.nn = nn
    nn.Constant = _make.Constant
    for parent, child in (("annotation", "annotation"), ("image", "image"), ("tensor", ""), ("transform", ""), ("reduce", "")):
        module = _namespace([parent]) if child else sys.modules[__name__]
        sys.modules.setdefault(f"{__name__}.{parent}.{child}" if child else f"{__name__}.{parent}", module)


_fill()
