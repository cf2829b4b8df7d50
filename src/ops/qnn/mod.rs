//! Operators over quantised tensors (`qnn.*`), one family per file.

use super::OpInfo;

mod arith;
pub mod binary;
pub mod conv;
pub mod dense;
mod params;
pub mod quantize;
pub mod unary;

pub use arith::FixedPoint;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[binary::OPS, conv::OPS, dense::OPS, quantize::OPS, unary::OPS];
