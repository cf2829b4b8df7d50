"""Sets of named values."""

from .._values import Attrs, DictAttrs  # noqa: F401


def make_dict(fields):
    """Attributes of a dictionary."""
    return DictAttrs(fields)


def make_node(type_key, **fields):
    """An object by its type key and the values of its fields."""
    from .._values import OtherObject, object_classes

    short = type_key.rsplit(".", 1)[-1]
    if short == "DictAttrs":
        return DictAttrs(fields)
    if short.endswith("Attrs"):
        return Attrs(type_key, fields)
    for module in _node_modules():
        cls = getattr(module, short, None)
        if isinstance(cls, type):
            return cls(**fields)
    return object_classes.get(type_key, OtherObject)(type_key, fields)


def _node_modules():
    from .. import ir, relax, s_tir, tirx

    return ir, relax, tirx, tirx.transform, s_tir.transform
