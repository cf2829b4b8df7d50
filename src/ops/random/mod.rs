//! Random numbers (`random.*`).

use super::OpInfo;

pub mod kernel;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[kernel::OPS];
