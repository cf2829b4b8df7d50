"""Types of Relay, by TVM 0.19's field names."""

from .. import _engine
from .. import _codes as codes
from .._node import NONE, PRIM, TYPE, TYPEVAR, get, lazy, makers, name_of, row
from .._values import Array, DataType
from ..ir import type as _type
from ..ir.base import Node
from ..ir.type import TupleType as _TupleType
from ..ir.type import Type
from ..tirx.expr import AnyExtent as Any
from ..tirx.expr import IntImm, convert


class TypeKind:
    """Kinds of types."""

    Type, ShapeVar, BaseType, Shape, Constraint, AdtHandle, TypeData = 0, 1, 2, 1, 4, 5, 6


class RelayType(Type):
    """The base class of types of Relay."""

    _is_relay = True

    def __call__(self, *args):
        return TypeCall(self, args)


def _extent(value):
    return IntImm("int32", value) if isinstance(value, int) else convert(value)


class TensorType(RelayType):
    """A tensor with a shape and an element type."""

    def __init__(self, shape, dtype="float32"):
        self.shape = Array(_extent(extent) for extent in shape)
        self.dtype = DataType(dtype)

    ndim = property(lambda self: len(self.shape))

    @property
    def concrete_shape(self):
        """Extents as numbers."""
        return tuple(int(extent) for extent in self.shape)

    def _row_t(self, w):
        w.number(codes.TypeKind.TENSOR)
        w.text(self.dtype)
        for extent in self.shape:
            w.refer(PRIM, extent)


class TupleType(RelayType, _TupleType):
    """Values of several types."""

    def __init__(self, fields, span=None):
        self.fields = Array(fields)
        self.span = span


class FuncType(RelayType):
    """The type of a function that takes arguments of some types."""

    def __init__(self, arg_types, ret_type, type_params=None, type_constraints=None):
        self.arg_types = Array(arg_types)
        self.ret_type = ret_type
        self.type_params = Array(type_params or ())
        self.type_constraints = Array(type_constraints or ())

    def _row_t(self, w):
        w.number(codes.TypeKind.FUNC)
        w.refer(TYPE, self.ret_type)
        w.number(len(self.arg_types))
        for arg in self.arg_types:
            w.refer(TYPE, arg)
        for param in self.type_params:
            w.refer(TYPEVAR, param)


class RefType(RelayType):
    """A cell that holds a value."""

    def __init__(self, value):
        self.value = value

    def _row_t(self, w):
        w.number(codes.TypeKind.REF)
        w.refer(TYPE, self.value)


class TypeVar(RelayType):
    """A variable that stands for a type."""

    def __init__(self, name_hint, kind=TypeKind.Type):
        self.name_hint = str(name_hint)
        self.kind = kind

    def _parts_to_compare(self, map_free_vars):
        return [self.kind, None if map_free_vars else id(self)]

    def _row_v(self, w):
        w.text(self.name_hint)

    def _row_t(self, w):
        w.number(codes.TypeKind.VAR)
        w.refer(TYPEVAR, self)


class GlobalTypeVar(RelayType):
    """The name of a type definition."""

    def __init__(self, name_hint, kind=TypeKind.AdtHandle):
        self.name_hint = str(name_hint)
        self.kind = kind

    def __eq__(self, other):
        return self is other or (isinstance(other, GlobalTypeVar) and self.name_hint == other.name_hint)

    def __hash__(self):
        return hash(self.name_hint)

    def _row_t(self, w):
        w.number(codes.TypeKind.GLOBAL)
        w.text(self.name_hint)


class TypeCall(RelayType):
    """A type definition with its parameters given."""

    def __init__(self, func, args):
        self.func = func
        self.args = Array(args)

    def _row_t(self, w):
        w.number(codes.TypeKind.APPLY)
        w.refer(TYPE, self.func)
        for arg in self.args:
            w.refer(TYPE, arg)


class IncompleteType(RelayType):
    """A type that has to be inferred."""

    def __init__(self, kind=TypeKind.Type):
        self.kind = kind

    def _parts_to_compare(self, _):
        return self.kind

    def _row_t(self, w):
        w.number(codes.TypeKind.HOLE)
        w.number(0)


class TypeConstraint(RelayType):
    """The base class of conditions on types."""


class TypeRelation(TypeConstraint):
    """A relation between types of arguments and result."""

    def __init__(self, func, args, num_inputs, attrs):
        self.func = func
        self.args = Array(args)
        self.num_inputs = num_inputs
        self.attrs = attrs

    def _parts_to_compare(self, _):
        return [self.func, list(self.args), self.num_inputs, self.attrs]


def scalar_type(dtype):
    """The type of a tensor without axes."""
    return TensorType((), dtype)


def type_has_any(ty):
    """True if an extent of the type is not known."""
    found = []

    def look(ty):
        if isinstance(ty, TensorType):
            found.extend(extent for extent in ty.shape if isinstance(extent, Any))
        for part in getattr(ty, "fields", ()):
            look(part)

    look(ty)
    return bool(found)


is_dynamic = type_has_any


def _load(ty):
    _engine.dialect(False)
    words = row(TYPE, ty._t)
    fields = ty.__dict__
    match words[0]:
        case codes.TypeKind.TENSOR:
            fields["dtype"] = DataType(name_of(words[1]))
            fields["shape"] = Array(get(PRIM, item) for item in words[2:])
        case codes.TypeKind.TUPLE:
            fields["fields"] = Array(get(TYPE, item) for item in words[1:])
        case codes.TypeKind.FUNC:
            end = 3 + words[2]
            fields["ret_type"] = get(TYPE, words[1])
            fields["arg_types"] = Array(get(TYPE, item) for item in words[3:end])
            fields["type_params"] = Array(get(TYPEVAR, item) for item in words[end:])
            fields["type_constraints"] = Array()
        case codes.TypeKind.REF:
            fields["value"] = get(TYPE, words[1])
        case codes.TypeKind.GLOBAL:
            fields["name_hint"] = name_of(words[1])
            fields["kind"] = TypeKind.AdtHandle
        case codes.TypeKind.APPLY:
            fields["func"] = get(TYPE, words[1])
            fields["args"] = Array(get(TYPE, item) for item in words[2:])
        case codes.TypeKind.HOLE:
            fields["kind"] = TypeKind.Type


def _maker(cls):
    return lambda number, words: lazy(cls, TYPE, number, _load)


def _type_var(number, words):
    var = get(TYPEVAR, words[1])
    var.__dict__.setdefault("_t", number)
    return var


def _make_type_var(number, words):
    var = TypeVar(name_of(words[0]))
    var.__dict__["_v"] = number
    return var


_type.relay_types.update(
    {
        codes.TypeKind.TENSOR: _maker(TensorType),
        codes.TypeKind.TUPLE: _maker(TupleType),
        codes.TypeKind.FUNC: _maker(FuncType),
        codes.TypeKind.REF: _maker(RefType),
        codes.TypeKind.VAR: _type_var,
        codes.TypeKind.GLOBAL: _maker(GlobalTypeVar),
        codes.TypeKind.APPLY: _maker(TypeCall),
        codes.TypeKind.HOLE: _maker(IncompleteType),
    }
)
makers[TYPEVAR] = _make_type_var
_ = (NONE, Node)
