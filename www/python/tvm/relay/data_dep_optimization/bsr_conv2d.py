"""Convolutions over kernels in block sparse row format."""

from .. import transform
from ..analysis.sparse_conv2d import process_params


def convert(func, params, blocksize, sparsity_threshold, layout="NHWC", kernel_size=1):
    """Makes kernels sparse of which enough is zero, and the convolutions that use them; parameters change in place."""
    from . import _run

    found = process_params(func, params, blocksize, sparsity_threshold, layout, kernel_size)
    return _run(func, transform.Conv2dToSparse(found.weight_name, found.weight_shape, layout, kernel_size)), params


def convert2(func, params, blocksize, sparsity_threshold, layout, kernel_size):
    """The same for kernels that are constants of the function."""
    from . import _run

    return _run(func, transform.Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold)), params
