"""Tensor programs."""

from ..ir.expr import Expr, Range, StringImm, Var
from ..ir.type import PointerType, PrimType
from .expr import *  # noqa: F403
from .expr import EqualOp, NotEqualOp, PrimExpr, SizeVar, convert
from .op import *  # noqa: F403
from .op import const, max, min  # noqa: A004
from .op import abs, all, any, pow, round  # noqa: A004
from .op import sum  # noqa: A004
from ..ir.op import register_intrin_lowering
from .buffer import (
    Buffer,
    BufferAccessKind,
    BufferType,
    buffer_data,
    buffer_data_pointer_type,
    decl_buffer,
    is_buffer_var,
)
from .stmt import *  # noqa: F403
from .stmt import Block, BlockRealize, LetStmt
from .function import IndexMap, PrimFunc
from .compilation_pipeline import get_default_tir_pipeline, get_tir_pipeline, register_tir_pipeline
from .._absent import other_version
from . import _expr_rows, analysis, buffer, expr, function, functor, op, stmt, stmt_functor, transform
from .functor import substitute  # noqa: F401
from .stmt_functor import renew_defs  # noqa: F401

Call = expr.Call
Any = expr.AnyExtent


def build(mod, target=None, pipeline=None):
    """A program that can be run; the evaluator runs it as it is."""
    from ..driver import compile

    return compile(mod, target)


_DEVICE = {
    *"CallFFIKernelAttr ComposeLayout DispatchContext ExecScope LambdaExpr Layout ScopeIdDef ScopeIdDefStmt TensorMapEncodeTiledAttr".split(),
    *"TensorMapType TileLayout TilePrimitiveCall call_ffi_kernel tensormap_encode_tiled".split(),
}
"""Names of the dialect for kernels of one device."""


def __getattr__(name):
    if name in _DEVICE:
        from .._absent import DEVICE, Absent

        return Absent(f"tvm.tirx.{name}", DEVICE)
    # Up to 0.19 schedules stood here.
    if name in ("Schedule", "ScheduleError", "TensorIntrin", "schedule"):
        from .. import s_tir

        return getattr(s_tir, name)
    _other_version(name)


_other_version = other_version("tvm.tirx", {"ir_builder": "programs are built by te.extern, T.prim_func and tvm.script.ir_builder"})
