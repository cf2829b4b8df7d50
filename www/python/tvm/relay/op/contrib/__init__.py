"""Patterns for compilers of others."""

from .register import get_pattern_table, register_pattern_table
