"""Intrinsics that TVM registers are found by the constants that name them."""

import pytest
from tvm.s_tir import TensorIntrin
from tvm.s_tir.tensor_intrin import cuda, hexagon, metal, rocm, x86
from tvm.s_tir.tensor_intrin.cuda import LDMATRIX_f16_A_DYN_INTRIN, get_mma_intrin_group, get_wmma_intrin_group
from tvm.s_tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc


def test_a_constant_is_a_name_and_the_name_has_programs():
    assert (VNNI_DOT_16x4_INTRIN, LDMATRIX_f16_A_DYN_INTRIN) == ("dot_16x4_vnni", "mma_ldmatrix_f16_a_dyn")
    found = TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
    assert len(found.desc.params) == len(found.impl.params) == len(dot_product_16x4_u8i8i32_desc.params) == 3
    # All operands stand in the call: the sum so far, four elements, and sixteen times four.
    call = next(line for line in found.impl.script().splitlines() if "vpdpbusd" in line)
    assert "C_i32x16, T.Broadcast(A_i32, 16), B_i32x16" in call


@pytest.mark.parametrize("module", [cuda, hexagon, metal, rocm, x86])
def test_every_constant_names_an_intrinsic(module):
    names = [value for key, value in vars(module).items() if key.endswith("_INTRIN")]
    assert names and all(TensorIntrin.get(name).desc is not None for name in names)


def test_groups_name_what_belongs_together():
    group = get_wmma_intrin_group("shared.dyn", "global", "float16", "float32", True)
    assert group["load_b"] == "wmma_load_16x16x16_f16_b_trans_shared_dyn"
    assert group["compute"] == "wmma_sync_16x16x16_f16f16f32_trans"
    group = get_mma_intrin_group("shared", "shared.dyn", "int8", "int32", False, True)
    assert group["store"] == "mma_store_16x16_i32_shared_dyn_simple_"
    assert all(TensorIntrin.get(name, allow_missing=True) for key, name in group.items() if key != "store")


def test_a_name_that_is_registered_is_not_taken_again():
    found = TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
    with pytest.raises(ValueError, match="already been registered"):
        TensorIntrin.register(VNNI_DOT_16x4_INTRIN, found.desc, found.impl)
