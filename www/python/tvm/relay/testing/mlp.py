"""A perceptron with three layers."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from .init import create_workload
from .layers import dense_add_bias


def get_net(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """The network as a function."""
    data = nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    first = nn.relu(dense_add_bias(data, units=128, name="fc1"))
    second = nn.relu(dense_add_bias(first, units=64, name="fc2"))
    third = nn.softmax(dense_add_bias(second, units=num_classes, name="fc3"))
    return Function(analysis.free_vars(third), third)


def get_workload(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
