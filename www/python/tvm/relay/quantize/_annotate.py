"""Marks of the quantizer in programs."""

from ..op import _make


class QAnnotateKind:
    """The role of a value for the quantizer."""

    IDENTITY, INPUT, WEIGHT, ACTIVATION, BIAS = 0, 1, 2, 3, 4


def attach_simulated_quantize(data, kind, sign=True, rounding="round"):
    """A call that behaves as if the value were quantized; its scale and bounds are variables."""
    from ..expr import Var

    parts = [Var(name) for name in ("dom_scale", "clip_min", "clip_max")]
    fields = {"kind": kind, "sign": sign, "rounding": rounding}
    return _make.call("relay.op.annotation.simulated_quantize", [data, *parts], fields)
