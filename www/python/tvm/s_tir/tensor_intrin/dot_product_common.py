"""The dot product of four small integers on a GPU."""

from ._names import NAMES

globals().update(NAMES["dot_product_common"])


def get_dp4a_intrin(dtype_a, dtype_b, dtype_c):
    """The computation of the dot product, and its implementation."""
    from .. import TensorIntrin

    short = {"int8": "s8", "uint8": "u8", "int32": "s32", "uint32": "u32"}
    found = TensorIntrin.get("dp4a_" + "".join(short[dtype] for dtype in (dtype_a, dtype_b, dtype_c)))
    return found.desc, found.impl
