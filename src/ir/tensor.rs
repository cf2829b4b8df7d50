//! Constant tensors.

use super::ty::DType;
use std::rc::Rc;

/// A dense tensor in row-major order. Cheap to clone: the bytes are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Extent of each axis; empty for a scalar.
    pub shape: Rc<[i64]>,
    /// Little-endian elements, or `None` where the text was dumped without its metadata
    /// section: such a constant has a type and no value.
    pub data: Option<Rc<[u8]>>,
}

impl Tensor {
    /// Makes a tensor over `data`, which must hold as many bytes as shape and dtype ask for.
    pub fn new(dtype: DType, shape: impl Into<Rc<[i64]>>, data: impl Into<Rc<[u8]>>) -> Tensor {
        let tensor = Tensor { dtype, shape: shape.into(), data: Some(data.into()) };
        debug_assert_eq!(tensor.data.as_ref().map(|d| d.len()), Some(tensor.len() * dtype.bytes()));
        tensor
    }

    /// Makes a tensor whose elements are not known.
    pub fn without_value(dtype: DType, shape: impl Into<Rc<[i64]>>) -> Tensor {
        Tensor { dtype, shape: shape.into(), data: None }
    }

    /// Returns the number of elements.
    #[allow(clippy::len_without_is_empty, reason = "a tensor is not a collection")]
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }

    /// True if it is of rank 0.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }
}
