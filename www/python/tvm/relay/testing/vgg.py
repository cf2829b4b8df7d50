"""VGG (Simonyan and Zisserman, 2014): stacks of convolutions of 3 × 3, and three dense layers."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from . import layers
from .init import create_workload

_LAYERS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}
"""Convolutions in each stack, by the number of layers with weights."""


def get_feature(internal_layer, layers_of_stacks, filters, batch_norm=False):
    """The stacks, each with a pooling behind it."""
    body = internal_layer
    for stack, count in enumerate(layers_of_stacks):
        for at in range(count):
            name = f"{stack + 1}_{at + 1}"
            body = layers.conv2d(data=body, kernel_size=(3, 3), padding=(1, 1), channels=filters[stack], name=f"conv{name}")
            body = nn.bias_add(body, var(f"conv{name}_bias"))
            if batch_norm:
                body = layers.batch_norm_infer(data=body, name=f"bn{name}")
            body = nn.relu(body)
        body = nn.max_pool2d(body, pool_size=(2, 2), strides=(2, 2))
    return body


def get_classifier(input_data, num_classes):
    """The dense layers."""
    body = nn.batch_flatten(input_data)
    for name in ("fc6", "fc7"):
        body = nn.dropout(nn.relu(layers.dense_add_bias(data=body, units=4096, name=name)), rate=0.5)
    return layers.dense_add_bias(data=body, units=num_classes, name="fc8")


def get_net(batch_size, image_shape, num_classes, dtype, num_layers=11, batch_norm=False):
    """The network as a function."""
    if num_layers not in _LAYERS:
        raise ValueError(f"Invalid num_layers {num_layers}. Choices are 11,13,16,19.")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    features = get_feature(data, _LAYERS[num_layers], [64, 128, 256, 512, 512], batch_norm)
    out = nn.softmax(get_classifier(features, num_classes))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", num_layers=11, batch_norm=False):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
