"""Intrinsics of devices of Nvidia."""

from ...ir.type import PrimType
from ...tirx.intrin import _call


def ptx_legacy_mma(shape, a_layout, b_layout, a_dtype, b_dtype, c_dtype, *operands):
    """Multiplies fragments of matrices and adds a third one."""
    return _call("ptx_legacy.mma", [shape, a_layout, b_layout, a_dtype, b_dtype, c_dtype, *operands])


def mma_store(dtype, m, n, dst_ptr, src_ptr, src_offset, dst_stride):
    """Stores a fragment of a matrix."""
    return _call("mma_store", [m, n, dst_ptr, src_ptr, src_offset, dst_stride], PrimType(dtype))


def mma_fill(dtype, local_size, local_ptr, offset):
    """Fills a fragment of a matrix with zeros."""
    return _call("mma_fill", [local_size, local_ptr, offset], PrimType(dtype))


def ptx_cp_async_legacy(*args):
    """Copies from global to shared memory in the background: pointers with offsets, and bytes."""
    args = list(args)
    if isinstance(args[0], str):
        args.pop(0)
    dst, dst_offset, src, src_offset, *rest = args
    return _call("s_tir.cp_async_raw", [*_moved(dst, dst_offset), *_moved(src, src_offset), *rest])


def _moved(pointer, offset):
    """A pointer and an offset, which goes into the pointer where that has one."""
    if getattr(getattr(pointer, "op", None), "name", "") != "tirx.tvm_access_ptr":
        return [pointer, offset]
    annotation, data, base, extent, mask = pointer.args
    return [_call("tvm_access_ptr", [annotation, data, base + offset, extent, mask], pointer.ty), 0]
