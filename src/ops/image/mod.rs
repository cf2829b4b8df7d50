//! Image operators (`image.*`).

use super::OpInfo;

pub mod resize;
pub mod warp;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[resize::OPS, warp::OPS];
