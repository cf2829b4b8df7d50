"""`R`: programs of Relax."""

import builtins

from ..runtime.device import cpu, cuda, device, ext_dev, hexagon, metal, opencl, rocm, vpi, vulkan, webgpu  # noqa: F401
from ._macros import macro_decorator
from ._names import Word, function_decorator, in_builder


def function(f=None, pure=True, private=False, check_well_formed=True):
    """A function of Relax."""
    return function_decorator(f, 1, None)


def macro(func=None, *options, hygienic=True):
    """A macro, which is written out where it is used. One that is not hygienic uses names as they are there."""
    return macro_decorator(func, options, hygienic)


def rewriter(rewriter_mod):
    """A rule that rewrites programs, written as a pattern and what takes its place."""
    from ..relax.dpl.rewrite import of_class

    return of_class(rewriter_mod)


def _type(text, given):
    from ..relax.op import value_of

    return value_of(text, given)


def Tensor(shape=None, dtype=None, vdevice=None, ndim=-1):
    """The type of a tensor."""
    from ..ir.type import TensorType

    if isinstance(shape, (list, builtins.tuple)) and any(isinstance(item, builtins.str) for item in shape):
        from ..tirx import Var

        shape = [Var(item, "int64") if isinstance(item, builtins.str) else item for item in shape]
    if isinstance(shape, builtins.str) and dtype is None:
        shape, dtype = None, shape
    return TensorType(shape, dtype, vdevice, ndim)


def Tuple(*fields):
    """The type of a tuple."""
    from ..ir.type import TupleType

    if len(fields) == 1 and isinstance(fields[0], (list, builtins.tuple)):
        fields = fields[0]
    return TupleType([field() if callable(field) else field for field in fields])


def Shape(values=None, ndim=-1):
    """The type of a shape."""
    from ..ir.type import ShapeType

    return ShapeType(values, ndim)


def Prim(dtype):
    """The type of a scalar."""
    from ..ir.type import PrimType

    return PrimType(dtype)


def Any():
    """The type of any value."""
    from ..ir.type import AnyType

    return AnyType()


Object = Any


def Callable(params=None, ret=None, purity=None, derive_func=None):
    """The type of a function."""
    from ..ir.type import FuncType

    if params is None:
        return FuncType.opaque_func(ret=ret, purity=bool(purity))
    return FuncType(params, ret, True if purity is None else purity)


class _Default:
    """The type that a name stands for when it is written without arguments."""

    def __init__(self, make):
        self.make = make

    def __get__(self, instance, owner):
        return self.make()


class entry:  # noqa: N801
    """Names of types as TVM's parser has them. Here a type is made at once."""

    class TypeProxy:
        """The type that a name stands for."""

    class AnyProxy(TypeProxy):
        """`R.Any`."""

        _script_value = _Default(lambda: Any())

    class TensorProxy(TypeProxy):
        """`R.Tensor`."""

        _script_value = _Default(lambda: Tensor())

    class CallableProxy(TypeProxy):
        """`R.Callable`."""

        _script_value = _Default(lambda: Callable())

    class TupleProxy(TypeProxy):
        """`R.Tuple`."""

        _script_value = _Default(lambda: Tuple())

    class ShapeProxy(TypeProxy):
        """`R.Shape`."""

        _script_value = _Default(lambda: Shape())


def const(value, dtype=None):
    """A constant."""
    from ..relax.expr import const as make

    return make(value, dtype)


def ExternFunc(name, ty=None):
    """A function that is linked in."""
    from ..relax.expr import ExternFunc as Extern

    return Extern(name, ty)


def shape(value):
    """A shape as a value."""
    from ..relax.expr import ShapeExpr

    return ShapeExpr(value)


def str(value):  # noqa: A001
    """A text as a value."""
    from ..ir.expr import StringImm

    return StringImm(value)


def dtype(value):
    """An element type as a value."""
    from ..relax.expr import DataTypeImm

    return DataTypeImm(value)


def tuple(*fields):  # noqa: A001
    """Several values as one."""
    from ..ir.expr import Tuple as Make

    return Make(fields)


def prim_value(value):
    """A scalar as a value."""
    from ..relax.expr import prim_value as make

    return make(value)


def call_packed(func, *args, ty_args=None, **attrs):
    """A call of a function that is linked in."""
    from ..ir.expr import Call
    from ..relax.op import _callee

    types = ty_args if isinstance(ty_args, (list, builtins.tuple)) else [] if ty_args is None else [ty_args]
    return Call(_callee(func), args, attrs or None, types)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    built = in_builder("relax", name)
    if built is not None:
        return built
    from ..relax import expr, op

    if name in ("SeqExpr", "ShapeExpr", "TupleGetItem"):
        return getattr(expr, name)

    found = getattr(op, name, None)
    return found if found is not None else Word("R", name)
