"""Types: what a value of the program looks like. The classes of both eras are the same under their names."""

import re

from .. import _engine
from .._codes import ExtentsKind, TypeKind
from .._node import (
    EXPR,
    NONE,
    OBJECT,
    PRIM,
    TYPE,
    TYPEVAR,
    get,
    lazy,
    makers,
    maybe,
    name_of,
    row,
)
from .._values import Array, DataType
from .base import Node


class Type(Node):
    """The base class of types."""

    span = None

    @staticmethod
    def missing():
        """The type of what has none yet."""
        return MISSING

    @staticmethod
    def Missing():  # noqa: N802
        """The same."""
        return MISSING

    def is_missing(self):
        """True if nothing is known yet, because the engine was not asked."""
        return False

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, Type) or self.is_missing() or other.is_missing():
            return False
        from .base import structural_equal

        return structural_equal(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = Node.__hash__

    def same_as(self, other):
        """True if it is the very same type."""
        return self is other

    def is_base_of(self, derived):
        """True if every value of the other type is one of this."""
        from ..relax.analysis import type_base_check, BaseCheckResult

        return type_base_check(self, derived) == BaseCheckResult.PASS

    def __str__(self):
        from ..script.printer import type_text

        return type_text(self)

    def _relax_script(self):
        """The text of it."""
        return self.script()


class MissingType(Type):
    """The type of an expression that was not inferred."""

    def is_missing(self):
        return True

    def __bool__(self):
        return False

    def __str__(self):
        return "ir.Type(span=None)"


MISSING = MissingType()


_NO_NAME = re.compile(r"(?!(?:int|uint|float|bfloat|bool|handle|void|custom|object)(?:$|\d|_|x|\[))[a-z_]+\d*")
"""Names that are no element type's."""


class PrimType(Type):
    """A scalar."""

    def __init__(self, dtype):
        if isinstance(dtype, (list, tuple, dict, int)):
            raise TypeError(f"an element type is a name, not {dtype!r}")
        self.dtype = DataType(dtype)
        if _NO_NAME.fullmatch(self.dtype) and _engine.is_relax():
            raise ValueError(f"unknown dtype `{dtype}`")

    def __str__(self):
        return "" if self.dtype == "void" else str(self.dtype)

    def __repr__(self):
        return Type.__str__(self)

    bits = property(lambda self: self.dtype.bits)
    lanes = property(lambda self: self.dtype.lanes)
    code = property(lambda self: self.dtype.type_code)
    itemsize = property(lambda self: self.dtype.itemsize)

    def __eq__(self, other):
        return self.dtype == DataType(other) if isinstance(other, str) else super().__eq__(other)

    __hash__ = Type.__hash__

    def is_scalar(self):
        """True if it is no vector."""
        return self.dtype.lanes == 1

    def matches_code(self, *codes):
        """True if it is of one of some families."""
        return self.dtype.type_code in codes

    def matches_element_type(self, code, bits):
        """True if its lanes are of a family and so wide."""
        return (self.dtype.type_code, self.dtype.bits) == (code, bits)

    def _row_t(self, w):
        w.number(TypeKind.PRIM)
        w.text(self.dtype)


class PointerType(Type):
    """A pointer to elements in a kind of memory."""

    def __init__(self, element_type, storage_scope=""):
        self.element_type = element_type
        self.storage_scope = storage_scope

    def script(self, **options):
        """The text of it, as TVM prints it."""
        element, scope = str(self.element_type.dtype), self.storage_scope
        if element == "void":
            return f'T.handle(storage_scope="{scope}")' if scope else "T.handle"
        return f'T.handle("{element}", "{scope}")' if scope else f'T.handle("{element}")'

    def _row_t(self, w):
        w.number(TypeKind.PRIM)
        w.text(dtype_text(self))


def dtype_text(ty):
    """The element type by which the engine knows a scalar type or pointer."""
    if isinstance(ty, PointerType):
        element = dtype_text(ty.element_type)
        scope = ty.storage_scope or "global"
        return "handle" if element == "void" and scope == "global" else f"handle<{element},{scope}>"
    return str(ty.dtype)


def type_of_dtype(text):
    """The type that the engine's name of an element type means."""
    if text.startswith("handle<"):
        element, _, scope = text[7:-1].partition(",")
        return PointerType(type_of_dtype(element), "" if scope == "global" else scope)
    if text == "handle":
        return PointerType(PrimType("void"))
    return PrimType(text)


class TupleType(Type):
    """Values of several types."""

    def __init__(self, fields, span=None):
        self.fields = Array(fields)
        self.span = span

    def __getitem__(self, index):
        return self.fields[index]

    def __len__(self):
        return len(self.fields)

    def _row_t(self, w):
        w.number(TypeKind.TUPLE)
        for field in self.fields:
            w.refer(TYPE, field)


class StringType(Type):
    """A text."""

    def script(self, **options):
        """The text of it, as TVM prints it where it stands alone."""
        return "ir.StringType(span=None)"

    def __str__(self):
        return self.script()

    def _row_t(self, w):
        w.number(TypeKind.STR)


class OpaqueType(Type):
    """A value that nothing is known of."""

    def __init__(self, name=""):
        self.name = name

    def _row_t(self, w):
        w.number(TypeKind.ANY)


class AnyType(Type):
    """Any value (once `ObjectStructInfo`)."""

    def __init__(self, span=None):
        self.span = span

    def _row_t(self, w):
        w.number(TypeKind.ANY)


class ShapeType(Type):
    """A shape as a value."""

    def __init__(self, values=None, ndim=-1, span=None):
        from ..relax.expr import dims_of

        if values is not None and ndim not in (-1, None):
            raise ValueError(f"a shape has values or a number of axes, not both: {list(values)} and {ndim}")
        self.values = None if values is None else Array(dims_of(values))
        self.ndim = (-1 if ndim is None else int(ndim)) if values is None else len(self.values)
        self.span = span

    def _row_t(self, w):
        w.number(TypeKind.SHAPE)
        _write_extents(w, self.values, self.ndim, None)


def _write_extents(w, values, ndim, var):
    if var is not None:
        w.number(ExtentsKind.VAR)
        w.refer(EXPR, var)
    elif values is not None:
        w.number(ExtentsKind.KNOWN)
        for value in values:
            w.refer(PRIM, value)
    elif ndim >= 0:
        w.number(ExtentsKind.RANK)
        w.number(ndim)
    else:
        w.number(ExtentsKind.UNKNOWN)


class TensorType(Type):
    """A tensor, of which shape, rank, element type and device may be known (once `TensorStructInfo`)."""

    def __init__(self, shape=None, dtype="float32", vdevice=None, ndim=-1, span=None):
        from ..relax.expr import ShapeExpr

        if isinstance(shape, (list, tuple)):
            shape = ShapeExpr(shape)
        if isinstance(vdevice, str):
            from ..relax.global_info import VDevice

            vdevice = VDevice.of_text(vdevice)
        if shape is not None and ndim not in (-1, None):
            raise ValueError(f"a tensor has a shape or a number of axes, not both: {shape} and {ndim}")
        self.shape = shape
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        self.dtype = None if dtype in (None, "", "void") else DataType(dtype)
        self.vdevice = vdevice
        if isinstance(shape, ShapeExpr):
            ndim = len(shape)
        elif shape is not None and isinstance(shape.ty, ShapeType):
            ndim = shape.ty.ndim
        self.ndim = -1 if ndim is None else int(ndim)
        self.span = span

    def _row_t(self, w):
        from ..relax.expr import ShapeExpr

        w.number(TypeKind.PARTIAL_TENSOR)
        w.maybe_text(self.dtype)
        w.maybe(OBJECT, self.vdevice)
        known = isinstance(self.shape, ShapeExpr)
        _write_extents(w, self.shape.values if known else None, self.ndim, None if known else self.shape)


class FuncType(Type):
    """The type of a value that can be called (once `FuncStructInfo`)."""

    def __init__(self, params=None, ret=None, purity=True, span=None, type_params=(), derive_func=None):
        self.params = None if params is None else Array(params)
        self.ret = AnyType() if ret is None else ret
        self.purity = bool(purity)
        self.type_params = Array(type_params)
        self.derive_func = derive_func
        self.span = span

    arg_types = property(lambda self: self.params)
    ret_type = property(lambda self: self.ret)

    @staticmethod
    def opaque_func(*, ret=None, derive_func=None, purity=False, span=None):
        """The type of a function that takes any arguments."""
        return FuncType(None, ret, purity, span, derive_func=derive_func)

    def _row_t(self, w):
        w.number(TypeKind.CALLABLE)
        w.refer(TYPE, self.ret)
        w.number(self.purity)
        w.number(self.params is None)
        for param in self.params or ():
            w.refer(TYPE, param)


class PackedFuncType(Type):
    """A function of the runtime, of which nothing is known."""

    def __init__(self, span=None):
        self.span = span

    def _row_t(self, w):
        w.number(TypeKind.PACKED_FUNC)


class DistributedType(Type):
    """A tensor spread over a mesh of devices."""

    def __init__(self, tensor_ty, device_mesh, placement):
        self.tensor_ty = tensor_ty
        self.device_mesh = device_mesh
        self.placement = placement

    def _row_t(self, w):
        w.number(TypeKind.DISTRIBUTED)
        w.refer(TYPE, self.tensor_ty)
        w.refer(OBJECT, self.device_mesh)
        w.text(self.placement)


def _read_extents(words, at):
    kind = words[at]
    if kind == ExtentsKind.KNOWN:
        return Array(get(PRIM, item) for item in words[at + 1 :]), None, None
    if kind == ExtentsKind.VAR:
        return None, None, get(EXPR, words[at + 1])
    return None, (words[at + 1] if kind == ExtentsKind.RANK else -1), None


def _load(ty):
    words = row(TYPE, ty._t)
    fields = ty.__dict__
    match words[0]:
        case TypeKind.TENSOR:
            from ..relax.expr import ShapeExpr

            fields["dtype"] = DataType(name_of(words[1]))
            fields["shape"] = ShapeExpr([get(PRIM, item) for item in words[2:]])
            fields["ndim"] = len(words) - 2
            fields["vdevice"] = None
        case TypeKind.TUPLE:
            fields["fields"] = Array(get(TYPE, item) for item in words[1:])
        case TypeKind.PRIM:
            pass
        case TypeKind.SHAPE:
            values, ndim, _ = _read_extents(words, 1)
            fields["values"] = values
            fields["ndim"] = len(values) if values is not None else ndim if ndim is not None else -1
        case TypeKind.PARTIAL_TENSOR:
            from ..relax.expr import ShapeExpr

            fields["dtype"] = None if words[1] == NONE else DataType(name_of(words[1]))
            fields["vdevice"] = maybe(OBJECT, words[2])
            values, ndim, var = _read_extents(words, 3)
            fields["shape"] = ShapeExpr(values) if values is not None else var
            if var is not None:
                fields["ndim"] = var.ty.ndim if isinstance(var.ty, ShapeType) else -1
            else:
                fields["ndim"] = len(values) if values is not None else ndim
        case TypeKind.CALLABLE:
            fields["ret"] = get(TYPE, words[1])
            fields["purity"] = words[2] != 0
            fields["params"] = None if words[3] else Array(get(TYPE, item) for item in words[4:])
            fields["type_params"], fields["derive_func"] = Array(), None
        case TypeKind.DISTRIBUTED:
            fields["tensor_ty"] = get(TYPE, words[1])
            fields["device_mesh"] = get(OBJECT, words[2])
            fields["placement"] = name_of(words[3])


_CLASSES = {
    TypeKind.TENSOR: TensorType,
    TypeKind.TUPLE: TupleType,
    TypeKind.ANY: AnyType,
    TypeKind.SHAPE: ShapeType,
    TypeKind.PARTIAL_TENSOR: TensorType,
    TypeKind.CALLABLE: FuncType,
    TypeKind.PACKED_FUNC: PackedFuncType,
    TypeKind.STR: StringType,
    TypeKind.DISTRIBUTED: DistributedType,
}
relay_types = {}
"""Makers of the types that only Relay has, by kind: functions of id and row. `tvm.relay.ty` fills it."""


def _make(number, words):
    kind = words[0]
    from .. import _engine

    if kind in relay_types and not (_engine.is_relax() and kind in _CLASSES):
        return relay_types[kind](number, words)
    if kind == TypeKind.PRIM:
        ty = type_of_dtype(name_of(words[1]))
        ty.__dict__["_t"] = number
        return ty
    return lazy(_CLASSES.get(kind, Type), TYPE, number, _load)


makers[TYPE] = _make
_ = TYPEVAR
