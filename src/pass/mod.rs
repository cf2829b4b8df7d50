//! Runs passes in a context and records a trace of their steps.
//!
//! - [`spec`]: a pass as it is declared, with its documentation.
//! - [`call`]: the notation passes are written in.
//! - [`context`], [`config`]: opt level, required and disabled passes, configuration.
//! - [`instrument`], [`built_in`]: the instruments that watch passes.
//! - [`registry`]: passes by name, made ready to run.
//! - [`manager`]: the rules by which passes run.
//! - [`trace`]: the steps and versions of a run.
//! - [`user`]: passes that are not compiled in.

pub mod built_in;
pub mod call;
pub mod config;
pub mod context;
pub mod instrument;
pub mod manager;
mod names;
pub mod registry;
pub mod spec;
pub mod trace;
pub mod user;

pub use context::{PassContext, PassCx};
#[cfg(feature = "page")]
pub(crate) use names::EARLIER_TIR;
pub use spec::{Args, Inner, Literal, Param, Part, PassError, PassInfo, PassKind, PassSpec, Run, explained};
