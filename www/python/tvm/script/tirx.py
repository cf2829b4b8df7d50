"""`T`: tensor programs."""

import inspect
import textwrap

from ._names import Word, function_decorator, in_builder


def prim_func(func=None, *, private=False, check_well_formed=True, s_tir=False, persistent=False):
    """A tensor program."""
    return function_decorator(func, 1, None)


class _Macro:
    def __init__(self, func):
        self.func = func
        self.__name__ = func.__name__
        source = textwrap.dedent(inspect.getsource(func))
        self._macro_source = source + "\n"

    def __call__(self, *args, **kwargs):
        return None


def macro(func=None, *, hygienic=True):
    """A macro, which is written out where it is used."""
    return _Macro(func) if func is not None else _Macro


inline = hint_inline = macro


class _Scalar(Word):
    """An element type that makes numbers and variables."""

    def __call__(self, value=None, *args, **kwargs):
        from ..tirx import Var, const

        if value is None:
            return Var("", self._name)
        return const(value, self._name) if isinstance(value, (int, float)) else value.astype(self._name)

    _script_value = property(lambda self: _prim_type(self._name))


def _prim_type(name):
    from ..ir.type import PrimType

    return PrimType(name)


_SCALARS = {f"{base}{bits}{lanes}" for base in ("int", "uint", "float", "bfloat") for bits in ("8", "16", "32", "64") for lanes in ("", "x4", "x8", "x16", "x32", "x64")} | {
    "boolean",
    "bool",
    "handle",
    "void",
}


def Var(name, dtype):
    """A variable."""
    from ..tirx import Var as Make

    return Make(name, dtype)


SizeVar = Var


def handle(dtype=None, storage_scope="global"):
    """A pointer."""
    from ..ir.type import PointerType, PrimType
    from ..tirx import Var as Make

    return Make("", PointerType(PrimType(dtype or "void"), storage_scope))


def target(config, host=None):
    """A target."""
    from ..target import Target

    return Target(config, host)


def index_map(mapping, **options):
    """A map of indices."""
    from ..tirx.function import IndexMap

    return IndexMap.from_func(mapping, **options)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _SCALARS:
        return _Scalar("T", name)
    built = in_builder("tirx", name)
    if built is not None:
        return built
    from .. import tirx

    found = getattr(tirx, name, None)
    if found is not None and name not in ("Buffer", "Let", "parser", "ir", "stmt"):
        return found
    return Word("T", name)
