"""Texts of Relay as programs."""

from .. import _engine
from .._node import EXPR, get
from ..error import DiagnosticError
from ..ir.module import IRModule


def _parse(text):
    _engine.dialect(False)
    if not text.lstrip().startswith("#["):
        text = f'#[version = "0.0.5"]\n{text}'
    words, expr, found = _engine.call("table_parse", text, _engine.words([0]), "", False)
    errors = [item[1] for item in found if item[0] == "error"]
    if errors:
        raise DiagnosticError("\n".join(errors))
    return words, expr


def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """The module that a text is, with types."""
    words, expr = _parse(source)
    if expr:
        return IRModule.from_expr(get(EXPR, expr - 1))
    mod = IRModule._of_words(words)
    if init_module is not None:
        whole = init_module.clone()
        whole.update(mod)
        mod = whole
    from .transform import InferType

    return InferType()(mod) if len(mod) else mod


def parse_expr(source):
    """The expression that a text is."""
    words, expr = _parse(source)
    if not expr:
        mod = IRModule._of_words(words)
        return mod["main"]
    return get(EXPR, expr - 1)


def fromtext(data, source_name=None):
    """The module or expression that a text is."""
    words, expr = _parse(data)
    return get(EXPR, expr - 1) if expr else parse(data)


def SpanCheck():
    """Spans are the engine's and always there."""
    from ..ir.transform import PassInfo, PyModulePass

    return PyModulePass(lambda mod, ctx: mod, PassInfo(0, "SpanCheck"))
