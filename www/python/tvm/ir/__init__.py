"""Parts that all dialects share: objects, expressions, types, modules, passes."""

from .._values import Array, Map
from . import _expr_rows, attrs, base, instrument, transform
from .attrs import Attrs, DictAttrs, make_node
from .base import (
    EnvFunc,
    Node,
    SequentialSpan,
    SourceName,
    Span,
    assert_structural_equal,
    load_json,
    save_json,
    structural_equal,
    structural_hash,
)
from .expr import (
    Call,
    Constant,
    Expr,
    GenericConst,
    GlobalVar,
    Range,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    is_prim_expr,
    is_prim_var,
)
from .function import BaseFunc, CallingConv
from .global_info import GlobalInfo
from .module import IRModule
from .op import Op, register_intrin_lowering, register_op_attr
from .type import FuncType, OpaqueType, PointerType, PrimType, StringType, TupleType, Type
from ..relax.global_info import DummyGlobalInfo, VDevice
from ..tirx.expr import BufferLoad as TensorLoad
from ..tirx.expr import PrimExpr
from ..tirx.stmt import BufferRegion as TensorRegion
from . import prim

RelaxExpr = RelayExpr = Expr
ExprOperand = ExprWithOp = Expr
structural_equal_func = structural_equal


class OpaqueExpr(Expr):
    """The base class of what stands in no finished program."""
