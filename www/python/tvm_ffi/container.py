"""Lists and dictionaries of programs."""

from tvm._values import Array, Map  # noqa: F401

List, Dict = list, dict
