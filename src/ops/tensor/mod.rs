//! Tensor operators: arithmetic, reductions, shapes, indexing, creation.

use super::{AttrsSchema, OpInfo, RuleCx, RuleResult, tensor_of};
use crate::ir::{DType, DTypeCode, Dim, Type, show_type};

pub mod arrange;
pub(crate) mod arrange_kernels;
pub mod binary;
pub mod create;
pub mod datatype;
pub mod einsum;
pub mod fourier;
pub mod index;
pub(crate) mod index_kernels;
pub mod layout;
pub mod reduce;
mod reduce_kernels;
pub mod scatter;
pub(crate) mod scatter_kernels;
pub mod shape;
pub mod slice;
pub mod sort;
pub(crate) mod sort_kernels;
pub mod unary;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[
    arrange::OPS,
    binary::OPS,
    create::OPS,
    datatype::OPS,
    index::OPS,
    layout::OPS,
    einsum::OPS,
    fourier::OPS,
    reduce::OPS,
    scatter::OPS,
    shape::OPS,
    slice::OPS,
    sort::OPS,
    unary::OPS,
];

/// Attributes of operators that TVM registers without a type of attributes.
pub static LOOSE_SCHEMAS: &[&AttrsSchema] = &[
    &scatter::SCATTER_ELEMENTS,
    &scatter::SCATTER_ND,
    &scatter::TRILU,
    &sort::SCANOP,
    &sort::UNIQUE,
    &fourier::STFT,
    &fourier::DFT,
];

/// Leaves the relation or kernel with that message unless the condition holds (TVM's `ICHECK`).
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*).into());
        }
    };
}
pub(crate) use ensure;

/// Shape and element type of an input; leaves the relation while the input is unknown.
macro_rules! input {
    ($cx:expr, $index:expr) => {
        match $cx.tensor($index) {
            Some(tensor) => tensor,
            None => return $crate::ops::tensor::not_a_tensor($cx, $index),
        }
    };
}
pub(crate) use input;

/// The result of a relation when the type at `index` is not a tensor: it waits while the type is
/// unknown.
pub(crate) fn not_a_tensor(cx: &RuleCx<'_>, index: usize) -> RuleResult {
    match cx.store.type_of_id(cx.types[index]) {
        Type::Hole(_) => Ok(false),
        _ => Err(format!("expect input type to be TensorType but get {}", show_type(cx.store, cx.types[index]))),
    }
}

/// Shape and element type.
pub(crate) type TensorShape = (Vec<Dim>, DType);

/// The fields of an input that must be a tuple of tensors; `None` while one of them is unknown. An
/// input that is wholly unknown is an error, as it is in TVM.
pub(crate) fn tensors_of_tuple(cx: &RuleCx<'_>, index: usize, op: &str) -> Result<Option<Vec<TensorShape>>, String> {
    let Some(fields) = cx.tuple(index) else {
        let found = show_type(cx.store, cx.types[index]);
        return Err(format!("{op} requires a tuple of tensors as the first argument, found {found}"));
    };
    let mut out = Vec::with_capacity(fields.len());
    for field in fields {
        match tensor_of(cx.store, field) {
            Some(tensor) => out.push(tensor),
            None if matches!(cx.store.type_of_id(field), Type::Hole(_)) => return Ok(None),
            None => return Err(format!("{op} requires tensors, found {}", show_type(cx.store, field))),
        }
    }
    Ok(Some(out))
}

/// True for a signed or unsigned integer type.
pub(crate) fn is_integer(dtype: DType) -> bool {
    matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt)
}
