"""Helpers of tests."""

from . import runtime_builtin, transform
