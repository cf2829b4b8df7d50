//! Tensor operators: arithmetic, reductions, shapes, indexing, creation.

use super::OpInfo;

/// The operators of this family.
pub static OPS: &[OpInfo] = &[];
