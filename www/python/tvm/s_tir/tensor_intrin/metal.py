"""Intrinsics of matrices that a group of threads of Apple's GPUs holds."""

from ..._absent import absent
from ._names import NAMES

globals().update(NAMES["metal"])
__getattr__ = absent(__name__, "it makes an intrinsic")


def get_simdgroup_intrin_group(load_scope, store_scope, dtype, trans_a=False, trans_b=False):
    """The names of the intrinsics of a product of 8 x 8 x 8."""
    assert load_scope == "shared"
    assert store_scope in ("global", "shared")
    short, shape = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}[dtype], "8x8x8"
    turned = lambda trans: "_trans" if trans else ""  # noqa: E731
    return {
        "init": f"simdgroup_make_filled_{shape}_{short}",
        "load_a": f"simdgroup_load_{shape}_{short}_{load_scope}{turned(trans_a)}",
        "load_b": f"simdgroup_load_{shape}_{short}_{load_scope}{turned(trans_b)}",
        "compute": f"simdgroup_multiply_accumulate_{shape}_{short}",
        "store": f"simdgroup_store_{shape}_{short}_{store_scope}",
    }
