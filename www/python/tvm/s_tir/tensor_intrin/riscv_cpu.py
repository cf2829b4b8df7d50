"""Intrinsics of RISC-V, which TVM makes for a target."""

from ..._absent import absent

__getattr__ = absent(__name__, "it makes intrinsics for the vectors of a target")
