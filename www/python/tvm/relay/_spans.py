"""Places that a program of Python gives nodes, and texts for the comments of nodes."""

from .. import _engine
from .._node import EXPR, had, number

any_given = False
"""True when a node was given a place."""


def given(node):
    """The place that a node was given, or the node that a pass rebuilt it from."""
    known = node.__dict__.get("_span")
    if known is None and any_given and node.__dict__.get("_e") is not None:
        _engine.dialect(False)
        for before in _engine.call("user_rebuilt_from", node._e):
            known = getattr(had(EXPR, before), "__dict__", {}).get("_span")
            if known is not None:
                node.__dict__["_span"] = known
                break
    return known


def _text(span):
    """A place as programs are printed with it; several stand in their order."""
    spans = getattr(span, "spans", [span])
    return "".join(f" span={one.source_name.name}:{one.line}:{one.column}" for one in spans[:1])


def notes(roots, annotate):
    """Numbers of nodes with texts for their comments, which `annotate` makes; without it, their places."""
    from . import _walk

    if annotate is None and not any_given:
        return [], []
    found = {}
    for root in roots:
        for node in _walk.post_order(root):
            if annotate is not None:
                text = annotate(node)
            else:
                span = given(node) if hasattr(node, "_is_relay") else None
                text = "" if span is None else _text(span)
            if text:
                found[number(EXPR, node)] = str(text)
    return list(found), list(found.values())
