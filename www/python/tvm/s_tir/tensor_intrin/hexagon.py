"""Intrinsics of Hexagon."""

from ..._absent import absent
from ._names import NAMES

globals().update(NAMES["hexagon"])
__getattr__ = absent(__name__, "it makes an intrinsic")
