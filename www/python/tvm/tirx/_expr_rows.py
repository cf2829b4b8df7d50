"""Scalar expressions as the engine has them."""

from .._codes import ScalarKind
from .._node import ATTRS, BUFFER, PRIM, SYMBOL, double_of, get, lazy, long_of, makers, name_of, row
from .._values import Array
from ..ir.expr import StringImm
from ..ir.type import PrimType, type_of_dtype
from ._bits import BITS
from .expr import (
    _NODES, AnyExtent, AttrsExpr, Broadcast, BufferData, BufferLoad, BufferRef, Cast, CommReducer, FloatImm, IntImm, Let, Not,
    PrimCall, Ramp, Select, Shuffle, _read_lanes, intrinsic_op,
)  # fmt: skip


def _load(expr):
    words = row(PRIM, expr._p)
    fields = expr.__dict__
    fields["_ty"] = type_of_dtype(name_of(words[1]))
    prims = lambda items: Array(get(PRIM, item) for item in items)  # noqa: E731
    match words[0]:
        case ScalarKind.BINARY:
            fields["a"], fields["b"] = get(PRIM, words[3]), get(PRIM, words[4])
        case ScalarKind.NOT:
            fields["a"] = get(PRIM, words[2])
        case ScalarKind.CAST:
            fields["value"] = get(PRIM, words[2])
        case ScalarKind.SELECT:
            fields["condition"], fields["true_value"], fields["false_value"] = prims(words[2:])
        case ScalarKind.CALL if not isinstance(expr, PrimCall):
            for name, item in zip("ab", words[3:]):
                fields[name] = get(PRIM, item)
        case ScalarKind.CALL:
            fields["op"] = intrinsic_op(name_of(words[2]))
            args = prims(words[3:])
            fields["attrs"] = args.pop().attrs if args and isinstance(args[-1], AttrsExpr) else None
            fields["args"], fields["ty_args"] = args, Array()
        case ScalarKind.LOAD:
            fields["buffer"], fields["indices"] = get(BUFFER, words[2]), prims(words[3:])
            fields["predicate"] = None
        case ScalarKind.DATA | ScalarKind.BUFFER:
            fields["buffer"] = get(BUFFER, words[2])
        case ScalarKind.RAMP:
            fields["base"], fields["stride"] = prims(words[2:4])
            fields["lanes"] = _read_lanes(words[4])
        case ScalarKind.BROADCAST:
            fields["value"], fields["lanes"] = get(PRIM, words[2]), _read_lanes(words[3])
        case ScalarKind.SHUFFLE:
            end = 3 + words[2]
            fields["vectors"], fields["indices"] = prims(words[3:end]), prims(words[end:])
        case ScalarKind.LET:
            fields["var"] = get(SYMBOL, words[2])
            fields["value"], fields["body"] = prims(words[3:])
        case ScalarKind.REDUCER:
            n = words[2]
            symbols = [get(SYMBOL, item) for item in words[3 : 3 + 2 * n]]
            fields["lhs"], fields["rhs"] = Array(symbols[:n]), Array(symbols[n:])
            values = prims(words[3 + 2 * n :])
            fields["result"], fields["identity_element"] = Array(values[:n]), Array(values[n:])
        case ScalarKind.ATTRS:
            fields["attrs"] = get(ATTRS, words[2])


_CLASSES = {
    ScalarKind.ANY: AnyExtent,
    ScalarKind.NOT: Not,
    ScalarKind.CAST: Cast,
    ScalarKind.SELECT: Select,
    ScalarKind.LOAD: BufferLoad,
    ScalarKind.DATA: BufferData,
    ScalarKind.BUFFER: BufferRef,
    ScalarKind.RAMP: Ramp,
    ScalarKind.BROADCAST: Broadcast,
    ScalarKind.SHUFFLE: Shuffle,
    ScalarKind.LET: Let,
    ScalarKind.REDUCER: CommReducer,
    ScalarKind.ATTRS: AttrsExpr,
}


def _make(number, words):
    match words[0]:
        case ScalarKind.INT | ScalarKind.FLOAT:
            is_float = words[0] == ScalarKind.FLOAT
            cls = FloatImm if is_float else IntImm
            made = cls.__new__(cls)
            made.__dict__["_p"] = number
            made.__dict__["_ty"] = PrimType(name_of(words[1]))
            made.value = (double_of if is_float else long_of)(words[2], words[3])
            return made
        case ScalarKind.STRING:
            made = StringImm(name_of(words[2]))
            made.__dict__["_p"] = number
            return made
        case ScalarKind.VAR:
            var = get(SYMBOL, words[2])
            var.__dict__["_p"] = number
            return var
        case ScalarKind.BINARY:
            return lazy(_NODES[words[2]], PRIM, number, _load)
        case ScalarKind.CALL:
            return lazy(BITS.get(name_of(words[2]), PrimCall), PRIM, number, _load)
        case kind:
            return lazy(_CLASSES[kind], PRIM, number, _load)


makers[PRIM] = _make
