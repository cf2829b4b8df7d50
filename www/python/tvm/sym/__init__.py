"""Arithmetic of scalars: bounds, simplification, proofs and patterns. The engine does it."""

from .int_set import (
    IntervalSet,
    IntSet,
    PresburgerSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .analyzer import (
    Analyzer,
    CompareResult,
    ConstIntBound,
    Extension,
    ModularSet,
    ProofStrength,
    Z3ContextScope,
    allow_uint_as_index,
)
from .bound import deduce_bound
from .pattern import detect_clip_bound, detect_linear_equation
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
