"""Quantization: the engine's passes, with the options of the context."""

from ...ir import transform as _transform
from ._annotate import QAnnotateKind
from ._partition_conversions import partition_conversions


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

    def __setattr__(self, name, value):
        if name in _DEFAULTS:
            raise AttributeError(f"'{type(self)}' object cannot set attribute '{name}'")
        super().__setattr__(name, value)

    def guard(self, ref_call):
        """True if the operator of a call is among those that are quantized."""
        chosen = self.debug_enabled_ops
        return chosen is None or ref_call.op.name in [getattr(name, "value", name) for name in chosen]

    def get_nbit_by_kind(self, kind):
        """The number of bits of values of a kind."""
        return getattr(self, f"nbit_{kind2str(kind)}")

    def get_dtype_by_kind(self, kind):
        """The element type of values of a kind."""
        return getattr(self, f"dtype_{kind2str(kind)}")

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
    "calibrate_chunk_by": -1,
    "partition_conversions": "disabled",
}


def kind2str(kind):
    """The name of a kind of values."""
    names = {QAnnotateKind.INPUT: "input", QAnnotateKind.WEIGHT: "weight", QAnnotateKind.ACTIVATION: "activation"}
    return (names | {QAnnotateKind.BIAS: "bias"})[kind]


def qconfig(**options):
    """Options of the quantizer."""
    unknown = [name for name in options if name not in _DEFAULTS and not name.startswith(("calibrate", "estimator"))]
    if unknown:
        raise ValueError(f"there is no option {unknown[0]} of the quantizer")
    return QConfig(**options)


def current_qconfig():
    """The options in force."""
    return QConfig._stack[-1] if QConfig._stack else QConfig()


def _pass(name, *options):
    """A pass of the engine's with options that are in force."""
    config = current_qconfig()
    return _transform.BuiltInPass(_transform.call_text(name, {option: getattr(config, option) for option in options}), False, "relay")


def partition():
    """Marks where values of few bits pass from one region to the next."""
    return _pass("QuantizePartition", "dtype_input")


def annotate():
    """Says which values are to have few bits."""
    return _pass("QuantizeAnnotate", "skip_conv_layers", "skip_dense_layer", "debug_enabled_ops")


def calibrate(dataset=None):
    """Gives values of few bits their scales: one for all, or what data say."""
    config = current_qconfig()
    if config.calibrate_mode in ("kl_divergence", "percentile"):
        if dataset is None:
            raise TypeError(f"the mode {config.calibrate_mode} needs a data set")
        info = _transform.PassInfo(1, "QuantizeCalibrate")
        return _transform.PyModulePass(lambda mod, ctx: _calibrate.calibrated(mod, dataset, config), info)
    if config.calibrate_mode != "global_scale":
        raise ValueError(f"Unknown calibrate mode {config.calibrate_mode}")
    scales = ("calibrate_mode", "global_scale", "weight_scale")
    return _pass("QuantizeCalibrate", *scales, "nbit_input", "nbit_weight", "nbit_activation")


def realize():
    """Computes on integers what is simulated."""
    types = ("dtype_input", "dtype_weight", "dtype_activation")
    return _pass("QuantizeRealize", *types, "nbit_activation", "global_scale", "round_for_shift", "rounding")


def prerequisite_optimize(mod, params=None):
    """The program made ready: batch normalization and biases become sums and products."""
    from .. import transform
    from ..build_module import bind_params_by_name

    if params:
        mod = mod.clone()
        mod["main"] = bind_params_by_name(mod["main"], params)
    passes = "SimplifyInference FoldConstant FoldScaleAxis CanonicalizeOps FoldConstant".split()
    return _transform.Sequential([getattr(transform, name)() for name in passes])(mod)


def quantize(mod, params=None, dataset=None):
    """A module that computes on integers. Scales come from the options, or from a run over the data set."""
    from .. import transform

    config = current_qconfig()
    assert config.partition_conversions in ("disabled", "enabled", "fully_integral")
    mod = prerequisite_optimize(mod, params)
    passes = [partition(), annotate(), calibrate(dataset), transform.InferType()]
    if not config.do_simulation:
        passes.append(realize())
    passes.append(transform.FoldConstant())
    required = ["QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize"]
    with _transform.PassContext(opt_level=3, required_pass=required):
        mod = _transform.Sequential(passes)(mod)
    if config.partition_conversions == "disabled":
        return mod
    dtypes = {config.dtype_input, config.dtype_weight, config.dtype_activation}
    return partition_conversions(mod, dtypes, config.partition_conversions == "fully_integral")


from . import _calibrate  # noqa: E402
