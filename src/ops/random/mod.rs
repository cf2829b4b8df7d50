//! Random numbers (`random.*`).

use super::OpInfo;

pub mod kernel;
mod threefry;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[kernel::OPS];
