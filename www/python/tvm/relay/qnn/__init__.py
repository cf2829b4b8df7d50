"""Operators over quantized tensors."""

from . import op, transform
