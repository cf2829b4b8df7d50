"""Names that TVM's foreign function interface gives beside the package `tvm`."""

from tvm._node import Object  # noqa: F401
from tvm._values import DataType
from tvm.ir._differences import first_difference
from tvm.ir.base import (  # noqa: F401
    structural_equal,
    structural_hash,
)
from tvm.runtime import Device, Module, Tensor, convert, device, from_dlpack  # noqa: F401
from tvm.runtime.device import DLDeviceType  # noqa: F401
from tvm.runtime.registry import PackedFunc as Function  # noqa: F401
from tvm.runtime.registry import (  # noqa: F401
    get_global_func,
    register_global_func,
    register_object,
    remove_global_func,
)

from . import access_path, container, core, registry, structural
from .container import Array, Dict, List, Map  # noqa: F401
from .core import String  # noqa: F401
from .structural import (  # noqa: F401
    DefRegionKind,
    InplaceMode,
    StructuralMutator,
    StructuralVisitor,
    VisitInterrupt,
    WalkOrder,
    WalkResult,
    structural_map,
    structural_mutate,
    structural_visit,
    structural_walk,
)


def get_first_structural_mismatch(lhs, rhs, map_free_vars=False, skip_tensor_content=False):
    """The paths to the first difference of two things, or None."""
    return None if structural_equal(lhs, rhs, map_free_vars) else first_difference(lhs, rhs, map_free_vars)


Shape = tuple
dtype = DataType
int8, int16, int32, int64 = map(DataType, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(DataType, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64, bfloat16 = map(DataType, ("float16", "float32", "float64", "bfloat16"))
bool = DataType("bool")


class StructuralKey(Object):
    """A thing as the key of a dictionary in which equal things are one."""

    def __init__(self, key):
        self.key = key

    def __hash__(self):
        return structural_hash(self.key)

    def __eq__(self, other):
        return isinstance(other, StructuralKey) and structural_equal(self.key, other.key)


_ = (access_path, container, core, registry, structural)
