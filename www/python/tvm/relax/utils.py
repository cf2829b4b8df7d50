"""Helpers."""

from .._node import Object
from ..ir.expr import Expr, StringImm, Tuple


def convert_to_expr(value):
    """A value of Python as an expression: lists become tuples, texts strings, numbers scalars."""
    from ..tirx.expr import EqualOp
    from .expr import prim_value

    if isinstance(value, EqualOp):
        return value.asobject()
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return prim_value(int(value))
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (tuple, list)):
        return Tuple([convert_to_expr(item) for item in value])
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return prim_value(value)
    raise TypeError(f"Cannot convert {value} with type {type(value)} to `relax.Expr`")


def copy_with_new_vars(func):
    """A copy of a function with variables of its own."""
    from .analysis import _copy

    return _copy(func)


def bind_symbolic_vars(func, binding_map):
    """A function with symbolic variables replaced."""
    from ..ir.module import IRModule
    from .transform import BindSymbolicVars

    mod = BindSymbolicVars(binding_map, "main")(IRModule({"main": func, **_stand_ins(func, "main")}))
    return mod["main"]


def bind_params(func, binding_map):
    """A function with parameters replaced by constants."""
    from ..ir.module import IRModule
    from .transform import BindParams

    return BindParams("main", binding_map)(IRModule({"main": func, **_stand_ins(func, "main")}))["main"]


def _stand_ins(func, *known):
    """Linked functions for those that a function by itself calls, of the types that the calls have."""
    from ..ir.type import AnyType, FuncType
    from .analysis import all_global_vars
    from .expr import ExternFunc

    found = {}
    for var in all_global_vars(func):
        if var.name_hint not in known:
            ty = var.ty if isinstance(var.ty, FuncType) else FuncType.opaque_func(ret=AnyType())
            found[var.name_hint] = ExternFunc(var.name_hint, ty)
    return found


def _check_recursion(func, functions):
    """Raises if a function would be inlined into itself."""
    from ..error import InternalError
    from .analysis import called_global_vars

    calls = {name: [var.name_hint for var in called_global_vars(other)] for name, other in functions.items()}
    done, open_ = set(), []

    def visit(name):
        if name in open_:
            raise InternalError(f"Function {name} is recursive: {' calls '.join([*open_, name])}")
        if name in calls and name not in done:
            open_.append(name)
            for inner in calls[name]:
                visit(inner)
            done.add(open_.pop())

    for var in called_global_vars(func):
        visit(var.name_hint)


def inline_functions(func, function_map):
    """A function in which calls of functions, by variable or name, are replaced by their bodies."""
    from ..ir.expr import GlobalVar
    from ..ir.module import IRModule
    from .transform import InlinePrivateFunctions

    names = [key.name_hint if isinstance(key, GlobalVar) else str(key) for key in function_map]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Function {twice} is given twice, as a variable and as a name")
    _check_recursion(func, dict(zip(names, function_map.values())))
    own = "main"
    while own in names:
        own += "_"
    inner = {name: other.without_attr("global_symbol") for name, other in zip(names, function_map.values())}
    others = {}
    for each in (func, *inner.values()):
        others.update(_stand_ins(each, own, *inner))
    made = InlinePrivateFunctions()(IRModule({own: func.with_attr("global_symbol", own), **inner, **others}))[own]
    symbol = func.attrs.get("global_symbol") if func.attrs else None
    return made.with_attr("global_symbol", symbol) if symbol is not None else made.without_attr("global_symbol")


_ = Object
