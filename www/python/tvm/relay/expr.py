"""Expressions of Relay, by TVM 0.19's field names."""

import numpy as np

from .. import _engine
from .._codes import ExprKind
from .._node import ATTRS, EXPR, NONE, PATTERN, TYPE, TYPEVAR, get, lazy, maybe, name_of, number, numbers, row
from .._values import Array, DataType, DictAttrs
from ..ir import expr as _ir
from ..ir._expr_rows import fill_parts
from ..ir.base import Node, SourceName, Span
from ..ir.expr import Expr, GlobalVar, _head
from ..ir.function import BaseFunc
from ..ir.module import IRModule
from ..ir.op import Op
from ..ir.type import MISSING, Type
from ..runtime.tensor import Tensor, tensor
from . import _spans
from . import ty as _ty

RelayExpr = Expr


class RelayNode(Expr):
    """The base class of expressions of Relay."""

    _is_relay = True

    @property
    def span(self):
        """The place in the text, where it came from one."""
        known = _spans.given(self)
        if known is None and self.__dict__.get("_e") is not None:
            _engine.dialect(False)
            words = _engine.call("user_span", self._e)
            if words:
                known = self._span = Span(SourceName("from_string"), words[2], words[4], words[3], words[5])
        return known

    @span.setter
    def span(self, span):
        self.__dict__["_span"] = span
        _spans.any_given |= span is not None

    @property
    def checked_type(self):
        """The type; `InferType` gives it."""
        ty = self.ty
        if ty is MISSING:
            raise ValueError("The type checker has not populated the checked_type for this node")
        return ty

    checked_type_ = _checked_type_ = property(lambda self: None if self.ty is MISSING else self.ty, Expr._set_type)

    def _binary(self, name, other, swap=False):
        from . import op

        name = {"sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, name)
        if name not in ("add", "subtract", "multiply", "divide", "less", "less_equal", "greater", "greater_equal"):
            raise TypeError(f"an expression of Relay has no operator for {name}")
        if isinstance(other, TupleWrapper):
            other = other.astuple()
        if isinstance(other, Expr):
            return getattr(op, name)(other, self) if swap else getattr(op, name)(self, other)
        if isinstance(other, (int, float, np.generic)):
            raise TypeError(f'convert "{other}" with `const` first')
        raise TypeError(f"type {type(other)} not supported")

    def __neg__(self):
        from . import op

        return op.negative(self)

    def astype(self, dtype, span=None):
        """The value in another element type."""
        from . import op

        return op.cast(self, dtype)

    def __getitem__(self, index):
        raise TypeError(f"'{type(self).__name__}' object is not subscriptable")

    def __iter__(self):
        raise TypeError(f"'{type(self).__name__}' object is not iterable")

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    __hash__ = Expr.__hash__

    def __bool__(self):
        return True

    def __call__(self, *args, attrs=None):
        return Call(self, args, attrs)


def as_expr(value):
    """An operand: tuples of them become one expression."""
    if isinstance(value, TupleWrapper):
        return value.astuple()
    if isinstance(value, Expr):
        return value
    if isinstance(value, (list, tuple)):
        return Tuple(value)
    raise TypeError(f"an expression is needed here, not {type(value).__name__}")


class Id(Node):
    """The identity of a variable, which stays the same in programs that were rewritten."""

    def __init__(self, name_hint):
        self.name_hint = name_hint


class Var(RelayNode):
    """A variable."""

    def __init__(self, name_hint, type_annotation=None, span=None):
        self.name = str(name_hint)
        self.type_annotation = type_annotation
        self.span = span

    name_hint = property(lambda self: self.name)

    @property
    def vid(self):
        """The identity of the variable."""
        if "_vid" not in self.__dict__:
            self._vid = Id(self.name)
        return self._vid

    @property
    def ty(self):
        """The type that was inferred, or the one that it was given."""
        known = Expr._get_type(self)
        return known if known is not MISSING or self.type_annotation is None else self.type_annotation

    @ty.setter
    def ty(self, ty):
        self._set_type(ty)

    def _row_e(self, w):
        _head(w, ExprKind.VAR, self)
        w.text(self.name)
        w.maybe(TYPE, self.type_annotation)
        w.number(0)
        w.number(NONE)


class Constant(RelayNode, _ir.Constant):
    """A tensor that is known."""

    def __init__(self, data, span=None):
        self.data = data if isinstance(data, Tensor) else tensor(data)
        self.span = span

    @property
    def ty(self):
        """The type."""
        if self.__dict__.get("_ty") is None:
            self._ty = _ty.TensorType(self.data.shape, self.data.dtype)
        return self._ty

    def _direct_e(self):
        data = self.data
        return _engine.call("user_make_constant", str(data.dtype), _engine.words(data.shape), data.tobytes())


class Tuple(RelayNode, _ir.Tuple):
    """Several values as one."""

    def __init__(self, fields, span=None):
        self.fields = Array(as_expr(field) for field in fields)
        self.span = span

    ty = property(Expr._get_type, Expr._set_type)
    __getitem__ = _ir.Tuple.__getitem__
    __iter__ = _ir.Tuple.__iter__

    def astuple(self):
        """Itself."""
        return self

    def astype(self, dtype, span=None):
        raise TypeError("astype cannot be used on tuple")


class TupleGetItem(RelayNode, _ir.TupleGetItem):
    """A field of a tuple."""

    def __init__(self, tuple_value, index, span=None):
        self.tuple_value = as_expr(tuple_value)
        self.index = int(index)
        self.span = span


class Call(RelayNode, _ir.Call):
    """A call of an operator, a function or a constructor."""

    def __init__(self, op, args, attrs=None, type_args=None, span=None):
        self.op = get_op(op) if isinstance(op, str) else op
        self.args = Array(as_expr(arg) for arg in args)
        self.attrs = DictAttrs(attrs) if isinstance(attrs, dict) else attrs
        # Calls of operators have the types of their arguments, which InferType tells anew.
        self.ty_args = Array(() if isinstance(self.op, Op) else type_args or ())
        self.span = span

    @property
    def type_args(self):
        """The types of the type parameters; of a call of an operator whose type is known, those of the arguments."""
        if len(self.ty_args) or not isinstance(self.op, Op) or self.ty is MISSING:
            return self.ty_args
        return Array(arg.checked_type for arg in self.args)


class Let(RelayNode):
    """A value under a name in an expression."""

    def __init__(self, variable, value, body, span=None):
        self.var = variable
        self.value = as_expr(value)
        self.body = as_expr(body)
        self.span = span

    def _row_e(self, w):
        _head(w, ExprKind.LET, self)
        for part in (self.var, self.value, self.body):
            w.refer(EXPR, part)


class If(RelayNode):
    """One of two expressions."""

    def __init__(self, cond, true_branch, false_branch, span=None):
        self.cond = as_expr(cond)
        self.true_branch = as_expr(true_branch)
        self.false_branch = as_expr(false_branch)
        self.span = span

    def _row_e(self, w):
        _head(w, ExprKind.IF, self)
        for part in (self.cond, self.true_branch, self.false_branch):
            w.refer(EXPR, part)


class RefCreate(RelayNode):
    """A new cell with a value."""

    def __init__(self, value, span=None):
        self.value = as_expr(value)
        self.span = span

    def _row_e(self, w):
        _head(w, ExprKind.REF_CREATE, self)
        w.refer(EXPR, self.value)


class RefRead(RelayNode):
    """The value of a cell."""

    def __init__(self, ref, span=None):
        self.ref = as_expr(ref)
        self.span = span

    def _row_e(self, w):
        _head(w, ExprKind.REF_READ, self)
        w.refer(EXPR, self.ref)


class RefWrite(RelayNode):
    """Another value for a cell."""

    def __init__(self, ref, value, span=None):
        self.ref = as_expr(ref)
        self.value = as_expr(value)
        self.span = span

    def _row_e(self, w):
        _head(w, ExprKind.REF_WRITE, self)
        w.refer(EXPR, self.ref)
        w.refer(EXPR, self.value)


class Function(RelayNode, BaseFunc):
    """A function."""

    def __init__(self, params, body, ret_type=None, type_params=None, attrs=None, span=None):
        self.params = Array(params)
        self.body = as_expr(body)
        self.ret_type = ret_type
        self.type_params = Array(type_params or ())
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(dict(attrs.items()) if attrs else {})
        self.span = span

    def __call__(self, *args):
        return Call(self, args)

    def _row_e(self, w):
        _head(w, ExprKind.FUNCTION, self)
        w.refer(EXPR, self.body)
        w.maybe(TYPE, self.ret_type)
        w.maybe(ATTRS, self.attrs if self.attrs is not None and len(self.attrs) else None)
        w.number(1)
        w.number(len(self.params))
        for param in self.params:
            w.refer(EXPR, param)
        for param in self.type_params:
            w.refer(TYPEVAR, param)


class TempExpr(RelayNode):
    """An expression that a pass leaves for itself."""

    def realize(self):
        """The expression that it stands for."""
        raise NotImplementedError


class TupleWrapper:
    """A tuple of which Python knows how many fields it has."""

    def __init__(self, tuple_value, size):
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self):
        """The tuple."""
        return self.tuple_value

    asobject = astuple

    def astext(self, show_meta_data=True, annotate=None):
        """The text of the tuple."""
        return self.tuple_value.astext(show_meta_data, annotate)

    def __getitem__(self, index):
        if not -self.size <= index < self.size:
            raise IndexError("Tuplewrapper out of range")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self):
        return self.size

    def __iter__(self):
        return iter([self[index] for index in range(self.size)])

    def __repr__(self):
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"

    def astype(self, dtype):
        """Tuples have no element type."""
        raise TypeError("astype cannot be used on tuple")


class StorageInfo(Node):
    """The places of values in memory; nothing is placed here."""


def var(name_hint, type_annotation=None, shape=None, dtype="float32", span=None):
    """A variable of a type, or of a tensor with a shape."""
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if shape is not None:
        type_annotation = _ty.TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = _ty.TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value, dtype=None, span=None):
    """A constant of a number, list, array or tensor."""
    if isinstance(value, (int, float, bool, list, np.generic)):
        value = np.array(value, dtype) if dtype is not None else np.array(value)
        if dtype is None:
            dtype = {"int64": "int32", "float64": "float32"}.get(str(value.dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        if dtype is not None:
            value = value.astype(str(DataType(dtype)))
        value = tensor(value)
    if not isinstance(value, Tensor):
        raise ValueError("value has to be scalar or NDArray")
    return Constant(value, span)


def get_op(name):
    """The operator of a name, of Relay."""
    return Op.get(name)


def bind(expr, binds):
    """The expression with variables replaced."""
    from .expr_functor import substitute

    return substitute(expr, dict(binds))


def module_from_expr(expr, functions=None, type_defs=None):
    """A module of which the function is an expression; what is free in it are the parameters."""
    from .analysis import free_type_vars, free_vars

    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    name = "main"
    if isinstance(expr, Function):
        name = expr.attrs.get("global_symbol", name) if expr.attrs is not None else name
    else:
        expr = Function(free_vars(expr), expr, None, free_type_vars(expr))
    made = IRModule({}, dict(type_defs or {}))
    made._relay = True
    for known, func in (functions or {}).items():
        made[known] = func
        name = f"{name}_0" if getattr(known, "name_hint", known) == name else name
    made[GlobalVar(str(name))] = expr
    return made


def _load(expr):
    _engine.dialect(False)
    words = row(EXPR, expr._e)
    fields = expr.__dict__
    if words[1] != NONE and "_ty" not in fields:
        fields["_ty"] = get(TYPE, words[1])
    match words[0]:
        case ExprKind.VAR:
            fields["name"] = name_of(words[2])
            fields["type_annotation"] = maybe(TYPE, words[3])
        case ExprKind.CONSTANT:
            fields["data"] = Tensor.of_engine(expr._e)
        case ExprKind.TUPLE | ExprKind.TUPLE_GET_ITEM | ExprKind.CALL:
            fill_parts(fields, words)
        case ExprKind.LET:
            fields["var"], fields["value"], fields["body"] = (get(EXPR, item) for item in words[2:5])
        case ExprKind.IF:
            parts = (get(EXPR, item) for item in words[2:5])
            fields["cond"], fields["true_branch"], fields["false_branch"] = parts
        case ExprKind.FUNCTION:
            fields["body"] = get(EXPR, words[2])
            fields["ret_type"] = maybe(TYPE, words[3])
            fields["attrs"] = DictAttrs({}) if words[4] == NONE else get(ATTRS, words[4])
            end = 7 + words[6]
            fields["params"] = Array(get(EXPR, item) for item in words[7:end])
            fields["type_params"] = Array(get(TYPEVAR, item) for item in words[end:])
        case ExprKind.MATCH:
            from .adt import Clause

            fields["data"], fields["complete"] = get(EXPR, words[2]), words[3] != 0
            pairs = zip(words[4::2], words[5::2])
            fields["clauses"] = Array(Clause(get(PATTERN, lhs), get(EXPR, rhs)) for lhs, rhs in pairs)
        case ExprKind.REF_CREATE:
            fields["value"] = get(EXPR, words[2])
        case ExprKind.REF_READ:
            fields["ref"] = get(EXPR, words[2])
        case ExprKind.REF_WRITE:
            fields["ref"], fields["value"] = get(EXPR, words[2]), get(EXPR, words[3])


def relay_maker(cls):
    """The maker of objects of a class for what was read."""
    return lambda number, words: lazy(cls, EXPR, number, _load)


_ir.relay_makers.update(
    {
        ExprKind.VAR: relay_maker(Var),
        ExprKind.CONSTANT: relay_maker(Constant),
        ExprKind.TUPLE: relay_maker(Tuple),
        ExprKind.TUPLE_GET_ITEM: relay_maker(TupleGetItem),
        ExprKind.CALL: relay_maker(Call),
        ExprKind.LET: relay_maker(Let),
        ExprKind.IF: relay_maker(If),
        ExprKind.FUNCTION: relay_maker(Function),
        ExprKind.REF_CREATE: relay_maker(RefCreate),
        ExprKind.REF_READ: relay_maker(RefRead),
        ExprKind.REF_WRITE: relay_maker(RefWrite),
    }
)
_ = (number, numbers, Type)
