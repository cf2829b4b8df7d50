"""Names of CUDA's intrinsics, which are not here."""

from .._absent import absent_intrinsics
from .dot_product_common import *  # noqa: F403

__getattr__ = absent_intrinsics(__name__)
__all__ = []
