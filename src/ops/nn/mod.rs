//! Neural network operators (`nn.*`).

use super::OpInfo;

/// The operators of this family.
pub static OPS: &[OpInfo] = &[];
