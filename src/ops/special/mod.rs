//! Operators that compute nothing by themselves: markers, devices, explicit memory, calls and the runtime of Relax.

use super::{AttrsSchema, OpInfo};

pub mod annotation;
pub mod distributed;
pub mod grad;
pub mod memory;
pub mod runtime;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[annotation::OPS, distributed::OPS, grad::OPS, memory::OPS, runtime::OPS];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] = &[&annotation::CAST_HINT, &annotation::COMPILER, &annotation::WITH_FUNC_ID];
