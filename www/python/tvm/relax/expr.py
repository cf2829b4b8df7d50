"""The expressions that only Relax has."""

from numbers import Integral, Real

from .. import _engine
from .._codes import ExprKind
from .._node import (
    ATTRS,
    BLOCK,
    EXPR,
    NONE,
    OBJECT,
    PRIM,
    TYPE,
    get,
    lazy,
    makers,
    maybe,
    name_of,
    row,
)
from .._values import Array, DataType, DictAttrs
from ..error import InternalError
from ..ir import expr as _ir
from ..ir.base import Node, Span  # noqa: F401
from ..ir.expr import (
    Call,
    Expr,
    GenericConst,
    GlobalVar,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    _head,
    expr_makers,
    is_prim_expr,
)
from ..ir._expr_rows import load_expr
from ..ir.function import BaseFunc
from ..ir.type import FuncType, PrimType, ShapeType, TensorType, Type, AnyType  # noqa: F401
from ..tirx.expr import EqualOp, FloatImm, IntImm

Constant = GenericConst


def prim_value(value, dtype=None):
    """A number of Python as a scalar expression."""
    if isinstance(value, EqualOp):
        value = value.asobject()
    if is_prim_expr(value):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return IntImm(dtype or "bool", int(value))
    if isinstance(value, Integral):
        return IntImm(dtype or "int64", int(value))
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return prim_value(value.item(), dtype)
    if isinstance(value, Real):
        return FloatImm(dtype or "float64", float(value))
    raise TypeError(f"Cannot convert {value} with type {type(value)} to `Expr`")


PrimValue = prim_value


def dims_of(values):
    """Extents as scalar expressions."""
    if isinstance(values, ShapeExpr):
        return values.values
    return Array(_extent(value) for value in values)


def _extent(value):
    """A value as an extent; numbers have 64 bits."""
    is_number = isinstance(value, Integral) or (isinstance(value, IntImm) and value.dtype != "int64")
    return IntImm("int64", int(value)) if is_number else prim_value(value)


class DataflowVar(Var):
    """A variable that is visible in its dataflow block only."""


_ir.dataflow_var_class = DataflowVar


class If(Expr):
    """A condition with two branches."""

    def __init__(self, cond, true_branch, false_branch, span=None):
        self.cond = cond
        self.true_branch = _sequence(true_branch)
        self.false_branch = _sequence(false_branch)

    def _row_e(self, w):
        _head(w, ExprKind.IF, self)
        for part in (self.cond, self.true_branch, self.false_branch):
            w.refer(EXPR, part)


def _sequence(body):
    if isinstance(body, SeqExpr) or not isinstance(body, Expr):
        return body
    made = SeqExpr([], body)
    if body.__dict__.get("_ty") is not None:
        made.ty = body.ty
    return made


class ShapeExpr(Expr):
    """A shape as a value."""

    def __init__(self, values, span=None):
        self.values = dims_of(values)
        if any(not isinstance(value, IntImm) and str(value.dtype) != "int64" for value in self.values):
            raise InternalError("the value in ShapeType can only have dtype of int64")

    def _get_type(self):
        ty = self.__dict__.get("_ty")
        if ty is None:
            values = self.values
            ty = self.__dict__.get("_ty")
            if ty is None:
                ty = self.__dict__["_ty"] = ShapeType(values)
        return ty

    ty = property(_get_type, Expr._set_type)

    def __getitem__(self, index):
        if not -len(self.values) <= index < len(self.values):
            raise IndexError("ShapeExpr index out of range")
        return self.values[index]

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def _row_e(self, w):
        w.number(ExprKind.SHAPE_EXPR)
        w.number(NONE)
        w.refer(TYPE, self.ty)
        for value in self.values:
            w.refer(PRIM, value)


def make_shape(shape):
    """A shape of a list of extents."""
    if isinstance(shape, (list, tuple)):
        return ShapeExpr(shape)
    raise TypeError(f"make_shape expects a list or tuple of shape values, but received type {type(shape).__name__}")


class DataTypeImm(Expr):
    """An element type as a value."""

    def __init__(self, value, span=None):
        self.value = DataType(value)
        self._ty = AnyType()

    def _row_e(self, w):
        _head(w, ExprKind.DATA_TYPE_IMM, self)
        w.text(self.value)


class Binding(Node):
    """The base class of bindings."""

    span = None


class VarBinding(Binding):
    """A variable and its value."""

    def __init__(self, var, value, span=None):
        self.var = var
        self.value = value


class MatchCast(Binding):
    """A variable and its value, whose type is checked when the program runs."""

    def __init__(self, var, value, ty=None, span=None, *, struct_info=None):
        self.var = var
        self.value = value
        self.ty = struct_info if ty is None else ty

    struct_info = property(lambda self: self.ty)


class BindingBlock(Node):
    """Bindings in a row."""

    span = None
    _flow = False

    def __init__(self, bindings, span=None):
        self.bindings = Array(bindings)
        wrong = next((item for item in self.bindings if not isinstance(item, Binding)), None)
        if wrong is not None:
            raise TypeError(f"a block is made of bindings, not of {type(wrong).__name__}")

    def _row_k(self, w):
        w.number(self._flow)
        for binding in self.bindings:
            w.refer(EXPR, binding.var)
            w.refer(EXPR, binding.value)
            w.maybe(TYPE, binding.ty if isinstance(binding, MatchCast) else None)


class DataflowBlock(BindingBlock):
    """Bindings in a row that have no side effects and no branches."""

    _flow = True


class SeqExpr(Expr):
    """Blocks of bindings, then a result."""

    def __init__(self, blocks, body, span=None):
        self.blocks = Array(blocks)
        self.body = body

    def _row_e(self, w):
        _head(w, ExprKind.SEQ_EXPR, self)
        w.refer(EXPR, self.body)
        for block in self.blocks:
            w.refer(BLOCK, block)


class Function(BaseFunc):
    """A function."""

    def __init__(
        self,
        params,
        body,
        ret_ty=None,
        is_pure=True,
        attrs=None,
        span=None,
        *,
        ret_struct_info=None,
    ):
        self.params = Array(params)
        wrong = next((param for param in self.params if not isinstance(param, Var)), None)
        if wrong is not None:
            raise TypeError(f"the parameters of a function are variables, not {type(wrong).__name__}")
        self.body = _sequence(body)
        self.ret_ty = ret_struct_info if ret_ty is None else ret_ty
        self.is_pure = bool(is_pure)
        self.attrs = DictAttrs(attrs) if isinstance(attrs, dict) or attrs is None else attrs
        if self.ret_ty is None:
            self.ret_ty = self.body.ty if self.body is not None and self.body.ty else None
        if all(param.ty for param in self.params):
            self._ty = FuncType([param.ty for param in self.params], self.ret_ty or AnyType(), self.is_pure)

    ret_struct_info = property(lambda self: self.ret_ty)

    @staticmethod
    def create_empty(params, ret_ty, is_pure=True, attrs=None, span=None):
        """A function whose body is a call of something that is nowhere defined."""
        output = Var("output", ret_ty)
        value = Call(ExternFunc("_dummy_function"), [], None, [ret_ty])
        value.ty = ret_ty
        return Function(params, SeqExpr([BindingBlock([VarBinding(output, value)])], output), ret_ty, is_pure, attrs)

    def _row_e(self, w):
        _head(w, ExprKind.FUNCTION, self)
        w.refer(EXPR, self.body)
        w.maybe(TYPE, self.ret_ty)
        w.maybe(ATTRS, self.attrs if self.attrs is not None and len(self.attrs) else None)
        w.number(self.is_pure)
        w.number(len(self.params))
        for param in self.params:
            w.refer(EXPR, param)

    def bind_symbolic_vars(self, binding_map):
        """The function with symbolic variables replaced, by variable or name."""
        from .utils import bind_symbolic_vars

        return bind_symbolic_vars(self, binding_map)

    def bind_params(self, binding_map):
        """The function with parameters replaced by constants, by variable or name."""
        from .utils import bind_params

        return bind_params(self, binding_map)

    def inline_functions(self, function_map):
        """The function with calls of other functions, by variable or name, replaced by their bodies."""
        from .utils import inline_functions

        return inline_functions(self, function_map)


class ExternFunc(BaseFunc):
    """A function that is linked in."""

    def __init__(self, global_symbol, ty=None, span=None, *, struct_info=None):
        self.global_symbol = str(global_symbol)
        ty = struct_info if ty is None else ty
        if ty is not None and not isinstance(ty, FuncType):
            raise InternalError(f"Check failed: (ty.as<FuncTypeNode>()) is false: ExternFunc must have FuncType, but declaration of '{global_symbol}' received {ty}")
        self._ty = ty or FuncType.opaque_func(ret=AnyType())
        self.attrs = DictAttrs()

    def _row_e(self, w):
        _head(w, ExprKind.EXTERN_FUNC, self)
        w.text(self.global_symbol)


def _update_type(expr, ty):
    """Sets the type of an expression."""
    expr.ty = ty


def extern(name, ty=None, span=None):
    """A function that is linked in."""
    return ExternFunc(name, ty)


def const(value, dtype=None):
    """A constant."""
    from ..runtime.tensor import Tensor, tensor

    if isinstance(dtype, str) and dtype == "":
        raise ValueError("dtype must not be empty")
    if isinstance(value, Tensor):
        return GenericConst(value)
    if dtype is None and isinstance(value, bool):
        dtype = "bool"
    elif dtype is None and isinstance(value, int):
        dtype = "int32"
    elif dtype is None and isinstance(value, float):
        dtype = "float32"
    elif dtype is None and isinstance(value, (list, tuple)):
        import numpy

        array = numpy.array(value)
        dtype = {"float64": "float32", "int64": "int32"}.get(str(array.dtype), str(array.dtype))
    elif dtype is None and str(getattr(value, "dtype", "")) in ("float64", "int64") and not hasattr(value, "shape"):
        dtype = {"float64": "float32", "int64": "int32"}[str(value.dtype)]
    return GenericConst(tensor(value, dtype))


def get_shape_of(expr):
    """The shape of a tensor: what is known of it, else a call that finds out."""
    ty = expr.ty
    if not isinstance(ty, TensorType):
        raise ValueError("ShapeOf expects a tensor")
    if isinstance(ty.shape, ShapeExpr):
        return ty.shape
    from .op import shape_of

    return shape_of(expr)


def _load(expr):
    words = row(EXPR, expr._e)
    fields = expr.__dict__
    if words[1] != NONE:
        fields["_ty"] = get(TYPE, words[1])
    match words[0]:
        case ExprKind.IF:
            fields["cond"], fields["true_branch"], fields["false_branch"] = (get(EXPR, item) for item in words[2:])
        case ExprKind.FUNCTION:
            fields["body"] = get(EXPR, words[2])
            fields["ret_ty"] = maybe(TYPE, words[3])
            fields["attrs"] = maybe(ATTRS, words[4]) or DictAttrs()
            fields["is_pure"] = words[5] != 0
            fields["params"] = Array(get(EXPR, item) for item in words[7 : 7 + words[6]])
        case ExprKind.SEQ_EXPR:
            fields["body"] = get(EXPR, words[2])
            fields["blocks"] = Array(get(BLOCK, item) for item in words[3:])
        case ExprKind.SHAPE_EXPR:
            fields["values"] = Array(get(PRIM, item) for item in words[2:])
        case ExprKind.DATA_TYPE_IMM:
            fields["value"] = DataType(name_of(words[2]))
        case ExprKind.EXTERN_FUNC:
            fields["global_symbol"] = name_of(words[2])
            fields["attrs"] = DictAttrs()
            fields.setdefault("_ty", FuncType.opaque_func(ret=AnyType()))


def _load_block(block):
    words = row(BLOCK, block._k)
    bindings = Array()
    for at in range(1, len(words), 3):
        var, value = get(EXPR, words[at]), get(EXPR, words[at + 1])
        cast = words[at + 2]
        bindings.append(VarBinding(var, value) if cast == NONE else MatchCast(var, value, get(TYPE, cast)))
    block.__dict__["bindings"] = bindings


def _make_block(number, words):
    return lazy(DataflowBlock if words[0] else BindingBlock, BLOCK, number, _load_block)


def _by_class(cls):
    return lambda number, words: lazy(cls, EXPR, number, _load)


for _kind, _cls in {
    ExprKind.IF: If,
    ExprKind.FUNCTION: Function,
    ExprKind.SEQ_EXPR: SeqExpr,
    ExprKind.SHAPE_EXPR: ShapeExpr,
    ExprKind.DATA_TYPE_IMM: DataTypeImm,
    ExprKind.EXTERN_FUNC: ExternFunc,
}.items():
    expr_makers[_kind] = _by_class(_cls)
makers[BLOCK] = _make_block
_ = (_engine, Call, GlobalVar, StringImm, Tuple, TupleGetItem, PrimType, Type, load_expr, OBJECT)
