"""Convolutions by fewer products: Winograd's way, with the matrices of Cook and Toom (`python/tvm/topi/nn/winograd_util.py`)."""

from .. import te
from ._convolutions import listed
from ._padding import get_pad_tuple, pad
from .utils import const_matrix, get_const_tuple

_FEW = [0, -1, 1, 1 / 2]
_MORE = [*_FEW, -1 / 2, 2, -2, -1 / 4]
_POINTS = {
    3: _FEW[:3], 4: _FEW, 5: [*_FEW, -2], 6: [*_FEW, -2, -1 / 2], 7: _MORE[:7], 8: _MORE, 9: [*_MORE, 4], 10: [*_MORE, 3 / 4, -4 / 3],
    11: [*_MORE, 4, 3 / 4, -4 / 3], 12: [*_MORE, 4, 3 / 4, -4 / 3, 1 / 4], 13: [*_MORE, 4, 1 / 4, -3 / 4, 4 / 3, -4],
}  # fmt: skip


def _without(points, at):
    """The coefficients of the polynomial that is 0 at all points but one, the lowest power first."""
    made = [1.0]
    for point in points[:at] + points[at + 1 :]:
        higher, lower = [0.0, *made], [*(-point * value for value in made), 0.0]
        made = [a + b for a, b in zip(higher, lower)]
    return made


def _product(values):
    made = 1.0
    for value in values:
        made *= value
    return made


def _matrices(tile, kernel):
    """The matrices that transform the result, the input and the filter, as lists of rows."""
    points = [float(point) for point in _POINTS[tile + kernel - 2]]
    count = len(points)
    scales = [_product(a - b for at, b in enumerate(points) if at != place) for place, a in enumerate(points)]
    signed = [-scales[0] if scales[0] < 0 else scales[0], *scales[1:], 1.0]

    def powers(width):
        return [[point**power for power in range(width)] for point in points] + [[0.0] * (width - 1) + [1.0]]

    fractions = [[value / scale for value in _without(points, at)] for at, scale in enumerate(scales)]
    inputs = []
    for power in range(count):
        last = sum(fraction[power] * -(point**count) for fraction, point in zip(fractions, points))
        inputs.append([*(fraction[power] * scale for fraction, scale in zip(fractions, signed)), last])
    inputs.append([0.0] * count + [1.0])
    filters = [[value * (1 / scale) for value in row] for row, scale in zip(powers(kernel), signed)]
    return powers(tile), inputs, filters


def winograd_transform_matrices(tile_size, kernel_size, out_dtype):
    """The tensors that transform the result, the input and the filter."""
    import numpy

    if not 1 < tile_size < 9:
        raise ValueError(f"Unsupported tile size for Winograd: {tile_size}")
    if not 2 < kernel_size < 8:
        raise ValueError(f"Unsupported kernel size for Winograd: {kernel_size}")
    dtype = "uint16" if out_dtype == "bfloat16" else str(out_dtype)
    rows = [[[value + 0.0 for value in row] for row in matrix] for matrix in _matrices(tile_size, kernel_size)]
    return tuple(const_matrix(numpy.array(matrix).astype(dtype), name) for matrix, name in zip(rows, "ABG"))


def _axes(**extents):
    return [te.reduce_axis((0, extent), name=name) for name, extent in extents.items()]


def conv2d_winograd_weight_transform(kernel, tile_size):
    """The filter of a convolution along two axes, transformed."""
    filters, channels, rows, columns = get_const_tuple(kernel.shape)
    if rows != columns:
        raise AssertionError("Only support NxN kernel")
    _, _, matrix = winograd_transform_matrices(tile_size, columns, kernel.dtype)
    r_kh, r_kw = _axes(r_kh=columns, r_kw=columns)

    def element(eps, nu, co, ci):
        return te.sum(kernel[co, ci, r_kh, r_kw] * matrix[eps, r_kh] * matrix[nu, r_kw], axis=[r_kh, r_kw])

    size = tile_size + columns - 1
    return te.compute((size, size, filters, channels), element, name="transform_weight")


def conv3d_winograd_weight_transform(kernel, tile_size):
    """The filter of a convolution along three axes, transformed along two of them or along all."""
    filters, channels, depth, rows, columns = get_const_tuple(kernel.shape)
    whole = 2 < depth < 8 and depth == rows
    if rows != columns:
        raise AssertionError("Only support NxNxN kernel" if whole else "Only supports DxNxN kernel")
    r_kh, r_kw = _axes(r_kh=rows, r_kw=columns)
    _, _, matrix = winograd_transform_matrices(tile_size, rows, kernel.dtype)
    size = tile_size + rows - 1
    if not whole:

        def element(eps, nu, d, co, ci):
            return te.sum(kernel[co, ci, d, r_kh, r_kw] * matrix[eps, r_kh] * matrix[nu, r_kw], axis=[r_kh, r_kw])

        return te.compute((size, size, depth, filters, channels), element, name="transform_weight")
    (r_kd,) = _axes(r_kd=depth)

    def deep_element(omg, eps, nu, co, ci):
        value = kernel[co, ci, r_kd, r_kh, r_kw] * matrix[omg, r_kd] * matrix[eps, r_kh] * matrix[nu, r_kw]
        return te.sum(value, axis=[r_kd, r_kh, r_kw])

    return te.compute((size, size, size, filters, channels), deep_element, name="transform_weight")


_TILE = 4


def _checked(strides, dilation, rows, columns):
    if listed(dilation, 2) != [1, 1] or listed(strides, 2) != [1, 1] or rows != 3 or columns != 3:
        raise AssertionError("a convolution by Winograd's way has windows of 3 x 3, next to each other and without gaps")


def conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, pre_computed=False, auto_scheduler_rewritten_layout="",
                         meta_schedule_original_shape=None):  # fmt: skip
    """A convolution in the layout NHWC."""
    if pre_computed or auto_scheduler_rewritten_layout or meta_schedule_original_shape:
        raise RuntimeError("LEGACY-FLOW triggered, to be removed")
    batch, height, width, _ = get_const_tuple(data.shape)
    rows, columns, channels, filters = get_const_tuple(weight.shape)
    _checked(strides, dilation, rows, columns)
    top, left, bottom, right = get_pad_tuple(padding, (rows, columns))
    alpha = _TILE + columns - 1
    outer, inner, turn = winograd_transform_matrices(_TILE, columns, out_dtype)
    height, width = height + top + bottom - rows + 1, width + left + right - columns + 1
    down, across = (height + _TILE - 1) // _TILE, (width + _TILE - 1) // _TILE
    tiles = batch * down * across
    extra = (across - 1) * _TILE + alpha - (height + top + bottom)
    padded = pad(data, (0, top, left, 0), (0, bottom + extra, right + extra, 0), name="data_pad", attrs={"schedule_rule": "None"})
    r_kh, r_kw = _axes(r_kh=rows, r_kw=columns)
    turned = te.compute(
        (alpha, alpha, filters, channels),
        lambda eps, nu, co, ci: te.sum(weight[r_kh, r_kw, ci, co] * turn[eps, r_kh] * turn[nu, r_kw], axis=[r_kh, r_kw]),
        name="kernel_pack",
    )
    tile = te.compute(
        (alpha, alpha, tiles, channels),
        lambda eps, nu, p, ci: padded[p // (down * across), p // across % down * _TILE + eps, p % across * _TILE + nu, ci],
        name="input_tile", attrs={"schedule_rule": "None"},
    )  # fmt: skip
    r_a, r_b = _axes(r_a=alpha, r_b=alpha)
    packed = te.compute(
        (alpha, alpha, tiles, channels),
        lambda eps, nu, p, ci: te.sum(tile[r_a, r_b, p, ci] * inner[r_a, eps] * inner[r_b, nu], axis=[r_a, r_b]),
        name="data_pack", attrs=_rule("nhwc_winograd_data_pack", ["eps", "nu", "r_a", "r_b"]),
    )  # fmt: skip
    (ci,) = _axes(ci=channels)
    product = te.compute(
        (alpha, alpha, tiles, filters),
        lambda eps, nu, p, co: te.sum(packed[eps, nu, p, ci] * turned[eps, nu, co, ci], axis=[ci]),
        name="bgemm", attrs={"meta_schedule.write_cache_level": [2]},
    )  # fmt: skip
    s_a, s_b = _axes(r_a=alpha, r_b=alpha)
    back = te.compute(
        (_TILE, _TILE, tiles, filters),
        lambda vh, vw, p, co: te.sum(product[s_a, s_b, p, co] * outer[s_a, vh] * outer[s_b, vw], axis=[s_a, s_b]),
        name="inverse", attrs=_rule("nhwc_winograd_inverse", ["vh", "vw", "r_a", "r_b"]),
    )  # fmt: skip
    return te.compute(
        (batch, height, width, filters),
        lambda n, h, w, co: back[h % _TILE, w % _TILE, n * down * across + h // _TILE * across + w // _TILE, co],
        name="conv2d_winograd",
    )


def _rule(name, indices=None):
    rule = {"schedule_rule": f"conv2d_{name}"}
    return rule if indices is None else {"auto_scheduler_simplify_const_tensor_indices": indices, **rule}


def conv2d_winograd_nchw(data, weight, strides, padding, dilation, out_dtype, pre_computed=False, auto_scheduler_rewritten_layout="",
                         meta_schedule_original_shape=None):  # fmt: skip
    """A convolution in the layout NCHW, whose filter may be transformed already."""
    batch, _, height, width = get_const_tuple(data.shape)
    if pre_computed:
        alpha, _, channels, filters = get_const_tuple(weight.shape)
        rows = columns = alpha + 1 - _TILE
    else:
        filters, channels, rows, columns = get_const_tuple(weight.shape)
        alpha = columns + _TILE - 1
    _checked(strides, dilation, rows, columns)
    top, left, bottom, right = get_pad_tuple(padding, (rows, columns))
    padded = pad(data, (0, 0, top, left), (0, 0, bottom, right), name="data_pad")
    outer, inner, turn = winograd_transform_matrices(_TILE, columns, out_dtype)
    height, width = height + top + bottom - rows + 1, width + left + right - columns + 1
    down, across = (height + _TILE - 1) // _TILE, (width + _TILE - 1) // _TILE
    tiles = batch * down * across if isinstance(batch, int) else down * across
    turned = weight
    if not pre_computed:
        r_kh, r_kw = _axes(r_kh=rows, r_kw=columns)
        turned = te.compute(
            (alpha, alpha, channels, filters),
            lambda eps, nu, ci, co: te.sum(weight[co, ci, r_kh, r_kw] * turn[eps, r_kh] * turn[nu, r_kw], axis=[r_kh, r_kw]),
            name="kernel_pack",
        )
    tile = te.compute(
        (channels, tiles, alpha, alpha),
        lambda ci, p, eps, nu: padded[p // (down * across), ci, p // across % down * _TILE + eps, p % across * _TILE + nu],
        name="input_tile", attrs={"schedule_rule": "None"},
    )  # fmt: skip
    r_a, r_b = _axes(r_a=alpha, r_b=alpha)
    packed = te.compute(
        (alpha, alpha, channels, tiles),
        lambda eps, nu, ci, p: te.sum(tile[ci, p, r_a, r_b] * inner[r_a, eps] * inner[r_b, nu], axis=[r_a, r_b]),
        name="data_pack", attrs=_rule("nchw_winograd_data_pack"),
    )  # fmt: skip
    (ci,) = _axes(ci=channels)
    # TVM gives the layout that a filter is to have on as the level.
    attrs = {"layout_free_placeholders": [turned]} if pre_computed else {}
    if auto_scheduler_rewritten_layout is not None:
        attrs["meta_schedule.write_cache_level"] = auto_scheduler_rewritten_layout
    product = te.compute(
        (alpha, alpha, filters, tiles),
        lambda eps, nu, co, p: te.sum(packed[eps, nu, ci, p] * turned[eps, nu, ci, co], axis=[ci]),
        name="bgemm", attrs=attrs,
    )  # fmt: skip
    s_a, s_b = _axes(r_a=alpha, r_b=alpha)
    back = te.compute(
        (filters, tiles, _TILE, _TILE),
        lambda co, p, vh, vw: te.sum(product[s_a, s_b, co, p] * outer[s_a, vh] * outer[s_b, vw], axis=[s_a, s_b]),
        name="inverse", attrs=_rule("nchw_winograd_inverse"),
    )  # fmt: skip
    return te.compute(
        (batch, filters, height, width),
        lambda n, co, h, w: back[co, n * down * across + h // _TILE * across + w // _TILE, h % _TILE, w % _TILE],
        name="conv2d_winograd",
    )


def _transformed(convolution):
    def operator(data, weight, strides, padding, dilation, out_dtype, auto_scheduler_rewritten_layout="", meta_schedule_original_shape=None):
        return convolution(data, weight, strides, padding, dilation, out_dtype, True, auto_scheduler_rewritten_layout, meta_schedule_original_shape)

    operator.__doc__ = "A convolution whose filter is transformed already."
    return operator


WINOGRAD = {
    "winograd_transform_matrices": winograd_transform_matrices, "conv2d_winograd_weight_transform": conv2d_winograd_weight_transform,
    "conv3d_winograd_weight_transform": conv3d_winograd_weight_transform, "conv2d_winograd_nhwc": conv2d_winograd_nhwc,
    "conv2d_winograd_nchw": conv2d_winograd_nchw,
    "conv2d_winograd_nhwc_without_weight_transform": _transformed(conv2d_winograd_nhwc),
    "conv2d_winograd_nchw_without_weight_transform": _transformed(conv2d_winograd_nchw),
}  # fmt: skip
"""By the name in `topi.nn`."""
