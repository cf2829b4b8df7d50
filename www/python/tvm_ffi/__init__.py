"""What TVM's foreign function interface gives beside the package `tvm`."""

from tvm._node import Object  # noqa: F401
from tvm._values import DataType
from tvm.ir.base import (  # noqa: F401
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from tvm.runtime import convert, from_dlpack  # noqa: F401
from tvm.runtime.registry import (  # noqa: F401
    get_global_func,
    register_global_func,
    register_object,
    remove_global_func,
)

from . import access_path, container, core
from .container import Array, Dict, List, Map  # noqa: F401
from .core import String  # noqa: F401

Shape = tuple
dtype = DataType


def structural_walk(node, visit, order="post"):
    """Calls a function with every part of a thing, parts first."""
    from tvm.ir.module import IRModule
    from tvm.relax._walks import post_order_visit as relax_visit
    from tvm.relax.expr import Function
    from tvm.tirx.functor import post_order_visit

    if isinstance(node, IRModule):
        for func in node.values():
            structural_walk(func, visit)
    elif isinstance(node, Function):
        relax_visit(node, visit)
    else:
        post_order_visit(node, visit)


_ = (access_path, container, core)
