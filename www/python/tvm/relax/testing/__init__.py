"""Helpers of tests."""

import importlib

from . import runtime_builtin, transform
from .ast_printer import ASTPrinter, dump_ast


def __getattr__(name):
    # Layers are read when somebody asks for them, and not with every script.
    if name != "nn":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
