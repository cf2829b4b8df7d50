"""Programs as texts with places, and errors shown in them."""

import ast
import inspect
import textwrap

from ..error import DiagnosticError
from ..ir.base import SourceName, Span


class Source:
    """The text of a program: given, or that of a function or class."""

    def __init__(self, program):
        if isinstance(program, str):
            self.source_name, self.start_line, self.start_column = "<str>", 1, 0
            self.source = self.full_source = program
            return
        lines, self.start_line = inspect.getsourcelines(program)
        self.source_name = inspect.getsourcefile(program)
        self.start_column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        self.source = textwrap.dedent("".join(lines))
        with open(self.source_name) as file:
            self.full_source = file.read()

    def as_ast(self):
        """The tree of the text."""
        return ast.parse(self.source)

    def location(self, node):
        """The lines and columns of a node in the file: first line, first column, last line, column behind it."""
        line, column = getattr(node, "lineno", 1) or 1, getattr(node, "col_offset", self.start_column) or 0
        end, end_column = getattr(node, "end_lineno", line) or line, getattr(node, "end_col_offset", column)
        shift, indent = self.start_line - 1, self.start_column + 1
        return line + shift, column + indent, end + shift, (column if end_column is None else end_column) + indent

    def to_span(self, node):
        """The place of a node."""
        line, column, end, end_column = self.location(node)
        return Span(SourceName(self.source_name or "<unknown>"), line, end, column, end_column)


def _format_source_snippet(source_lines, lineno, col_offset, end_lineno, end_col_offset):
    """Lines of a text with their numbers, and what is between two places underlined. Lines and columns count from 1."""
    end_lineno = max(end_lineno, lineno)
    edge = " " * len(f" {end_lineno} ")
    rows = [f"{edge}|  "]
    for number in range(lineno, end_lineno + 1):
        if not 0 < number <= len(source_lines):
            continue
        shown = source_lines[number - 1].rstrip("\n")
        start = col_offset if number == lineno else 1
        stop = end_col_offset if number == end_lineno else len(shown) + 1
        rows.append(f"{f' {number} '.rjust(len(edge))}|  {shown}")
        rows.append(f"{edge}|  {''.join('^' if start <= at < stop else ' ' for at in range(1, len(shown) + 1))}")
    return "" if len(rows) == 1 else "\n".join(rows)


class Diagnostics:
    """Errors about parts of a text."""

    def __init__(self, source):
        self.source = source

    def error(self, node, message):
        """Raises an error about a node of the tree."""
        line, column, end, end_column = self.source.location(node)
        lines = self.source.full_source.splitlines(keepends=True)
        snippet = _format_source_snippet(lines, line, column, end, end_column)
        raise DiagnosticError(f"error: {message}\n --> {self.source.source_name}:{line}:{column}\n{snippet}")
