"""A small network that belongs to no paper: dense layers beside convolutions, whose results are added."""

from .. import analysis
from ..expr import Function, var
from ..op import nn, reshape, reshape_like
from .init import Constant, create_workload
from .layers import batch_norm_infer


def get_net(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """The network as a function."""
    channels, width = input_shape[1], input_shape[3]
    wtype = wtype or dtype
    data = var("data", shape=input_shape, dtype=dtype)

    def block(body, number):
        weight = var(f"dense{number}_weight", shape=(width, width), dtype=wtype)
        kernel = var(f"conv{number}_weight", shape=(channels, channels, 3, 3), dtype=wtype)
        dense = nn.relu(nn.dense(reshape(body, [-1, width]), weight))
        return reshape_like(dense, data) + nn.softmax(nn.conv2d(body, kernel, padding=1, kernel_size=3))

    first = nn.bias_add(block(data, ""), var("bias"))
    second = block(batch_norm_infer(first, name="batch_norm"), 2)
    return Function(analysis.free_vars(second), second)


def get_workload(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """The network as a module, with parameters: the elements of each weight are equal, and their sum is 1."""
    return create_workload(get_net(input_shape, dtype, wtype), Constant())
