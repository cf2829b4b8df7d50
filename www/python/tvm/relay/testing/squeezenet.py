"""SqueezeNet (Iandola et al., 2016): few channels before each convolution of 3 × 3."""

from .. import analysis
from ..expr import Function, var
from ..op import concatenate, nn
from .init import create_workload
from .layers import conv2d

# Channels, kernel and padding of the first convolution, and the blocks that a pooling stands before.
_VERSIONS = {"1.0": (96, 7, 3, (1, 4, 8)), "1.1": (64, 3, 1, (1, 3, 5))}


def _conv(data, channels, kernel, padding, name, stride=1):
    conv = conv2d(
        data,
        channels=channels,
        kernel_size=(kernel, kernel),
        strides=(stride, stride),
        padding=(padding, padding),
        name=name,
    )
    return nn.relu(nn.bias_add(conv, var(f"{name}_bias")))


def get_net(batch_size, image_shape, num_classes, version, dtype):
    """The network as a function."""
    if version not in _VERSIONS:
        raise ValueError(f"SqueezeNet has no version {version}: 1.0 and 1.1 are known")
    channels, kernel, padding, pooled = _VERSIONS[version]
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _conv(body, channels, kernel, padding, "conv1", stride=2)
    for at, channels in enumerate((16, 16, 32, 32, 48, 48, 64, 64), 1):
        if at in pooled:
            body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2))
        body = _conv(body, channels, 1, 0, f"fire{at}_input_conv")
        left = _conv(body, 4 * channels, 1, 0, f"fire{at}_left_conv")
        right = _conv(body, 4 * channels, 3, 1, f"fire{at}_right_conv")
        body = concatenate((left, right), axis=1)
    body = _conv(nn.dropout(body, rate=0.5), num_classes, 1, 0, "conv_final")
    out = nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(body)))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size=1, num_classes=1000, version="1.0", image_shape=(3, 224, 224), dtype="float32"):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
