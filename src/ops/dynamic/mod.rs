//! Operators whose attributes are inputs (`dyn.*`).

use super::{AttrsSchema, OpInfo};

pub mod nn;
pub mod tensor;
mod tensor_kernels;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[nn::OPS, tensor::OPS];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] = &[&tensor::DYN_EXPAND_DIMS];
