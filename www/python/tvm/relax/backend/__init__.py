"""Patterns that other compilers take over, and passes that hand operators to libraries."""

from ..transform import DispatchSampling, DispatchSortScan
from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns
