//! Scales and zero points in relations (TVM: `relay/qnn/utils.h`).

use crate::ir::{DType, Dim, Type, TypeId};
use crate::ops::{RuleCx, RuleResult, TypeRule};

/// The eight-bit types that most quantised operators take.
pub(super) const BYTES: &[DType] = &[DType::I8, DType::U8];

impl RuleCx<'_> {
    /// True if the type at `index` is not known yet.
    pub(super) fn is_open(&self, index: usize) -> bool {
        matches!(self.store.type_of_id(self.types[index]), Type::Hole(_))
    }

    /// Demands a scalar of this element type (TVM's `IsScalarType`).
    pub(super) fn scalar(&self, index: usize, dtype: DType) -> Result<(), String> {
        self.scalar_type(self.types[index], dtype)
    }

    /// Demands the same of a type that is not an input itself.
    pub(super) fn scalar_type(&self, ty: TypeId, dtype: DType) -> Result<(), String> {
        match crate::ops::tensor_of(self.store, ty) {
            Some((shape, found)) if shape.is_empty() && found == dtype => Ok(()),
            Some((shape, _)) if !shape.is_empty() => {
                Err(format!("a scale or zero point must be a scalar, not of shape {}", self.show(&shape)))
            }
            Some((_, found)) => Err(format!("Expected {dtype} but got {found}")),
            None => Err("Only tensor type can be checked for scalar values.".into()),
        }
    }

    /// Demands a scale or zero point: a scalar, or a vector of `extent` elements (TVM's `AssignType`).
    pub(super) fn per_channel(&mut self, index: usize, dtype: DType, extent: Dim) -> Result<(), String> {
        let Some((shape, found)) = self.tensor(index) else {
            return Err("Can assign type to Tensor type only.".into());
        };
        if found != dtype {
            return Err(format!("Expected type is {dtype} but received {found}"));
        }
        match shape.is_empty() {
            true => Ok(()),
            false => self.assign_tensor(index, &[extent], dtype),
        }
    }

    /// Demands one of these element types for the operand that `role` names.
    pub(super) fn one_of(&self, found: DType, allowed: &[DType], role: &str) -> Result<(), String> {
        if allowed.contains(&found) {
            return Ok(());
        }
        let names: Vec<String> = allowed.iter().map(|d| d.to_string()).collect();
        Err(format!("Expected {} for {role} but was {found}", names.join(", ")))
    }

    /// Applies `rule` to some of the types: inputs, then the output.
    pub(super) fn ask(&mut self, types: &[TypeId], rule: TypeRule) -> RuleResult {
        rule(&mut RuleCx { store: self.store, types, n_inputs: types.len() - 1, attrs: self.attrs, unify: self.unify })
    }

    /// Returns `axis` counted from the front, as quantised operators do: a scalar has axis 0.
    pub(super) fn channel_axis(&self, name: &str, rank: usize) -> Result<usize, String> {
        let axis = self.attr_int(name);
        let place = if axis < 0 && rank > 0 { axis + rank as i64 } else { axis.max(0) };
        match (0..rank.max(1) as i64).contains(&place) {
            true => Ok(place as usize),
            false => Err(format!("axis {axis} is out of range")),
        }
    }
}

/// True if the tensor is known to have one element: a scalar, or axes that are all known to be 1.
pub(super) fn is_single(shape: &[Dim]) -> bool {
    shape.iter().all(|d| d.known() == Some(1))
}

/// The extent of the channel axis; 1 for a scalar.
pub(super) fn channels(shape: &[Dim], axis: usize) -> Dim {
    shape.get(axis).copied().unwrap_or(Dim::int(1))
}
