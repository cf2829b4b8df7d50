"""Names of Hexagon's intrinsics, which are not here."""

from .._absent import absent_intrinsics

__getattr__ = absent_intrinsics(__name__)
__all__ = []
