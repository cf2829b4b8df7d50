"""Quantization. The context of options is here; the passes that quantize are not."""


class QConfig:
    """Options of the quantizer, for a `with`."""

    _stack = []

    def __init__(self, **options):
        self._options = {**_DEFAULTS, **options}

    def __getattr__(self, name):
        options = self.__dict__.get("_options", {})
        if name in options:
            return options[name]
        raise AttributeError(name)

    def __enter__(self):
        QConfig._stack.append(self)
        return self

    def __exit__(self, *unused):
        QConfig._stack.pop()


_DEFAULTS = {
    "nbit_input": 8,
    "nbit_weight": 8,
    "nbit_activation": 32,
    "dtype_input": "int8",
    "dtype_weight": "int8",
    "dtype_activation": "int32",
    "calibrate_mode": "global_scale",
    "global_scale": 8.0,
    "weight_scale": "power2",
    "skip_dense_layer": True,
    "skip_conv_layers": [0],
    "do_simulation": False,
    "round_for_shift": True,
    "debug_enabled_ops": None,
    "rounding": "UPWARD",
    "partition_conversions": "disabled",
}


def qconfig(**options):
    """Options of the quantizer."""
    unknown = [name for name in options if name not in _DEFAULTS and not name.startswith(("calibrate", "estimator"))]
    if unknown:
        raise ValueError(f"there is no option {unknown[0]} of the quantizer")
    return QConfig(**options)


def current_qconfig():
    """The options in force."""
    return QConfig._stack[-1] if QConfig._stack else QConfig()


def quantize(mod, params=None, dataset=None):
    """The passes that quantize are not here."""
    raise NotImplementedError("relay.quantize.quantize is not here: the engine has no passes that quantize")
