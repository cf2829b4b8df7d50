"""Operators as tensor expressions, by the name in `topi`."""

from ._bits import BITS
from ._computed import COMPUTED as _FIRST
from ._convolutions import CONVOLUTIONS
from ._layouts import layout_transform
from ._math import MATH
from ._packed import PACKED
from ._padding import PADDING
from ._pooling import POOLING
from ._reductions import REDUCTIONS
from ._resize import RESIZE
from ._sampled import SAMPLED
from ._space import SPACE
from ._transform import TRANSFORM
from ._transposed import TRANSPOSED
from ._winograd import WINOGRAD

COMPUTED = {**_FIRST, **MATH, **TRANSFORM, **REDUCTIONS, **SAMPLED, **RESIZE, "layout_transform": layout_transform}
for _part in (PADDING, CONVOLUTIONS, TRANSPOSED, PACKED, SPACE, POOLING, WINOGRAD, BITS):
    COMPUTED |= {f"nn.{_name}": _func for _name, _func in _part.items()}

for _name, _func in COMPUTED.items():
    # A program is named after its function.
    _func.__name__ = _name.rsplit(".", 1)[-1]

REEXPORTED = {
    "div": "tvm.tirx.op", "floordiv": "tvm.tirx.op", "floormod": "tvm.tirx.op", "decl_buffer": "tvm.tirx", "extern": "tvm.te",
    "InvalidShapeError": "tvm.topi.utils", "const_vector": "tvm.topi.utils", "get_const_tuple": "tvm.topi.utils",
    "make_idx": "tvm.topi.utils", "within_index": "tvm.topi.utils", "Analyzer": "tvm.sym", "pi": "math",
}  # fmt: skip
"""Names of other modules that stand in `topi`, too."""
