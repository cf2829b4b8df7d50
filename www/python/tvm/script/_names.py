"""The objects behind `R.`, `T.` and `I.` when Python itself evaluates them: names that programs are made of. Programs are read
from their source, so these need no more than to be there, to be called and to be indexed."""

import inspect


class Word:
    """A name of TVMScript that Python came across."""

    def __init__(self, prefix, name):
        self._prefix = prefix
        self._name = name

    def __call__(self, *args, **kwargs):
        return Word(self._prefix, self._name)

    def __getitem__(self, items):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Word(self._prefix, f"{self._name}.{name}")

    def __iter__(self):
        return iter(())

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __repr__(self):
        return f"{self._prefix}.{self._name}"


def in_builder(dialect, name):
    """The meaning of a name within a builder; None outside of one, or where builders have no such name."""
    from . import ir_builder

    return vars(getattr(ir_builder, dialect)).get(name) if ir_builder.IRBuilder.is_in_scope() else None


def function_decorator(func, depth, options):
    """Reads a decorated function; with options alone, gives the decorator."""
    from ..ir.function import BaseFunc
    from .parser import in_class, names_around, read_function

    def decorate(func, depth=0):
        if not inspect.isfunction(func):
            raise TypeError(f"Expect a function, but got: {func}")
        if in_class(depth + 1):
            return func
        made = read_function(func, names_around(depth + 1, func))
        if isinstance(made, BaseFunc):
            made.__dict__["__name__"] = func.__name__
        return made

    return decorate(func, depth + 1) if func is not None else decorate
