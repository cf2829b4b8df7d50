"""DenseNet (Huang et al., 2017) as TVM has it: a layer reads the one before it alone, a block gives all of its layers."""

from .. import analysis
from ..expr import Function, var
from ..op import concatenate, nn
from .init import create_workload
from .layers import batch_norm_infer, conv2d, dense_add_bias

# Channels at first, channels of a layer, layers of each block. TVM has 69 where the paper has 64.
_SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (69, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def _normal(data, name):
    return nn.relu(batch_norm_infer(data, name=name))


def _conv(data, channels, kernel, name, **options):
    return conv2d(data, channels=channels, kernel_size=(kernel, kernel), name=name, **options)


def _net(shape, dtype, classes, channels, growth, blocks):
    body = _conv(var("data", shape=shape, dtype=dtype), channels, 7, "conv1", strides=(2, 2), padding=(3, 3))
    body = nn.max_pool2d(_normal(body, "batch1"), pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for block, count in enumerate(blocks):
        if block > 0:
            channels //= 2
            body = _conv(_normal(body, f"batch_t_{block - 1}"), channels, 1, f"conv_t_{block - 1}")
            body = nn.avg_pool2d(body, pool_size=(2, 2), strides=(2, 2))
        layers = []
        for at in range(count):
            name = f"{block}_{at}"
            body = _conv(_normal(body, f"batch_1_{name}"), 4 * growth, 1, f"conv2d_1_{name}")
            body = _conv(_normal(body, f"batch_2_{name}"), growth, 3, f"conv2d_2_{name}", padding=(1, 1))
            layers.append(body)
        body = concatenate(layers, 1)
        channels += count * growth
    flat = nn.batch_flatten(nn.avg_pool2d(_normal(body, "batch2"), pool_size=(7, 7)))
    out = dense_add_bias(flat, units=classes, name="dense")
    return Function(analysis.free_vars(out), out)


def get_workload(densenet_size=121, classes=1000, batch_size=4, image_shape=(3, 224, 224), dtype="float32"):
    """The network as a module, with parameters. Its sizes are 121, 161, 169 and 201."""
    return create_workload(_net((batch_size, *image_shape), dtype, classes, *_SIZES[densenet_size]))
