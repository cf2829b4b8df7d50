"""The operators that compute on shorter types: the engine's pass has TVM's lists, and what is registered here is kept beside them."""

from ..op import register_mixed_precision_conversion

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = 0, 1, 2


def register_func_to_op_list(list_ops):
    """A decorator that registers a function for several operators."""

    def decorator(func):
        for name in list_ops:
            register_mixed_precision_conversion(name, func)

    return decorator


def get_generic_out_dtypes(call_node, mixed_precision_type):
    """The type to accumulate in and the type of the result."""
    return [mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node, mixed_precision_type):
    """An operator that is always computed on the shorter type."""
    return [MIXED_PRECISION_ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node, mixed_precision_type):
    """An operator that is computed on the shorter type where its operands are of it."""
    return [MIXED_PRECISION_FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node, mixed_precision_type):
    """An operator that is never computed on the shorter type."""
    return [MIXED_PRECISION_NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]
