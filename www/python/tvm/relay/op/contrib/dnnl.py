"""Patterns of DNNL, and the operators that it takes. Nothing is compiled for it here."""

import math

from ....ir.op import Op, register_op_attr
from ...dataflow_pattern import is_constant, is_expr, is_op, wildcard
from ...expr import Call, Tuple, TupleGetItem, const
from .register import register_pattern_table

supported_post_elts = ["nn.relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", None]
"""Functions of elements that may follow a convolution or a dense layer."""

_OPERATORS = """
abs add clip exp log multiply nn.avg_pool2d nn.avg_pool3d nn.batch_matmul nn.batch_norm nn.conv1d nn.conv2d nn.conv2d_transpose
nn.conv3d nn.conv3d_transpose nn.dense nn.global_avg_pool2d nn.layer_norm nn.leaky_relu nn.max_pool2d nn.max_pool3d nn.relu
nn.softmax round sigmoid sqrt tanh
"""


def _register_external_op_helper(op_name, supported=True):
    """Registers that DNNL takes an operator, but not on 64-bit integers, nor pools whose extents are rounded up."""

    @register_op_attr(op_name, "target.dnnl")
    def takes(expr):
        if any(getattr(arg.checked_type, "dtype", None) == "int64" for arg in expr.args):
            return False
        return supported and not ("pool" in op_name and getattr(expr.attrs, "ceil_mode", False))

    return takes


for _name in _OPERATORS.split():
    _register_external_op_helper(_name)


def append_eltwise_ops(op, eltwise):
    """A pattern with a function of its elements behind it."""
    if eltwise == "gelu":
        bell = is_op("add")(is_op("erf")(is_op("divide")(op, wildcard())), wildcard())
        return is_op("multiply")(is_op("multiply")(op, bell), wildcard())
    if eltwise == "swish":
        return is_op("multiply")(op, is_op("sigmoid")(op))
    if eltwise == "mish":
        return is_op("multiply")(op, is_op("tanh")(is_op("log")(is_op("add")(is_op("exp")(op), wildcard()))))
    return is_op(eltwise)(op) if eltwise else op


def _layer(op_name, with_bias, with_eltwise):
    if with_eltwise not in supported_post_elts:
        raise ValueError(f"Unsupported eltwise post-op: {with_eltwise}")
    made = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        made = is_op("add")(made, wildcard())
    return append_eltwise_ops(made, with_eltwise)


def make_conv_pattern(conv_name, with_bias=True, with_eltwise=None):
    """A convolution, with a bias and a function of its elements."""
    return _layer(conv_name, with_bias, with_eltwise)


def make_dense_pattern(with_bias=True, with_eltwise=None):
    """A dense layer, with a bias and a function of its elements."""
    return _layer("nn.dense", with_bias, with_eltwise)


def make_conv_bias_sum_relu_pattern(conv_type, has_relu=True):
    """A convolution with a bias, to which another tensor is added."""
    biased = is_op("add")(is_op(conv_type)(wildcard(), wildcard()), wildcard())
    summed = is_op("add")(biased, wildcard())
    return is_op("nn.relu")(summed) if has_relu else summed


def make_dense_bias_sum_pattern():
    """A dense layer with a bias, to which another tensor is added; with its name."""
    return "dnnl.dense_bias_sum", make_conv_bias_sum_relu_pattern("nn.dense", False)


def get_op_name(expr):
    """The name of the operator that computes an expression; an empty text where none does."""
    match expr:
        case Op():
            return expr.name
        case Call():
            return get_op_name(expr.op)
        case TupleGetItem():
            return get_op_name(expr.tuple_value)
        case Tuple():
            return get_op_name(expr.fields[0])
    return ""


def get_args(expr):
    """The arguments of the call that computes an expression."""
    match expr:
        case Call():
            return expr.args
        case TupleGetItem():
            return get_args(expr.tuple_value)
        case Tuple():
            return [arg for field in expr.fields for arg in get_args(field)]
    return []


def get_attrs(expr):
    """The attributes of the call that computes an expression."""
    match expr:
        case Call():
            return expr.attrs
        case TupleGetItem():
            return get_attrs(expr.tuple_value)
    return {}


def get_shape(tensor):
    """The extents of a tensor."""
    ty = tensor.checked_type
    return tuple(int(extent) for extent in (ty.fields[0] if hasattr(ty, "fields") else ty).shape)


def add_checker(attrs, args, op_name):
    """True if an addition is that of a bias with an element for each channel, or of a tensor of the same shape."""
    before = get_op_name(args[0]) if isinstance(args[0], Call) else ""
    if op_name == "sum":
        return before == "add" and get_shape(args[0]) == get_shape(args[1])
    if op_name == "bias_add":
        return attrs is not None and before == "nn.conv2d" and attrs.channels == math.prod(get_shape(args[1]))
    return True


def _without_relu(expr):
    return expr.args[0] if get_op_name(expr) == "nn.relu" else expr


def make_sum_pattren_predicate(checker):
    """A check of matches of a convolution with bias and sum."""

    def fits(expr):
        expr = _without_relu(expr)
        parts = ((expr, "sum"), (expr.args[0], "bias_add"))
        return all(checker(get_attrs(part.args[0]), get_args(part), name) for part, name in parts)

    return fits


def make_bias_add_pattren_predicate(checker):
    """A check of matches of a convolution with a bias."""

    def fits(expr):
        expr = _without_relu(expr)
        return get_op_name(expr) != "add" or bool(checker(get_attrs(expr.args[0]), get_args(expr), "bias_add"))

    return fits


def make_dnnl_pattern(op_name, with_bias, with_eltwise):
    """A convolution or a dense layer with what follows: `(name, pattern)`, and for convolutions a check."""
    name = op_name.replace("nn", "dnnl")
    if "_transpose" in op_name:
        name = f"dnnl.deconv{op_name.split('_')[0][-2:]}"
    name += "_bias" if with_bias else ""
    name += f"_{with_eltwise.split('.')[-1]}" if with_eltwise else ""
    if "conv" in op_name:
        return name, make_conv_pattern(op_name, with_bias, with_eltwise), make_bias_add_pattren_predicate(add_checker)
    return (name, make_dense_pattern(with_bias, with_eltwise)) if op_name == "nn.dense" else ()


def _quantized(op_name):
    """A quantized layer as it is after it was lowered: parts that have no effect may be missing."""
    zero = is_expr(const(0, dtype="int32"))
    made = is_op(f"qnn.{op_name}")(wildcard(), is_constant(), zero, zero, is_constant(), is_constant())
    made = is_op("cast")(made)
    made = is_op("add")(made, is_constant()) | made
    made = is_op("clip")(is_op("multiply")(made, is_constant()))
    made = is_op("multiply")(made, is_constant()) | made
    made = is_op("add")(made, is_constant() * is_op("cast")(wildcard())) | made
    made = is_op("add")(made, is_constant()) | made
    return f"dnnl.qnn.{op_name}", is_op("cast")(made)


def make_qnn_conv2d_pattern():
    """A quantized convolution, with its name."""
    return _quantized("conv2d")


def make_qnn_dense_pattern():
    """A quantized dense layer, with its name."""
    return _quantized("dense")


@register_pattern_table("dnnl")
def pattern_table():
    """The patterns, larger ones first."""
    checked = make_sum_pattren_predicate(add_checker)
    rows = [
        make_qnn_conv2d_pattern(),
        make_qnn_dense_pattern(),
        make_dense_bias_sum_pattern(),
        ("dnnl.conv2d_bias_sum_relu", make_conv_bias_sum_relu_pattern("nn.conv2d"), checked),
        ("dnnl.conv2d_bias_sum", make_conv_bias_sum_relu_pattern("nn.conv2d", False), checked),
    ]
    layers = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose", "nn.dense")
    for with_bias in (True, False):
        for after in supported_post_elts:
            if with_bias or after:
                rows += [make_dnnl_pattern(layer, with_bias, after) for layer in layers]
    return rows
