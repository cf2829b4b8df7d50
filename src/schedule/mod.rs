//! Schedules of tensor programs: loops and blocks transformed by one instruction after the other (TVM's
//! `src/s_tir/schedule`).
//!
//! A [`State`] is a module under transformation. An instruction names blocks and loops by handles, which stay valid while
//! the program changes: a loop is known by its variable, a block by a number that goes with it from version to version.
//! Facts about a block are kept from instruction to instruction, as TVM keeps them (`Flags`): whether its bindings are affine,
//! and whether what it reads is written before. Which block reads what another one writes is found in the program as it is.
//!
//! [`apply_trace`] runs instructions as `sch.trace.as_python()` prints them. One that TVM refuses is refused, with TVM's
//! message and its place; those before it stand.
//!
//! TVM 0.27 has no `set_axis_separator` any more: it is refused.
//!
//! Files: [`state`] and `tree` (the program and where things are in it), `trace` (arguments of instructions), `analysis`
//! and `scope` (what is checked), one file for each family of primitives, [`dlight`] (schedules by rules) and
//! [`database`] (schedules that were tuned).

mod analysis;
mod annotate;
mod at;
mod blockize;
mod blockize_several;
mod buffers;
mod cache;
mod cache_index;
mod cache_inplace;
mod compute_at;
pub mod database;
pub mod dlight;
mod epilogue;
mod for_kind;
mod inline;
mod instructions;
mod intrinsics;
mod layout;
mod loops;
mod matching;
mod pad_einsum;
mod pad_layout;
mod padding;
mod partition;
mod query;
mod reduction;
mod reindex;
mod reindex_cache;
mod rfactor;
mod rolling_buffer;
mod scope;
pub mod state;
pub mod tensorize;
#[cfg(test)]
mod tests;
mod trace;
pub mod tree;

pub use intrinsics::{intrinsic_module, intrinsic_names};
pub use state::{State, Step, changes};
pub use trace::{Failure, Tracer, apply_trace};

/// The reason why an instruction is refused, in TVM's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// The result of an instruction, or the reason of its refusal.
pub type Outcome<T> = Result<T, Refused>;

fn refuse<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Refused(message.into()))
}
