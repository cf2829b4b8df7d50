"""Intrinsics of CUDA's tensor cores."""

from ..._absent import absent
from ._names import NAMES

globals().update(NAMES["cuda"])
__getattr__ = absent(__name__, "it makes an intrinsic")

_SHORT = {"float16": "f16", "float32": "f32", "int32": "i32", "int8": "i8", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}


def _checked(load_scope, store_scope):
    assert load_scope in ("shared", "shared.dyn")
    assert store_scope in ("global", "shared", "shared.dyn")
    return load_scope.replace(".", "_"), store_scope.replace(".", "_")


def get_wmma_intrin_group(load_scope, store_scope, in_dtype, out_dtype, trans_b):
    """The names of the intrinsics of a product of 16 x 16 x 16 by fragments."""
    load, store = _checked(load_scope, store_scope)
    given, made = {"float16": "f16", "int8": "s8"}[in_dtype], {"float16": "f16", "float32": "f32", "int32": "s32"}[out_dtype]
    trans, shape = "_trans" if trans_b else "", "16x16x16"
    return {
        "init": f"wmma_fill_{shape}_{made}",
        "load_a": f"wmma_load_{shape}_{given}_a_{load}",
        "load_b": f"wmma_load_{shape}_{given}_b{trans}_{load}",
        "compute": f"wmma_sync_{shape}_{given}{given}{made}{trans}",
        "store": f"wmma_store_{shape}_{made}_{store}",
    }


def get_mma_intrin_group(
    load_scope,
    store_scope,
    in_dtype,
    out_dtype,
    trans_a,
    trans_b,
    not_use_mma_store_intrinic=True,
    store_to_smem_dtype=None,
):
    """The names of the intrinsics of a product by matrices in registers."""
    load, store = _checked(load_scope, store_scope)
    given, made = _SHORT[in_dtype], _SHORT[out_dtype]
    dyn = "_dyn" if load == "shared_dyn" else ""
    of = {"a": "_trans" if trans_a else "", "b": "_trans" if trans_b else ""}
    turned = "".join(f"{trans}_{name}" for name, trans in of.items() if trans)
    kept = _SHORT[store_to_smem_dtype] if store_to_smem_dtype else made
    return {
        "init": f"mma_fill_16x16_{made}",
        "load_a": f"mma_ldmatrix_{given}_a{of['a']}{dyn}",
        "load_b": f"mma_ldmatrix_{given}_b{of['b']}{dyn}",
        "compute": f"mma_{given}{given}{made}{turned}",
        "store": f"mma_store_16x16_{kept}_{store}_{'simple_' if not_use_mma_store_intrinic else ''}",
    }
