//! Image operators (`image.*`).

use super::OpInfo;

pub mod resize;
pub(crate) mod sampling;
pub mod warp;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[resize::OPS, warp::OPS];
