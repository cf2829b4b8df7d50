//! What passes put into a program: markers, device placement, explicit memory.

use super::{AttrsSchema, OpInfo};

pub mod annotation;
pub mod memory;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[annotation::OPS, memory::OPS];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] = &[&annotation::CAST_HINT, &annotation::COMPILER, &annotation::WITH_FUNC_ID];
