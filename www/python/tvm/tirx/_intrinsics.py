"""The operators of intrinsics, by the names that programs have for them."""

from ..ir.op import _named

_intrinsic_ops = {}
_PACKED = [f"tvm_call_{kind}" for kind in ("packed", "cpacked", "packed_lowered", "cpacked_lowered", "trace_packed")]
"""Operators whose names in programs lack the beginning."""


_PRIM = frozenset(("if_then_else", "vscale", "log2", "likely", "clz", "ceil"))
"""Intrinsics that belong to scalars of any dialect."""


def intrinsic_op(name):
    """The operator of an intrinsic."""
    if name.startswith("@"):
        from ..ir.expr import GlobalVar

        return GlobalVar(name[1:])
    if f"tvm_{name}" in _PACKED:
        name = f"tvm_{name}"
    full = name if "." in name and name.split(".")[0] in ("tirx", "tir", "relax", "vm", "prim") else f"tirx.{name}"
    full = f"prim.{full[5:]}" if full[5:] in _PRIM else full
    found = _intrinsic_ops.get(full)
    if found is None:
        found = _intrinsic_ops[full] = _named(full)
    return found
