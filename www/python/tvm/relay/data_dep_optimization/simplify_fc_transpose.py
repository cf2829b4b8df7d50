"""Weights of dense layers that are transposed beforehand."""

from ...runtime.tensor import array
from .. import transform
from ..analysis import search_fc_transpose


def convert(func, params):
    """Transposes the weights that the function transposes; parameters change in place."""
    from . import _run

    names = search_fc_transpose(func)
    for name in names:
        params[f"{name}.T"] = array(params.pop(name).numpy().T.copy())
    return _run(func, transform.SimplifyFCTranspose(names)), params
