"""Relax."""

import importlib

from ..ir.expr import Call, Expr, GlobalVar, StringImm, Tuple, TupleGetItem, Var
from ..ir.base import Span
from ..ir.type import (
    AnyType,
    DistributedType,
    FuncType,
    PackedFuncType,
    PrimType,
    ShapeType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from .expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    GenericConst,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    VarBinding,
    const,
    extern,
    get_shape_of,
    prim_value,
)
from . import analysis, block_builder, expr, global_info, op, transform, ty, utils
from . import type  # noqa: A004
from .block_builder import BlockBuilder
from .expr_functor import ExprFunctor, PyExprMutator, PyExprVisitor
from .global_info import DummyGlobalInfo, VDevice
from .op import (
    call_dps_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from .utils import convert_to_expr
from ..runtime.vm import VirtualMachine, VMExecutable, VMInstrumentReturnKind
from ..runtime import vm
from . import dpl, expr_functor, struct_info, testing
from .pipeline import get_default_pipeline, get_pipeline, register_pipeline
from .vm_build import build
from .binding_rewrite import DataflowBlockRewrite

ObjectType = ObjectStructInfo = AnyType
# Relax of 2022, as TVM's design documents have it.
ExprMutator = PyExprMutator
ExprVisitor = PyExprVisitor


def DynTensorType(ndim=-1, dtype="float32"):
    """A tensor type without a shape, of Relax of 2022."""
    return TensorType(dtype=dtype, ndim=ndim)


TensorStructInfo = TensorType
ShapeStructInfo = ShapeType
TupleStructInfo = TupleType
FuncStructInfo = FuncType
PrimStructInfo = PrimType
StructInfo = Type
Id = Var
BasePyModule = object


_LATER = ("backend", "distributed", "exec_builder", "frontend", "training")


def __getattr__(name):
    # Parts that few scripts need are read when a script asks for them.
    if name == "ExecBuilder":
        return importlib.import_module(f"{__name__}.exec_builder").ExecBuilder
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
