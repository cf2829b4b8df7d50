"""Helpers of tests."""

import importlib

from . import runtime_builtin, transform
from .ast_printer import ASTPrinter, dump_ast


_LATER = {"get_relax_matmul_module": "matmul", "get_relax_attention_module": "attention", "get_relax_stacked_attention_module": "attention"}
"""Modules of names. Those and the layers are read when a script asks for them, and not with every script."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("nn", "matmul", "attention"):
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER.get(name, 'nn')}"), name)
