//! Algorithms on TIR: building scalar expressions as TVM's operators do it, and proving facts about them.

pub mod access;
pub mod arith;
mod build;
mod copy;
pub mod effect;
pub mod index_map;
pub(crate) mod index_types;
mod intrin;
mod knowing;
pub mod lca;
pub mod math;
mod offset;
mod poly;
pub mod reducer;
mod reshape;
mod rewrite;
mod subst;
mod target;

pub use build::{Folded, binary, cast, constant, fold, negate};
pub(crate) use build::{is_index, match_types};
pub use copy::Copier;
pub use intrin::{Gives, INTRINSICS, Intrinsic};
pub use knowing::{Knowing, Known, descend_knowing, enter_knowing};
pub use offset::elem_offset;
pub use poly::{Range, is_negative};
pub use reshape::{has_reshape_pattern, same_size};
pub use rewrite::{
    Nothing, Rewriting, StmtMutator, copy_stmt, has_kinds, over_body, rebuild_func, rewrite_body, rewrite_func, substitute_stmt,
};
pub use subst::substitute;
pub use target::{TARGET_KINDS, complete_target, device_type};
