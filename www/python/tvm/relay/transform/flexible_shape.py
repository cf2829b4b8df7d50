"""Functions for some extents of an input, and one that calls the right one of them."""

from .. import op as _op
from ..expr import Function, GlobalVar, If, Var, bind, const
from ..ty import Any, TensorType, TupleType


def override_shape(tensor_type, axis, dim):
    """The type of a tensor, or of each in a tuple, with another extent of an axis."""
    types = list(tensor_type.fields) if isinstance(tensor_type, TupleType) else [tensor_type]
    made = []
    for each in types:
        shape = list(each.shape)
        shape[axis] = dim
        made.append(TensorType(shape, each.dtype))
    return made[0] if len(made) == 1 else TupleType(made)


def specialize_body(mod, function, axis, dim, input_indices, affects_output=True):
    """Adds a version of a function for one extent; gives its name and the types of its inputs."""
    params, binds, types = list(function.params), {}, []
    for at in input_indices:
        old = function.params[at]
        types.append(override_shape(old.type_annotation, axis, dim))
        params[at] = binds[old] = Var(old.name_hint, types[-1])
    ret = override_shape(function.ret_type, axis, dim) if affects_output else function.ret_type
    var = GlobalVar(f"main_{dim}")
    mod[var] = Function(params, bind(function.body, binds), ret, function.type_params, function.attrs)
    return var, types


def _padded(value, old, bucket, before, extent, axis, pad_value):
    """An input with more elements along the axis where it has at most as many as the bucket, and more than the one before."""
    pads = _op.zeros([len(old.type_annotation.shape), 2], "int32")
    pads = _op.scatter_nd(pads, const([axis, 1]), const(bucket) - extent)
    fits = _op.less_equal(extent, const(bucket))
    if before is not None:
        fits = _op.logical_and(fits, _op.greater(extent, const(before)))
    return If(fits, _op.nn.pad(value, pads, pad_value), value)


def flexible_dispatch(mod, buckets, axis=0, auto_pad=False, pad_value=0, input_indices=None, affects_output=True):
    """A module whose main function calls the version for the extent of its inputs, and one for all extents if there is none."""
    from . import InferType

    main = mod["main"]
    places = [0] if input_indices is None else input_indices
    old = [main.params[at] for at in places]
    own = [Var(var.name_hint, override_shape(var.type_annotation, axis, Any())) for var in old]
    extent = _op.take(_op.shape_of(own[0]), const(axis))

    def call(callee, values):
        args = list(main.params)
        for at, value in zip(places, values):
            args[at] = value
        return callee(*args)

    cases = []
    for at, bucket in enumerate(buckets):
        values, check = own, extent
        if auto_pad:
            before = buckets[at - 1] if at else None
            values = [_padded(value, var, bucket, before, extent, axis, pad_value) for value, var in zip(own, old)]
            check = _op.take(_op.shape_of(values[0]), const(axis))
        version, types = specialize_body(mod, main, axis, bucket, places, affects_output)
        result = call(version, [_op.reshape(value, ty.shape) for value, ty in zip(values, types)])
        if auto_pad and affects_output:
            result = _op.take(result, _op.arange(start=const(0), stop=extent, dtype="int32"), axis=axis)
        cases.append((_op.equal(check, const(bucket)), result))
    version, _ = specialize_body(mod, main, axis, Any(), places, affects_output)
    body = call(version, own)
    for cond, result in cases:
        body = If(cond, result, body)
    params = list(main.params)
    for at, var in zip(places, own):
        params[at] = var
    ret = override_shape(main.ret_type, axis, Any()) if affects_output else main.ret_type
    mod["main"] = Function(params, body, ret, main.type_params, main.attrs)
    return InferType()(mod)


class FlexibleShapeDispatch:
    """Adds functions for some extents of an input. With `auto_pad` an input is filled up to the next of them."""

    def __init__(self, buckets, axis=0, auto_pad=False, pad_value=0, input_indices=None, affects_output=True):
        self.axis, self.buckets, self.auto_pad, self.pad_value = axis, buckets, auto_pad, pad_value
        self.input_indices, self.affects_output = input_indices, affects_output

    def __call__(self, mod):
        from . import InferType

        options = (self.axis, self.auto_pad, self.pad_value, self.input_indices, self.affects_output)
        return flexible_dispatch(InferType()(mod), self.buckets, *options)
