"""Kinds of expressions, by the methods of functors for them."""

import functools
import re

from ..ir.expr import Call, Expr, GenericConst, GlobalVar, StringImm, Tuple, TupleGetItem, Var
from ..ir.function import BaseFunc
from ..ir.op import Op
from .expr import DataflowVar, DataTypeImm, ExternFunc, Function, If, SeqExpr, ShapeExpr

_NAMES = (
    (GenericConst, "generic_const_"),
    (Tuple, "tuple_"),
    (DataflowVar, "dataflow_var_"),
    (Var, "var_"),
    (ShapeExpr, "shape_expr_"),
    (ExternFunc, "extern_func_"),
    (GlobalVar, "global_var_"),
    (Function, "function_"),
    (Call, "call_"),
    (SeqExpr, "seq_expr_"),
    (If, "if_"),
    (Op, "op_"),
    (TupleGetItem, "tuple_getitem_"),
    (StringImm, "string_imm_"),
    (DataTypeImm, "data_type_imm_"),
)
_SCALARS = (
    "add and bitwise_and bitwise_not bitwise_or bitwise_xor broadcast buffer_load cast div eq float_imm floor_div floor_mod ge gt int_imm le "
    "lshift lt max min mod mul ne not or ramp rshift select shuffle sub"
).split()
_OTHERS = "binding_block dataflow_block dataflow_var_def expr_fallback match_cast var_binding var_def".split()


def variables_of(prim):
    """The variables of a scalar expression, in their order."""
    from ..tirx.expr import FloatImm, IntImm, PrimCall
    from ..tirx.stmt_functor import post_order_visit

    found = []
    if not isinstance(prim, (IntImm, FloatImm, PrimCall)):
        post_order_visit(prim, lambda part: found.append(part) if isinstance(part, Var) else None)
    return found


@functools.cache
def method_of(cls):
    """The name of the method for a class of expressions."""
    for known, name in _NAMES:
        if issubclass(cls, known):
            return name
    return "prim_value_" if issubclass(cls, Expr) and not issubclass(cls, BaseFunc) else "prim_func_"


@functools.cache
def scalar_method(cls):
    """The name of the method for a class of scalar expressions alone."""
    name = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
    return f"{name}_" if name in _SCALARS else "call_" if issubclass(cls, Call) else "expr_fallback_"


class Unwritten:
    """The methods of a functor, which a class that has none of its own says so of."""


def _unwritten(name):
    def method(self, op):
        raise NotImplementedError(f"{type(self).__name__} has no {name}")

    method.__name__ = name
    method.__doc__ = f"Raises: nothing is written for `{name[6:-1]}`."
    return method


for _name in [*(name for _, name in _NAMES), *(f"{name}_" for name in _OTHERS)]:
    setattr(Unwritten, f"visit_{_name}", _unwritten(f"visit_{_name}"))
for _name in _SCALARS:
    setattr(Unwritten, f"visit_{_name}_", lambda self, op: self.visit_expr_fallback_(op))
