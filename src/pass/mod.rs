//! Running passes: what a pass is, in which context it runs, and the trace of what happened.
//!
//! - [`spec`]: a pass as it is declared, with its documentation.
//! - [`context`]: opt level, required and disabled passes, configuration.

pub mod context;
pub mod spec;

pub use context::{PassContext, PassCx};
pub use spec::{Args, Literal, Param, PassError, PassInfo, PassSpec, Run};
