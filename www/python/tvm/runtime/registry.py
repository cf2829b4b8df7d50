"""Functions of Python by name."""

import functools

_functions = {}


class PackedFunc:
    """A function that is known by name."""

    def __init__(self, function, name=""):
        self._function = function
        self.name = name
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)


def register_global_func(func_name, f=None, override=False):
    """Registers a function under a name; without a function, as a decorator."""
    if callable(func_name) and f is None:
        return register_global_func(func_name.__name__, func_name)

    def register(function):
        if func_name in _functions and not override:
            raise RuntimeError(f"Global Function `{func_name}` is already registered")
        _functions[func_name] = PackedFunc(function, func_name)
        return function

    return register(f) if f is not None else register


register_func = register_global_func


def get_global_func(name, allow_missing=False):
    """The function that was registered under a name."""
    found = _functions.get(name)
    if found is None and name.startswith("relay._transform."):
        from ..relay import transform

        found = getattr(transform, name.removeprefix("relay._transform."), None)
    if found is None and not allow_missing:
        raise ValueError(f"Cannot find global function {name}")
    return found


def remove_global_func(name):
    """Forgets a function."""
    _functions.pop(name, None)


def list_global_func_names():
    """Names of the functions."""
    return list(_functions)


def register_object(type_key=None, init=True):
    """Classes need no registration here."""
    return type_key if isinstance(type_key, type) else (lambda cls: cls)
