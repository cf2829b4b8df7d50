"""Tables of patterns by the names of compilers."""

import importlib

_tables = {}
_HERE = ("dnnl",)
"""Compilers whose modules are here; they are read when their tables are asked for."""


def register_pattern_table(compiler, table=None):
    """Registers the patterns of a compiler; without a table, as a decorator of the function that makes it."""

    def register(function):
        _tables[compiler] = function() if callable(function) else function
        return function

    return register(table) if table is not None else register


def get_pattern_table(compiler):
    """The patterns of a compiler; None where there are none."""
    if compiler not in _tables and compiler in _HERE:
        importlib.import_module(f"{__package__}.{compiler}")
    return _tables.get(compiler)
