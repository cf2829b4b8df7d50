"""Functions that TVM registers to test calls of its own: they give back what they get, or say what it is."""

from ..ir.expr import Expr
from ..runtime.registry import register_global_func
from ..tirx.expr import IntImm


def _returns_variant(number):
    return IntImm("int64", number // 2) if number % 2 == 0 else "argument was odd"


def _accepts_variant(value):
    if isinstance(value, str):
        return "runtime.String"
    if isinstance(value, (int, IntImm)) and not isinstance(value, bool):
        return "IntImm"
    raise TypeError(f"a text or a whole number is needed, not {type(value).__name__}")


def _accepts(*classes):
    def give(value):
        if not isinstance(value, classes):
            raise TypeError(f"{type(value).__name__} does not fit")
        return value

    return give


_FUNCTIONS = {
    "nop": lambda *args: None,
    "echo": lambda value: value,
    "ReturnsVariant": _returns_variant,
    "AcceptsVariant": _accepts_variant,
    "AcceptsBool": lambda value: bool(_accepts(bool, int, IntImm)(value)),
    "AcceptsInt": lambda value: int(_accepts(bool, int, IntImm)(value)),
    "AcceptsObjectRef": lambda value: value,
    "AcceptsPrimExpr": _accepts(Expr, int, float),
}

for _name, _function in _FUNCTIONS.items():
    register_global_func(f"testing.{_name}", _function, override=True)
