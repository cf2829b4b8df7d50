"""Classes of the attributes of operators: each is asked for by its name, and tells the attributes that are of it."""

from ..._values import Attrs

_made = {}


class _Kind(type):
    """A class whose values are attributes of one key."""

    def __instancecheck__(cls, value):
        return isinstance(value, Attrs) and value._key.rsplit(".", 1)[-1] == cls.__name__

    def __call__(cls, **fields):
        return Attrs(f"relax.attrs.{cls.__name__}", fields)


def __getattr__(name):
    if not name.endswith("Attrs") or name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _made:
        _made[name] = _Kind(name, (Attrs,), {"__doc__": f"Attributes of the key `relax.attrs.{name}`.", "__module__": __name__})
    return _made[name]
