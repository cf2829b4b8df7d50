"""The dot product of four elements on AMD's GPUs; matrix units are not here."""

from .. import TensorIntrin
from .._absent import absent_intrinsics
from .dot_product_common import one

_SDOT4 = """
        C[0] += T.call_llvm_pure_intrin(
            T.llvm_lookup_intrinsic_id("llvm.amdgcn.sdot4"),
            T.reinterpret(A.vload([0], "int8x4"), dtype="int32"),
            T.reinterpret(B.vload([0], "int8x4"), dtype="int32"),
            T.int32(0), T.bool(1), dtype="int32",
        )
"""

AMDGPU_SDOT4_INTRIN = "sdot4"
TensorIntrin.register(AMDGPU_SDOT4_INTRIN, *one(_SDOT4, "int8", "int8", "int32", "sdot4"), override=True)
__getattr__ = absent_intrinsics(__name__)
