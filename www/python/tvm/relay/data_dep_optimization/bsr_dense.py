"""Dense layers over weights in block sparse row format."""

from .. import transform
from ..analysis.sparse_dense import process_params


def convert(func, params, blocksize, sparsity_threshold):
    """Makes weights sparse of which enough is zero, and the layers that use them; parameters change in place."""
    from . import _run

    found = process_params(func, params, blocksize, sparsity_threshold)
    return _run(func, transform.DenseToSparse(found.weight_name, found.weight_shape)), params
