//! Algorithms on TIR: building scalar expressions as TVM's operators do it, and what is known of them.

pub mod arith;
mod build;
mod copy;
pub mod effect;
mod poly;
mod reshape;
mod rewrite;
mod simplify;
mod subst;

pub(crate) use build::match_types;
pub use build::{Folded, binary, cast, constant, fold, negate};
pub use copy::Copier;
pub use poly::{Range, is_negative};
pub use reshape::{has_reshape_pattern, same_size};
pub use rewrite::{Nothing, Rewriting, StmtMutator, copy_stmt, over_body, rebuild_func, rewrite_func, substitute_stmt};
pub use simplify::{Facts, bounds, can_prove_equal, simplify};
pub use subst::substitute;

/// Intrinsics whose first argument says the type of the result.
pub(crate) const TYPE_FIRST: &[&str] = &[
    "reinterpret",
    "call_extern",
    "call_pure_extern",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "vectorlow",
    "vectorhigh",
    "vectorcombine",
    "get_active_lane_mask",
    "dp4a",
];

/// Intrinsics whose last argument says the type of the result.
pub(crate) const TYPE_LAST: &[&str] = &["tvm_struct_get"];
