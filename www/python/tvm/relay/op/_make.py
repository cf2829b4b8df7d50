"""Calls of operators: operands, and attributes with their defaults, which the engine knows."""

import functools
import inspect
import json

from ... import _engine
from ..._catalogue import relay_operators
from ..._node import ATTRS, get
from ..._values import Attrs, DataType
from ...ir.expr import Expr
from ...tirx.expr import IntImm
from ..expr import Call, Constant, TupleGetItem, TupleWrapper, as_expr, const, get_op
from ..expr import Tuple as TupleExpr
from ._signatures import OTHER_NAMES, SIGNATURES


class _NotAText(Exception):
    """A value that a text of Relay cannot hold."""


def _written(value, inside=False):
    """A value as texts of Relay write it. Only in lists numbers have a width of their own."""
    if isinstance(value, IntImm):
        if inside and value.dtype == "int64":
            return f"{value.value}i64"
        value = value.value
    elif hasattr(value, "item") and not isinstance(value, Expr):
        value = value.item()
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if -(1 << 31) <= value < 1 << 31 else f"{value}i64"
    if isinstance(value, float):
        return f"{value!r}f"
    if isinstance(value, type):
        return json.dumps(value.__name__)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(item, True) for item in value)}]"
    raise _NotAText


@functools.cache
def _attrs(text):
    _engine.dialect(False)
    found = _engine.call("user_parse_attrs", text)
    return get(ATTRS, found - 1) if found else None


def attributes(name, count, fields):
    """The attributes of a call of an operator with so many operands; missing ones have their defaults."""
    if name in _KEYS and not relay_operators()[name]["attrs"]:
        return Attrs(f"relay.attrs.{_KEYS[name]}Attrs", fields)
    params = [f"%a{index}" for index in range(count)]
    rows, others = [], {}
    for key, value in fields.items():
        try:
            rows.append(f"{key}={_written(value)}")
        except _NotAText:
            if not isinstance(value, (list, tuple, Expr)) and not hasattr(value, "_row_o"):
                raise TypeError(f"{type(value).__name__} cannot be the attribute {key} of {name}") from None
            others[key] = value
            if isinstance(value, (list, tuple)):
                rows.append(f"{key}={_written([1] * len(value))}")
            elif isinstance(value, Expr):
                rows.append(f"{key}=1")
    found = _attrs(f"fn ({', '.join(params)}) {{ {name}({', '.join(params + rows)}) }}")
    if others:
        whole = {} if found is None else dict(found._fields)
        found = Attrs("DictAttrs" if found is None else found._key, {**whole, **others})
    return found


def call(name, args, fields, span=None):
    """A call of an operator."""
    args = [as_expr(arg) for arg in args]
    info = relay_operators()[name]
    wanted = bool(fields) or bool(info["attrs"])
    count = max(len(args), 1) if info["args"] or args else 0
    return Call(get_op(name), args, attributes(name, count, fields) if wanted else None, None, span)


def _pads(dims, padding):
    """Padding before and behind each axis, of what was given for one, each or both sides of it."""
    if isinstance(padding, int):
        return [padding] * (2 * dims)
    padding = [int(item) for item in padding]
    if len(padding) == dims:
        return padding * 2
    if len(padding) == 2 * dims:
        return padding
    raise ValueError(f"Size of padding can only be {dims} or {2 * dims}")


_PADDED = ("conv", "max_pool", "avg_pool", "contrib_conv", "contrib_depthwise", "deformable", "bitserial_conv")
_SIZES = ("strides", "dilation", "kernel_size", "pool_size", "output_padding")
_ROI = {"image.resize1d": 2, "image.resize2d": 4, "image.resize3d": 6}
_KEYS = {
    "annotation.compiler_begin": "Compiler",
    "annotation.compiler_end": "Compiler",
    "cumsum": "Scanop",
    "cumprod": "Scanop",
    "dyn.expand_dims": "DynExpandDims",
    "dft": "DFT",
    "dyn.sparse_to_dense": "SparseToDense",
    "nn.dilate": "Dilate",
    "scatter_elements": "ScatterElements",
    "scatter_nd": "ScatterND",
    "stft": "Stft",
    "trilu": "Trilu",
    "unique": "Unique",
    "vision.all_class_non_max_suppression": "AllClassNonMaximumSuppression",
    "vision.get_valid_counts": "GetValidCounts",
    "vision.non_max_suppression": "NonMaximumSuppression",
    "vision.proposal": "Proposal",
    "vision.regular_non_max_suppression": "RegularNonMaximumSuppression",
    "vision.roi_align": "ROIAlign",
    "vision.roi_pool": "ROIPool",
}
"""Types of attributes of operators that the engine has no fields for."""
_FIELDS_OF_RESULT = {
    "nn.batch_norm": 3,
    "dft": 2,
    "unique": lambda given: 5 if given["return_counts"] else 4,
    "vision.regular_non_max_suppression": 4,
    "split": lambda given: given["indices_or_sections"] if isinstance(given["indices_or_sections"], int) else len(given["indices_or_sections"]) + 1,
    "topk": lambda given: 2 if given["ret_type"] == "both" else 0,
    "meshgrid": lambda given: len(as_expr(given["data"]).fields),
    "random.threefry_split": 2,
    "random.threefry_generate": 2,
    "random.uniform": 2,
    "random.normal": 2,
    "vision.get_valid_counts": 3,
    "vision.all_class_non_max_suppression": lambda given: 2 if given["output_format"] == "onnx" else 3,
    "vision.non_max_suppression": lambda given: 2 if given["return_indices"] else 0,
    "vision.multibox_transform_loc": 2,
    "sparse_fill_empty_rows": 3,
    "sparse_reshape": 2,
    "nn.sparse_transpose": 3,
    "nn.dropout_raw": 2,
}
_DYNAMIC = {
    "broadcast_to": ("shape",),
    "expand_dims": ("axis",),
    "full": ("shape",),
    "image.resize2d": ("size", "roi"),
    "nn.pad": ("pad_width",),
    "nn.upsampling": ("scale_h", "scale_w"),
    "nn.upsampling3d": ("scale_d", "scale_h", "scale_w"),
    "one_hot": ("depth",),
    "ones": ("shape",),
    "zeros": ("shape",),
    "reshape": ("newshape",),
    "sparse_to_dense": ("output_shape",),
    "squeeze": ("axis",),
    "tile": ("reps",),
    "topk": ("k",),
}
"""Parameters that are operands of a dynamic operator when they are expressions."""
_UNSET = {
    "image.resize2d": {"size": [], "roi": []},
    "nn.pad": {"pad_width": []},
    "nn.upsampling": {"scale_h": 0.0, "scale_w": 0.0},
    "nn.upsampling3d": {"scale_d": 0.0, "scale_h": 0.0, "scale_w": 0.0},
    "one_hot": {"depth": 0},
    "reshape": {"newshape": []},
    "sparse_to_dense": {"output_shape": []},
    "squeeze": {"axis": []},
    "tile": {"reps": []},
    "topk": {"k": None},
    **dict.fromkeys(("broadcast_to", "full", "ones", "zeros"), {"shape": None}),
}
"""Attributes of dynamic operators that are operands instead: they have what an object of C++ has to begin with."""


def _normal(name, attr, value):
    """The value of an attribute as TVM's own functions pass it on."""
    *path, short = name.split(".")
    if isinstance(value, Constant):
        array = value.data.numpy()
        value = array.tolist() if name != "broadcast_to" else [IntImm(str(array.dtype), int(item)) for item in array]
    dims = next((int(mark[0]) for mark in short.replace("NCHW", "").split("d") if mark[-1:].isdigit() for mark in [mark[-1]]), 0)
    if value is None:
        return None
    if isinstance(value, DataType) and value == "void":
        # The attributes of a call, given to the function that makes it: no type was said.
        return ""
    if attr == "padding" and dims and (short.startswith(_PADDED) or "conv" in short) and not short.endswith("grad"):
        if short != "conv1d_transpose":
            return _pads(dims, value)
    if attr in _SIZES and isinstance(value, int) and dims:
        return [value] * dims
    if name == "image.resize2d" and attr in ("size", "crop_size") and isinstance(value, int):
        return [value, value]
    kind = next((item["type"] for item in relay_operators()[OTHER_NAMES.get(name, name)]["attrs"] if item["name"] == attr), "")
    if kind == "list of int" and isinstance(value, int):
        return [value]
    if kind == "float" and isinstance(value, int):
        return float(value)
    return value


@functools.cache
def _signature(name):
    """Parameters of a function: their names, the names that they have in programs, defaults."""
    text = _rows().get(name)
    if text is None:
        info = relay_operators()[name]
        params = [(arg, arg, inspect.Parameter.empty) for arg in info["args"]]
        for attr in info["attrs"]:
            default = attr["default"]
            if default is None:
                value = None
            else:
                default = default[:-1] if default[:-1].replace(".", "").replace("e-", "").replace("-", "").isdigit() and default.endswith("f") else default
                value = {"None": None, "True": True, "False": False}.get(default, default)
                if isinstance(value, str):
                    try:
                        value = json.loads(default)
                    except ValueError:
                        value = default
            params.append((attr["name"], attr["name"], value))
        return params
    params = []
    for part in _split(text):
        param, _, default = part.partition("=")
        param, _, other = param.partition(":")
        value = eval(default, {}, {}) if default else inspect.Parameter.empty  # noqa: S307 - text of this package
        params.append((param, other or param, value))
    return params


def _split(text):
    """Parts between commas that are outside of parentheses."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*parts, text[start:].strip()] if part]


@functools.cache
def _rows():
    rows, name = {}, None
    for line in SIGNATURES.strip().split("\n"):
        if line.startswith(" "):
            rows[name] += line
        else:
            name, _, rest = line.partition(": ")
            rows[name] = rest
    return {name: " ".join(text.split()) for name, text in rows.items()}


def function(name):
    """The function that makes calls of an operator."""
    real = OTHER_NAMES.get(name, name)
    info = relay_operators()[real]
    short = name.rsplit(".", 1)[-1]
    dynamic = _DYNAMIC.get(name, ())

    def make(*args, **kwargs):
        params = _signature(name)
        names = [param for param, _, _ in params]
        lists = [param for param, other, _ in params if other in info["args"]]
        if len(args) > len(params):
            raise TypeError(f"{short}() takes {len(params)} positional arguments but {len(args)} were given")
        given = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"{short}() got an unexpected keyword argument '{key}'")
            if key in given:
                raise TypeError(f"{short}() got multiple values for argument '{key}'")
            given[key] = value
        for param, _, default in params:
            if param not in given:
                if default is inspect.Parameter.empty:
                    raise TypeError(f"{short}() missing 1 required positional argument: '{param}'")
                given[param] = default
        result = _made(real, name, params, info, given, dynamic, lists)
        size = _FIELDS_OF_RESULT.get(name, 0)
        size = size(given) if callable(size) else size
        return TupleWrapper(result, size) if size else result

    make.__name__ = make.__qualname__ = short
    make.__doc__ = info["doc"]
    return make


def _made(real, name, params, info, given, dynamic, lists):
    moving = [param for param in dynamic if isinstance(given[param], Expr) and not isinstance(given[param], Constant)]
    if moving:
        real = f"dyn.{name}"
        info = relay_operators()[real]
        operands = [given[param] for param in lists]
        for param in dynamic:
            value = given[param]
            operands.append(value if isinstance(value, Expr) else _dynamic_const(name, param, value))
        if name == "nn.pad":
            operands = [given["data"], given["pad_width"], _scalar(given["pad_value"])]
        elif name == "sparse_to_dense":
            operands = [given["sparse_indices"], given["sparse_values"], _scalar(given["default_value"]), given["output_shape"]]
        fields = {other: _normal(name, other, given[param]) for param, other, _ in params if param not in dynamic and param not in lists and given[param] is not None}
        fields |= _UNSET.get(name, {})
        return call(real, operands, fields)
    operands, fields = {}, {}
    for param, other, _ in params:
        value = given[param]
        if other in info["args"]:
            operands[other] = _scalar(value) if isinstance(value, (int, float)) else value
        elif value is not None:
            fields[other] = _normal(name, other, value)
        elif any(item["name"] == other and item["default"] is None for item in info["attrs"]):
            fields[other] = None
    if name in _ROI and fields.get("roi") is None:
        fields["roi"] = [0.0] * _ROI[name]
    args = [operands[arg] for arg in info["args"] if operands.get(arg) is not None]
    return call(real, args, fields)


def _dynamic_const(name, param, value):
    """An operand of a dynamic operator that was given as a number or list."""
    if param == "roi":
        return const([0.0] * _ROI[name] if value is None else list(value), "float32")
    dtype = "float64" if param.startswith("scale") else "int64" if param == "size" else "int32"
    return const(list(value) if isinstance(value, tuple) else value, dtype)


def _scalar(value):
    return value if isinstance(value, (Expr, TupleWrapper, list, tuple)) else const(value)


def dropout(data, rate=0.5):
    """Sets elements to zero at random, in training; passes its operand on in inference."""
    return TupleGetItem(call("nn.dropout", [data], {"rate": rate}), 0)


def variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    """The variance over axes."""
    fields = {"axis": _list(axis), "keepdims": keepdims, "exclude": exclude}
    mean = with_mean if with_mean is not None else call("mean", [data], fields | {"keepdims": True})
    return call("variance", [data, mean], fields | {"unbiased": unbiased})


def std(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """The standard deviation over axes."""
    return call("sqrt", [variance(data, axis, keepdims, exclude, unbiased)], {})


def mean_variance(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """The mean and the variance over axes."""
    fields = {"axis": _list(axis), "keepdims": True, "exclude": exclude}
    mean = call("mean", [data], fields)
    var = variance(data, axis, keepdims, exclude, unbiased, mean)
    if not keepdims:
        mean = call("squeeze", [mean], {"axis": _list(axis)})
    return TupleWrapper(TupleExpr((mean, var)), 2)


def mean_std(data, axis=None, keepdims=False, exclude=False):
    """The mean and the standard deviation over axes."""
    mean, var = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(TupleExpr((mean, call("sqrt", [var], {}))), 2)


def logsumexp(data, axis=None, keepdims=False):
    """The logarithm of the sum of exponentials, computed without overflow."""
    fields = {"axis": _list(axis), "keepdims": True, "exclude": False}
    largest = call("max", [data], fields)
    total = call("sum", [call("exp", [call("subtract", [data, largest], {})], {})], fields)
    result = call("add", [call("log", [total], {}), largest], {})
    return result if keepdims else call("squeeze", [result], {"axis": _list(axis)})


def _list(axis):
    return [axis] if isinstance(axis, int) else axis


def arange(start, stop=None, step=None, dtype="float32"):
    """Numbers from one on to before another in equal steps."""
    if stop is None:
        start, stop = const(0, dtype), start
    step = const(1, dtype) if step is None else step
    parts = [part if isinstance(part, Expr) else const(part, dtype) for part in (start, stop, step)]
    return call("arange", parts, dict(zip(("start", "stop", "step"), parts)) | {"dtype": dtype})


_NO_BOUNDS = {"begin": None, "end": None, "strides": None, "axes": None}


def strided_slice(data, begin, end, strides=None, axes=None, slice_mode="end"):
    """The part of a tensor from `begin` to `end` in steps."""
    values = [value.data.numpy().tolist() if isinstance(value, Constant) else value for value in (begin, end, strides or [1])]
    if not any(isinstance(value, Expr) for value in values):
        begin, end, strides = ([value] if isinstance(value, int) else value for value in values)
        fields = {"begin": begin, "end": end, "strides": strides, "slice_mode": slice_mode, "axes": axes}
        return call("strided_slice", [data], fields)
    if axes is not None:
        raise ValueError("Axes argument for dynamic parameter slicing is not supported yet.")
    begin, end, strides = (value if isinstance(value, Expr) else const(list(value)) for value in values)
    whole = call("cast_like", [call("shape_of", [data], {"dtype": "int32"}), begin], {})
    extents = call("slice_like", [whole, begin], {"axes": None})
    low = call("less", [begin, call("cast_like", [const(0), begin], {})], {})
    begin = call("where", [low, call("add", [begin, extents], {}), begin], {})
    begin = call("where", [call("greater_equal", [begin, extents], {}), extents, begin], {})
    return call("dyn.strided_slice", [data, begin, end, strides], _NO_BOUNDS | {"slice_mode": slice_mode})


def matmul(tensor_a, tensor_b, units=None, out_dtype="", transpose_a=False, transpose_b=False):
    """The product of two matrices; with only the second transposed it is `nn.dense`."""
    fields = {"out_dtype": out_dtype} | ({} if units is None else {"units": units})
    if not transpose_a and transpose_b:
        return call("nn.dense", [tensor_a, tensor_b], fields)
    return call("nn.matmul", [tensor_a, tensor_b], {"units": None} | fields | {"transpose_a": transpose_a, "transpose_b": transpose_b})


def matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT"):
    """A tensor with other diagonals."""
    first, last = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    upper, lower = align.split("_")
    fields = {"k1": first, "k2": last, "super_diag_right_align": upper == "RIGHT", "sub_diag_right_align": lower == "RIGHT"}
    return call("matrix_set_diag", [data, diagonal], fields)


def _sparse(name):
    def make(dense_mat, sparse_mat, **fields):
        parts = (sparse_mat.data, sparse_mat.indices, sparse_mat.indptr) if hasattr(sparse_mat, "indptr") else sparse_mat
        parts = [part if isinstance(part, Expr) else Constant(part) for part in parts]
        return call(name, [dense_mat, *parts], fields)

    make.__doc__ = relay_operators()[name]["doc"]
    return make


def sparse_transpose(x):
    """A sparse square matrix, transposed."""
    return TupleWrapper(call("nn.sparse_transpose", list(x), {}), 3)


def _global_pool(name, dims, layout):
    def make(data, layout=layout, out_layout=""):
        fields = {"output_size": [1] * dims, "layout": layout, "out_layout": out_layout}
        return call(f"nn.adaptive_{name}_pool{dims}d", [data], fields)

    make.__doc__ = f"Pooling over all {dims} axes of space."
    return make


BY_HAND = {
    "nn.dropout": dropout,
    "variance": variance,
    "std": std,
    "mean_variance": mean_variance,
    "mean_std": mean_std,
    "logsumexp": logsumexp,
    "arange": arange,
    "strided_slice": strided_slice,
    "nn.matmul": matmul,
    "matrix_set_diag": matrix_set_diag,
    "nn.sparse_dense": _sparse("nn.sparse_dense"),
    "nn.sparse_add": _sparse("nn.sparse_add"),
    "nn.sparse_transpose": sparse_transpose,
    "nn.global_avg_pool1d": _global_pool("avg", 1, "NCW"),
    "nn.global_avg_pool3d": _global_pool("avg", 3, "NCDHW"),
    "nn.global_max_pool1d": _global_pool("max", 1, "NCW"),
    "nn.global_max_pool3d": _global_pool("max", 3, "NCDHW"),
    "debug": lambda expr, debug_func=None: call("debug", [expr], {}),
}


def __getattr__(name):
    """TVM's functions of C++ have the names of those that users call."""
    from .. import op

    if name.startswith("__") or not hasattr(op, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(op, name)
