"""`I`: modules."""

from ._names import Word
from .parser import ir_module  # noqa: F401


def module_attrs(attrs, allow_overwrite=False):
    """Attributes of the module; read from its source."""


def module_global_infos(global_infos):
    """Global infos of the module; read from its source."""


def module_set_attr(attr_key, attr_value, allow_overwrite=False):
    """An attribute of the module; read from its source."""


def module_get_attr(attr_key):
    """An attribute of the module; read from its source."""


def dummy_global_info():
    """A global info that says nothing."""
    from ..relax.global_info import DummyGlobalInfo

    return DummyGlobalInfo()


def vdevice(target=None, vdevice_id=0, memory_scope="global"):
    """A device."""
    from ..relax.global_info import VDevice

    return VDevice(target, vdevice_id, memory_scope)


class meta_var:  # noqa: N801
    """A value that Python computes while a program is read."""

    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return (meta_var(item) for item in self.value)


def pyfunc(func):
    """A function of Python in a module."""
    return func


def StringType():
    """The type of a text."""
    from ..ir.type import StringType as Make

    return Make()


def GlobalVar(name):
    """A reference to a function of the module."""
    from ..ir.expr import GlobalVar as Make

    return Make(name)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Word("I", name)
