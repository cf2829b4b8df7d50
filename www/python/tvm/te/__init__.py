"""Tensor expressions: tensors given by expressions over their indices."""

from .._absent import SCHEDULES, other_version
from ..tirx.op import (  # noqa: F401
    abs, acos, acosh, all, any, asin, asinh, atan, atanh, ceil, comm_reducer, cos, cosh, div, erf, exp, floor, floordiv, floormod,
    fmod, if_then_else, indexdiv, indexmod, isfinite, isinf, isnan, log, log2, log10, logaddexp, max, max_value, min, min_value,
    nearbyint, popcount, power, round, rsqrt, sigmoid, sin, sinh, sqrt, sum, tan, tanh, trunc, truncdiv, truncmod,
)  # fmt: skip
from ..tirx.expr import CommReducer, Reduce
from ..tirx.op import trace  # noqa: F401
from . import operation, tag, tensor
from .tag import tag_scope
from .operation import (
    compute,
    const,
    create_prim_func,
    extern,
    extern_primfunc,
    placeholder,
    reduce_axis,
    scan,
    size_var,
    thread_axis,
    var,
)
from .tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor, TensorSlice

__getattr__ = other_version("tvm.te", dict.fromkeys("create_schedule decl_tensor_intrin gradient Schedule schedule SpecializedCondition".split(), SCHEDULES))
