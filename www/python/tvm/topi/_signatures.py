"""Operators of `topi` whose arguments are not those of the operator of Relax: each gives the name of the latter, its arguments and
its named ones (`python/tvm/topi` has the signatures)."""


def einsum(subscripts, *operands):
    """The sum of products that subscripts describe."""
    return "einsum", (list(operands), subscripts), {}


def pool1d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=False, layout="NCW", count_include_pad=True):
    """A pooling along one axis."""
    return _pool(1, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool2d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=False, layout="NCHW", count_include_pad=True):
    """A pooling along two axes."""
    return _pool(2, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def pool3d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=False, layout="NCDHW", count_include_pad=True):
    """A pooling along three axes."""
    return _pool(3, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)


def _pool(ndim, data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad):
    if pool_type not in ("max", "avg"):
        raise ValueError(f'topi.nn.pool{ndim}d: pool_type is "max" or "avg", not "{pool_type}"')
    named = {"pool_size": kernel, "strides": stride, "dilation": dilation, "padding": padding, "ceil_mode": ceil_mode, "layout": layout}
    if pool_type == "avg":
        named["count_include_pad"] = count_include_pad
    return f"nn.{pool_type}_pool{ndim}d", (data,), named


def grid_sample(data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True):
    """Corners are aligned unless said otherwise; in Relax they are not."""
    named = {"method": method, "layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return "image.grid_sample", (data, grid), named


def roi_align(data, rois, pooled_size, spatial_scale, mode="avg", sample_ratio=-1, aligned=False, layout="NCHW"):
    """The mode stands before the ratio."""
    named = {"mode": mode, "sample_ratio": sample_ratio, "aligned": aligned, "layout": layout}
    return "vision.roi_align", (data, rois, pooled_size, spatial_scale), named


def multibox_transform_loc(cls_pred, loc_pred, anchor, variances, clip=False, threshold=0.0, keep_background=True):
    """The variances stand before the rest."""
    named = {"variances": variances, "clip": clip, "threshold": threshold, "keep_background": keep_background}
    return "vision.multibox_transform_loc", (cls_pred, loc_pred, anchor), named


def flip(a, axis=0):
    """The first axis unless another is said."""
    return "flip", (a, axis), {}


def sort(data, axis=-1, is_ascend=1):
    """The order is said by its opposite in Relax."""
    return "sort", (data,), {"axis": axis, "descending": not is_ascend}


def argsort(data, valid_count=None, axis=-1, is_ascend=1, dtype="float32"):
    """The order is said by its opposite in Relax."""
    if valid_count is not None:
        raise NotImplementedError("topi.argsort: valid_count is not here")
    return "argsort", (data,), {"axis": axis, "descending": not is_ascend, "dtype": dtype}


def topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int64"):
    """The order is said by its opposite in Relax."""
    return "topk", (data,), {"k": k, "axis": axis, "ret_type": ret_type, "largest": not is_ascend, "dtype": dtype}


def trilu(data, k, upper):
    """The upper or the lower triangle of matrices."""
    return "triu" if upper else "tril", (data, int(k)), {}


ADAPTED = {
    "einsum": einsum, "trilu": trilu,
    "nn.pool1d": pool1d, "nn.pool2d": pool2d, "nn.pool3d": pool3d,
    "image.grid_sample": grid_sample, "vision.roi_align": roi_align, "flip": flip, "sort": sort,
    "vision.multibox_transform_loc": multibox_transform_loc, "argsort": argsort, "topk": topk,
}  # fmt: skip
"""By the name in `topi`."""

KEYWORDS = {"newshape": "shape", "a_tuple": "tensors"}
"""Names of arguments that Relax calls otherwise, wherever they stand."""

RENAMED = {"collapse_sum": "collapse_sum_to"}
"""Those that differ in name alone."""

ABSENT = ("nn.conv3d",)
"""Operators of Relax of the same name that are something else, or take their arguments in another order."""
