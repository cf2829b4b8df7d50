"""Residual networks, the version with normalization first (He et al., 2016)."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout, dense_add_bias

_UNITS = {18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3], 101: [3, 4, 23, 3], 152: [3, 8, 36, 3]}


def _conv(data, channels, kernel, stride, pad, name, layout):
    return conv2d(
        data=data,
        channels=channels,
        kernel_size=(kernel, kernel),
        strides=(stride, stride),
        padding=(pad, pad),
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout),
        name=name,
    )


def _unit(data, channels, stride, matches, name, deep, layout):
    axis = layout.index("C")

    def normal(data, number):
        return nn.relu(batch_norm_infer(data, epsilon=2e-5, axis=axis, name=f"{name}_bn{number}"))

    first = normal(data, 1)
    if deep:
        body = _conv(first, channels // 4, 1, stride, 0, f"{name}_conv1", layout)
        body = _conv(normal(body, 2), channels // 4, 3, 1, 1, f"{name}_conv2", layout)
        body = _conv(normal(body, 3), channels, 1, 1, 0, f"{name}_conv3", layout)
    else:
        body = _conv(first, channels, 3, stride, 1, f"{name}_conv1", layout)
        body = _conv(normal(body, 2), channels, 3, 1, 1, f"{name}_conv2", layout)
    return body + (data if matches else _conv(first, channels, 1, stride, 0, f"{name}_sc", layout))


def get_net(batch_size, num_classes, num_layers=50, image_shape=(3, 224, 224), layout="NCHW", dtype="float32", **unused):
    """The network as a function."""
    if num_layers not in _UNITS:
        raise ValueError(f"no experiments done on num_layers {num_layers}")
    deep = num_layers >= 50
    axis = layout.index("C")
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = batch_norm_infer(body, epsilon=2e-5, axis=axis, scale=False, name="bn_data")
    body = _conv(body, 64, 7, 2, 3, "conv0", layout)
    body = nn.relu(batch_norm_infer(body, epsilon=2e-5, axis=axis, name="bn0"))
    body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage, count in enumerate(_UNITS[num_layers]):
        channels = (256 if deep else 64) << stage
        for at in range(count):
            stride = 2 if at == 0 and stage > 0 else 1
            body = _unit(body, channels, stride, at > 0, f"stage{stage + 1}_unit{at + 1}", deep, layout)
    body = nn.relu(batch_norm_infer(body, epsilon=2e-5, axis=axis, name="bn1"))
    flat = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    out = nn.softmax(dense_add_bias(flat, units=num_classes, name="fc1"))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size=1, num_classes=1000, num_layers=18, image_shape=(3, 224, 224), layout="NCHW", dtype="float32", **unused):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
