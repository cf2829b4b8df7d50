"""Operators over quantized tensors."""

from . import op, transform

for _name in dir(op):
    if not _name.startswith("_") and _name != "qnn" and callable(getattr(op, _name)):
        globals().setdefault(_name, getattr(op, _name))
