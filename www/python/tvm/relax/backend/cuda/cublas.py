"""The products of matrices that cuBLAS takes over. The library is not here: what it takes over is shown, and not run."""

import math

from ....sym import Analyzer
from ...transform import FuseOpsByPattern
from ..pattern_registry import get_patterns_with_prefix, register_patterns
from ..patterns import make_matmul_dequantize_pattern, make_matmul_multiply_pattern, make_matmul_pattern
from ..utils import has_leaking_intermediate_variables


def _whole(extent, multiple=1):
    """True if an extent is a number, and a multiple of another one."""
    value = getattr(extent, "value", extent)
    return isinstance(value, int) and value % multiple == 0


def _fits_bytes(context, lhs_shape, rhs_shape):
    return _whole(lhs_shape[-1], 4) and _whole(rhs_shape[-1], 4) and "bias" not in context.annotated_expr


def _fits_small_floats(context, rhs_shape, out):
    transposed = context.annotated_expr["root"].args[1] in context.matched_bindings
    return transposed and _whole(rhs_shape[-1], 16) and _whole(rhs_shape[-2], 16 // out.itemsize)


def _check(context):
    parts = context.annotated_expr
    if has_leaking_intermediate_variables(context):
        return False
    if "zp" in parts and (parts["scale"].ty.ndim or parts["zp"].ty.ndim or parts["zp"].data.numpy().item() != 0):
        return False
    lhs, rhs, out = (parts[name].ty.dtype.dtype for name in ("lhs", "rhs", "root"))
    small = lhs == "float8_e4m3fn"
    if lhs != rhs or lhs not in ("float16", "float32", "int8", "bfloat16", "float8_e4m3fn") or small and out == "float8_e5m2":
        return False
    lhs_shape, rhs_shape = (parts[name].ty.shape.values for name in ("lhs", "rhs"))
    if not _whole(lhs_shape[-1]):
        return False
    if lhs == "int8" and not _fits_bytes(context, lhs_shape, rhs_shape) or small and not _fits_small_floats(context, rhs_shape, out):
        return False
    batches, rhs_batches = (math.prod(shape[:-2]) for shape in (lhs_shape, rhs_shape))
    if "bias" in parts:
        count = math.prod(parts["bias"].ty.shape.values[:-1])
        if not _whole(count) or int(count) > 1:
            return False
    if any(hasattr(count, "name") for count in (batches, rhs_batches)):
        return True
    analyzer = Analyzer()
    return analyzer.can_prove_equal(batches, rhs_batches) or analyzer.can_prove(batches >= 1) and analyzer.can_prove(rhs_batches == 1)


def _patterns():
    for transposed in (False, True):
        head = "cublas.matmul_transposed" if transposed else "cublas.matmul"
        yield head, *make_matmul_pattern(transposed_rhs=transposed), _check
        for tail, activation in (("", None), ("_relu", "relax.nn.relu"), ("_gelu", "relax.nn.gelu")):
            yield f"{head}_bias{tail}", *make_matmul_pattern(True, activation, transposed), _check
    yield "cublas.matmul_transposed_dequantize", *make_matmul_dequantize_pattern(True), _check
    yield "cublas.matmul_transposed_multiply", *make_matmul_multiply_pattern(True), _check


register_patterns(_patterns())


def partition_for_cublas(mod, bind_constants=False):
    """The module with functions for what cuBLAS takes over."""
    return FuseOpsByPattern(get_patterns_with_prefix("cublas"), bind_constants=bind_constants, annotate_codegen=True)(mod)
