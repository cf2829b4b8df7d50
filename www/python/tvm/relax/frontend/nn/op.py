"""Operators over the tensors of modules. Each is emitted at once, under the name that is given."""

import builtins
import inspect
import math

from .... import ir, relax as rx, tirx
from ... import op as _op
from ...._absent import KERNELS, Absent
from ...block_builder import BlockBuilder
from .core import Tensor, get_default_dtype, wrap_nested


def _simple(operator, hint, arity=1):
    """Makes the function for an operator without attributes."""
    if arity == 1:

        def function(x, name=hint):
            return wrap_nested(operator(x._expr), name)
    else:

        def function(a, b, name=hint):
            return wrap_nested(operator(a._expr, b._expr), name)

    function.__doc__ = operator.__doc__
    return function


add = _simple(_op.add, "add", 2)
subtract = _simple(_op.subtract, "subtract", 2)
multiply = _simple(_op.multiply, "mul", 2)
divide = _simple(_op.divide, "divide", 2)
maximum = _simple(_op.maximum, "maximum", 2)
minimum = _simple(_op.minimum, "minimum", 2)
less = _simple(_op.less, "less", 2)
less_equal = _simple(_op.less_equal, "less_equal", 2)
greater = _simple(_op.greater, "greater", 2)
greater_equal = _simple(_op.greater_equal, "greater_equal", 2)
equal = _simple(_op.equal, "equal", 2)
not_equal = _simple(_op.not_equal, "not_equal", 2)
relu = _simple(_op.nn.relu, "relu")
silu = _simple(_op.nn.silu, "silu")
sigmoid = _simple(_op.sigmoid, "sigmoid")
tanh = _simple(_op.tanh, "tanh")
exp = _simple(_op.exp, "exp")
log = _simple(_op.log, "log")
floor = _simple(_op.floor, "floor")
negative = _simple(_op.negative, "neg")
square = _simple(_op.square, "square")
sqrt = _simple(_op.sqrt, "sqrt")


def relu6(x, name="relu6"):
    """The elements, cut to between zero and six."""
    return wrap_nested(_op.clip(x._expr, 0, 6), name)


def unsqueeze(x, dim, name="unsqueeze"):
    """A new axis of one element."""
    return wrap_nested(_op.expand_dims(x._expr, dim), name)


def concat(x, dim, name="concat"):
    """Tensors one behind the other."""
    return wrap_nested(_op.concat([tensor._expr for tensor in x], dim), name)


def chunk(x, chunks, dim=0, name="chunk"):
    """As many parts of equal size."""
    return wrap_nested(_op.split(x._expr, chunks, dim), name)


def split(ary, indices_or_sections, axis=0, name="split"):
    """Parts, by their number or where they begin."""
    return wrap_nested(_op.split(ary._expr, indices_or_sections, axis), name)


def _reduction(operator, hint):
    def function(x, axis=None, keepdims=False, name=hint):
        return wrap_nested(operator(x._expr, axis, keepdims), name)

    return function


sum = _reduction(_op.sum, "sum")
max = _reduction(_op.max, "max")
min = _reduction(_op.min, "min")


def matmul(a, b, out_dtype=None, name="matmul"):
    """The product of matrices."""
    return wrap_nested(_op.matmul(a._expr, b._expr, out_dtype=out_dtype), name)


def _biased(out, bias, layout, name):
    """Adds a bias along the axis `C` of a layout."""
    if bias is not None:
        shape = [-1 if axis == "C" else 1 for axis in layout]
        out = _op.add(out, _op.reshape(bias._expr, shape))
    return wrap_nested(out, name)


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, name="conv1d"):
    """A convolution along one axis."""
    out = _op.nn.conv1d(data=x._expr, weight=weight._expr, strides=stride, padding=padding, dilation=dilation, groups=groups)
    return _biased(out, bias, "NCW", name)


def _convolution(operator, layouts, hint):
    def function(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_layout=layouts[0], name=hint):
        out = operator(
            data=x._expr,
            weight=weight._expr,
            strides=stride,
            padding=padding,
            dilation=dilation,
            data_layout=data_layout,
            groups=groups,
        )
        if bias is not None and data_layout not in layouts:
            raise NotImplementedError(f"Dont know how to handle layout {data_layout}.")
        return _biased(out, bias, data_layout, name)

    return function


conv2d = _convolution(_op.nn.conv2d, ["NCHW", "NHWC"], "conv2d")
conv3d = _convolution(_op.nn.conv3d, ["NCDHW", "NDHWC"], "conv3d")


def conv1d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1, name="conv1d_transpose"):
    """The gradient of a convolution along one axis."""
    out = _op.nn.conv1d_transpose(
        data=x._expr,
        weight=weight._expr,
        strides=stride,
        padding=padding,
        output_padding=output_padding,
        dilation=dilation,
        groups=groups,
    )
    return _biased(out, bias, "NCW", name)


def broadcast_to(x, shape, name="broadcast_to"):
    """The same elements repeated to a shape."""
    return wrap_nested(_op.broadcast_to(x._expr, shape), name)


def permute_dims(x, axes=None, name=None):
    """The same with its axes in another order. A weight of a `linear` layer lends its name."""
    if name is None:
        given = getattr(x._expr, "name", None) or ""
        name = given.replace("linear", "matmul") if "linear" in given else "permute_dims"
    return wrap_nested(_op.permute_dims(x._expr, axes=axes), name)


def permute(x, axes, name="permute"):
    """The same with its axes in another order."""
    return wrap_nested(_op.permute_dims(x._expr, axes=axes), name)


def reshape(x, shape, name="reshape"):
    """The same elements in another shape."""
    return wrap_nested(_op.reshape(x._expr, shape), name)


def repeat(x, repeats, axis=None, name="repeat"):
    """Each element several times."""
    return wrap_nested(_op.repeat(x._expr, repeats, axis), name)


def squeeze(x, axis=-1, name="squeeze"):
    """Without an axis of one element."""
    return wrap_nested(_op.squeeze(x._expr, axis), name)


def take(x, indices, axis=None, name="take"):
    """The elements at these places."""
    return wrap_nested(_op.take(x._expr, indices._expr, axis), name)


def astype(x, dtype, name="astype"):
    """The same in another element type; itself if it has that already."""
    return x if x.dtype == dtype else wrap_nested(_op.astype(x._expr, dtype), name)


def gelu(x, approximate=None, name="gelu"):
    """The Gaussian error linear unit."""
    return wrap_nested((_op.nn.gelu_tanh if approximate == "tanh" else _op.nn.gelu)(x._expr), name)


def softmax(x, axis=-1, name="softmax"):
    """Exponentials that add up to one."""
    return wrap_nested(_op.nn.softmax(x._expr, axis), name)


def softplus(x, beta=1.0, threshold=20.0, name="softplus"):
    """A smooth maximum of zero and the tensor."""
    return wrap_nested(_op.nn.softplus(x._expr, beta=beta, threshold=threshold), name)


def prelu(x, alpha, name="prelu"):
    """A slope of its own for what is negative."""
    return wrap_nested(_op.nn.prelu(x._expr, alpha._expr), name)


def arange(start, end=None, step=1, dtype="float32", name="arange"):
    """Numbers at equal distances."""
    return wrap_nested(_op.arange(start, end, step, dtype), name)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, name="layer_norm"):
    """Normalises over the last axes."""
    import numpy as np

    shape = [normalized_shape] if isinstance(normalized_shape, int) else normalized_shape
    dtype = x.dtype
    gamma = rx.const(np.ones(shape), dtype) if weight is None else weight._expr
    beta = rx.const(np.zeros(shape), dtype) if bias is None else bias._expr
    axes = list(range(-len(shape), 0))
    return wrap_nested(_op.nn.layer_norm(x._expr, gamma=gamma, beta=beta, axes=axes, epsilon=eps), name)


def rms_norm(x, weight, axes, epsilon=1e-5, name="rms_norm"):
    """Normalises by the root of the mean of squares."""
    return wrap_nested(_op.nn.rms_norm(x._expr, weight._expr, axes, epsilon), name)


def group_norm(x, num_groups, weight, bias, eps=1e-5, channel_axis=1, axes=None, name="group_norm"):
    """Normalises over groups of channels."""
    weight, bias = (None if tensor is None else tensor._expr for tensor in (weight, bias))
    axes = list(range(2, x.ndim)) if axes is None else axes
    out = _op.nn.group_norm(x._expr, weight, bias, num_groups, channel_axis=channel_axis, axes=axes, epsilon=eps)
    return wrap_nested(out, name)


def triu(x, diagonal=0, name="triu"):
    """The upper triangle."""
    return wrap_nested(_op.triu(x._expr, diagonal), name)


def full(shape, fill_value, dtype="float32", name="full"):
    """One value everywhere."""
    if isinstance(fill_value, (tirx.FloatImm, tirx.IntImm)):
        fill_value = fill_value.value
    fill = rx.const(fill_value, dtype=dtype) if isinstance(fill_value, (int, float)) else fill_value._expr
    return wrap_nested(_op.full(shape, fill, dtype), name)


def zeros(shape, dtype="float32", name="zeros"):
    """Zeros."""
    return wrap_nested(_op.zeros(shape, dtype), name)


def ones(shape, dtype="float32", name="ones"):
    """Ones."""
    return wrap_nested(_op.ones(shape, dtype), name)


def empty(shape, dtype="float32", name="empty"):
    """Memory of this shape."""
    return wrap_nested(_op.builtin.alloc_tensor(rx.ShapeExpr(shape), dtype, runtime_device_index=0), name)


def pad(x, pad, mode="constant", value=0.0, name="pad"):
    """More elements at the borders."""
    return wrap_nested(_op.nn.pad(x._expr, pad_width=pad, pad_mode=mode, pad_value=value), name)


def get_timestep_embedding(
    x,
    embedding_dim,
    flip_sin_to_cos=False,
    downscale_freq_shift=1,
    scale=1,
    max_period=10000,
    name="get_timestep_embedding",
):
    """Sines and cosines of a time, of as many frequencies."""
    half = embedding_dim // 2
    exponent = rx.const(-math.log(max_period), "float32") * _op.arange(start=0, end=half, dtype="float32")
    exponent = exponent / rx.const(half - downscale_freq_shift, "float32")
    emb = _op.expand_dims(_op.astype(x._expr, "float32"), 1) * _op.expand_dims(_op.exp(exponent), 0)
    if scale != 1:
        emb = rx.const(scale, "float32") * emb
    waves = [_op.cos(emb), _op.sin(emb)] if flip_sin_to_cos else [_op.sin(emb), _op.cos(emb)]
    emb = _op.concat(waves, axis=-1)
    if embedding_dim % 2 == 1:
        emb = _op.nn.pad(emb, (0, 1, 0, 0))
    return wrap_nested(_op.astype(emb, get_default_dtype()), name)


def scaled_dot_product_attention(query, key, value, attn_mask=None, is_causal=False, scale=None, name="scaled_dot_product_attention"):
    """Attention."""
    assert attn_mask is None, "attn_mask not yet supported."
    mask = "TopLeft" if is_causal else None
    out = _op.nn.attention(query._expr, key._expr, value._expr, causal_mask=mask, scale=scale)
    return wrap_nested(out, name)


def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=None,
    data_layout="NCHW",
    name="interpolate",
):
    """A picture in another size."""
    assert recompute_scale_factor is None, "recompute_scale_factor is not supported."
    assert antialias is None, "antialias is not supported."
    if size is None:
        size = []
        for at, axis in enumerate(data_layout):
            if axis not in "NC":
                factor = scale_factor[len(size)] if isinstance(scale_factor, (list, tuple)) else scale_factor
                size.append(int(x.shape[at] * factor))
    if mode.startswith("nearest"):
        mode = "nearest_neighbor"
    elif mode[0:2] == "bi":
        mode = mode[2:]
    if mode == "nearest_neighbor":
        transformation = "asymmetric"
    else:
        transformation = "align_corners" if align_corners else "half_pixel"
    out = _op.image.resize2d(x._expr, size, layout=data_layout, method=mode, coordinate_transformation_mode=transformation)
    return wrap_nested(out, name)


def where(condition, x1, x2, name="where"):
    """Elements of the first where the condition holds, else of the second."""
    return wrap_nested(_op.where(astype(condition, "bool")._expr, x1._expr, x2._expr), name)


def cumsum(data, axis=None, dtype=None, exclusive=None, name="cumsum"):
    """Sums of all elements so far."""
    return wrap_nested(_op.cumsum(data._expr, axis, dtype, bool(exclusive)), name)


def sort(x, axis=-1, descending=False, name="sort"):
    """The elements in their order."""
    return wrap_nested(_op.sort(x._expr, axis, descending), name)


def argsort(data, axis=-1, descending=False, dtype="int32", name="argsort"):
    """The places of the elements in their order."""
    return wrap_nested(_op.argsort(data._expr, axis, descending, dtype), name)


def topk(data, k=1, axis=-1, ret_type="both", largest=True, dtype="int32", name="topk"):
    """The largest elements and their places."""
    return wrap_nested(_op.topk(data._expr, k, axis, ret_type, largest, dtype), name)


def multinomial_from_uniform(prob, uniform_sample, sample_indices=None, dtype="int64", name="multinomial_from_uniform"):
    """Draws by probabilities from numbers that are equally likely."""
    import numpy as np

    if sample_indices is None:
        batch = uniform_sample.shape[0]
        assert prob.shape[0] == batch, "Number of samples must match the number of probability distributions."
        sample_indices = Tensor.from_const(np.arange(batch).reshape(batch, 1))
    assert sample_indices.shape == uniform_sample.shape, "The shape of sample_indices must match the shape of uniform_sample."
    out = _op.multinomial_from_uniform(prob._expr, uniform_sample._expr, sample_indices._expr, dtype)
    return wrap_nested(out, name)


def tensor_expr_op(tensor_expr_func, name_hint, args, *, attrs=None):
    """A function of tensor expressions."""
    args = [arg._expr if isinstance(arg, Tensor) else arg for arg in args]
    builder = BlockBuilder.current()
    out = builder.emit_te(tensor_expr_func, *args, primfunc_name_hint=name_hint, primfunc_attrs=attrs)
    return wrap_nested(out, name_hint)


def _called(func, name_hint, args, out, make):
    operands = []
    for arg in args if isinstance(args, (tuple, list)) else [args]:
        if isinstance(arg, Tensor):
            operands.append(arg._expr)
        elif isinstance(arg, rx.ShapeExpr):
            operands.extend(arg.values)
        elif ir.is_prim_expr(arg):
            operands.append(arg)
        else:
            raise TypeError(f"Unsupported type: args expect Tensor or ShapeExpr or Expr, but got {type(arg)}")
    types = [tensor._expr.ty for tensor in ([out] if isinstance(out, Tensor) else out)]
    builder = BlockBuilder.current()
    return wrap_nested(builder.emit(make(builder.add_func(func, name_hint), operands, types)), name_hint)


def tensor_ir_op(func, name_hint, args, out):
    """A call of a tensor program."""
    return _called(func, name_hint, args, out, rx.call_tir)


def tensor_ir_inplace_op(func, name_hint, args, inplace_indices, out):
    """A call of a tensor program that writes into its arguments."""

    def make(callee, operands, types):
        return rx.call_tir_inplace(callee, operands, inplace_indices, types)

    return _called(func, name_hint, args, out, make)


def extern(name, args, out):
    """A call of a function that is not of the program."""

    def converted(arg):
        if isinstance(arg, Tensor):
            return arg._expr
        if isinstance(arg, int):
            return rx.prim_value(tirx.IntImm("int64", arg))
        if isinstance(arg, float):
            return rx.prim_value(tirx.FloatImm("float64", arg))
        if isinstance(arg, str):
            return rx.StringImm(arg)
        if isinstance(arg, (tuple, list)):
            return rx.Tuple([converted(item) for item in arg])
        if ir.is_prim_expr(arg):
            return rx.prim_value(arg)
        raise TypeError(f"Unsupported input type: {type(arg)}")

    return wrap_nested(_op.call_dps_packed(name, args=converted(args), out_ty=_type(out)), name)


def _type(out):
    return out._expr.ty if isinstance(out, Tensor) else rx.TupleType([_type(item) for item in out])


def debug_func(name, *args, _line_info=None):
    """A call that is there for its effect alone; needs `export_tvm(debug=True)`."""
    from .exporter import Exporter

    io = Exporter.current().io_effect
    if io is None:
        raise RuntimeError("Debugging is only supported when debug mode is on.")
    if _line_info is None:
        _line_info = "{}:{}".format(*inspect.getframeinfo(inspect.currentframe().f_back)[:2])
    operands = []
    for arg in args:
        if isinstance(arg, Tensor):
            operands.append(arg._expr)
        elif isinstance(arg, int):
            operands.append(rx.prim_value(tirx.IntImm("int64", arg)))
        elif isinstance(arg, float):
            operands.append(rx.prim_value(tirx.FloatImm("float32", arg)))
        elif isinstance(arg, str):
            operands.append(rx.StringImm(arg))
        elif ir.is_prim_expr(arg):
            operands.append(rx.prim_value(arg))
        else:
            raise TypeError(f"Unsupported type {type(arg)}")
    call = rx.call_pure_packed(
        "vm.builtin.invoke_debug_func",
        io.effect,
        rx.StringImm(name),
        rx.StringImm(_line_info),
        *operands,
        ty_args=[rx.AnyType()],
    )
    io.effect = BlockBuilder.current().emit(call, name_hint=io.effect.name)


def print_(tensor):
    """Prints a tensor when the program runs; needs `export_tvm(debug=True)`."""
    place = "{}:{}".format(*inspect.getframeinfo(inspect.currentframe().f_back)[:2])
    debug_func("vm.builtin.debug_print", tensor, _line_info=place)


def ccl_allreduce(x, op_type="sum", in_group=True, name="ccl_allreduce"):
    """The tensors of all workers, reduced to one that each has."""
    return wrap_nested(_op.ccl.allreduce(x._expr, op_type, in_group), name)


def ccl_allgather(x, num_workers, name="ccl_allgather"):
    """The tensors of all workers, one behind the other."""
    return wrap_nested(_op.ccl.allgather(x._expr, num_workers), name)


def ccl_broadcast_from_worker0(x, name="broadcast_from_worker"):
    """The tensor of the first worker, for all."""
    return wrap_nested(_op.ccl.broadcast_from_worker0(x._expr), name)


sample_top_p_top_k_from_sorted_prob, renormalize_top_p_top_k_prob = (
    Absent(f"{__name__}.{name}", KERNELS)
    for name in ("sample_top_p_top_k_from_sorted_prob", "renormalize_top_p_top_k_prob")
)

# `from nn.op import *` gives the operators alone.
__all__ = [name for name, value in builtins.dict(globals()).items() if inspect.isfunction(value) and not name.startswith("_") and name not in ("wrap_nested", "get_default_dtype")]
