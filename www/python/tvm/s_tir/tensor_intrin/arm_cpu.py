"""Intrinsics of Arm."""

from ..._absent import absent
from ._names import NAMES
from .dot_product_common import *  # noqa: F403

globals().update(NAMES["arm_cpu"])
__getattr__ = absent(__name__, "it makes an intrinsic of vectors of any length")
