"""MobileNet (Howard et al., 2017): convolutions by channel and between channels in turn."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, conv_kernel_layout


def conv_block(data, name, channels, kernel_size=(3, 3), strides=(1, 1), padding=(1, 1), epsilon=1e-5, layout="NCHW"):
    """A convolution, normalized over axis 1 in every layout, and without what is negative."""
    conv = conv2d(
        data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout),
        name=f"{name}_conv",
    )
    return nn.relu(batch_norm_infer(conv, epsilon=epsilon, name=f"{name}_bn"))


def separable_conv_block(
    data,
    name,
    depthwise_channels,
    pointwise_channels,
    kernel_size=(3, 3),
    downsample=False,
    padding=(1, 1),
    epsilon=1e-5,
    layout="NCHW",
    dtype="float32",
):
    """A convolution of each channel, then one between channels, both normalized and without what is negative."""
    kernel_layout = conv_kernel_layout(layout, True)
    shape = (depthwise_channels, 1, *kernel_size) if layout == "NCHW" else (*kernel_size, depthwise_channels, 1)
    axis = layout.index("C")
    body = conv2d(
        data,
        var(f"{name}_weight", shape=shape, dtype=dtype),
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel_size,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=kernel_layout,
        name="",
    )
    body = nn.relu(batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn1"))
    body = conv2d(
        body,
        channels=pointwise_channels,
        kernel_size=(1, 1),
        data_layout=layout,
        kernel_layout=conv_kernel_layout(layout),
        name=f"{name}_conv2",
    )
    return nn.relu(batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn2"))


def mobile_net(num_classes=1000, data_shape=(1, 3, 224, 224), dtype="float32", alpha=1.0, is_shallow=False, layout="NCHW"):
    """The network as a function."""
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    rows += [(1024, 2), (1024, 2)] if is_shallow else [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    before = int(32 * alpha)
    body = conv_block(var("data", shape=data_shape, dtype=dtype), "conv_block_1", before, strides=(2, 2), layout=layout)
    for at, (channels, stride) in enumerate(rows, 1):
        name, after = f"separable_conv_block_{at}", int(channels * alpha)
        body = separable_conv_block(body, name, before, after, downsample=stride == 2, layout=layout, dtype=dtype)
        before = after
    flat = nn.batch_flatten(nn.global_avg_pool2d(body, layout=layout))
    out = nn.softmax(nn.bias_add(nn.dense(flat, var("fc_weight"), units=num_classes), var("fc_bias")))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", layout="NCHW"):
    """The network as a module, with parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, 1.0, False, layout))
