"""The work of Legalize for `cuda`: extents are padded to those that tensor cores take, and results cut to what they were."""

import math

from ...target import Target
from ...tirx.expr import IntImm

_HALF = [(16, 16, 16), (32, 16, 8), (8, 16, 32)]
_CONVOLVED = {("NHWC", "HWIO"): (0, 3, 2, 3), ("HWNC", "HWOI"): (2, 3, 3, 2)}
"""By layout: the axes of the batch and the channels of the data, of the input and the output channels of the weight."""


def _on_cuda(*kinds):
    target = Target.current()
    return target is not None and target.kind.name in ("cuda", *kinds)


def _padding(extents, multiples):
    return tuple(-extent % multiple for extent, multiple in zip(extents, multiples))


def _ratio(extents, pads):
    return math.prod(a + b for a, b in zip(extents, pads)) / math.prod(extents) - 1


def _fits(extents, candidates):
    return any(not any(_padding(extents, multiples)) for multiples in candidates)


def _cheapest(extents, candidates):
    """The padding that adds least, of several multiples, and by how much of the work."""
    pads = min((_padding(extents, multiples) for multiples in candidates), key=lambda pads: _ratio(extents, pads))
    return pads, _ratio(extents, pads)


def _padded(data, **pads):
    """A tensor with more behind some axes, one after another."""
    from .. import op

    ndim = pads.pop("ndim")
    width = [(0, pads.get(f"a{axis}", 0)) for axis in range(ndim)]
    return op.nn.pad(data, pad_width=width) if any(after for _, after in width) else data


def _cut(out, ty):
    from .. import op

    return op.strided_slice(out, begin=[0] * len(ty.shape), end=[int(extent) for extent in ty.shape])


def _known(ty):
    return all(isinstance(extent, IntImm) for extent in ty.shape)


def conv2d_legalize(attrs, inputs, arg_types):
    """A convolution with channels and batch that tensor cores take; None if it stays."""
    from .. import op

    if not _on_cuda("vulkan", "rocm") or int(attrs.groups) != 1 or [int(step) for step in attrs.dilation] != [1, 1]:
        return None
    data_type, weight_type, out_type = arg_types
    layouts, dtype = (str(attrs.data_layout), str(attrs.kernel_layout)), str(data_type.dtype)
    if layouts == ("NCHW", "OIHW") and dtype in ("int8", "uint8"):
        return _four_channels(attrs, inputs, arg_types)
    whole = layouts == ("HWNC", "HWOI")
    if layouts not in _CONVOLVED or dtype not in ("int8", "uint8", "int4", "uint4", *(() if whole else ("float16",))):
        return None
    n, c, i, o = _CONVOLVED[layouts]
    if not isinstance(data_type.shape[n], IntImm):
        return None
    extents = (int(data_type.shape[n]), int(data_type.shape[c]), int(weight_type.shape[o]))
    candidates = _HALF if not whole else [(8, 32, 8)] if "4" in dtype else [(8, 16, 32)]
    if _fits(extents, candidates):
        return None
    (batch, channels, filters), ratio = _cheapest(extents, candidates)
    if ratio > 2:
        return None
    data, weight = inputs
    data = _padded(_padded(data, ndim=4, **{f"a{n}": batch}), ndim=4, **{f"a{c}": channels})
    weight = _padded(_padded(weight, ndim=4, **{f"a{i}": channels}), ndim=4, **{f"a{o}": filters})
    fields = {**dict(attrs.items()), **({"channels": extents[2] + filters} if filters else {})}
    out = op.nn.conv2d(data, weight, **fields)
    return _cut(out, out_type) if batch or filters else out


def _four_channels(attrs, inputs, arg_types):
    """A convolution of bytes whose channels are multiples of four."""
    from .. import op

    (data, weight), (data_type, weight_type, out_type) = inputs, arg_types
    channels, filters = -int(data_type.shape[1]) % 4, -int(weight_type.shape[0]) % 4
    data, weight = _padded(data, ndim=4, a1=channels), _padded(_padded(weight, ndim=4, a1=channels), ndim=4, a0=filters)
    fields = {**dict(attrs.items()), **({"channels": int(weight_type.shape[0]) + filters} if filters else {})}
    out = op.nn.conv2d(data, weight, **fields)
    return _cut(out, out_type) if filters else out


def _candidates(dtype):
    return _HALF if dtype in ("float16", "int8", "uint8") else [(8, 32, 8)] if dtype in ("int4", "uint4") else []


def dense_legalize(attrs, inputs, arg_types):
    """A dense layer with extents that tensor cores take; None if it stays."""
    from .. import op

    one, two, out_type = arg_types
    candidates = _candidates(str(one.dtype))
    if not _on_cuda() or not candidates or not _known(one) or not _known(two) or len(one.shape) != 2:
        return None
    extents = (*(int(extent) for extent in one.shape), int(two.shape[0]))
    if _fits(extents, candidates):
        return None
    pads, ratio = _cheapest(extents, candidates)
    if ratio > 2 and str(one.dtype) in ("int8", "uint8"):
        pads = _padding(extents, (4, 4, 4))
        if not any(pads):
            return None
        ratio = _ratio(extents, pads)
    if ratio > 2:
        return None
    m, k, n = pads
    units = None if attrs.units is None else extents[2] + n
    data, weight = _padded(inputs[0], ndim=2, a0=m, a1=k), _padded(inputs[1], ndim=2, a0=n, a1=k)
    out = op.nn.dense(data, weight, units, attrs.out_dtype)
    return _cut(out, out_type) if m or n else out


def batch_matmul_legalize(attrs, inputs, arg_types):
    """A product of batches with extents that tensor cores take; None if it stays."""
    from .. import op

    one, two, out_type = arg_types
    candidates = _candidates(str(one.dtype))
    if not _on_cuda() or not candidates or not _known(one) or not _known(two):
        return None
    turned, by = bool(attrs.transpose_a), bool(attrs.transpose_b)
    extents = (int(one.shape[2 if turned else 1]), int(one.shape[1 if turned else 2]), int(two.shape[1 if by else 2]))
    if _fits(extents, candidates):
        return None
    (m, k, n), ratio = _cheapest(extents, candidates)
    if ratio > 2:
        return None
    data = _padded(inputs[0], ndim=3, **({"a1": k, "a2": m} if turned else {"a1": m, "a2": k}))
    weight = _padded(inputs[1], ndim=3, **({"a1": n, "a2": k} if by else {"a1": k, "a2": n}))
    out = op.nn.batch_matmul(data, weight, attrs.out_dtype, turned, by)
    return _cut(out, out_type) if m or n else out


RULES = {"nn.conv2d": conv2d_legalize, "nn.dense": dense_legalize, "nn.batch_matmul": batch_matmul_legalize}
"""The rules of `cuda`, by operator."""
