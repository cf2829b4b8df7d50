"""Residual networks over two or three axes of space, with normalization first (He et al., 2016)."""

from .. import analysis
from ..expr import Function, var
from ..op import nn
from . import layers

_UNITS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
    200: [3, 24, 36, 3],
    269: [3, 30, 48, 8],
}
"""Units in each stage for large images, by the number of layers."""


def _kernel_layout(layout):
    return {"NCHW": "OIHW", "NCDHW": "OIDHW", "NHWC": "HWIO"}.get(layout, "DHWIO")


class _Layers:
    """Makes layers of the names and layouts of one network."""

    def __init__(self, data_layout, kernel_layout):
        self.dims = len(data_layout) - 2
        self.layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
        # Over three axes the second axis is normalized, whatever the layout says.
        self.axis = data_layout.index("C") if self.dims == 2 else 1

    def conv(self, data, channels, kernel, strides, padding, name):
        """A convolution of which one number holds for all axes."""
        whole = [value if isinstance(value, tuple) else (value,) * self.dims for value in (kernel, strides, padding)]
        make = layers.conv2d if self.dims == 2 else layers.conv3d
        options = dict(zip(("kernel_size", "strides", "padding"), whole))
        return make(data=data, channels=channels, name=name, **options, **self.layouts)

    def normal(self, data, name, **options):
        """A tensor, normalized."""
        return layers.batch_norm_infer(data=data, epsilon=2e-5, axis=self.axis, name=name, **options)

    def unit(self, data, channels, strides, matches, name, deep):
        """A unit; its input is added to its result, by way of a convolution if the number of channels is another."""
        first = nn.relu(self.normal(data, f"{name}_bn1"))
        # Channels, kernel and padding of each convolution.
        plan = [(channels // 4, 1, 0), (channels // 4, 3, 1), (channels, 1, 0)] if deep else [(channels, 3, 1)] * 2
        body = first
        for at, (count, kernel, padding) in enumerate(plan):
            if at > 0:
                body = nn.relu(self.normal(body, f"{name}_bn{at + 1}"))
            body = self.conv(body, count, kernel, strides if at == 0 else 1, padding, f"{name}_conv{at + 1}")
        return body + (data if matches else self.conv(first, channels, 1, strides, 0, f"{name}_sc"))


def unit(data, channels, strides, matches, name, deep, data_layout, kernel_layout):
    """A unit of a network."""
    return _Layers(data_layout, kernel_layout).unit(data, channels, strides, matches, name, deep)


def network(units, num_stages, filter_list, num_classes, data_shape, deep, layout, dtype):
    """The network with so many units in each stage."""
    if len(units) != num_stages:
        raise AssertionError("there is a number of units for each stage")
    make = _Layers(layout, _kernel_layout(layout))
    body = make.normal(var("data", shape=data_shape, dtype=dtype), "bn_data", scale=False)
    # Small images keep their size in the first layer.
    small = data_shape[layout.index("H")] <= 32
    if small:
        body = make.conv(body, filter_list[0], 3, 1, 1, "conv0")
    elif make.dims == 2:
        body = make.conv(body, filter_list[0], 7, 2, 3, "conv0")
    else:
        body = make.conv(body, filter_list[0], (3, 7, 7), (1, 2, 2), (1, 3, 3), "conv0")
    if not small:
        body = nn.relu(make.normal(body, "bn0"))
        if make.dims == 2:
            body = nn.max_pool2d(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    for stage, count in enumerate(units):
        for at in range(count):
            strides = 2 if at == 0 and stage > 0 else 1
            body = make.unit(body, filter_list[stage + 1], strides, at > 0, f"stage{stage + 1}_unit{at + 1}", deep)
    body = nn.relu(make.normal(body, "bn1"))
    pool = nn.global_avg_pool2d if make.dims == 2 else nn.global_avg_pool3d
    out = nn.softmax(layers.dense_add_bias(nn.batch_flatten(pool(body, layout=layout)), units=num_classes, name="fc1"))
    return Function(analysis.free_vars(out), out)


def plan(num_layers, height):
    """Units and channels of each stage for so many layers, and whether units have three convolutions."""
    if height > 28:
        if num_layers not in _UNITS:
            raise ValueError(f"no experiments done on num_layers {num_layers}")
        deep = num_layers >= 50
        return _UNITS[num_layers], [64, *((256 if deep else 64) << stage for stage in range(4))], deep
    per_unit = 9 if num_layers >= 164 else 6
    if (num_layers - 2) % per_unit != 0:
        raise ValueError(f"no experiments done on num_layers {num_layers}")
    channels = [16, 64, 128, 256] if per_unit == 9 else [16, 16, 32, 64]
    return [(num_layers - 2) // per_unit] * 3, channels, per_unit == 9
