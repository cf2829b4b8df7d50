//! Object detection operators (`vision.*`).

use super::{AttrsSchema, OpInfo};

pub mod detect;
mod detect_kernels;
pub mod region;
mod region_kernels;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[detect::OPS, region::OPS];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] = &[
    &detect::GET_VALID_COUNTS,
    &detect::NON_MAXIMUM_SUPPRESSION,
    &detect::ALL_CLASS_NON_MAXIMUM_SUPPRESSION,
    &detect::REGULAR_NON_MAXIMUM_SUPPRESSION,
    &region::ROI_ALIGN,
    &region::ROI_POOL,
    &region::PROPOSAL,
];
