"""Residual networks, with normalization first (He et al., 2016)."""

from ._residual import network, plan, unit
from .init import create_workload


def residual_unit(data, num_filter, stride, dim_match, name, bottle_neck=True, data_layout="NCHW", kernel_layout="IOHW"):
    """A unit, whose input is added to its result."""
    return unit(data, num_filter, stride, dim_match, name, bottle_neck, data_layout, kernel_layout)


def resnet(units, num_stages, filter_list, num_classes, data_shape, bottle_neck=True, layout="NCHW", dtype="float32"):
    """The network with so many units in each stage, as a function."""
    return network(units, num_stages, filter_list, num_classes, data_shape, bottle_neck, layout, dtype)


def get_net(batch_size, num_classes, num_layers=50, image_shape=(3, 224, 224), layout="NCHW", dtype="float32", **unused):
    """The network with so many layers, as a function."""
    units, channels, deep = plan(num_layers, image_shape[layout.index("H") - 1])
    return network(units, len(units), channels, num_classes, (batch_size, *image_shape), deep, layout, dtype)


def get_workload(batch_size=1, num_classes=1000, num_layers=18, image_shape=(3, 224, 224), layout="NCHW", dtype="float32", **unused):
    """The network as a module, with parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
