"""Expressions that all dialects have, as the engine has them."""

from .. import _engine
from .._codes import ExprKind
from .._node import ATTRS, EXPR, NONE, PRIM, SYMBOL, TYPE, get, lazy, makers, maybe, name_of, row
from .._values import Array
from . import expr as _expr
from .expr import Call, GenericConst, GlobalVar, StringImm, Tuple, TupleGetItem, Var, _SizeVar, expr_makers, relay_makers
from .type import StringType, type_of_dtype


def _type_later(expr, words):
    if words[1] != NONE:
        expr.__dict__["_ty"] = get(TYPE, words[1])


def fill_parts(fields, words):
    """Fills a tuple, one of its fields or a call from its row."""
    match words[0]:
        case ExprKind.TUPLE:
            fields["fields"] = Array(get(EXPR, item) for item in words[2:])
        case ExprKind.TUPLE_GET_ITEM:
            fields["tuple_value"] = get(EXPR, words[2])
            fields["index"] = words[3]
        case ExprKind.CALL:
            fields["op"] = get(EXPR, words[2])
            fields["attrs"] = maybe(ATTRS, words[3])
            end = 5 + words[4]
            fields["ty_args"] = Array(get(TYPE, item) for item in words[5:end])
            fields["args"] = Array(get(EXPR, item) for item in words[end:])


def load_expr(expr):
    """Fills an expression from its row."""
    words = row(EXPR, expr._e)
    fields = expr.__dict__
    _type_later(expr, words)
    match words[0]:
        case ExprKind.VAR:
            fields["name"] = name_of(words[2])
            if "_ty" not in fields:
                fields["_ty"] = maybe(TYPE, words[3])
        case ExprKind.GLOBAL_VAR:
            fields["name_hint"] = name_of(words[2])
        case ExprKind.OP:
            fields["name"] = name_of(words[2])
        case ExprKind.CONSTANT:
            from ..runtime.tensor import Tensor

            fields["data"] = Tensor.of_engine(expr._e)
            fields.setdefault("_ty", None)
            if fields["_ty"] is None:
                from .type import TensorType

                fields["_ty"] = TensorType(list(words[3:]), name_of(words[2]))
        case ExprKind.TUPLE | ExprKind.TUPLE_GET_ITEM | ExprKind.CALL:
            fill_parts(fields, words)
        case ExprKind.STRING_IMM:
            fields["value"] = name_of(words[2])
            fields["_ty"] = StringType()


def _make(number, words):
    kind = words[0]
    if not _engine.is_relax() and kind in relay_makers:
        return relay_makers[kind](number, words)
    return expr_makers[kind](number, words)


def _by_class(cls):
    return lambda number, words: lazy(cls, EXPR, number, load_expr)


def _load_symbol(var):
    name, dtype, _ = row(SYMBOL, var._y)
    var.__dict__["name"] = name_of(name)
    var.__dict__["_ty"] = type_of_dtype(name_of(dtype))


def _make_symbol(number, words):
    return lazy(_SizeVar if words[2] else Var, SYMBOL, number, _load_symbol)


def _make_var(number, words):
    if words[5] != NONE and not words[4]:
        var = get(SYMBOL, words[5])
        if var.__dict__.get("_e") is None:
            var.__dict__["_e"] = number
            return var
    cls = _expr.dataflow_var_class if words[4] else Var
    return lazy(cls, EXPR, number, load_expr)


def _make_global(number, words):
    found = GlobalVar(name_of(words[2]))
    found.__dict__.update(_e=number, _named=True)
    if words[1] != NONE:
        found.__dict__["_load"] = load_expr
        del found.__dict__["name_hint"]
    return found


def _make_prim(number, words):
    found = get(PRIM, words[2])
    found.__dict__["_e"] = number
    return found


expr_makers.update(
    {
        ExprKind.VAR: _make_var,
        ExprKind.GLOBAL_VAR: _make_global,
        ExprKind.CONSTANT: _by_class(GenericConst),
        ExprKind.TUPLE: _by_class(Tuple),
        ExprKind.TUPLE_GET_ITEM: _by_class(TupleGetItem),
        ExprKind.CALL: _by_class(Call),
        ExprKind.PRIM_VALUE: _make_prim,
        ExprKind.STRING_IMM: _by_class(StringImm),
    }
)
makers[EXPR] = _make
makers[SYMBOL] = _make_symbol
