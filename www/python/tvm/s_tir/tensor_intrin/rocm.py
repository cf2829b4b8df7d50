"""Intrinsics of AMD's GPUs."""

from ..._absent import absent
from ._names import NAMES

globals().update(NAMES["rocm"])
__getattr__ = absent(__name__, "it makes an intrinsic")
