"""Passes over quantized operators."""

from ..transform import Legalize as _legalize


def Legalize():
    """Products of quantized tensors get the types that the target computes fast."""
    return _legalize("FTVMQnnLegalize")


def CanonicalizeOps():
    """Quantized operators become other operators."""
    return _legalize("FTVMQnnCanonicalize")
