"""Inception V3 (Szegedy et al., 2015): towers of convolutions beside each other, for images of 299 × 299."""

from .. import analysis
from ..expr import Function, var
from ..op import concatenate, nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias


def Conv(data, num_filter, kernel=(1, 1), stride=(1, 1), pad=(0, 0), name=None, suffix=""):
    """A convolution, normalized and without what is negative."""
    name = f"{name}{suffix}"
    conv = conv2d(data, channels=int(num_filter), kernel_size=kernel, strides=stride, padding=pad, name=f"{name}_conv1")
    return nn.relu(batch_norm_infer(conv, epsilon=2e-5, scale=False, name=f"{name}_bn"))


def Pooling(data, kernel, stride, pad, pool_type, name):
    """The largest of each window (`max`) or their mean (`avg`)."""
    if pool_type == "max":
        return nn.max_pool2d(data, pool_size=kernel, strides=stride, padding=pad)
    if pool_type == "avg":
        return nn.avg_pool2d(data, pool_size=kernel, strides=stride, padding=pad, count_include_pad=True)
    raise ValueError(f"{pool_type} is no pooling: max and avg are")


def _tower(data, name, *steps):
    """Convolutions in a row: channels and kernel of each. One with a third number halves the extents, others keep them."""
    for at, (channels, kernel, *halves) in enumerate(steps):
        stride, pad = ((2, 2), (0, 0)) if halves else ((1, 1), (kernel[0] // 2, kernel[1] // 2))
        data = Conv(data, channels, kernel, stride, pad, name, f"_conv_{at}" if at else "_conv")
    return data


def _pooled(data, pool, proj, name):
    return _tower(Pooling(data, (3, 3), (1, 1), (1, 1), pool, name), f"{name}_tower_2", (proj, (1, 1)))


def _halved(data, pool, name):
    return Pooling(data, (3, 3), (2, 2), (0, 0), pool, name)


def _forked(data, first, second, name):
    """Two convolutions of the same tensor, over rows and over columns."""
    rows = Conv(data, first, (1, 3), (1, 1), (0, 1), name, "_mixed_conv")
    return rows, Conv(data, second, (3, 1), (1, 1), (1, 0), name, "_mixed_conv_1")


def Inception7A(data, num_1x1, num_3x3_red, num_3x3_1, num_3x3_2, num_5x5_red, num_5x5, pool, proj, name):
    """Kernels of 1 × 1, 5 × 5 and twice 3 × 3."""
    towers = (
        _tower(data, name, (num_1x1, (1, 1))),
        _tower(data, f"{name}_tower", (num_5x5_red, (1, 1)), (num_5x5, (5, 5))),
        _tower(data, f"{name}_tower_1", (num_3x3_red, (1, 1)), (num_3x3_1, (3, 3)), (num_3x3_2, (3, 3))),
        _pooled(data, pool, proj, name),
    )
    return concatenate(towers, axis=1)


def Inception7B(data, num_3x3, num_d3x3_red, num_d3x3_1, num_d3x3_2, pool, name):
    """Halves the extents; it takes the largest of each window, whatever `pool` says."""
    towers = (
        _tower(data, name, (num_3x3, (3, 3), 2)),
        _tower(data, f"{name}_tower", (num_d3x3_red, (1, 1)), (num_d3x3_1, (3, 3)), (num_d3x3_2, (3, 3), 2)),
        _halved(data, "max", name),
    )
    return concatenate(towers, axis=1)


def Inception7C(
    data, num_1x1, num_d7_red, num_d7_1, num_d7_2, num_q7_red, num_q7_1, num_q7_2, num_q7_3, num_q7_4, pool, proj, name
):
    """Kernels of 1 × 1, and of 7 × 7 as rows and columns, once and twice."""
    row, column = (1, 7), (7, 1)
    twice = ((num_q7_red, (1, 1)), (num_q7_1, column), (num_q7_2, row), (num_q7_3, column), (num_q7_4, row))
    towers = (
        _tower(data, name, (num_1x1, (1, 1))),
        _tower(data, f"{name}_tower", (num_d7_red, (1, 1)), (num_d7_1, row), (num_d7_2, column)),
        _tower(data, f"{name}_tower_1", *twice),
        _pooled(data, pool, proj, name),
    )
    return concatenate(towers, axis=1)


def Inception7D(data, num_3x3_red, num_3x3, num_d7_3x3_red, num_d7_1, num_d7_2, num_d7_3x3, pool, name):
    """Halves the extents, after kernels of 1 × 1 and 7 × 7."""
    second = ((num_d7_3x3_red, (1, 1)), (num_d7_1, (1, 7)), (num_d7_2, (7, 1)), (num_d7_3x3, (3, 3), 2))
    towers = (
        _tower(data, f"{name}_tower", (num_3x3_red, (1, 1)), (num_3x3, (3, 3), 2)),
        _tower(data, f"{name}_tower_1", *second),
        _halved(data, pool, name),
    )
    return concatenate(towers, axis=1)


def Inception7E(
    data, num_1x1, num_d3_red, num_d3_1, num_d3_2, num_3x3_d3_red, num_3x3, num_3x3_d3_1, num_3x3_d3_2, pool, proj, name
):
    """Towers that fork at their end."""
    first, second = f"{name}_tower", f"{name}_tower_1"
    towers = (
        _tower(data, name, (num_1x1, (1, 1))),
        *_forked(_tower(data, first, (num_d3_red, (1, 1))), num_d3_1, num_d3_2, first),
        *_forked(_tower(data, second, (num_3x3_d3_red, (1, 1)), (num_3x3, (3, 3))), num_3x3_d3_1, num_3x3_d3_2, second),
        _pooled(data, pool, proj, name),
    )
    return concatenate(towers, axis=1)


def get_net(batch_size, num_classes, image_shape, dtype):
    """The network as a function."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = Conv(body, 32, (3, 3), (2, 2), name="conv")
    body = Conv(body, 32, (3, 3), name="conv_1")
    body = _halved(Conv(body, 64, (3, 3), pad=(1, 1), name="conv_2"), "max", "pool")
    body = _halved(Conv(Conv(body, 80, name="conv_3"), 192, (3, 3), name="conv_4"), "max", "pool1")
    for name, proj in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        body = Inception7A(body, 64, 64, 96, 96, 48, 64, "avg", proj, name)
    body = Inception7B(body, 384, 64, 96, 96, "max", "mixed_3")
    for at, inner in enumerate((128, 160, 160, 192), 4):
        body = Inception7C(body, 192, inner, inner, 192, *[inner] * 4, 192, "avg", 192, f"mixed_{at}")
    body = Inception7D(body, 192, 320, 192, 192, 192, 192, "max", "mixed_8")
    for name, pool in (("mixed_9", "avg"), ("mixed_10", "max")):
        body = Inception7E(body, 320, 384, 384, 384, 448, 384, 384, 384, pool, 192, name)
    flat = nn.batch_flatten(Pooling(body, (8, 8), (1, 1), (0, 0), "avg", "global_pool"))
    out = nn.softmax(dense_add_bias(flat, bias=var("fc2_bias"), units=num_classes, name="fc1"))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 299, 299), dtype="float32"):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
