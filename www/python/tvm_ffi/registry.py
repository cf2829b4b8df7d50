"""Functions and classes by name."""

from tvm.runtime.registry import (  # noqa: F401
    get_global_func,
    list_global_func_names,
    register_global_func,
    register_object,
    remove_global_func,
)
