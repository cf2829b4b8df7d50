"""Operators over quantized tensors, under the names that users write."""

import sys

from ...op import qnn as _qnn

for _name in dir(_qnn):
    if not _name.startswith("_"):
        globals()[_name] = getattr(_qnn, _name)
qnn = sys.modules[__name__]
sys.modules[f"{__name__}.qnn"] = qnn
