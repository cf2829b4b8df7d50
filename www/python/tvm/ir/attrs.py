"""Sets of named values."""

from .._values import Array, Attrs, DictAttrs  # noqa: F401
from ..error import InternalError


def make_dict(fields):
    """Attributes of a dictionary."""
    return DictAttrs(fields)


def _scalar(value):
    """A number as the scalar that it is in attributes."""
    from ..tirx.expr import FloatImm, IntImm

    if isinstance(value, bool):
        return IntImm("bool", int(value))
    if isinstance(value, int):
        return IntImm("int32" if -(1 << 31) <= value < 1 << 31 else "int64", value)
    return FloatImm("float32", value) if isinstance(value, float) else value


def _test_attrs(fields):
    """The attributes that TVM has to test attributes."""
    from .expr import Expr

    key = "attrs.TestAttrs"
    for name in fields:
        if name not in ("axis", "name", "padding", "func"):
            raise AttributeError(f"{key}: does not have field '{name}', Possible fields: axis, name, padding, func")
    if "name" not in fields:
        raise AttributeError(f"{key}: Cannot find required field 'name' during initialization")
    made = {"axis": 10, "padding": (0, 0), "func": None, **fields}
    if not 1 <= made["axis"] <= 10:
        raise AttributeError(f"{key}.axis: value {made['axis']} is not between 1 and 10")
    padding = [item if isinstance(item, Expr) else _scalar(item) for item in made["padding"]]
    return Attrs(key, {**made, "padding": Array(padding)})


def make_node(type_key, **fields):
    """An object by its type key and the values of its fields."""
    from .._values import OtherObject, object_classes

    short = type_key.rsplit(".", 1)[-1]
    if short == "DictAttrs":
        # Before version 0.20 numbers became scalars.
        return DictAttrs({name: _scalar(value) for name, value in fields.items()} if type_key == short else fields)
    if type_key == "attrs.TestAttrs":
        return _test_attrs(fields)
    if short.endswith("Attrs"):
        return Attrs(type_key, fields)
    for module in _node_modules():
        cls = getattr(module, short, None)
        if isinstance(cls, type):
            return cls(**fields)
    if type_key.startswith(("ir.", "tirx.", "relax.")) and type_key not in object_classes:
        raise InternalError(f"Check failed: (it != type_key2index_.end()) is false: Cannot find type `{type_key}`")
    return object_classes.get(type_key, OtherObject)(type_key, fields)


def _node_modules():
    from .. import ir, relax, s_tir, tirx

    return ir, relax, tirx, tirx.transform, s_tir.transform
