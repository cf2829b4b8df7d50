"""Diagnostics: messages about places of a program, collected in a context and rendered together."""

import enum
import sys

from ..error import DiagnosticError
from .base import Node


class DiagnosticLevel(enum.IntEnum):
    """The severity of a message."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic(Node):
    """A message about a place."""

    def __init__(self, level, span, message):
        self.level, self.span, self.message = DiagnosticLevel(level), span, message


class DiagnosticRenderer(Node):
    """Shows the messages of a context with a function that is given the context."""

    def __init__(self, render_func):
        self._render_func = render_func

    def render(self, ctx):
        """Shows the messages."""
        self._render_func(ctx)


def _to_stderr(ctx):
    for item in ctx.diagnostics:
        place = f" --> line {item.span.line}, column {item.span.column}" if item.span is not None else ""
        print(f"{item.level.name.lower()}: {item.message}{place}", file=sys.stderr)


_renderer = None


def get_renderer():
    """The renderer that contexts have by default: it prints to standard error, unless it was overridden."""
    return DiagnosticRenderer(_renderer or _to_stderr)


def override_renderer(render_func):
    """Sets the function that renders by default; None restores the usual one."""
    global _renderer
    _renderer = render_func


class DiagnosticContext(Node):
    """The messages about a module."""

    def __init__(self, module, renderer=None):
        self.module = module
        self.renderer = renderer or get_renderer()
        self.diagnostics = []

    def emit(self, diagnostic):
        """Adds a message."""
        self.diagnostics.append(diagnostic)

    def render(self):
        """Shows the messages, and raises `DiagnosticError` if one of them is an error."""
        self.renderer.render(self)
        if any(item.level <= DiagnosticLevel.ERROR for item in self.diagnostics):
            raise DiagnosticError("one or more error diagnostics were emitted, please check diagnostic render for output.")
