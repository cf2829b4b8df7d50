"""Patterns of programs, and rewriting by them."""

from .context import PatternContext
from .pattern import *  # noqa: F403
from .pattern import is_call_tir, is_op, wildcard
from .rewrite import ExprPatternRewriter, OrRewriter, PatternMatchingRewriter, TupleRewriter, rewrite_bindings, rewrite_call
from ...ir.attrs import make_node
from ...runtime.registry import register_object as register_df_node
from . import context, pattern, rewrite
