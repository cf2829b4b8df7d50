"""Dot products of sixteen rows on x86."""

from .. import TensorIntrin
from ._names import NAMES

globals().update(NAMES["x86"])
_vnni, _avx512 = TensorIntrin.get("dot_16x4_vnni"), TensorIntrin.get("dot_16x4_avx512")
dot_product_16x4_u8i8i32_desc = _vnni.desc
dot_product_16x4_u8i8i32_vnni = _vnni.impl
dot_product_16x4_u8i8i32_avx512 = _avx512.impl
