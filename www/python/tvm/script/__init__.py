"""TVMScript: programs written as Python, read from the source of what is decorated."""

import importlib
import sys

from .parser import from_source, ir_module, parse  # noqa: F401
from . import ir, relax, tirx  # noqa: F401

tir = tirx
sys.modules[__name__ + ".tir"] = tirx
_dialects = {}


def register_dialect(name, module_path):
    """Says in which module a dialect of one's own is; it is read when it is asked for."""
    _dialects[name] = module_path


def __getattr__(name):
    if name not in _dialects:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(_dialects[name])
