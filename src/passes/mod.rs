//! The passes, one file each, and the named pipelines.

pub mod relay;

use crate::pass::PassSpec;

/// Every pass, in the order of the documentation. A new pass is one file and one line here.
pub static ALL: &[&PassSpec] = &[];

/// The pass that is written `name`: TVM's factory name, or its `PassInfo` name.
pub fn lookup(name: &str) -> Option<&'static PassSpec> {
    ALL.iter().find(|p| p.name == name).or_else(|| ALL.iter().find(|p| p.info_name.trim() == name)).copied()
}
