"""Programs with attention, for tests."""

from ...ir.expr import Var
from ...ir.type import TensorType
from ...tirx.expr import FloatImm, IntImm
from .. import op
from .matmul import chained


def _attention(parts, bias, qk_scale, causal_mask, window_size=None):
    scale = None if qk_scale is None else FloatImm("float32", qk_scale)
    window = None if window_size is None else IntImm("int32", window_size)
    return op.nn.attention(*parts, bias, scale, causal_mask, window)


def get_relax_attention_module(q_shape, k_shape, v_shape, *, dtype, bias_shape=None, qk_scale=None, causal_mask=None, window_size=None):
    """Attention over three tensors, and a bias if it has a shape."""
    shapes = {"q": q_shape, "k": k_shape, "v": v_shape}
    if bias_shape is not None and bias_shape != "none":
        shapes["bias"] = bias_shape
    params = [Var(name, TensorType(shape, dtype)) for name, shape in shapes.items()]
    bias = params[3] if len(params) == 4 else None
    return chained(params, None, [lambda _: _attention(params[:3], bias, qk_scale, causal_mask, window_size)])


def get_relax_stacked_attention_module(qkv, b, s, n, h, h_v, op, bias=None, qk_scale=None, single_shape=False, layout="BS3NH", causal_mask=None):
    """Attention over the three parts of one tensor, which `op` takes apart: "split" or "strided_slice"."""
    from .. import op as ops

    assert layout in ("BS3NH", "SBN3H"), layout
    if op not in ("split", "strided_slice"):
        raise NotImplementedError(f'parts come from "split" or "strided_slice", not from {op}')
    batch_first = layout == "BS3NH"
    axis, width = (2, n * h) if batch_first else (3, h)
    whole = Var("qkv", TensorType(qkv.shape, str(qkv.dtype)))
    params = [whole] if bias is None else [whole, Var("bias", TensorType(bias.shape, str(qkv.dtype)))]
    if op == "split":
        every = ops.split(whole, [width, 2 * width], axis=axis)
        parts = [every[index] for index in range(3)]
    else:
        ends = [0, width, 2 * width, int(qkv.shape[axis])]
        parts = [ops.strided_slice(whole, [axis], [begin], [end], [1]) for begin, end in zip(ends, ends[1:])]
    if batch_first:
        shapes = [[b, s, n, h], [b, s, n, h], [b, s, n, h if single_shape else h_v]]
        parts = [ops.reshape(part, shape) for part, shape in zip(parts, shapes)]
    else:
        parts = [ops.permute_dims(part, [1, 0, 2, 3]) for part in parts]
    last = None if bias is None else params[1]
    steps = [lambda _: _attention(parts, last, qk_scale, causal_mask)]
    if not batch_first:
        steps.append(lambda result: ops.permute_dims(result, [1, 0, 2, 3]))
    return chained(params, whole, steps)
