"""Operators of Relax. Each is a function made from the engine's list; arguments and defaults are completed by the engine's
parser, so that a call here is what the same call in a program is."""

import re
import sys
import types

from ... import _engine
from ..._catalogue import relax_operators
from ..._node import EXPR, TYPE, Object, get
from ...error import InternalError
from ...ir.expr import Call, Expr, StringImm, Tuple, is_prim_expr
from ...ir.op import Op
from ...ir.type import PrimType, Type
from ...runtime.device import Device


def value_of(text, given):
    """The expression or type that a piece of a program is, among values of names."""
    from ...script.parser import _Names

    words, texts = _Names(given).words()
    _engine.dialect(True)
    kind, result = _engine.call("table_value", f"_ = {text}", words, texts)
    if kind == 2:
        message = next((item[1] for item in result if item[0] == "error"), "this cannot be read")
        raise _engine.EngineError(message)
    return get(TYPE if kind else EXPR, result)


class _Sequence(list):
    """Values that stand for a tuple."""


def _operand(value):
    if hasattr(value, "asobject"):
        return value.asobject()
    if isinstance(value, Device):
        return [value.device_type, value.index]
    if isinstance(value, (list, tuple)):
        return [_operand(item) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    if hasattr(value, "_bytes") or type(value).__name__ in ("ndarray", "Tensor"):
        from ..expr import const

        return const(value)
    return value


_STANDS_IN = object()
_INF = float("inf")


def call(name, args, kwargs):
    """A call of an operator with the arguments of its function in Python."""
    from ...tirx.expr import FloatImm, IntImm
    from ...tirx.function import IndexMap

    given, parts = {}, []
    attrs = {attr["name"] for attr in relax_operators().get(name, ((), (), False, ()))[3]}

    def word(name, value):
        """An argument as it stands in the text: a map of indices and a number with its type as they are written, anything else as a name."""
        if isinstance(value, types.FunctionType):
            value = IndexMap.from_func(value)
        if isinstance(value, IndexMap):
            return str(value)
        if isinstance(value, (FloatImm, IntImm)) and value.dtype not in ("bool", "int64", "float64") and name.removeprefix("k_") not in attrs:
            number = value.value
            return f'T.{value.dtype}("{number}")' if number in (_INF, -_INF) or number != number else f"T.{value.dtype}({number})"
        given[name] = _operand(value)
        return name

    args, kwargs = _checked(name, args, kwargs)
    for index, value in enumerate(args):
        parts.append(word(f"a{index}", value))
    for key, value in kwargs.items():
        if key != "span":
            parts.append(f"{key}={word(f'k_{key}', value)}")
    try:
        made = value_of(f"R.{name}({', '.join(parts)})", given)
    except _engine.EngineError as exc:
        raise _error_of(name, exc.message) from None
    window = _WINDOW.fullmatch(name)
    if window and getattr(made, "attrs", None) is not None:
        _check_window(made.attrs, int(window[1]))
    return made


def _error_of(name, message):
    """The error that TVM raises where a call cannot be made: most often an argument is of another kind."""
    if "copies an extent" in message:
        return IndexError(message)
    return InternalError(message) if name == "reshape" and "Reshape" in message else TypeError(message)


_MAKES_ELEMENTS = ("ones", "zeros", "hamming_window")
"""Operators of which only the element type says what they make."""


def _checked(name, args, kwargs):
    """The arguments of an operator, after a look at shapes and element types."""
    operands, order, _, attrs = relax_operators().get(name, ((), (), False, ()))
    kinds = {operand: kind for operand, kind, _ in operands} | {attr["name"]: attr["type"] for attr in attrs}
    names = list(order or kinds)
    given = dict(zip(names, args)) | kwargs
    for attr in attrs:
        _check_attr(name, attr, given)
    if name in _MAKES_ELEMENTS and given.get("dtype") is None:
        raise TypeError(f"{name}() needs a dtype")
    if name in ("full", "full_like") and isinstance(given.get("fill_value"), float):
        from ...tirx.expr import FloatImm

        value = FloatImm("float32", given["fill_value"])
        args, kwargs = [value if arg is given["fill_value"] else arg for arg in args], {key: value if key == "fill_value" else arg for key, arg in kwargs.items()}
    if name in ("invoke_closure", "invoke_pure_closure") and len(args) > 2:
        args, kwargs = args[:2], {"ty_args": args[2], **kwargs}
    shape = given.get("shape")
    if isinstance(shape, (int, float)) or is_prim_expr(shape):
        raise TypeError("shape must be a tuple/list or a Relax shape expression")
    if name == "reshape" and isinstance(shape, (list, tuple)) and any(isinstance(item, int) and item < -1 for item in shape):
        raise InternalError("Reshape requires all values in the new shape to be positive except a single -1")

    def plain(key, value):
        return value.dtype if kinds.get(key) == "dtype" and isinstance(value, PrimType) else value

    named = [plain(key, value) for key, value in zip(names, args)]
    return [*named, *args[len(named) :]], {key: plain(key, value) for key, value in kwargs.items()}


def _check_attr(name, attr, given):
    """Raises where a number, a list or an element type was left out that has to be there, or is no number."""
    key, kind = attr["name"], attr["type"]
    if key not in given or kind not in ("int", "list of int", "dtype"):
        return
    value = given[key]
    missing = value is None and attr["default"] != "None" and name != "concat"
    parts = value if isinstance(value, (list, tuple)) else [value]
    symbolic = kind != "dtype" and any(isinstance(part, Expr) and not hasattr(part, "value") for part in parts)
    if missing or symbolic:
        raise TypeError(f"{name}: `{key}` takes {kind}, not {value}")


_WINDOW = re.compile(r"nn\.\w*(?:conv|pool)(\d)d\w*")
"""Operators that move a window along so many axes."""


def _check_window(attrs, ndim):
    """Raises unless the attributes of a convolution or a pooling have as many parts as it has axes."""
    if "groups" in attrs and int(attrs.groups) <= 0:
        raise InternalError(f"The number of groups in convolution is expected to be positive. However, the given number of groups is {attrs.groups}")
    for field in ("strides", "dilation", "pool_size", "output_padding", "output_size", "padding"):
        value = attrs.get(field)
        wanted = 2 * ndim if field == "padding" else ndim
        # One output size stands for all axes.
        fits = (1, ndim) if field == "output_size" else (wanted,)
        if isinstance(value, (list, tuple)) and len(value) not in fits:
            raise InternalError(f"The input {field} length is expected to be {wanted}. However, the given {field} is {list(value)}")


def _make(name):
    def function(*args, **kwargs):
        return call(name, args, kwargs)

    function.__name__ = name.rsplit(".", 1)[-1]
    function.__qualname__ = f"relax.op.{name}"
    return function


class _Namespace(types.ModuleType):
    """Operators whose names begin alike: `nn.relu`."""


def _namespace(prefix):
    full = f"{__name__}.{prefix}"
    found = sys.modules.get(full)
    if found is None:
        found = sys.modules[full] = _Namespace(full)
        parent = sys.modules[__name__]
        parts = prefix.split(".")
        for part in parts[:-1]:
            parent = getattr(parent, part)
        setattr(parent, parts[-1], found)
    return found


def _fill():
    here = sys.modules[__name__]
    for name in relax_operators():
        parts = name.split(".")
        for end in range(1, len(parts)):
            _namespace(".".join(parts[:end]))
        owner = _namespace(".".join(parts[:-1])) if len(parts) > 1 else here
        if not hasattr(owner, parts[-1]):
            setattr(owner, parts[-1], _make(name))
    aliases = {"nn.leaky_relu": "nn.leakyrelu"}
    # The parser writes these out with other operators.
    aliases.update((name, name) for name in ("linear", "masked_fill", "nn.relu6"))
    for name in relax_operators():
        head, _, tail = name.partition(".")
        if head == "vision":
            aliases[tail] = name
        if head == "dist":
            aliases[f"distributed.{tail}"] = name
    for alias, name in aliases.items():
        head, _, tail = alias.rpartition(".")
        owner = _namespace(head) if head else here
        if not hasattr(owner, tail):
            setattr(owner, tail, _make(name))


def _callee(func):
    from ..expr import ExternFunc

    return ExternFunc(func) if isinstance(func, str) else func


def _types(out_ty):
    if isinstance(out_ty, (list, tuple)):
        from ...ir.type import TupleType

        return out_ty[0] if len(out_ty) == 1 else TupleType(out_ty)
    return out_ty


def _tuple(args):
    from ...ir.type import TupleType

    if isinstance(args, Tuple) or (isinstance(args, Expr) and isinstance(args.ty, TupleType)):
        return args
    if isinstance(args, Expr):
        return Tuple([args])
    return Tuple(list(args))


def call_tir(gvar, args, out_ty=None, tir_vars=None, *, out_sinfo=None, dtype=None):
    """A call of a tensor program, which writes its results. With `dtype` the result is given by its shape, as in 2022."""
    from ..expr import ShapeExpr

    if dtype is not None:
        from ...ir.type import TensorType

        out_ty = TensorType(out_ty, dtype)

    out = _types(out_sinfo if out_ty is None else out_ty)
    operands = [gvar, _tuple(args)]
    if tir_vars is not None:
        if isinstance(tir_vars, ShapeExpr):
            operands.append(tir_vars)
        else:
            operands[1] = Tuple([*operands[1].fields, *tir_vars])
    made = Call(Op.get("relax.call_tir"), operands, None, [out])
    made.ty = out
    return made


def call_tir_inplace(gvar, args, inplace_indices, out_ty=None, tir_vars=None, *, out_sinfo=None):
    """A call of a tensor program that writes some results over its arguments."""
    from ..._values import Attrs

    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    made = call_tir(gvar, args, out_ty, tir_vars, out_sinfo=out_sinfo)
    attrs = Attrs("relax.attrs.CallTIRInplaceAttrs", {"inplace_indices": indices})
    new = Call(Op.get("relax.call_tir_inplace"), made.args, attrs, made.ty_args)
    new.ty = made.ty
    return new


def call_tir_with_grad(gvar, args, out_ty=None, te_grad_name="", te_grad_kwargs=None, tir_vars=None, *, out_sinfo=None):
    """A call of a tensor program that says what its gradient is."""
    from ..._values import Attrs

    made = call_tir(gvar, args, out_ty, tir_vars, out_sinfo=out_sinfo)
    fields = {"te_grad_name": te_grad_name, "te_grad_kwargs": te_grad_kwargs or {}}
    attrs = Attrs("relax.attrs.CallTIRWithGradAttrs", fields)
    new = Call(Op.get("relax.call_tir_with_grad"), made.args, attrs, made.ty_args)
    new.ty = made.ty
    return new


def call_dps_packed(func, args, out_ty=None, *, out_sinfo=None):
    """A call of a function that is linked in and writes its results."""
    out = _types(out_sinfo if out_ty is None else out_ty)
    made = Call(Op.get("relax.call_dps_packed"), [_callee(func), _tuple(args)], None, [out])
    made.ty = out
    return made


def call_pure_packed(func, *args, ty_args=None, sinfo_args=None):
    """A call of a function that is linked in and has no side effects."""
    types_ = sinfo_args if ty_args is None else ty_args
    types_ = [] if types_ is None else list(types_) if isinstance(types_, (list, tuple)) else [types_]
    return Call(Op.get("relax.call_pure_packed"), [_callee(func), *args], None, types_)


def call_inplace_packed(func, *args, inplace_indices, ty_args=None, sinfo_args=None):
    """A call of a function that is linked in and writes over its arguments."""
    from ..._values import Attrs

    types_ = sinfo_args if ty_args is None else ty_args
    types_ = [] if types_ is None else list(types_) if isinstance(types_, (list, tuple)) else [types_]
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    attrs = Attrs("relax.attrs.CallInplacePackedAttrs", {"inplace_indices": indices})
    return Call(Op.get("relax.call_inplace_packed"), [_callee(func), *args], attrs, types_)


def call_builtin_with_ctx(func, args, *, ty_args=None, sinfo_args=None):
    """A call of a function of the virtual machine."""
    types_ = sinfo_args if ty_args is None else ty_args
    types_ = [] if types_ is None else list(types_) if isinstance(types_, (list, tuple)) else [types_]
    return Call(Op.get("relax.call_builtin_with_ctx"), [_callee(func), _tuple(args)], None, types_)


def print(*values, format=""):  # noqa: A001
    """Prints when the program runs."""
    return Call(Op.get("relax.print"), [StringImm(format), *values])


def assert_op(condition, format_args=None, format=""):  # noqa: A002
    """Checks a condition when the program runs."""
    args = [] if format_args is None else format_args if isinstance(format_args, (list, tuple)) else [format_args]
    if isinstance(condition, bool):
        from ..expr import prim_value

        condition = prim_value(condition)
    return Call(Op.get("relax.assert_op"), [condition, StringImm(format), *args])


def _shape_attr(value):
    return value


def null_value():
    """A value that is none."""
    return Call(Op.get("relax.null_value"), [])


def register_gradient(op_name, fgradient=None, level=10):
    """Registers the gradient of an operator."""
    from ...ir.op import register_op_attr

    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


_fill()


def _attention(query, key, value, bias=None, scale=None, causal_mask=None, window_size=None):
    """Attention; with a bias it is another operator."""
    name, tensors = ("nn.attention", ()) if bias is None else ("nn.attention_bias", (bias,))
    return call(name, (query, key, value, *tensors), {"scale": scale, "causal_mask": causal_mask, "window_size": window_size})


sys.modules[f"{__name__}.nn"].attention = _attention


def to_vdevice(data, dst_vdevice):
    """The tensor on another device."""
    from ..._values import Attrs
    from ..global_info import VDevice

    if isinstance(dst_vdevice, str):
        dst_vdevice = VDevice.of_text(dst_vdevice)
    return Call(
        Op.get("relax.to_vdevice"),
        [data],
        Attrs("relax.attrs.ToVDeviceAttrs", {"dst_vdevice": dst_vdevice}),
    )


base = sys.modules[__name__]
from . import op_attrs  # noqa: E402

_ = (Object, Type, is_prim_expr)
