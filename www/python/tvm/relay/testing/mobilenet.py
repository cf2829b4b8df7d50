"""MobileNet (Howard et al., 2017): convolutions by channel and between channels in turn."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias


def _block(data, name, channels, kernel, strides, padding, layout, groups=1):
    kernel_layout = "OIHW" if layout == "NCHW" else "HWIO" if groups == 1 else "HWOI"
    conv = conv2d(
        data,
        channels=channels,
        groups=groups,
        kernel_size=kernel,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=kernel_layout,
        name=f"{name}_conv" if groups == 1 else f"{name}_depthwise_conv",
    )
    axis = 1 if layout == "NCHW" else 3
    return nn.relu(batch_norm_infer(conv, epsilon=1e-5, axis=axis, name=f"{name}_bn{axis if groups > 1 else ''}"))


def mobile_net(num_classes=1000, data_shape=(1, 3, 224, 224), dtype="float32", alpha=1.0, is_shallow=False, layout="NCHW"):
    """The network as a function."""
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    rows += [(1024, 2), (1024, 1)] if is_shallow else [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    body = var("data", shape=data_shape, dtype=dtype)
    body = _block(body, "conv_block_1", int(32 * alpha), (3, 3), (2, 2), (1, 1), layout)
    before = int(32 * alpha)
    for at, (channels, stride) in enumerate(rows, 1):
        name = f"separable_conv_block_{at}"
        body = _block(body, f"{name}_weight", before, (3, 3), (stride, stride), (1, 1), layout, groups=before)
        before = int(channels * alpha)
        body = _block(body, name, before, (1, 1), (1, 1), (0, 0), layout)
    flat = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    weight, bias = var("fc_weight"), var("fc_bias")
    out = nn.softmax(dense_add_bias(flat, weight, bias, units=num_classes, name="fc"))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", layout="NCHW"):
    """The network as a module, with parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, 1.0, False, layout))
