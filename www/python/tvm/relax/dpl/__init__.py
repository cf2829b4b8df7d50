"""Patterns of programs, and rewriting by them."""

from .context import PatternContext
from .pattern import *  # noqa: F403
from .pattern import is_call_tir, is_op, wildcard
from .rewrite import PatternMatchingRewriter, rewrite_bindings, rewrite_call
from . import context, pattern, rewrite
