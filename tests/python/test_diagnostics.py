"""Contexts that collect diagnostics."""

import pytest
import tvm
from tvm.ir import diagnostics

MESSAGE = "this is wrong"


def _context(level, seen):
    renderer = diagnostics.DiagnosticRenderer(lambda ctx: seen.extend(item.message for item in ctx.diagnostics))
    context = diagnostics.DiagnosticContext(tvm.IRModule(), renderer)
    context.emit(diagnostics.Diagnostic(level, None, MESSAGE))
    return context


def test_a_warning_is_rendered():
    seen = []
    _context(diagnostics.DiagnosticLevel.WARNING, seen).render()
    assert seen == [MESSAGE]


def test_an_error_is_rendered_and_raised():
    seen = []
    with pytest.raises(tvm.error.DiagnosticError, match="error diagnostics were emitted"):
        _context(diagnostics.DiagnosticLevel.ERROR, seen).render()
    assert seen == [MESSAGE]


def test_the_default_renderer_may_be_another():
    seen = []
    diagnostics.override_renderer(lambda ctx: seen.append(len(ctx.diagnostics)))
    diagnostics.DiagnosticContext(tvm.IRModule()).render()
    diagnostics.override_renderer(None)
    assert seen == [0]
