"""Scalar expressions."""

import math

from .._codes import ExprKind, ScalarKind
from .._node import (
    ATTRS,
    BUFFER,
    EXPR,
    PRIM,
    SYMBOL,
    Object,
    double_of,
    get,
    lazy,
    long_of,
    makers,
    name_of,
    row,
)
from .._values import Array, DataType, Map
from ..error import InternalError
from ._intrinsics import _PACKED, intrinsic_op
from ._checks import check_float, check_indices, check_int, check_predicate, check_truth, check_vector
from ..ir.base import Node
from ..ir.expr import Call, Expr, StringImm, Var, _head, _SizeVar, expr_makers, is_prim_expr
from ..ir.op import Op
from ..ir.type import PointerType, PrimType, dtype_text, type_of_dtype

PrimExpr = ExprOp = Expr
SizeVar = _SizeVar


class PrimNode(Expr):
    """The base class of scalar expressions that are no variables."""

    def _row_e(self, w):
        _head(w, ExprKind.PRIM_VALUE, self)
        w.refer(PRIM, self)

    def _prim(self, w, kind):
        w.number(kind)
        w.text(dtype_text(self.ty))


class ConstExpr(PrimNode):
    """The base class of numbers."""

    def __init__(self, dtype, value):
        self._ty = PrimType(dtype)
        self.value = value


class IntImm(ConstExpr):
    """A whole number or truth value."""

    def __init__(self, dtype, value, span=None):
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        super().__init__(dtype, int(value))
        dtype = self.dtype
        check_int(dtype, self.value)

    def __hash__(self):
        return self.value

    def __int__(self):
        return self.value

    __index__ = __int__

    def __bool__(self):
        return self.value != 0

    __nonzero__ = __bool__

    def __eq__(self, other):
        if isinstance(other, (int, float)):
            return self.value == other
        if isinstance(other, IntImm):
            return self.value == other.value
        return EqualOp(self, other)

    def __ne__(self, other):
        if isinstance(other, (int, float)):
            return self.value != other
        if isinstance(other, IntImm):
            return self.value != other.value
        return NotEqualOp(self, other)

    def _row_p(self, w):
        self._prim(w, ScalarKind.INT)
        w.long(self.value)


class FloatImm(ConstExpr):
    """A number with a fraction."""

    def __init__(self, dtype, value, span=None):
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        super().__init__(dtype, float(value))
        check_float(self.dtype, self.value)

    def __float__(self):
        return self.value

    def _row_p(self, w):
        self._prim(w, ScalarKind.FLOAT)
        w.double(self.value)


class EqualOp:
    """`a == b`: a truth value in Python where one is asked for, else an expression."""

    _name = "EQ"
    __array_priority__ = 1000

    def __init__(self, a, b, span=None):
        self.a = a
        self.b = b

    def __bool__(self):
        if self.a is self.b:
            return True
        if isinstance(self.b, Expr) and self.a.__class__ is self.b.__class__:
            a, b = self.a.__dict__.get("_p"), self.b.__dict__.get("_p")
            return a is not None and a == b and not isinstance(self.a, Var)
        return False

    __nonzero__ = __bool__

    def __repr__(self):
        return f"{type(self).__name__}({self.a}, {self.b})"

    def asobject(self):
        """The comparison as an expression."""
        from . import op

        return (op._equal if self._name == "EQ" else op._not_equal)(self.a, self.b)

    def __hash__(self):
        return hash((id(self.a), id(self.b)))

    def __getattr__(self, name):
        return getattr(self.asobject(), name)


class NotEqualOp(EqualOp):
    """`a != b`."""

    _name = "NE"

    def __bool__(self):
        return not EqualOp.__bool__(self)


def convert(expr, dtype=None):
    """A value of Python as an object of the program: numbers are scalars, texts too."""
    from .op import const

    if isinstance(expr, EqualOp):
        return expr.asobject()
    if isinstance(expr, (Object, Array, Map)) or expr is None:
        return expr
    if isinstance(expr, (bool, int, float)):
        return const(expr, dtype)
    if isinstance(expr, str):
        return StringImm(expr)
    if isinstance(expr, (list, tuple)):
        return Array(convert(item) for item in expr)
    if isinstance(expr, dict):
        return Map({key: convert(item) for key, item in expr.items()})
    if hasattr(expr, "asobject"):
        return expr.asobject()
    return const(expr.item(), str(expr.dtype)) if hasattr(expr, "item") else expr


def _scalar(value, like=None):
    if isinstance(value, Expr):
        return value
    if hasattr(value, "asobject"):
        return value.asobject()
    if isinstance(value, IterVar):
        return value.var
    if like is not None and not isinstance(value, str):
        from .op import const

        return const(value, like if isinstance(value, (bool, int)) or DataType(like).type_code == 2 else None)
    return convert(value)


class BinaryOpExpr(PrimNode):
    """The base class of operations over two scalars."""

    _index = 0
    _logic = False

    def __init__(self, a, b, span=None):
        a, b = _pair(a, b)
        self.a = a
        self.b = b
        if a.dtype != b.dtype:
            raise TypeError(f"Check failed: (a_ty->dtype == b_ty->dtype) is false: mismatched types. {a.dtype} vs. {b.dtype}\n")
        if type(self).__base__ is LogicalExpr:
            for value, name in ((a, "a_ty"), (b, "b_ty")):
                check_truth(value, name)
        self._ty = PrimType(DataType("bool").with_lanes(a.dtype.lanes)) if self._logic else a.ty

    def _row_p(self, w):
        self._prim(w, ScalarKind.BINARY)
        w.number(self._index)
        w.refer(PRIM, self.a)
        w.refer(PRIM, self.b)


def _pair(a, b):
    like_a = a.dtype if isinstance(a, Expr) else None
    like_b = b.dtype if isinstance(b, Expr) else None
    return _scalar(a, like_b), _scalar(b, like_a)


class CmpExpr(BinaryOpExpr):
    """The base class of comparisons."""

    _logic = True


class LogicalExpr(BinaryOpExpr):
    """The base class of operations over truth values."""

    _logic = True


_BINARY = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split()
_NODES = []
for _index, _name in enumerate(_BINARY):
    _base = BinaryOpExpr if _index < 9 else CmpExpr if _index < 15 else LogicalExpr
    _NODES.append(type(_name, (_base,), {"_index": _index, "__doc__": f"`{_name}` of two scalars."}))
Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE, And, Or = _NODES


class Not(LogicalExpr):
    """The opposite of a truth value."""

    def __init__(self, a, span=None):
        self.a = _scalar(a)
        check_truth(self.a, "a_ty")
        self._ty = self.a.ty

    def _row_p(self, w):
        self._prim(w, ScalarKind.NOT)
        w.refer(PRIM, self.a)


class Cast(PrimNode):
    """A scalar in another element type."""

    def __init__(self, dtype, value, span=None):
        if str(dtype) == "handle":
            raise TypeError("Check failed: (!is_opaque_handle || is_void) is false: PrimType cannot represent an opaque pointer; use PointerType::VoidPointerTy()")
        self._ty = dtype if isinstance(dtype, PrimType) else PrimType(dtype)
        self.value = _scalar(value)
        lanes = (self._ty.dtype.lanes, self.value.dtype.lanes)
        if isinstance(lanes[0], int) and isinstance(lanes[1], int) and lanes[0] != lanes[1]:
            raise InternalError(f"Check failed: value_ty->dtype.lanes == value_expr_ty->dtype.lanes ({lanes[0]} vs. {lanes[1]}) : ")

    def _row_p(self, w):
        self._prim(w, ScalarKind.CAST)
        w.refer(PRIM, self.value)


class Select(PrimNode):
    """One of two values, both of which are computed."""

    def __init__(self, condition, true_value, false_value, span=None):
        self.condition = _scalar(condition)
        if self.condition.dtype.type_code != 6 and self.condition.dtype.with_lanes(1) != "uint1":
            raise InternalError("Check failed: (condition_ty.MatchesCode(DLDataTypeCode::kDLBool)) is false: ")
        self.true_value, self.false_value = _scalar(true_value), _scalar(false_value)
        if self.true_value.dtype != self.false_value.dtype:
            kinds = f"False type: {self.false_value.dtype}; True type: {self.true_value.dtype}"
            raise TypeError(f"Check failed: (false_ty == true_ty) is false: mismatched types. {kinds}")
        self._ty = self.true_value.ty

    def _row_p(self, w):
        self._prim(w, ScalarKind.SELECT)
        for part in (self.condition, self.true_value, self.false_value):
            w.refer(PRIM, part)


class PrimCall(Call):
    """A call of an intrinsic of tensor programs."""

    def __init__(self, op, args, dtype, attrs=None):
        self.op = op
        self.args = Array(args)
        self.attrs = attrs
        self.ty_args = Array()
        self._ty = dtype if isinstance(dtype, (PrimType, PointerType)) else type_of_dtype(str(dtype))

    def _row_p(self, w):
        w.number(ScalarKind.CALL)
        w.text(dtype_text(self.ty))
        name = getattr(self.op, "name", None)
        if name is None:
            name = "@" + self.op.name_hint
        else:
            name = name.removeprefix("tirx.").removeprefix("tir.").removeprefix("prim.")
            name = name[4:] if name in _PACKED else name
        w.text(name)
        for arg in self.args:
            w.refer(PRIM, arg)
        if self.attrs is not None:
            w.refer(PRIM, AttrsExpr(self.attrs))

    def _row_e(self, w):
        _head(w, ExprKind.PRIM_VALUE, self)
        w.refer(PRIM, self)


class AttrsExpr(PrimNode):
    """A set of attributes as an operand."""

    def __init__(self, attrs):
        self.attrs = attrs
        self._ty = PrimType("handle")

    def _row_p(self, w):
        self._prim(w, ScalarKind.ATTRS)
        w.refer(ATTRS, self.attrs)


class AnyExtent(PrimNode):
    """An extent of which nothing is known (`tir.Any`)."""

    def __init__(self):
        self._ty = PrimType("int32")

    def _row_p(self, w):
        self._prim(w, ScalarKind.ANY)


def _lanes(value):
    """The number of lanes, negative where it is times `vscale`, and as an expression."""
    if isinstance(value, int) or isinstance(value, IntImm):
        return int(value), IntImm("int32", int(value))
    for call, factor in ((value.a, value.b), (value.b, value.a)) if isinstance(value, Mul) else ():
        if isinstance(factor, IntImm) and _is_vscale(call):
            return -factor.value, Mul(call, factor)
    raise InternalError(f"Check failed: (vscale_factor) is false: Invalid expression for scalable lanes {value}")


def _is_vscale(value):
    return isinstance(value, PrimCall) and getattr(value.op, "name", "") == "prim.vscale"


def _lanes_of(count):
    """The same from the number."""
    if count > 0:
        return IntImm("int32", count)
    from .op import vscale

    return Mul(vscale(), IntImm("int32", -count))


def _written_lanes(count):
    return count if count > 0 else -count | 0x8000


def _read_lanes(word):
    return _lanes_of(-(word & 0x7FFF) if word & 0x8000 else word)


class BufferLoad(PrimNode):
    """An element of a buffer."""

    def __init__(self, buffer, indices, predicate=None, span=None):
        self.buffer = buffer
        self.indices = Array(_scalar(index) for index in indices)
        check_indices(buffer, self.indices)
        lanes = self.indices[-1].dtype.lanes if self.indices else 1
        dtype = DataType(buffer.dtype)
        self._ty = PrimType(dtype if lanes == 1 else dtype.with_lanes(dtype.lanes * lanes))
        check_predicate(predicate, lanes, "load indices", "load a vector")
        self.predicate = predicate

    source = property(lambda self: self.buffer)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return self.buffer[(*self.indices, *index)]

    def _row_p(self, w):
        if self.predicate is not None:
            raise NotImplementedError("a load with a mask is not here")
        self._prim(w, ScalarKind.LOAD)
        w.refer(BUFFER, self.buffer)
        for index in self.indices:
            w.refer(PRIM, index)


class BufferData(PrimNode):
    """The pointer behind a buffer."""

    def __init__(self, buffer):
        self.buffer = buffer
        self._ty = PointerType(PrimType(buffer.dtype), buffer.scope() if callable(buffer.scope) else buffer.scope)

    name = property(lambda self: self.buffer.name)
    op = property(lambda self: intrinsic_op("buffer_data"))
    args = property(lambda self: Array([self.buffer]))

    def _row_p(self, w):
        self._prim(w, ScalarKind.DATA)
        w.refer(BUFFER, self.buffer)


class BufferRef(PrimNode):
    """A buffer as an operand."""

    def __init__(self, buffer):
        self.buffer = buffer
        self._ty = PrimType("handle")

    def _row_p(self, w):
        self._prim(w, ScalarKind.BUFFER)
        w.refer(BUFFER, self.buffer)


class Ramp(PrimNode):
    """A vector of values in equal distances."""

    def __init__(self, base, stride, lanes, span=None):
        self.base, self.stride = _pair(base, stride)
        if self.stride.dtype != self.base.dtype and isinstance(self.stride, IntImm):
            self.stride = IntImm(self.base.dtype, self.stride.value)
        count, self.lanes = _lanes(lanes)
        check_vector(self.base, count, "base_ty")
        self._ty = PrimType(self.base.dtype.with_lanes(count))

    def _row_p(self, w):
        self._prim(w, ScalarKind.RAMP)
        w.refer(PRIM, self.base)
        w.refer(PRIM, self.stride)
        w.number(_written_lanes(self.dtype.lanes))


class Broadcast(PrimNode):
    """A vector of equal values."""

    def __init__(self, value, lanes, span=None):
        self.value = _scalar(value)
        count, self.lanes = _lanes(lanes)
        check_vector(self.value, count, "value_ty")
        self._ty = PrimType(self.value.dtype.with_lanes(count))

    def _row_p(self, w):
        self._prim(w, ScalarKind.BROADCAST)
        w.refer(PRIM, self.value)
        w.number(_written_lanes(self.dtype.lanes))


class Shuffle(PrimNode):
    """Some lanes of vectors."""

    def __init__(self, vectors, indices, span=None):
        self.vectors = Array(vectors)
        self.indices = Array(_scalar(index) for index in indices)
        for items, name in ((self.vectors, "vectors"), (self.indices, "indices")):
            if not items:
                raise InternalError(f"Check failed: {name}.size() != 0U (0 vs. 0) : ")
        if any(item.dtype.with_lanes(1) != self.vectors[0].dtype.with_lanes(1) for item in self.vectors):
            raise InternalError("Check failed: (val_ty.WithLanes(1)->dtype == base_type->dtype) is false: ")
        self._ty = PrimType(self.vectors[0].dtype.with_lanes(len(self.indices)))

    def _row_p(self, w):
        self._prim(w, ScalarKind.SHUFFLE)
        w.number(len(self.vectors))
        for part in (*self.vectors, *self.indices):
            w.refer(PRIM, part)


class Let(PrimNode):
    """A value with a name inside of another one."""

    def __init__(self, var, value, body, span=None):
        self.var, self.value, self.body = var, _scalar(value), _scalar(body)
        if var.dtype != self.value.dtype:
            raise InternalError("Check failed: (value.ty() == var->ty.as_or_throw<PrimType>()) is false: ")
        self._ty = self.body.ty

    def _row_p(self, w):
        self._prim(w, ScalarKind.LET)
        w.refer(SYMBOL, self.var)
        w.refer(PRIM, self.value)
        w.refer(PRIM, self.body)


class CommReducer(PrimNode):
    """The function that makes pairs of values one."""

    def __call__(self, lhs, rhs):
        from .functor import substitute

        known = dict(zip([*self.lhs, *self.rhs], [*lhs, *rhs]))
        return Array(substitute(value, known) for value in self.result)

    def __init__(self, lhs, rhs, result, identity_element, span=None):
        self.lhs, self.rhs = Array(lhs), Array(rhs)
        self.result, self.identity_element = Array(result), Array(identity_element)
        self._ty = PrimType("handle")

    def _row_p(self, w):
        self._prim(w, ScalarKind.REDUCER)
        w.number(len(self.lhs))
        for var in (*self.lhs, *self.rhs):
            w.refer(SYMBOL, var)
        for value in (*self.result, *self.identity_element):
            w.refer(PRIM, value)


class Reduce(PrimNode):
    """A reduction over axes, of a tensor expression that is no loop yet."""

    def __init__(self, combiner, src, rdom, condition, value_index, init=None, span=None):
        self.combiner, self.source, self.axis = combiner, Array(src), Array(rdom)
        self.condition, self.value_index, self.init = condition, value_index, Array(init or ())
        for axis in self.axis:
            if axis.iter_type != IterVar.CommReduce:
                raise InternalError("Only the iter var of type kCommReduce can be reduced over")
        self._ty = self.source[value_index].ty


class CallEffectKind:
    """Effects that the call of an operator may have, from none to all."""

    ExprAnnotation, Pure, ReadState, UpdateState = range(4)
    Opaque = UpdateState


class IterVar(Node):
    """A variable of a block or of an axis."""

    DataPar, ThreadIndex, CommReduce, Ordered, Opaque = 0, 1, 2, 3, 4
    DimInfo = Opaque
    Unrolled, Vectorized, Parallelized, Tensorized = 5, 6, 7, 8

    def __init__(self, dom, var, iter_type, thread_tag="", span=None):
        from ..ir.expr import Range

        if dom is not None and not isinstance(dom, Range):
            if isinstance(dom, (list, tuple)) and len(dom) != 2:
                raise TypeError("need to be list of ranges")
            if not isinstance(dom, (list, tuple)):
                raise TypeError("dom need to be Range")
            dom = Range(dom[0], dom[1])
        if isinstance(var, str):
            var = Var(var, dom.extent.dtype if dom is not None else "int32")
        self.dom, self.var, self.iter_type, self.thread_tag = dom, var, iter_type, thread_tag

    dtype = property(lambda self: self.var.dtype)
    ty = property(lambda self: self.var.ty)
    name = property(lambda self: self.var.name)

    def astype(self, dtype, span=None):
        """The variable in another type."""
        return self.var.astype(dtype)

    def __neg__(self):
        return -self.var

    def _structural(self):
        return [self.dom, self.var, self.iter_type, self.thread_tag]


def _forward(name):
    def operator(self, other):
        return getattr(self.var, name)(other.var if isinstance(other, IterVar) else other)

    return operator


for _name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod lt le gt ge".split():
    setattr(IterVar, f"__{_name}__", _forward(f"__{_name}__"))


from ._bits import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, LShift, RShift  # noqa: E402

_ = (EXPR, Op, expr_makers, is_prim_expr)
