"""Operators as tensor expressions, by the name in `topi`."""

from . import _quantized
from ._bits import BITS
from ._broadcast import BROADCAST
from ._computed import COMPUTED as _FIRST
from ._convolutions import CONVOLUTIONS
from ._layouts import layout_transform
from ._math import MATH
from ._normalized import batch_norm
from ._packed import PACKED
from ._padding import PADDING
from ._pooling import POOLING
from ._quantized import QUANTIZED
from ._reductions import REDUCTIONS
from ._resize import RESIZE
from ._sampled import SAMPLED
from ._signal import SIGNAL
from ._slices import SLICES
from ._softmax import SOFTMAX
from ._space import SPACE
from ._transform import TRANSFORM
from ._transposed import TRANSPOSED
from ._unary import UNARY
from ._winograd import WINOGRAD

COMPUTED = {
    **_FIRST,
    **BROADCAST,
    **UNARY,
    **MATH,
    **TRANSFORM,
    **REDUCTIONS,
    **SAMPLED,
    **RESIZE,
    **SIGNAL,
    **SLICES,
    "layout_transform": layout_transform,
    "nn.batch_norm": batch_norm,
}
for _part in (PADDING, CONVOLUTIONS, TRANSPOSED, PACKED, SPACE, POOLING, WINOGRAD, BITS, QUANTIZED, SOFTMAX):
    COMPUTED |= {f"nn.{_name}": _func for _name, _func in _part.items()}

for _name, _func in COMPUTED.items():
    # A program is named after its function.
    _func.__name__ = _name.rsplit(".", 1)[-1]

REEXPORTED = {
    "div": "tvm.tirx.op", "floordiv": "tvm.tirx.op", "floormod": "tvm.tirx.op", "decl_buffer": "tvm.tirx", "extern": "tvm.te",
    "InvalidShapeError": "tvm.topi.utils", "const_vector": "tvm.topi.utils", "get_const_tuple": "tvm.topi.utils",
    "make_idx": "tvm.topi.utils", "within_index": "tvm.topi.utils",
    **{f"nn.{name}": "tvm.topi.utils" for name in ("equal_const_int", "get_const_int", "get_const_tuple", "simplify")},
    **{f"nn.{name}": "tvm.topi" for name in ("add", "concatenate", "strided_slice")},
    **{f"nn.{name}": "tvm.topi._quantized" for name in vars(_quantized) if name.startswith("SQNN_")},
    **{f"image.{name}": "tvm.topi.utils" for name in ("nchw_pack_layout", "nchw_xc_layout", "simplify")},
    **{f"image.{name}": "tvm.topi.nn" for name in ("pad", "get_pad_tuple")},
    **{f"nn.{name}_legalize": "tvm.relay.transform._tensor_cores" for name in ("conv2d", "dense", "batch_matmul")},
    **{f"vision.{name}": "tvm.topi" for name in ("argsort", "binary_search", "cast", "cumsum", "gather", "reshape")},
    **{f"vision.bilinear_sample_{layout}": "tvm.topi.nn" for layout in ("nchw", "nhwc")}, "vision.if_then_else": "tvm.tirx.op", "Analyzer": "tvm.sym", "pi": "math",
}  # fmt: skip
"""Names of other modules that stand in `topi`, too."""
