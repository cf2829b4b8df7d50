"""Functions with some parameters known."""

from ..ir.base import structural_equal
from ..ir.expr import Expr, Var
from .analysis import expr_deep_equal
from .buffer import is_buffer_var
from .expr import _scalar
from .functor import Mapping


def specialize(func, param_map):
    """A function with some parameters known: scalars by their values, buffers by buffers of that shape or by other parameters."""
    params = list(func.params)
    known, aliases, kept = {}, {}, set()
    for param, value in param_map.items():
        if is_buffer_var(value):
            if not is_buffer_var(param):
                raise ValueError("specialize expects param to have a BufferType annotation")
            _match(param, value, known)
            if any(value is other for other in params):
                aliases[id(param)] = value
            else:
                kept.add(id(param))
        else:
            if not any(param is other for other in params):
                raise ValueError("Specialize expects param to be in PrimFunc's params")
            if is_buffer_var(param):
                raise ValueError("Specialize expects param to not have a BufferType annotation")
            known[param] = value if isinstance(value, Expr) else _scalar(value, param.dtype)
    mapping = Mapping(known.get, lambda buffer: aliases.get(id(buffer)))
    given = {id(param) for param in [*param_map, *known]} - kept
    made = [mapping.buffer(param) if is_buffer_var(param) else param for param in params if id(param) not in given]
    body = mapping(func.body)
    if body is func.body and len(made) == len(params) and all(a is b for a, b in zip(made, params)):
        return func
    return func._copy(_params=made, body=body)


def _match(old, new, known):
    """Learns the values of variables in the shape of a buffer from another buffer."""
    for what, a, b in (("dimensions", old.shape, new.shape), ("strides dimensions", old.strides, new.strides)):
        if len(a) != len(b):
            raise ValueError(f"The buffer {what} mismatched{len(a)} vs. {len(b)}.")
    pairs = [*zip(old.shape, new.shape), *zip(old.strides, new.strides), (old.elem_offset, new.elem_offset)]
    for before, after in pairs:
        if before is after or expr_deep_equal(before, after):
            continue
        if not isinstance(before, Var):
            raise TypeError(f"The signature of target buffer exprected an independent Var, but got {before}.")
        if before in known and not structural_equal(known[before], after):
            raise ValueError(f"The assigned value of var {before} mismatched. {known[before]} vs. {after}.")
        known[before] = after
    if old.data_alignment != new.data_alignment or old.offset_factor != new.offset_factor:
        raise ValueError("The buffer data_alignment or offset_factor mismatched")
