"""Scales of quantized values that come from data (`python/tvm/relay/quantize/_calibrate.py`, `src/relay/quantize/calibrate.cc`)."""

import math
from bisect import bisect_right

import numpy as np

from ...ir.module import IRModule
from ..analysis import free_vars
from ..expr import Call, Function, Tuple, bind, const
from ..expr_functor import ExprMutator
from .. import analysis
from ._annotate import QAnnotateKind

_OP = "relay.op.annotation.simulated_quantize"
_BINS, _QUANTIZED = 8001, 255


def _is_simulated(expr):
    return isinstance(expr, Call) and getattr(expr.op, "name", "") == _OP


class _Collect(ExprMutator):
    """Takes the marks away and keeps the values under them, but for weights."""

    def __init__(self):
        super().__init__()
        self.found = []

    def visit_call(self, call):
        new = super().visit_call(call)
        if not _is_simulated(new):
            return new
        if new.attrs.kind != QAnnotateKind.WEIGHT:
            self.found.append(new.args[0])
        return new.args[0]


def collect_stats(mod, dataset, chunk_by=-1):
    """The elements of each value that is quantized, for all inputs of a data set."""
    from ..build_module import Executor

    collect = _Collect()
    collect.visit(mod["main"].body)
    body = Tuple(collect.found)
    run = Executor(IRModule.from_expr(Function(free_vars(body), body))).evaluate()
    samples = [[] for _ in collect.found]
    for batch in dataset:
        for known, value in zip(samples, run(**batch)):
            known += value.numpy().reshape(-1).tolist()
    step = len(samples) if chunk_by == -1 else chunk_by
    for start in range(0, len(samples), max(step, 1)):
        yield [np.array(item, "float32") for item in samples[start : start + step]]


def _find_scale_by_percentile(arr, percentile=0.99999):
    """The magnitude that nearly all elements stay below."""
    values = sorted(abs(value) for value in arr.reshape(-1).tolist())
    return values[int(len(values) * percentile)]


def _histogram(values, limit):
    """Counts of values in bins of the same width from `-limit` to `limit`, and the edges of these."""
    edges = [float(np.float32(-limit + 2 * limit * at / _BINS)) for at in range(_BINS + 1)]
    counts = [0] * _BINS
    for value in values:
        counts[min(max(bisect_right(edges, value) - 1, 0), _BINS - 1)] += 1
    return counts, edges


def _smooth(part, size):
    """A distribution as its elements that are not zero and the value of all others; None if it cannot be made smooth."""
    zeros = size - len(part)
    less = 0.0001 * zeros / len(part) if part else 1.0
    return None if less >= 1.0 else ({at: value - less for at, value in part.items()}, 0.0001)


def _divergence(p, q, size):
    (p, p_rest), (q, q_rest) = p, q
    p_sum = sum(p.values()) + p_rest * (size - len(p))
    q_sum = sum(q.values()) + q_rest * (size - len(q))
    total = 0.0
    for at in p.keys() | q.keys():
        a, b = p.get(at, p_rest) / p_sum, q.get(at, q_rest) / q_sum
        total += a * math.log(a / b)
    a, b = p_rest / p_sum, q_rest / q_sum
    return total + (size - len(p.keys() | q.keys())) * a * math.log(a / b)


def _find_scale_by_kl(arr, quantized_dtype="int8", num_bins=_BINS, num_quantized_bins=_QUANTIZED):
    """The threshold at which a quantized distribution is nearest to that of the elements."""
    values = arr.reshape(-1).tolist()
    counts, edges = _histogram(values, max(abs(min(values)), abs(max(values))) or 1.0)
    filled = [at for at, count in enumerate(counts) if count]
    before = [0]
    for count in counts:
        before.append(before[-1] + count)
    zero, half = _BINS // 2, _QUANTIZED // 2
    best, threshold = math.inf, None
    for width in range(half, zero + 1):
        first, behind = zero - width, zero + width + 1
        found = _distance(filled, counts, before, first, behind)
        if threshold is None or found < best:
            best, threshold = found, edges[behind]
    return threshold


def _distance(filled, counts, before, first, behind):
    """The distance of the quantized distribution between two bins from the one that has all outside of them at its ends."""
    size = behind - first
    inside = {at - first: counts[at] for at in filled if first < at < behind}
    p = dict(inside)
    ends = (before[first + 1], before[-1] - before[behind] + p.get(size - 1, 0))
    p |= {at: value for at, value in zip((0, size - 1), ends) if value}
    merged = size // _QUANTIZED
    bins = {}
    for at in inside:
        bins.setdefault(min(at // merged, _QUANTIZED - 1), []).append(at)
    q = {}
    for places in bins.values():
        mean = sum(inside[at] for at in places) / len(places)
        q |= dict.fromkeys(places, mean)
    last = bins.get(_QUANTIZED - 1, [])
    first_bin = bins.get(0, [])
    # The ends have elements of the others there, which the quantized distribution shares out, too.
    if first_bin and 0 in p:
        q[0] = sum(inside[at] for at in first_bin) / len(first_bin)
    if last and size - 1 in p:
        q[size - 1] = sum(inside[at] for at in last) / len(last)
    p, q = _smooth(p, size), _smooth(q, size)
    return math.inf if p is None or q is None else _divergence(p, q, size)


def _weight_scale(call, how):
    largest = max(abs(value) for value in call.args[0].data.numpy().reshape(-1).tolist())
    if how == "max":
        return largest
    return 2 ** math.ceil(math.log(largest, 2)) if largest > 0 else 1.0


def calibrated(mod, dataset, config):
    """A module in which the marks have scales and bounds that come from data."""
    if config.weight_scale not in ("max", "power2"):
        raise ValueError(f"Unknown weight scale mode {config.weight_scale}")
    find = _find_scale_by_kl if config.calibrate_mode == "kl_divergence" else _find_scale_by_percentile
    scales = iter([find(item) for chunk in collect_stats(mod, dataset, config.calibrate_chunk_by) for item in chunk])
    binds = {}

    def visit(expr):
        if not _is_simulated(expr):
            return
        _, scale, low, high = expr.args
        kind = expr.attrs.kind
        limit = 2 ** (config.get_nbit_by_kind(kind) - int(expr.attrs.sign))
        size = _weight_scale(expr, config.weight_scale) if kind == QAnnotateKind.WEIGHT else next(scales)
        for var, value in ((scale, size / limit), (low, -(limit - 1)), (high, limit - 1)):
            binds[var] = const(float(value), "float32")

    main = mod["main"]
    analysis.post_order_visit(main, visit)
    made = mod.clone()
    made["main"] = bind(main, binds)
    return made
