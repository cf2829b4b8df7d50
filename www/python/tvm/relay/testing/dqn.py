"""The network that learnt to play from pictures (Mnih et al., 2015): a value for each action."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from .init import create_workload
from .layers import conv2d, conv_kernel_layout, dense_add_bias


def get_net(batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"):
    """The network as a function."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for at, (channels, kernel, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        body = conv2d(
            body,
            channels=channels,
            kernel_size=(kernel, kernel),
            strides=(stride, stride),
            padding=(0, 0),
            data_layout=layout,
            kernel_layout=conv_kernel_layout(layout),
            name=f"conv{at}",
        )
        body = nn.relu(nn.bias_add(body, var(f"conv{at}_bias"), layout.index("C")))
    body = nn.relu(dense_add_bias(nn.batch_flatten(body), units=512, name="dense1"))
    out = dense_add_bias(body, units=num_actions, name="dense2")
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
