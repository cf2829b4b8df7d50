//! What several Relay passes need.

use crate::ir::{DType, Dim, ExprId, Store};
use crate::ops::build::call_with;
use crate::ops::tensor_of;

/// Shape and element type of an expression, if inference found a tensor there.
pub fn tensor_type(store: &Store, id: ExprId) -> Option<(Vec<Dim>, DType)> {
    tensor_of(store, store.checked_type(id)?)
}

/// The shape of an expression, if every extent is known.
pub fn static_shape(store: &Store, id: ExprId) -> Option<Vec<i64>> {
    tensor_type(store, id)?.0.into_iter().map(Dim::known).collect()
}

/// An axis counted from the front. `None` when it is out of range.
pub fn normalise_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    (0..rank).contains(&axis).then_some(axis as usize)
}

/// Gives a tensor over some axes of another of rank `rank` the axes it lacks, so that it broadcasts
/// (TVM's `ExpandBiasToMatchAxis`).
pub fn expand_to_axes(store: &mut Store, bias: ExprId, rank: usize, axes: &[usize]) -> ExprId {
    use crate::ir::AttrValue;
    let mut bias = bias;
    for i in (1..=axes.len()).rev() {
        let missing = match axes.get(i) {
            None => rank - axes[i - 1] - 1,
            Some(next) => next - axes[i - 1],
        };
        if missing > 0 {
            let written = [("axis", AttrValue::int(i as i64)), ("num_newaxis", AttrValue::int(missing as i64))];
            bias = call_with(store, "expand_dims", &[bias], &written);
        }
    }
    bias
}
