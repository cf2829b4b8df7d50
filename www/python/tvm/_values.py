"""Values of attributes, containers and element types."""

import enum
import json

from . import _engine
from ._codes import ValueKind
from ._node import (
    ATTRS,
    EXPR,
    NONE,
    OBJECT,
    PRIM,
    TYPE,
    Object,
    double_of,
    get,
    is_buffer_var,
    long_of,
    makers,
    name_of,
    row,
)


def _shown(value):
    """A member of a container as TVM writes it."""
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False)
    if type(value) in (list, tuple):
        return repr(Array(value))
    if type(value) is dict:
        return repr(Map(value))
    return repr(value)


class Array(list):
    """A list that TVM counts as an object. TVM 0.27 writes it as a tuple."""

    type_key = "Array"

    def same_as(self, other):
        """True if it is the very same list."""
        return self is other

    def __hash__(self):
        return id(self) >> 4

    def __add__(self, other):
        return Array([*self, *other])

    def __radd__(self, other):
        return Array([*other, *self])

    def __repr__(self):
        if not _engine.is_relax():
            return list.__repr__(self)
        inner = ", ".join(_shown(item) for item in self)
        return f"({inner}{',' if len(self) == 1 else ''})"

    __str__ = __repr__


class Map(dict):
    """A dictionary that TVM counts as an object."""

    type_key = "Map"

    def __repr__(self):
        if not _engine.is_relax():
            return dict.__repr__(self)
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value)}" for key, value in self.items()) + "}"

    __str__ = __repr__

    def __missing__(self, key):
        raise KeyError("key is not in Map" if _engine.is_relax() else key)

    def same_as(self, other):
        """True if it is the very same dictionary."""
        return self is other

    def __hash__(self):
        return id(self) >> 4


_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}


class DataTypeCode(enum.IntEnum):
    """Families of element types, as DLPack numbers them."""

    INT, UINT, FLOAT, HANDLE, BFLOAT, BOOL = 0, 1, 2, 3, 4, 6
    Float8E3M4, Float8E4M3, Float8E4M3B11FNUZ, Float8E4M3FN, Float8E4M3FNUZ = 7, 8, 9, 10, 11
    Float8E5M2, Float8E5M2FNUZ, Float8E8M0FNU, Float6E2M3FN, Float6E3M2FN, Float4E2M1FN = (
        12,
        13,
        14,
        15,
        16,
        17,
    )


_SMALL = {
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}


class DataType(str):
    """The name of an element type, such as `float32` or `int8x4`, with its parts."""

    __slots__ = ()

    def __new__(cls, text):
        if isinstance(text, cls):
            return text
        name = getattr(text, "__name__", None) if isinstance(text, type) else None
        text = name if name is not None else str(text)
        return str.__new__(cls, {"": "void", "bool_": "bool"}.get(text, text))

    def __repr__(self):
        text = str.__repr__(self)
        return f"dtype({text})" if _engine.is_relax() else text

    def _parts(self):
        base, _, lanes = self.partition("x") if not self.startswith("custom") else (str(self), "", "")
        if base in _SMALL:
            code, bits = _SMALL[base]
            return code, bits, int(lanes or 1)
        name = base.rstrip("0123456789")
        digits = base[len(name) :]
        defaults = {"bool": 8, "handle": 64, "void": 0}
        bits = int(digits) if digits else defaults.get(name, 32)
        if lanes.startswith("vscalex"):
            return _CODES.get(name, 3), bits, -int(lanes[7:])
        return _CODES.get(name, 3), bits, int(lanes) if lanes.isdigit() else 1

    type_code = property(lambda self: self._parts()[0], doc="The family, see `DataTypeCode`.")
    bits = property(lambda self: self._parts()[1], doc="Bits of one lane.")
    lanes = property(lambda self: self._parts()[2], doc="The number of lanes of a vector; negative where it is times `vscale`.")
    itemsize = property(lambda self: (self._parts()[1] * self._parts()[2] + 7) // 8, doc="Bytes of an element.")
    dtype = property(lambda self: self, doc="Itself.")

    def is_bool(self):
        """True for truth values."""
        return self.type_code == DataTypeCode.BOOL

    def is_integer(self):
        """True for whole numbers."""
        return self.type_code in (DataTypeCode.INT, DataTypeCode.UINT)

    def is_float(self):
        """True for numbers with fractions."""
        return self.type_code in (DataTypeCode.FLOAT, DataTypeCode.BFLOAT) or self.type_code > DataTypeCode.BOOL

    def is_handle(self):
        """True for pointers."""
        return self.type_code == DataTypeCode.HANDLE

    @staticmethod
    def is_dtype(arg):
        """True if a text is the name of an element type."""
        base = str(arg).partition("x")[0]
        return base in _SMALL or base.rstrip("0123456789") in (*_CODES, "bfloat", "void")

    @staticmethod
    def from_dlpack_data_type(dltype_data_type):
        """The element type of a family, a number of bits and a number of lanes."""
        code, bits, lanes = dltype_data_type
        names = {code: name if name in ("bool", "handle") else f"{name}{bits}" for name, code in _CODES.items()}
        names.update((small[0], name) for name, small in _SMALL.items())
        return DataType(names[code]).with_lanes(lanes)

    def with_lanes(self, lanes):
        """The same with another number of lanes."""
        base = self.partition("x")[0]
        if lanes < 0:
            return DataType(f"{base}xvscalex{-lanes}")
        return DataType(base if lanes == 1 else f"{base}x{lanes}")


class Attrs(Object):
    """A set of named values."""

    def __init__(self, key, fields):
        self._key = key
        self._fields = Map(fields)

    def __getattr__(self, name):
        load = self.__dict__.pop("_load", None)
        if load is not None:
            load(self)
        if name in ("_key", "_fields"):
            return self.__dict__[name]
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"{self.__dict__['_key']} object has no attribute {name}") from None

    def __getitem__(self, name):
        fields = self._fields
        if name not in fields:
            raise KeyError(name)
        return fields[name]

    def __contains__(self, name):
        return name in self._fields

    def __iter__(self):
        return iter(self._fields)

    def __len__(self):
        return len(self._fields)

    def keys(self):
        """Names of the values."""
        return list(self._fields)

    def items(self):
        """Names and values."""
        return list(self._fields.items())

    def values(self):
        """The values."""
        return list(self._fields.values())

    def get(self, name, default=None):
        """A value, or another one where there is none of the name."""
        return self._fields.get(name, default)

    def list_field_info(self):
        """The fields; what they mean stands in the documentation of the operator."""
        return [AttrFieldInfo(name) for name in self._fields]

    def get_int(self, name):
        """A value that is a whole number."""
        return int(self[name])

    def get_int_tuple(self, name):
        """A value that is a list of whole numbers."""
        return tuple(int(item) for item in self[name])

    def get_str(self, name):
        """A value that is a text."""
        return str(self[name])

    def __repr__(self):
        if not _engine.is_relax() or not self._key.startswith("relax."):
            return repr(dict(self._fields))
        fields = ((key, str(value) if key.endswith("dtype") else _shown(value)) for key, value in self._fields.items())
        return f"{self._key}({', '.join(f'{key}={value}' for key, value in fields)})"

    def __eq__(self, other):
        if isinstance(other, dict):
            return dict(self._fields) == other
        return self is other or (isinstance(other, Attrs) and self._key == other._key and dict(self._fields) == dict(other._fields))

    __hash__ = Object.__hash__

    _int_bits = 32

    def _row_a(self, w):
        w.text(self._key)
        w.int_bits = self._int_bits
        w.fields(list(self._fields.items()))


class DictAttrs(Attrs):
    """Attributes of a function or module: whatever names there are."""

    def __init__(self, fields=None):
        super().__init__("DictAttrs", fields or {})

    def __repr__(self):
        if not _engine.is_relax():
            return str(Map(self._fields))
        return _braced(self._fields, sort=True)

    __str__ = __repr__


def _braced(value, sort=False):
    """A value as it stands among the attributes of a function: lists in brackets."""
    if isinstance(value, dict) or hasattr(value, "items"):
        items = sorted(value.items(), key=lambda item: str(item[0])) if sort else value.items()
        return "{" + ", ".join(f"{_shown(key)}: {_braced(field)}" for key, field in items) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_braced(item) for item in value)}]"
    return _shown(value)


class AttrFieldInfo(Object):
    """A field of a set of attributes."""

    def __init__(self, name):
        self.name = name
        self.description = ""
        self.type_info = ""


class ProgramAttrs(DictAttrs):
    """Attributes of a tensor program or a part of it. Its integers are as the text of one has them."""

    _int_bits = 64

    @staticmethod
    def of(owner, fields):
        """The attributes of an object, made once; None if it has none."""
        if not fields:
            return None
        if getattr(fields, "_a", None) is not None:
            return fields
        before, made = owner.__dict__.get("_program_attrs", (None, None))
        if before is not fields:
            made = ProgramAttrs(dict(fields.items()))
            owner.__dict__["_program_attrs"] = fields, made
        return made


class OtherObject(Object):
    """An object of the metadata section that has no class of its own here."""

    def __init__(self, key, fields=(), items=(), text=None):
        self._key = key
        self._fields = dict(fields)
        self._items = list(items)
        self._text = text

    def __getattr__(self, name):
        load = self.__dict__.pop("_load", None)
        if load is not None:
            load(self)
            return getattr(self, name)
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"{self.__dict__.get('_key')} has no attribute {name}")

    def __str__(self):
        return self._text if self._text is not None else repr(self)

    def __int__(self):
        return int(self._text)

    def __index__(self):
        return int(self._text)

    def __eq__(self, other):
        if isinstance(other, (int, str)) and self._text is not None:
            return str(other) == self._text
        return self is other

    __hash__ = Object.__hash__

    def _row_o(self, w):
        w.text(self._key)
        w.maybe_text(self._text)
        w.number(len(self._items))
        for item in self._items:
            w.value(item)
        w.fields(list(self._fields.items()))


object_classes = {}
"""Classes of objects by their type keys: functions of fields, items and text."""


def _load_object(obj):
    words = row(OBJECT, obj._o)
    key = name_of(words[0])
    text = None if words[1] == NONE else name_of(words[1])
    items, at = _read_values(words, 3, words[2])
    fields, at = read_fields(words, at)
    obj.__dict__.update(_key=key, _text=text, _items=items, _fields=fields)
    finish = getattr(type(obj), "_loaded", None)
    if finish:
        finish(obj)


def _make_object(number, words):
    from ._node import lazy

    return lazy(object_classes.get(name_of(words[0]), OtherObject), OBJECT, number, _load_object)


def _load_attrs(obj):
    words = row(ATTRS, obj._a)
    fields, _ = read_fields(words, 1)
    obj.__dict__.update(_key=name_of(words[0]), _fields=Map(fields))


def _make_attrs(number, words):
    from ._node import lazy

    cls = DictAttrs if name_of(words[0]) == "DictAttrs" else Attrs
    return lazy(cls, ATTRS, number, _load_attrs)


makers[OBJECT] = _make_object
makers[ATTRS] = _make_attrs


def _read_values(words, at, count):
    items = []
    for _ in range(count):
        item, at = read_value(words, at)
        items.append(item)
    return items, at


def read_fields(words, at):
    """Named values from words on: they and where they end."""
    fields = {}
    for _ in range(words[at]):
        name = name_of(words[at + 1])
        fields[name], at = read_value(words, at + 2)
        at -= 1
    return fields, at + 1


def read_value(words, at):
    """A value from words on: it and where it ends."""
    tag = words[at]
    at += 1
    match tag:
        case ValueKind.NULL:
            return None, at
        case ValueKind.BOOL:
            return words[at] != 0, at + 1
        case ValueKind.INT:
            return long_of(words[at + 1], words[at + 2]), at + 3
        case ValueKind.FLOAT:
            return double_of(words[at], words[at + 1]), at + 2
        case ValueKind.STRING:
            return name_of(words[at]), at + 1
        case ValueKind.DTYPE:
            return DataType("void" if words[at] == NONE else name_of(words[at])), at + 1
        case ValueKind.ARRAY:
            items, at = _read_values(words, at + 1, words[at])
            return Array(items), at
        case ValueKind.MAP:
            fields, at = read_fields(words, at)
            return Map(fields), at
        case ValueKind.DIM:
            return get(PRIM, words[at]), at + 1
        case ValueKind.GLOBAL:
            from .ir.expr import GlobalVar

            return GlobalVar(name_of(words[at])), at + 1
        case ValueKind.EXPR:
            return get(EXPR, words[at]), at + 1
        case ValueKind.TYPE:
            return get(TYPE, words[at]), at + 1
        case _:
            return get(OBJECT, words[at]), at + 1


def write_value(w, value):
    """Writes a value of Python as that of an attribute."""
    from .ir import expr as _expr
    from .ir.type import Type

    if value is None:
        w.number(ValueKind.NULL)
    elif isinstance(value, bool):
        w.number(ValueKind.BOOL)
        w.number(value)
    elif isinstance(value, int):
        w.number(ValueKind.INT)
        w.number(w.int_bits)
        w.long(value)
    elif isinstance(value, float):
        w.number(ValueKind.FLOAT)
        w.double(value)
    elif isinstance(value, DataType):
        w.number(ValueKind.DTYPE)
        w.maybe_text(None if value in ("", "void") else value)
    elif isinstance(value, str):
        w.number(ValueKind.STRING)
        w.text(value)
    elif isinstance(value, (list, tuple)):
        w.number(ValueKind.ARRAY)
        w.number(len(value))
        for item in value:
            write_value(w, item)
    elif isinstance(value, (dict, Attrs)):
        w.number(ValueKind.MAP)
        w.fields([(str(key), item) for key, item in value.items()])
    elif isinstance(value, _expr.GlobalVar):
        w.number(ValueKind.GLOBAL)
        w.text(value.name_hint)
    elif isinstance(value, Type):
        w.number(ValueKind.TYPE)
        w.refer(TYPE, value)
    elif isinstance(value, _expr.StringImm):
        w.number(ValueKind.STRING)
        w.text(value.value)
    elif is_buffer_var(value):
        write_value(w, value._as_attr())
    elif isinstance(value, _expr.Expr):
        if hasattr(value, "_row_p") and _expr.is_prim_expr(value):
            _write_scalar(w, value)
        else:
            w.number(ValueKind.EXPR)
            w.refer(EXPR, value)
    elif hasattr(value, "_row_o") or value.__dict__.get("_o") is not None:
        w.number(ValueKind.OBJECT)
        w.refer(OBJECT, value)
    elif getattr(value, "shape", None):
        from .relax.expr import const

        # Rows refer to objects, so that a tensor is one constant as long as it holds the same.
        held = value.numpy().tobytes() if hasattr(value, "numpy") else None
        known = value.__dict__.get("_as_constant")
        if known is None or known[0] != held:
            known = value._as_constant = (held, const(value))
        write_value(w, known[1])
    elif hasattr(value, "item"):
        write_value(w, value.item())
    elif hasattr(value, "_as_attr"):
        write_value(w, value._as_attr())
    else:
        raise TypeError(f"{type(value).__name__} cannot be the value of an attribute")


def _write_scalar(w, value):
    from .tirx.expr import FloatImm, IntImm

    if isinstance(value, IntImm) and value.dtype == "bool":
        w.number(ValueKind.BOOL)
        w.number(value.value)
    elif isinstance(value, IntImm):
        w.number(ValueKind.INT)
        w.number(value.dtype.bits)
        w.long(value.value)
    elif isinstance(value, FloatImm):
        w.number(ValueKind.FLOAT)
        w.double(value.value)
    else:
        w.number(ValueKind.DIM)
        w.refer(PRIM, value)
