"""Values: tensors, devices, functions by name."""

from .._absent import Absent
from .._node import Object
from .._values import Array, DataType, DataTypeCode, Map  # noqa: F401
from . import container, vm
from .container import String  # noqa: F401
from .device import (  # noqa: F401
    Device,
    cpu,
    cuda,
    device,
    device_from_target,
    ext_dev,
    hexagon,
    metal,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .object_path import ObjectPath, ObjectPathPair  # noqa: F401
from .params import load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file  # noqa: F401
from .registry import PackedFunc, get_global_func, register_global_func, register_object  # noqa: F401
from .tensor import NDArray, Tensor, empty, from_dlpack, tensor  # noqa: F401
from .vm import Module, VirtualMachine, load_module  # noqa: F401

ShapeTuple = tuple
Scriptable = Object


class ObjectConvertible:
    """A value that can be made an object."""


def convert(value):
    """A value of Python as an object: lists, dictionaries and functions become containers, numbers and texts stay."""
    if isinstance(value, (Object, Array, Map)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return Array(convert(item) for item in value)
    if isinstance(value, dict):
        return Map({key: convert(item) for key, item in value.items()})
    if hasattr(value, "asobject"):
        return value.asobject()
    if callable(value) and not isinstance(value, type):
        return value if isinstance(value, PackedFunc) else PackedFunc(value)
    return value


def const(value, dtype=None, span=None):
    """A number as a scalar expression."""
    from ..tirx.op import const as scalar

    return scalar(value, dtype)


def enabled(target):
    """True if programs can be run for a target: only by the evaluator, which stands for a processor."""
    return str(target).split()[0] in ("llvm", "cpu", "c")


def num_threads():
    """The number of threads."""
    return 1


Executable = Module


def __getattr__(name):
    if name in ("load_static_library", "system_lib"):
        return Absent(f"tvm.runtime.{name}", "programs are evaluated, and there is no machine code")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_ = (container, vm)
