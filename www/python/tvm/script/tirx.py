"""`T`: tensor programs."""

from ._macros import macro_decorator
from ._names import Word, function_decorator, in_builder
from .ir import meta_var  # noqa: F401


def prim_func(func=None, *, private=False, check_well_formed=True, s_tir=False, persistent=False):
    """A tensor program."""
    return function_decorator(func, 1, None)


def macro(func=None, *options, hygienic=True):
    """A macro, which is written out where it is used."""
    return macro_decorator(func, options, hygienic)


def inline(func=None, *options):
    """A function of Python that is written out where a program calls it."""
    return macro_decorator(func, options, True)


hint_inline = inline


class _Scalar(Word):
    """An element type that makes numbers and variables."""

    def __call__(self, value=None, *args, **kwargs):
        from ..tirx import Var, const

        if value is None:
            return Var("v", self._name)
        if isinstance(value, str):
            return const(float(value), self._name)
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
_SHORT = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16"}
_SCALARS |= {
    f"{base}{lanes}"
    for base in (
        "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn"
    ).split()
    for lanes in ("", "x2", "x4", "x8", "x16", "x32", "x64")
}
_SCALARS |= {f"{base}{bits}x2" for base in ("int", "uint", "float", "bfloat") for bits in (8, 16, 32, 64)}


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


def iter_var(var, dom, iter_type, thread_tag):
    """A variable of an axis."""
    from ..ir.expr import Range
    from ..tirx import IterVar

    return IterVar(Range(*dom) if isinstance(dom, (list, tuple)) else dom, var, getattr(IterVar, iter_type), thread_tag)


def broadcast(value, lanes):
    """A vector of one value."""
    from ..tirx import Broadcast

    return Broadcast(value, lanes)


def ramp(base, stride, lanes):
    """A vector of values with equal steps."""
    from ..tirx import Ramp

    return Ramp(base, stride, lanes)


class _BufferWord(Word):
    """`T.Buffer`, which makes a buffer where Python calls it."""

    def __call__(self, *args, **options):
        from .ir_builder.tirx import Buffer as make

        return make(*args, **options)


Buffer = buffer = _BufferWord("T", "Buffer")


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
    if name in _SCALARS or name in _SHORT:
        return _Scalar("T", _SHORT.get(name, name))
    built = in_builder("tirx", name)
    if built is not None:
        return built
    from .. import tirx

    found = getattr(tirx, name, None)
    if found is not None and name not in ("Buffer", "Let", "parser", "ir", "stmt"):
        return found
    return Word("T", name)
