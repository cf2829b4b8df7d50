"""Dot products of sixteen rows on x86."""

from .. import TensorIntrin
from .dot_product_common import rows_desc, rows_impl

_KINDS = (16, "uint8", "int8", "int32")

_VNNI = """
        A_u8x4 = A.vload([0], "uint8x4")
        A_i32 = T.reinterpret(A_u8x4, dtype="int32")
        B_i8x64 = B.vload([0, 0], dtype="int8x64")
        B_i32x16 = T.reinterpret(B_i8x64, dtype="int32x16")
        C_i32x16 = C.vload([0], dtype="int32x16")
        C[T.ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
            C_i32x16, T.broadcast(A_i32, 16), B_i32x16, dtype="int32x16",
        )
"""

_AVX512 = """
        A_u8x4 = A.vload([0], "uint8x4")
        A_i32 = T.reinterpret(A_u8x4, dtype="int32")
        A_brdcst = T.broadcast(A_i32, 16)
        A_u8x64 = T.reinterpret(A_brdcst, dtype="uint8x64")
        B_i8x64 = B.vload([0, 0], dtype="int8x64")
        Red = T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.pmaddubs.w.512"), A_u8x64, B_i8x64, dtype="int16x32",
        )
        C[T.ramp(T.int32(0), 1, 16)] += T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.x86.avx512.pmaddw.d.512"), Red, T.int16x32(1), dtype="int32x16",
        )
"""

dot_product_16x4_u8i8i32_desc = rows_desc(*_KINDS, "dot_product_16x4_u8i8i32_desc")
dot_product_16x4_u8i8i32_vnni = rows_impl(_VNNI, *_KINDS, "dot_product_16x4_u8i8i32_vnni")
dot_product_16x4_u8i8i32_avx512 = rows_impl(_AVX512, *_KINDS, "dot_product_16x4_u8i8i32_avx512")

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"
TensorIntrin.register(VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_vnni, override=True)
TensorIntrin.register(AVX512_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_avx512, override=True)
