"""Expressions that all dialects have: variables, calls, tuples, references to functions, constants."""

import json

from .. import _engine
from .._codes import ExprKind, ScalarKind
from .._node import (
    ATTRS,
    EXPR,
    NONE,
    PRIM,
    SYMBOL,
    TYPE,
    get,
    is_buffer_var,
    know,
    lazy,
    makers,
    maybe,
    name_of,
    row,
)
from .._values import Array, DataType
from .base import Node, SequentialSpan, Span  # noqa: F401
from .type import (
    MISSING,
    FuncType,
    PointerType,
    PrimType,
    StringType,
    TupleType,
    Type,
    dtype_text,
    type_of_dtype,
)


def is_prim_expr(value):
    """True if a value is a scalar expression."""
    return isinstance(value, Expr) and isinstance(value.ty, (PrimType, PointerType))


def is_prim_var(value):
    """True if a value is a variable that holds a scalar."""
    return type(value) is Var and is_prim_expr(value)


class Expr(Node):
    """The base class of expressions."""

    span = None

    def _get_type(self):
        ty = self.__dict__.get("_ty")
        if ty is None:
            load = self.__dict__.pop("_load", None)
            if load is not None:
                load(self)
                ty = self.__dict__.get("_ty")
        return MISSING if ty is None else ty

    def _set_type(self, ty):
        self.__dict__["_ty"] = None if ty is MISSING else ty

    ty = property(_get_type, _set_type, doc="The type; missing until the builder or a pass has inferred it.")

    @property
    def struct_info(self):
        """The type, as Relax called it before."""
        if self.ty is MISSING:
            raise ValueError(f"The struct_info is not populated, check if you have normalized the expr: {self}")
        return self.ty

    struct_info_ = property(lambda self: None if self.ty is MISSING else self.ty, _set_type)
    checked_type = property(lambda self: self.ty)
    checked_type_ = property(lambda self: None if self.ty is MISSING else self.ty, _set_type)
    _checked_type_ = checked_type_

    @property
    def shape_(self):
        """The shape of a tensor, as Relax of 2022 called it."""
        return getattr(self.ty, "shape", None)

    def expr_ty(self):
        """The type of a scalar expression."""
        if isinstance(self.ty, PrimType):
            return self.ty
        raise TypeError(f"Expected a primitive-valued expression, but result type is {self.ty}")

    @property
    def dtype(self):
        """The element type of a scalar expression."""
        ty = self.ty
        if isinstance(ty, PrimType):
            return ty.dtype
        if isinstance(ty, PointerType):
            return DataType("handle")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'dtype'")

    def _tensor(self, name, *operands):
        from ..relax import op

        return getattr(op, name)(*operands)

    def _binary(self, name, other, swap=False):
        if is_buffer_var(self):
            return NotImplemented
        if is_prim_expr(self):
            from ..tirx import op as scalar

            operation = getattr(scalar, f"_op_{name}", None)
            known = isinstance(other, (Expr, int, float)) or any(hasattr(other, word) for word in ("asobject", "item", "var"))
            if operation is None or not known:
                return NotImplemented
            return operation(other, self) if swap else operation(self, other)
        if name in ("lshift", "rshift", "and", "or", "xor"):
            return NotImplemented
        name = {
            "sub": "subtract",
            "mul": "multiply",
            "div": "divide",
            "floordiv": "floor_divide",
        }.get(name, name)
        if isinstance(other, Expr):
            return self._tensor(name, other, self) if swap else self._tensor(name, self, other)
        if isinstance(other, (int, float)):
            raise TypeError(f"Please convert {other} with `const` first")
        raise TypeError(f"type {type(other)} not supported")

    def __add__(self, other):
        return self._binary("add", other)

    def __radd__(self, other):
        return self._binary("add", other, True)

    def __sub__(self, other):
        return self._binary("sub", other)

    def __rsub__(self, other):
        return self._binary("sub", other, True)

    def __mul__(self, other):
        return self._binary("mul", other)

    def __rmul__(self, other):
        return self._binary("mul", other, True)

    def __truediv__(self, other):
        return self._binary("div", other)

    def __rtruediv__(self, other):
        return self._binary("div", other, True)

    def __floordiv__(self, other):
        return self._binary("floordiv", other)

    def __rfloordiv__(self, other):
        return self._binary("floordiv", other, True)

    def __mod__(self, other):
        return self._binary("mod", other)

    def __rmod__(self, other):
        return self._binary("mod", other, True)

    def __pow__(self, other):
        return NotImplemented if is_prim_expr(self) else self._binary("power", other)

    def __rpow__(self, other):
        return NotImplemented if is_prim_expr(self) else self._binary("power", other, True)

    def __lshift__(self, other):
        return self._binary("lshift", other)

    def __rlshift__(self, other):
        return self._binary("lshift", other, True)

    def __rshift__(self, other):
        return self._binary("rshift", other)

    def __rrshift__(self, other):
        return self._binary("rshift", other, True)

    def __and__(self, other):
        return self._binary("and", other)

    def __rand__(self, other):
        return self._binary("and", other, True)

    def __or__(self, other):
        return self._binary("or", other)

    def __ror__(self, other):
        return self._binary("or", other, True)

    def __xor__(self, other):
        return self._binary("xor", other)

    def __rxor__(self, other):
        return self._binary("xor", other, True)

    def __neg__(self):
        if is_prim_expr(self):
            from ..tirx import op as scalar

            return scalar._op_mul(self, scalar.const(-1, self.dtype))
        return self._tensor("negative", self)

    def __invert__(self):
        if is_prim_expr(self):
            from ..tirx import op as scalar

            return scalar.bitwise_not(self)
        raise TypeError(f"Operator overloading is not supported for expression type {self.ty}")

    def __lt__(self, other):
        return self._binary("less", other)

    def __le__(self, other):
        return self._binary("less_equal", other)

    def __gt__(self, other):
        return self._binary("greater", other)

    def __ge__(self, other):
        return self._binary("greater_equal", other)

    def __eq__(self, other):
        if self is other:
            return _same(self, other)
        if is_prim_expr(self):
            from ..tirx.expr import EqualOp

            return EqualOp(self, other)
        return False

    def __ne__(self, other):
        if is_prim_expr(self):
            from ..tirx.expr import NotEqualOp

            return NotEqualOp(self, other)
        return self is not other

    __hash__ = Node.__hash__

    def __bool__(self):
        if is_prim_expr(self):
            raise ValueError("Cannot use and / or / not operator to Expr, hint: use tvm.tirx.all / tvm.tirx.any, if it is None checking, use node is not None")
        return True

    def equal(self, other, span=None):
        """The comparison of two scalars, as an expression."""
        from ..tirx.op import _equal

        return _equal(self, other)

    def astype(self, dtype, span=None):
        """The value in another element type."""
        if is_prim_expr(self) or isinstance(self, StringImm):
            from ..tirx import op as scalar

            return scalar.cast(self, dtype)
        return self._tensor("astype", self, dtype)

    def __getitem__(self, index):
        from ._items import item

        return item(self, index)

    def __iter__(self):
        if isinstance(self.ty, TupleType):
            return iter([self[index] for index in range(len(self.ty.fields))])
        raise TypeError(f"'{type(self).__name__}' object is not iterable")

    def __call__(self, *args, attrs=None):
        from ._items import check_callee

        check_callee(self)
        return make_call(self, args, attrs)


relay_call = None
"""The class of calls of Relay; `tvm.relay` sets it."""


def make_call(callee, args, attrs=None):
    """A call of a function or operator that both dialects have: in that of the operands, or of the program at hand."""
    relay = any(getattr(arg, "_is_relay", False) for arg in args) or (not args and not _engine.is_relax())
    return (relay_call if relay and relay_call is not None else Call)(callee, args, attrs)


def _same(a, b):
    if is_prim_expr(a):
        from ..tirx.expr import EqualOp

        return EqualOp(a, b)
    return True


class Constant(Expr):
    """The base class of constants."""


class GlobalVar(Expr):
    """A reference to a function of the module, by name."""

    known = {}  # The functions of the module of Relax that was last read or asked for one: names in calls have their types.

    def __init__(self, name_hint, type_annot=None):
        self.name_hint = str(name_hint)

    def _get_type(self):
        ty = super()._get_type()
        known = GlobalVar.known if ty is MISSING and "_named" in self.__dict__ else {}
        return known[self.name_hint].ty if self.name_hint in known else ty

    ty = property(_get_type, Expr._set_type)

    def __call__(self, *args):
        return make_call(self, args)

    def __str__(self):
        return f'I.GlobalVar("{self.name_hint}")'

    __repr__ = __str__

    def __eq__(self, other):
        return self is other or (isinstance(other, GlobalVar) and self.name_hint == other.name_hint)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.name_hint)

    def _row_e(self, w):
        _head(w, ExprKind.GLOBAL_VAR, self)
        w.text(self.name_hint)


def _head(w, kind, expr):
    w.number(kind)
    origin = expr.__dict__.get("_from")
    w.out.append(NONE if origin is None or origin.__dict__.get("_e") is None else origin._e << 1)
    w.maybe(TYPE, expr.__dict__.get("_ty"))


class Var(Expr):
    """A variable. One that holds a scalar may stand in shapes and tensor programs."""

    def __init__(self, name=None, ty=None, span=None, *, name_hint=None, dtype=None, struct_info=None):
        if name is not None and name_hint is not None:
            raise TypeError("Specify either name or name_hint, not both")
        name = name_hint if name is None else name
        if not isinstance(name, str):
            raise TypeError("name must be a str")
        ty = struct_info if ty is None else ty
        ty = dtype if ty is None else ty
        if isinstance(span, Type):
            # Relax of 2022: a shape, and a type that has none.
            from .type import TensorType

            ty, span = TensorType(ty, span.dtype), None
        if isinstance(ty, str):
            ty = type_of_dtype(DataType(ty))
        if isinstance(ty, type):
            ty = PrimType(ty.__name__)
        if hasattr(ty, "_fill"):
            ty._fill(self)
            self.name, self.span = name, span
            return
        if ty is not None and not isinstance(ty, Type):
            raise TypeError("ty needs to be an instance of Type. If you attempt to pass in shape, use relax.TensorType(shape, dtype).")
        self.name = name
        self._ty = ty
        self.span = span

    vid = property(lambda self: self)
    type_annotation = property(lambda self: self.ty)

    def _row_e(self, w):
        ty = self.__dict__.get("_ty")
        _head(w, ExprKind.VAR, self)
        w.text(self.name)
        w.maybe(TYPE, ty)
        w.number(isinstance(self, dataflow_var_class))
        if isinstance(ty, (PrimType, PointerType)):
            w.refer(SYMBOL, self)
        else:
            w.number(NONE)

    def _row_y(self, w):
        w.text(self.name)
        w.text(dtype_text(self.ty))
        w.number(isinstance(self, _SizeVar))

    def _row_p(self, w):
        w.number(ScalarKind.VAR)
        w.text(dtype_text(self.ty))
        w.refer(SYMBOL, self)


class _SizeVar(Var):
    """A variable that is known to be not negative."""

    def __init__(self, name, dtype="int32", span=None):
        super().__init__(name, dtype)


dataflow_var_class = ()


class Call(Expr):
    """A call of an operator, a function of the module or any other function."""

    def __init__(self, op, args, attrs=None, ty_args=None, span=None, *, sinfo_args=None, ty=None):
        from .op import Op

        if op is None:
            raise ValueError("a call requires a defined operator")
        self.op = Op.get(op) if isinstance(op, str) else op
        self.args = Array(_operand(arg) for arg in args)
        if isinstance(attrs, dict):
            from .attrs import make_dict

            attrs = make_dict(attrs)
        self.attrs = attrs
        self.ty_args = Array(ty_args or sinfo_args or ())
        self.span = span
        if ty is not None:
            self._ty = ty

    sinfo_args = property(lambda self: self.ty_args)
    type_args = property(lambda self: self.ty_args)

    def _row_e(self, w):
        _head(w, ExprKind.CALL, self)
        w.refer(EXPR, self.op)
        w.maybe(ATTRS, self.attrs)
        w.number(len(self.ty_args))
        for ty in self.ty_args:
            w.refer(TYPE, ty)
        for arg in self.args:
            w.refer(EXPR, arg)


def _operand(value):
    if isinstance(value, Expr):
        return value
    if isinstance(value, (tuple, list)):
        return Tuple([_operand(item) for item in value])
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (bool, int, float)):
        from ..relax.expr import prim_value

        return prim_value(value)
    if hasattr(value, "asobject"):
        return value.asobject()
    return value


class Tuple(Expr):
    """Several values as one."""

    def __init__(self, fields, span=None):
        if isinstance(fields, Tuple):
            fields = fields.fields
        self.fields = Array(_operand(field) for field in fields)
        self.span = span

    def __getitem__(self, index):
        if not -len(self.fields) <= index < len(self.fields):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self):
        return len(self.fields)

    def __iter__(self):
        return iter(self.fields)

    def _get_type(self):
        ty = super()._get_type()
        if ty is MISSING and all(field.ty is not MISSING for field in self.fields):
            ty = TupleType([field.ty for field in self.fields])
        return ty

    ty = property(_get_type, Expr._set_type)

    def _row_e(self, w):
        _head(w, ExprKind.TUPLE, self)
        for field in self.fields:
            w.refer(EXPR, field)


class TupleGetItem(Expr):
    """A field of a tuple."""

    def __init__(self, tuple_value, index, span=None):
        self.tuple_value = tuple_value
        self.index = int(index)
        ty = tuple_value.ty
        if isinstance(ty, TupleType):
            if not 0 <= self.index < len(ty.fields):
                raise IndexError(f"Index out of bounds: Tuple {tuple_value} is of size {len(ty.fields)}, and cannot be accessed with index {index}")
            self._ty = ty.fields[self.index]

    tuple = property(lambda self: self.tuple_value)

    def _row_e(self, w):
        _head(w, ExprKind.TUPLE_GET_ITEM, self)
        w.refer(EXPR, self.tuple_value)
        w.number(self.index)


class StringImm(Expr):
    """A text as a value."""

    def __init__(self, value, span=None):
        self.value = str(value)
        self._ty = StringType()

    def script(self, **options):
        """The text of it, as TVM prints it."""
        return json.dumps(self.value, ensure_ascii=False)

    def __eq__(self, other):
        if isinstance(other, StringImm):
            return self.value == other.value
        return self.value == other

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.value)

    def _row_e(self, w):
        _head(w, ExprKind.STRING_IMM, self)
        w.text(self.value)

    def _row_p(self, w):
        w.number(ScalarKind.STRING)
        w.text("handle")
        w.text(self.value)


class GenericConst(Constant):
    """A tensor that is known (once `relax.Constant`)."""

    def __init__(self, data, ty=None, span=None):
        from ..runtime.tensor import Tensor, tensor

        self.data = data if isinstance(data, Tensor) else tensor(data)
        if ty is not None:
            self._ty = ty
        else:
            from .type import TensorType

            self._ty = TensorType([int(extent) for extent in self.data.shape], self.data.dtype)
        self.span = span

    value = property(lambda self: self.data)

    def _direct_e(self):
        data = self.data
        return _engine.call("user_make_constant", str(data.dtype), _engine.words(data.shape), data.tobytes())


class Range(Node):
    """From where on how many."""

    def __init__(self, begin, end=None, span=None):
        from ..tirx.expr import convert

        if end is None:
            self.min, self.extent = convert(0), convert(begin)
        else:
            self.min = convert(begin)
            self.extent = convert(end - begin)

    @staticmethod
    def from_min_extent(min_value, extent, span=None):
        """A range by its first value and how many there are."""
        from ..tirx.expr import convert

        made = Range.__new__(Range)
        made.min, made.extent = convert(min_value), convert(extent)
        return made

    def __eq__(self, other):
        from .base import structural_equal

        return isinstance(other, Range) and structural_equal(self._structural(), other._structural())

    __hash__ = Node.__hash__

    def _structural(self):
        return [self.min, self.extent]


expr_makers = {}
"""Makers by kind: functions of id and row. Dialects add theirs."""
relay_makers = {}
"""The same for what is read while programs of Relay are at hand. `tvm.relay` fills it."""
_ = FuncType
