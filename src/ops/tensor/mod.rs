//! Tensor operators: arithmetic, reductions, shapes, indexing, creation.

use super::{AttrsSchema, OpInfo};

pub mod arrange;
pub mod binary;
pub mod create;
pub mod datatype;
pub mod index;
pub mod layout;
pub mod math;
pub mod reduce;
pub mod scatter;
pub mod shape;
pub mod slice;
pub mod sort;
pub mod unary;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[
    arrange::OPS,
    binary::OPS,
    create::OPS,
    datatype::OPS,
    index::OPS,
    layout::OPS,
    math::OPS,
    reduce::OPS,
    scatter::OPS,
    shape::OPS,
    slice::OPS,
    sort::OPS,
    unary::OPS,
];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] =
    &[&scatter::SCATTER_ELEMENTS, &scatter::SCATTER_ND, &scatter::TRILU, &sort::SCANOP, &sort::UNIQUE, &math::STFT, &math::DFT];
