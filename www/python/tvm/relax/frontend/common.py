"""Helpers of importers that need no other framework."""

from ...ir.module import IRModule
from ...runtime.tensor import Tensor


def detach_params(mod):
    """The module without the attribute `params` of its functions, and those by the names of the functions."""
    detached, params = IRModule(), {}
    for var, func in mod.functions.items():
        given = func.attrs.get("params") if func.attrs else None
        if given is not None:
            if not all(isinstance(param, Tensor) for param in given):
                raise ValueError('The value "params" attribute is expected to be a list of Tensor.')
            params[var.name_hint] = list(given)
            func = func.without_attr("params")
        detached[var] = func
    return detached, params
