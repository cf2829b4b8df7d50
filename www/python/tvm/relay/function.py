"""Functions."""

from .expr import Function  # noqa: F401
