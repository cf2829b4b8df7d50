"""The generator of DCGAN (Radford et al., 2015): random numbers become an image."""

from .. import analysis
from ..expr import Function, var
from ..op import nn, reshape, tanh
from .init import create_workload
from .layers import batch_norm_infer, conv2d_transpose

_KERNELS = {"NCHW": "IOHW", "NHWC": "HWOI"}


def deconv2d(data, ishape, oshape, kshape, layout, name, stride=(2, 2)):
    """A transposed convolution that makes an image of the extents `oshape`."""
    if layout not in _KERNELS:
        raise ValueError(f"{layout} is no layout of this network: NCHW and NHWC are")
    padding = tuple((kernel - 1) // 2 for kernel in kshape)
    sides = zip(oshape[-2:], padding, kshape, stride)
    return conv2d_transpose(
        data,
        channels=oshape[0],
        kernel_size=kshape,
        strides=stride,
        padding=padding,
        output_padding=tuple((extent + 2 * pad - kernel) % step for extent, pad, kernel, step in sides),
        data_layout=layout,
        kernel_layout=_KERNELS[layout],
        name=name,
    )


def deconv2d_bn_relu(data, prefix, **kwargs):
    """The same, normalized and without what is negative."""
    axis = kwargs.get("layout", "NCHW").index("C")
    body = deconv2d(data, name=f"{prefix}_deconv", **kwargs)
    return nn.relu(batch_norm_infer(body, epsilon=1e-5 + 1e-12, scale=False, axis=axis, name=f"{prefix}_batch_norm"))


def get_net(batch_size, random_len=100, oshape=(3, 64, 64), ngf=128, code=None, layout="NCHW", dtype="float32"):
    """The network as a function."""
    if tuple(oshape[-2:]) != (64, 64):
        raise ValueError("images have 64 × 64 pixels")
    if layout not in _KERNELS:
        raise ValueError(f"{layout} is no layout of this network: NCHW and NHWC are")
    code = var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    body = nn.relu(nn.dense(code, var("dense_weight"), units=4 * 4 * ngf * 8))
    body = reshape(body, (-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8))
    shape = (ngf * 8, 4, 4)
    for at in (2, 3, 4):
        before, shape = shape, (shape[0] // 2, shape[1] * 2, shape[2] * 2)
        body = deconv2d_bn_relu(body, f"g{at}", ishape=before, oshape=shape, kshape=(4, 4), layout=layout)
    out = tanh(deconv2d(body, shape, oshape[-3:], (4, 4), layout, "g5_deconv"))
    return Function(analysis.free_vars(out), out)


def get_workload(batch_size, oshape=(3, 64, 64), ngf=128, random_len=100, layout="NCHW", dtype="float32"):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, layout, dtype))
