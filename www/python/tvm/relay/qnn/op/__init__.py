"""Operators over quantized tensors, under the names that users write."""

import sys

from ....ir.op import register_op_attr as _register_op_attr
from ...op import qnn as _qnn

for _name in dir(_qnn):
    if not _name.startswith("_"):
        globals()[_name] = getattr(_qnn, _name)
qnn = sys.modules[__name__]
sys.modules[f"{__name__}.qnn"] = qnn


def register_qnn_legalize(op_name, legal_op=None, level=10):
    """Registers what takes the place of an operator before it is expressed by others."""
    return _register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name, legal_op=None, level=10):
    """Registers what an operator is expressed by."""
    return _register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)
