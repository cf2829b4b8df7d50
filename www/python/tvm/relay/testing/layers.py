"""Layers with variables for their weights."""

from ..expr import var
from ..op import nn


def batch_norm_infer(data, gamma=None, beta=None, moving_mean=None, moving_var=None, **options):
    """Normalization with what was learnt; the tensor alone."""
    name = options.pop("name")
    gamma = var(f"{name}_gamma") if not gamma else gamma
    beta = var(f"{name}_beta") if not beta else beta
    moving_mean = var(f"{name}_moving_mean") if not moving_mean else moving_mean
    moving_var = var(f"{name}_moving_var") if not moving_var else moving_var
    return nn.batch_norm(data, gamma, beta, moving_mean, moving_var, **options)[0]


def conv2d(data, weight=None, **options):
    """A convolution."""
    name = options.pop("name")
    return nn.conv2d(data, weight if weight else var(f"{name}_weight"), **options)


def conv2d_transpose(data, weight=None, **options):
    """A transposed convolution."""
    name = options.pop("name")
    return nn.conv2d_transpose(data, weight if weight else var(f"{name}_weight"), **options)


def conv3d(data, weight=None, **options):
    """A convolution over three axes."""
    name = options.pop("name")
    return nn.conv3d(data, weight if weight else var(f"{name}_weight"), **options)


def dense_add_bias(data, weight=None, bias=None, units=None, **options):
    """A dense layer with a bias."""
    name = options.pop("name")
    dense = nn.dense(data, weight if weight else var(f"{name}_weight"), units, **options)
    return nn.bias_add(dense, bias if bias else var(f"{name}_bias"), axis=-1)


def conv_kernel_layout(data_layout, is_depthwise=False):
    """The layout of weights that goes with one of images."""
    layouts = {"NCHW": "OIHW", "NHWC": "HWOI" if is_depthwise else "HWIO"}
    if data_layout not in layouts:
        raise ValueError(f"no layout of weights is known for {data_layout}")
    return layouts[data_layout]
