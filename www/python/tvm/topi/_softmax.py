"""Softmax and its logarithm (`python/tvm/topi/nn/softmax.py`)."""

from .. import te
from ..tirx.op import exp, log
from ._computed import fast_exp


class _Along:
    """A tensor by one of its axes."""

    def __init__(self, x, axis):
        self.x, self.axis = x, axis + len(x.shape) if axis < 0 else axis
        self.rest = [*x.shape[: self.axis], *x.shape[self.axis + 1 :]]
        self.reduced = [te.reduce_axis((0, x.shape[self.axis]), name="k") for _ in range(2)]
        self.greatest = te.compute(self.rest, lambda *at: te.max(x(*self.at(at, 0)), axis=self.reduced[0]), name="T_softmax_maxelem")

    def at(self, outer, which):
        """The indices of an element along the axis."""
        return (*outer[: self.axis], self.reduced[which].var, *outer[self.axis :])

    def outer(self, at):
        """The indices but that of the axis."""
        return (*at[: self.axis], *at[self.axis + 1 :])


def softmax_common(x, axis, use_fast_exp):
    """The exponentials, divided by their sum along an axis."""
    along = _Along(x, axis)

    def below(*at):
        return x(*at) - along.greatest(*along.outer(at))

    if use_fast_exp:
        power = fast_exp(te.compute(x.shape, lambda *at: below(*at), name="T_softmax_delta"))
    else:
        power = te.compute(x.shape, lambda *at: exp(below(*at)), name="T_softmax_exp")
    total = te.compute(along.rest, lambda *at: te.sum(power(*along.at(at, 1)), axis=along.reduced[1]), name="T_softmax_expsum")
    attrs = {"axis": along.axis}
    return te.compute(x.shape, lambda *at: power(*at) / total(*along.outer(at)), name="T_softmax_norm", attrs=attrs)


@te.tag_scope(tag="softmax_output")
def softmax(x, axis=-1):
    """The exponentials, divided by their sum along an axis."""
    return softmax_common(x, axis, False)


@te.tag_scope(tag="fast_softmax_output")
def fast_softmax(x, axis=-1):
    """The softmax whose exponential is a polynomial."""
    return softmax_common(x, axis, True)


@te.tag_scope(tag="log_softmax_output")
def log_softmax(x, axis=-1):
    """The logarithm of the softmax along an axis."""
    along = _Along(x, axis)

    def summed(*at):
        return te.sum(exp(x(*along.at(at, 1)) - along.greatest(*at)), axis=along.reduced[1])

    total = te.compute(along.rest, summed)

    def element(*at):
        outer = along.outer(at)
        return x(*at) - along.greatest(*outer) - log(total(*outer))

    return te.compute(x.shape, element, attrs={"axis": along.axis})


SOFTMAX = {"softmax": softmax, "fast_softmax": fast_softmax, "softmax_common": softmax_common, "log_softmax": log_softmax}
"""By the name in `topi.nn`."""
