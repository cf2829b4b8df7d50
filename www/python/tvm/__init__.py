"""TVM's Python, over the engine of passlab: programs, passes and everything that is asked about them. Nothing is compiled."""

__version__ = "0.27.0"

from . import _absent, error
from .error import DiagnosticError, InternalError, TVMError
from ._values import DataType, DataTypeCode
from ._node import Object
from . import runtime
from .runtime import (
    convert,
    cpu,
    cuda,
    device,
    device_from_target,
    ext_dev,
    get_global_func,
    hexagon,
    metal,
    opencl,
    register_global_func,
    register_object,
    rocm,
    vpi,
    vulkan,
)
from .runtime.registry import register_func
from .ir import type as _type
from .ir import expr as _expr
from . import tirx
from . import ir
from .ir import IRModule, instrument, transform
from .ir import prim
from . import target
from . import s_tir, sym, te, topi
from . import relax
from . import relay
from . import script
from . import testing
from .driver import build, compile  # noqa: A004
from . import support, contrib
from ._aliases import install as _install

import sys as _sys

__getattr__ = _absent.other_version(
    __name__,
    {
        **{name: f"te.{name} is there" for name in "compute extern placeholder reduce_axis scan sum thread_axis var".split()},
        "context": "tvm.device is there",
        "create_schedule": _absent.SCHEDULES,
        "lower": "passes lower a program: those of tvm.s_tir.transform and tvm.tirx.transform, or a pipeline of tvm.s_tir.pipeline",
    },
)

nd = _sys.modules["tvm.runtime.tensor"]
_install()
