"""Relay, as TVM 0.19 has it: programs as graphs of expressions, passes over them, patterns, and their evaluation."""

import importlib as _importlib
import sys as _sys

from . import ty
from . import expr
from . import adt, base, function
from . import type_functor, expr_functor, scope_builder
from . import op
from . import analysis, transform
from .op import annotation, dyn, image, memory, nn, random, vision, vm as _vm_ops  # noqa: F401
from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from .base import SequentialSpan, SourceName, Span, astext, pretty_print
from .build_module import build, create_executor, optimize
from . import backend
from .backend import vm
from . import collage, data_dep_optimization, dataflow_pattern, debug, parser, prelude, qnn, quantize  # noqa: F401
from .expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    bind,
    const,
    var,
)
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor, MixedModeMutator
from .parser import SpanCheck, fromtext, parse, parse_expr
from .loops import while_loop  # noqa: F401
from .param_dict import load_param_dict, save_param_dict  # noqa: F401
from .prelude import Prelude
from .scope_builder import ScopeBuilder
from .transform import build_config
from .ty import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor


def _operators():
    """Every operator without a namespace is a name of this module."""
    from .._catalogue import relay_operators

    here = _sys.modules[__name__]
    for name in [*relay_operators(), *op._make.OTHER_NAMES, *op._make.BY_HAND, *op._more.BY_HAND]:
        if "." not in name and not hasattr(here, name):
            setattr(here, name, getattr(op, name))


def __getattr__(name):
    # Most scripts import networks by themselves.
    if name != "testing":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module("tvm.relay.testing")


def ShapeVar(name):
    """A variable that stands for a shape."""
    return TypeVar(name, TypeKind.ShapeVar)


def _fields_changed():
    """Functions that change fields stand beside the classes whose fields they are."""
    from . import _with_fields as made

    for name in vars(made):
        if name.endswith("WithFields"):
            setattr(function if name == "FunctionWithFields" else expr, name, getattr(made, name))


_operators()
_fields_changed()
ty.ShapeVar = ShapeVar


def _register():
    """Says to the modules that all dialects share what is Relay's."""
    from ..ir import expr as _expr, module as _module

    _module.relay_module = lambda value: getattr(value, "_is_relay", False) is True or isinstance(value, TupleWrapper)
    _expr.relay_call = Call
    from .. import ir as _ir

    for name in ("TensorType", "TypeVar", "GlobalTypeVar", "TypeKind", "IncompleteType", "TypeCall", "TypeRelation"):
        if not hasattr(_ir, name):
            setattr(_ir, name, getattr(ty, name))
    from ..ir.affine_type import AffineType, TensorAffineType, TupleAffineType

    _ir.AffineType, _ir.TensorAffineType, _ir.TupleAffineType = AffineType, TensorAffineType, TupleAffineType
    _ir.TypeConstraint = TypeConstraint
    _ir.RelayRefType = RefType
    _ir.TypeData, _ir.Constructor = TypeData, Constructor


_register()
