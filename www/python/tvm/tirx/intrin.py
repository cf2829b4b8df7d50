"""Calls of intrinsics, and reductions."""

import inspect

from .._values import Array, DataType
from ..error import InternalError
from ..ir.expr import Var
from ..ir.type import PointerType, PrimType
from .expr import BufferLoad, CommReducer, FloatImm, IntImm, IterVar, PrimCall, Reduce, StringImm, _scalar, intrinsic_op


def _call(name, args, dtype="handle"):
    if not isinstance(dtype, (PrimType, PointerType)) and dtype != "handle":
        dtype = PrimType(dtype)
    return PrimCall(intrinsic_op(name), [_scalar(_reference(arg)) for arg in args], dtype)


def _reference(arg):
    """A buffer as an operand; anything else is itself."""
    from .buffer import is_buffer_var
    from .expr import BufferRef

    return BufferRef(arg) if is_buffer_var(arg) else arg


_RESULTS = {
    "handle": (
        "tvm_tuple tvm_thread_allreduce tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync "
        "tvm_fill_fragment tvm_throw_last_error TVMBackendAllocWorkspace tvm_stack_make_shape tvm_stack_make_array "
        "start_profile_intrinsic end_profile_intrinsic tvm_warp_shuffle_placeholder"
    ),
    "int32": (
        "tvm_struct_set TVMBackendFreeWorkspace dp4a q_multiply_shift q_multiply_shift_per_axis tvm_storage_sync "
        "tvm_global_barrier_kinit tvm_thread_invariant break_loop continue_loop"
    ),
    "bool": "isnullptr assume",
    "float32": "",
}
"""Intrinsics that give the same type whatever they are about."""


def _named(name, dtype):
    def intrinsic(*args, span=None, **named):
        return _call(name, [*args, *named.values()], dtype)

    intrinsic.__name__ = name
    intrinsic.__doc__ = f"A call of `{name}`."
    return intrinsic


for _dtype, _names in _RESULTS.items():
    for _name in _names.split():
        globals()[_name] = _named(_name, _dtype)
tvm_throw_last_error = _named("tvm_throw_last_error", "handle")


def vscale():
    """The factor of the length of scalable vectors."""
    return _call("vscale", [], "int32")


def get_vscale_expr(dtype, min_size=128):
    """The lanes of a scalable vector of so many bits."""
    return vscale() * (min_size // DataType(dtype).bits)


def get_active_lane_mask(dtype, base, limit):
    """A mask of the lanes below a limit."""
    return _call("get_active_lane_mask", [base, limit], dtype)


def type_annotation(dtype):
    """An element type as an operand."""
    dtype = getattr(dtype, "dtype", dtype)
    return _call("type_annotation", [], dtype)


def tvm_struct_get(arr, index, field, dtype):
    """A field of an argument."""
    return _call("tvm_struct_get", [arr, index, field], dtype)


def tvm_stack_alloca(dtype_str, num):
    """Memory on the stack."""
    return _call("tvm_stack_alloca", [dtype_str, num])


def lookup_param(param_name, span=None):
    """A parameter by name."""
    return _call("lookup_param", [StringImm(param_name)])


def undef():
    """A value that nothing is known of."""
    return _call("undef", [], "int32")


def address_of(obj, span=None):
    """The address of an element, of a buffer, or of a variable."""
    from .buffer import buffer_data_pointer_type, is_buffer_var

    if is_buffer_var(obj):
        return _call("address_of", [obj], buffer_data_pointer_type(obj))
    if isinstance(obj, BufferLoad):
        return _call("address_of", [obj], buffer_data_pointer_type(obj.buffer))
    if isinstance(obj, Var):
        return _call("address_of", [obj], PointerType(PrimType(obj.dtype)))
    raise ValueError(f"Invalid object type: {type(obj)}")


def tvm_access_ptr(ptype, data, offset, extent, rw_mask):
    """A pointer to some elements."""
    element = getattr(ptype, "dtype", ptype)
    if not isinstance(ptype, (str, PrimType)):
        element = ptype.dtype
        args = [ptype]
    else:
        args = [type_annotation(element)]
    scope = getattr(data.ty, "storage_scope", "")
    return _call("tvm_access_ptr", [*args, data, offset, extent, rw_mask], PointerType(PrimType(element), scope))


def ptr_byte_offset(data, byte_offset, dtype):
    """A pointer so many bytes further."""
    pointer = PointerType(PrimType(getattr(dtype, "dtype", dtype)), getattr(data.ty, "storage_scope", ""))
    return _call("ptr_byte_offset", [data, byte_offset, type_annotation(dtype)], pointer)


def trace(args, trace_action="tvm.default_trace_action"):
    """A value that a function of Python is told of."""
    if not isinstance(args, (list, tuple)):
        raise Exception("tvm.tirx.trace consumes the args as list type")
    args = [_scalar(arg) for arg in args]
    return _call("tvm_call_trace_packed", [trace_action, *args], args[-1].ty)


def vectorlow(dtype, vec):
    """The lower half of a vector."""
    return _call("vectorlow", [vec], dtype)


def vectorhigh(dtype, vec):
    """The upper half of a vector."""
    return _call("vectorhigh", [vec], dtype)


def vectorcombine(dtype, vec1, vec2):
    """Two vectors as one."""
    return _call("vectorcombine", [vec1, vec2], dtype)


def reinterpret(dtype, value, span=None):
    """The same bits as another type."""
    value = _scalar(value)
    if dtype == "handle":
        if value.dtype.bits != 64 or value.dtype.type_code not in (0, 1) or value.dtype.lanes != 1:
            raise TypeError(
                "Check failed: (source_dtype.value().IsScalar() && source_dtype.value().bits() == 64 && "
                "source_dtype.value().MatchesCode(DLDataTypeCode::kDLInt, DLDataTypeCode::kDLUInt)) is false: Pointer reinterpret "
                "requires a scalar 64-bit integer source"
            )
        dtype = PointerType(PrimType("void"))
    elif isinstance(value.ty, PrimType):
        to = DataType(getattr(dtype, "dtype", dtype))
        if to == value.dtype:
            return value
        _check_bits(value, to)
    return _call("reinterpret", [value], dtype)


def _check_bits(value, dtype):
    """Refuses to take bits for another number of bits."""
    counts = [item.bits * abs(item.lanes) for item in (value.dtype, dtype)]
    counts = [8 if item.type_code == 6 else count for item, count in zip((value.dtype, dtype), counts)]
    if counts[0] != counts[1] and value.dtype.bits >= 8 and dtype.bits >= 8:
        raise InternalError(
            "Check failed: (value_bits == target_bits || ((value_dtype.MatchesCode(DLDataTypeCode::kDLFloat4_e2m1fn) || "
            "target_dtype.MatchesCode(DLDataTypeCode::kDLFloat4_e2m1fn)) && value_dtype.StorageBytes() == "
            f"target_dtype.StorageBytes())) is false: Reinterpret requires size match T.{dtype} vs T.{value.dtype}"
        )


def _finite(x):
    x = _scalar(x)
    if x.dtype.type_code == 6:
        raise InternalError(f"Data type T.{x.dtype} not supported for finiteness ops. Skipping it...")
    return x


def isfinite(x, span=None):
    """True if a scalar is no infinity and a number."""
    from .op import _is_float, isnan, logical_and, logical_not

    x = _finite(x)
    if not _is_float(x.dtype):
        return IntImm("bool", 1)
    return logical_and(logical_not(isinf(x)), logical_not(isnan(x)))


def isinf(x, span=None):
    """True if a scalar is an infinity."""
    from .op import _equal, _is_float, abs, isnan, logical_and, logical_not

    x = _finite(x)
    if not _is_float(x.dtype):
        return IntImm("bool", 0)
    return logical_and(_equal(abs(x), FloatImm(x.dtype, float("inf"))), logical_not(isnan(x)))


def popcount(x):
    """The number of bits that are 1."""
    x = _scalar(x)
    return _call("popcount", [x], x.dtype)


def clz(x):
    """The number of bits before the first that is 1."""
    return _call("clz", [x], "int32")


def logaddexp(a, b, span=None):
    """The logarithm of the sum of two powers of e."""
    from .op import _match

    a, b = _match(a, b)
    return _call("logaddexp", [a, b], a.dtype)


def ignore_loop_partition(predicate):
    """A condition after which loops are not divided."""
    predicate = _scalar(predicate)
    return _call("ignore_loop_partition", [predicate], predicate.dtype)


_BY_NAME = {
    "handle_add_byte_offset": ("handle", "handle offset"),
    "anylist_getitem": ("handle", "list_handle index"),
    "anylist_resetitem": ("int32", "list_handle index"),
    "anylist_setitem_call_packed": ("int32", "list_handle index func_name *args"),
    "anylist_setitem_call_cpacked": ("int32", "list_handle index func_name *args"),
    "thread_return": ("void", ""),
    "tvm_kernel_replace_point": ("void", ""),
    "tvm_warp_activemask": ("uint32", ""),
    "tvm_warp_shuffle": (1, "mask value warp_id width warp_size"),
    "tvm_warp_shuffle_down": (1, "mask value offset width warp_size"),
    "tvm_warp_shuffle_up": (1, "mask value offset width warp_size"),
    "tvm_warp_shuffle_xor": (1, "mask value lane_mask width warp_size"),
    "fma": (0, "x y z"),
    "masked_store": ("void", "buffer value *indices_and_mask"),
}
"""Intrinsics with the type of their result, or the place of the operand that has it, and their parameters."""


def _by_name(name, result, params):
    kinds = inspect.Parameter
    signature = inspect.Signature(kinds(param.lstrip("*"), kinds.VAR_POSITIONAL if param[0] == "*" else kinds.POSITIONAL_OR_KEYWORD) for param in params.split())

    def intrinsic(*args, **named):
        args = [_scalar(_reference(arg)) for arg in signature.bind(*args, **named).args]
        return _call(name, args, args[result].ty if isinstance(result, int) else result)

    intrinsic.__name__ = name
    intrinsic.__doc__ = f"A call of `{name}`."
    intrinsic.__signature__ = signature
    return intrinsic


for _name, (_dtype, _names) in _BY_NAME.items():
    globals()[_name] = _by_name(_name, _dtype, _names)


def masked_load(dtype, buffer, *indices_and_mask):
    """The lanes of a vector that a mask, which stands behind the indices, is true for."""
    return _call("masked_load", [buffer, *indices_and_mask], dtype)


def print_buffer(buffer_var, dtype, is_string, is_scalar, dim_num, *shape):
    """Prints the elements of a buffer."""
    from .op import const

    extents = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else list(shape)
    flags = [const(bool(flag), "bool") for flag in (is_string, is_scalar)]
    dtype = getattr(dtype, "dtype", dtype)
    return _call("print_buffer", [buffer_var, StringImm(dtype), *flags, const(dim_num, "uint32"), *extents], dtype)


def packed_operands(args):
    """Operands of a function that is registered by name: of a buffer, an array on the stack."""
    from .buffer import is_buffer_var
    from .op import const

    def packed(buffer):
        pointer = PointerType(PrimType("int64"))
        shape = _call("tvm_stack_make_shape", buffer.shape, pointer)
        strides = _call("tvm_stack_make_shape", buffer.strides, pointer) if buffer.strides else 0
        zero = const(0, buffer.dtype)
        return _call("tvm_stack_make_array", [buffer.data, shape, strides, len(buffer.shape), zero, buffer.elem_offset])

    return [packed(arg) if is_buffer_var(arg) else arg for arg in args]


def call_cpacked(*args, span=None):
    """A call of a function in C's convention that is registered by name."""
    return _call("tvm_call_cpacked", packed_operands(args), "int32")


def call_packed_lowered(*args, span=None):
    """A call of a function that is registered by name, over a stack of arguments."""
    return _call("tvm_call_packed_lowered", packed_operands(args), "int32")


def call_cpacked_lowered(*args, span=None):
    """A call in C's convention, over a stack of arguments."""
    return _call("tvm_call_cpacked_lowered", packed_operands(args), "int32")


def call_llvm_intrin(dtype, name, *args, span=None):
    """A call of an intrinsic of LLVM, which is not here."""
    raise ValueError(f"Unknown llvm intrinsic function {name}")


call_llvm_pure_intrin = call_llvm_intrin


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A function that reduces over axes, or several scalars, by a function of two operands and its neutral element."""

    def directly(*args):
        made = args[0]
        for arg in args[1:]:
            made = fcombine(made, arg)
        return made

    def over_axes(expr, axis, where, init):
        left, right = list(inspect.signature(fcombine).parameters)[:2]
        several = isinstance(expr, (list, tuple))
        values = [_scalar(getattr(item, "asobject", lambda item=item: item)()) for item in (expr if several else [expr])]
        dtypes = [value.dtype for value in values]
        names = [f"_{at}" if several else "" for at in range(len(values))]
        lhs, rhs = ([Var(side + end, of) for end, of in zip(names, dtypes)] for side in (left, right))
        if several:
            result, neutral = fcombine(lhs, rhs), fidentity(*dtypes)
        else:
            result, neutral = [fcombine(lhs[0], rhs[0])], [fidentity(dtypes[0])]
        combiner = CommReducer(lhs, rhs, [_scalar(item) for item in result], [_scalar(item) for item in neutral])
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        cond = IntImm("bool", 1) if where is None else _scalar(where)
        starts = [] if init is None else [_scalar(item) for item in (init if several else [init])]
        made = tuple(Reduce(combiner, values, axes, cond, at, starts) for at in range(len(values)))
        return made[0] if len(made) == 1 else made

    def reducer(expr, axis, where=None, init=None, *args):
        if isinstance(axis, (IterVar, list, tuple)):
            if args:
                raise AssertionError("a reduction over axes takes no more operands")
            return over_axes(expr, axis, where, init)
        if where is None:
            if init is not None or args:
                raise AssertionError("an operand is missing")
            return directly(expr, axis)
        return directly(expr, axis, where, *([] if init is None else [init]), *args)

    reducer.__name__ = name
    reducer.__doc__ = f"The {name} over axes, or of several scalars."
    return reducer


_ = (Array, InternalError)
