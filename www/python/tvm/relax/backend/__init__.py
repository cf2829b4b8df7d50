"""Patterns that other compilers take over."""

from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns
