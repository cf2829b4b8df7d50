"""Kernels of convolutions that are worth to be sparse."""

from . import _weights_of
from .sparse_dense import SparseAnalysisResult, bsr, filled, replace


def process_params(expr, params, block_size, sparsity_threshold, layout, kernel_size, reg_task_input=True):
    """Makes kernels sparse of which enough is zero, in place; their names and the extents of their parts."""
    found = SparseAnalysisResult([], [])
    for name in _weights_of(expr, "nn.conv2d"):
        kernel = params[name].numpy()
        sizes = kernel.shape[:2] if layout == "NHWC" else kernel.shape[2:]
        if tuple(sizes) != (kernel_size, kernel_size) or kernel_size not in (1, 3):
            continue
        matrix = kernel.reshape(-1, kernel.shape[-1]).T if layout == "NHWC" else kernel.reshape(kernel.shape[0], -1)
        parts = bsr(matrix, block_size)
        stored = filled(kernel) if kernel_size == 1 else parts[0].size
        if 1 - stored / kernel.size < sparsity_threshold:
            continue
        if kernel_size == 1 and block_size[1] == 1:
            parts = (parts[0].reshape(parts[0].shape[0], block_size[0]), *parts[1:])
        replace(params, found, name, parts)
    return found
