"""Helpers of tests."""

from . import nn, runtime_builtin, transform
from .ast_printer import ASTPrinter, dump_ast
