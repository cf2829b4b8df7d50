"""Estimates the memory that a program asks for."""

from ...ir.expr import Call
from ...ir.module import IRModule
from ...ir.op import Op
from ...runtime import DataType
from ...tirx.expr import IntImm
from ..expr import Function, ShapeExpr
from ..expr_functor import PyExprVisitor, visitor

GIGABYTE = 2**30


@visitor
class _Allocations(PyExprVisitor):
    """Counts what a function allocates: tensors, of which some have a size that is not known, and planned memory."""

    def __init__(self):
        super().__init__()
        self.tensors = self.dynamic = self.bytes = self.planned = self.planned_bytes = 0

    def visit_call_(self, call: Call):
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "relax.builtin.alloc_tensor":
            # Memory that is not planned is one of its own.
            size = self._tensor(call.args[0], call.args[1])
            if size is not None:
                self._storage(size)
        elif name == "relax.memory.alloc_tensor":
            self._tensor(call.args[2], call.args[3])
        elif name == "relax.memory.alloc_storage":
            if not isinstance(call.args[0], ShapeExpr):
                raise TypeError("The size of relax.memory.alloc_storage is expected to be ShapeExpr")
            self._storage(int(call.args[0].values[0]))

    def _storage(self, size):
        self.planned += 1
        self.planned_bytes += size

    def _tensor(self, shape, element):
        """Counts a tensor: its size in bytes, or None."""
        if not isinstance(shape, ShapeExpr):
            raise TypeError(
                "The shape of relax.builtin.alloc_tensor and relax.memory.alloc_tensor is expected to be ShapeExpr"
            )
        if not all(isinstance(extent, IntImm) for extent in shape.values):
            self.dynamic += 1
            return None
        dtype = DataType(str(element.value))
        size = (dtype.bits + 7) // 8 * dtype.lanes
        for extent in shape.values:
            size *= int(extent)
        self.tensors += 1
        self.bytes += size
        return size

    def text(self, name):
        """The report of TVM on a function."""
        dynamic = f", and {self.dynamic} dynamic-size allocation(s)" if self.dynamic else ""
        lines = [
            f"- Function {name}:",
            f" * Without memory planning, there are {self.tensors} constant-size memory allocation(s) with total size "
            f"{self.bytes / GIGABYTE:.4} GB{dynamic}.",
            f" * With memory planning, there are {self.planned} constant-size memory allocation(s) with total size "
            f"{self.planned_bytes / GIGABYTE:.4} GB.",
        ]
        share = f"{self.planned_bytes / self.bytes:.1%}" if self.bytes else ""
        lines.append(f" * Memory planning reduces constant memory size to {share}." if share else "")
        return "\n".join(lines)


def estimate_memory_usage(mod):
    """The memory that the functions of a module allocate, before it is planned and after, as a text. It is static: branches
    and calls count once."""
    if isinstance(mod, Function):
        mod = IRModule({"main": mod})
    parts = []
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            found = _Allocations()
            found.visit_expr(func)
            parts.append(found.text(var.name_hint) + "\n")
    return "Memory usage estimation:\n" + "".join(parts) if parts else ""
