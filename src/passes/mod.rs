//! The passes, one file each, and the named pipelines.

pub mod relay;

use crate::pass::PassSpec;

/// Every pass, in the order of the documentation. A new pass is one file and one line here.
pub static ALL: &[&PassSpec] = &[];
