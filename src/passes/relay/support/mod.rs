//! Helpers of several Relay passes.

pub mod affine;
pub mod combine;
pub mod combine_batch;
pub mod copy;
pub mod devices;
pub mod emit;
pub mod feature;
pub mod forward;
pub mod fusion_graph;
pub mod layout;
pub mod legalizer;
pub mod let_lists;
pub mod lifetimes;
pub mod local_type;
pub mod normal_form;
pub mod notation;
pub mod pattern;
pub mod precision;
pub mod purity;
pub mod quantizing;
pub mod regions;
pub mod scale_axis;
pub mod scope;
pub mod simplify;
pub mod target;
pub mod text_hash;
pub mod types;
pub mod weights;

use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Attrs, AttrsId, DType, DTypeCode, Dim, Expr, ExprId, Function, Id, Module, Name, Store};
use crate::ops::build::{arg, call_with, is_call};
use crate::ops::tensor_of;
use rustc_hash::FxHashSet;

/// Returns the shape and element type of an expression, if inference found a tensor there.
pub fn tensor_type(store: &Store, id: ExprId) -> Option<(Vec<Dim>, DType)> {
    tensor_of(store, store.checked_type(id)?)
}

/// Returns the shape of an expression, if every extent is known.
pub fn static_shape(store: &Store, id: ExprId) -> Option<Vec<i64>> {
    tensor_type(store, id)?.0.into_iter().map(Dim::known).collect()
}

/// Returns an axis counted from the front; `None` when it is out of range.
pub fn normalise_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = rank as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    (0..rank).contains(&axis).then_some(axis as usize)
}

/// Adds the missing axes to a tensor over some axes of another one of rank `rank`, so that it broadcasts (TVM's
/// `ExpandBiasToMatchAxis`).
pub fn expand_to_axes(store: &mut Store, bias: ExprId, rank: usize, axes: &[usize]) -> ExprId {
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

/// Removes the result type of a function, which may have changed, so that InferType finds it.
pub fn forget_result(store: &mut Store, function: ExprId) -> ExprId {
    let Some(old) = store.as_function(function) else { return function };
    let new = store.add_function(Function { ret: None, ..old });
    store.rebuild(function, Expr::Function(new), None)
}

/// Returns a function that mentions functions of the module, and the module, without result types, because some passes of TVM
/// remove those before they type a function: calls have no type unless a variable has an annotation. `None` if it mentions none.
pub fn without_results(store: &mut Store, module: &Module, function: ExprId) -> Option<(ExprId, Module)> {
    let mut names: FxHashSet<Id<Name>> = FxHashSet::default();
    for id in post_order(store, function) {
        names.extend(if let Expr::Global(name) = store.expr(id) { Some(name) } else { None });
    }
    let mut forgotten = (!names.is_empty()).then(|| module.clone())?;
    for name in names {
        if let Some(other) = module.function(name) {
            forgotten.set_function(name, forget_result(store, other));
        }
    }
    Some((forget_result(store, function), forgotten))
}

/// Makes function attributes with these values, in this order.
pub fn dict_attrs(store: &mut Store, values: &[(&str, AttrValue)]) -> AttrsId {
    let key = store.name("DictAttrs");
    let fields = values.iter().map(|(name, value)| (store.name(name), value.clone())).collect();
    store.attrs(Attrs { key, fields })
}

/// Sets values in function attributes: in place where they were, new ones at the end.
pub fn with_dict_attrs(store: &mut Store, attrs: Option<AttrsId>, values: &[(Id<Name>, AttrValue)]) -> AttrsId {
    let key = store.name("DictAttrs");
    let mut fields = attrs.map_or(Vec::new(), |attrs| store.attrs_of_id(attrs).fields.to_vec());
    for (name, value) in values {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, slot)) => *slot = value.clone(),
            None => fields.push((*name, value.clone())),
        }
    }
    store.attrs(Attrs { key, fields: fields.into() })
}

/// True if TVM can express a quantised operator by others (`FTVMQnnCanonicalize`).
pub fn is_qnn_canonicalisable(name: &str) -> bool {
    name.starts_with("qnn.") && name != "qnn.conv2d_transpose"
}

/// True if a function, or an expression that is one, is primitive: computed by one kernel.
pub fn is_primitive(store: &Store, id: ExprId) -> bool {
    has_nonzero(store, id, "Primitive")
}

/// Returns the expression inside of any calls of `on_device`.
pub fn strip_on_device(store: &Store, id: ExprId) -> ExprId {
    let mut id = id;
    while is_call(store, id, "on_device") {
        id = arg(store, id, 0);
    }
    id
}

/// Returns the least and the largest value of a type, as doubles.
pub fn value_range(dtype: DType) -> Option<(f64, f64)> {
    let bits = i32::from(dtype.bits);
    Some(match (dtype.code, bits) {
        (DTypeCode::Int, _) => (-(2f64.powi(bits - 1)), (2f64.powi(bits - 1)) - 1.0),
        // TVM keeps the largest 64 bit value in a signed integer.
        (DTypeCode::UInt, 64) => (0.0, i64::MAX as f64),
        (DTypeCode::UInt, _) => (0.0, 2f64.powi(bits) - 1.0),
        (DTypeCode::Float, 64) => (f64::MIN, f64::MAX),
        (DTypeCode::Float, 32) => (f64::from(f32::MIN), f64::from(f32::MAX)),
        (DTypeCode::Float, 16) => (-65504.0, 65504.0),
        (DTypeCode::BFloat, 16) => (-f64::from(half::bf16::MAX), f64::from(half::bf16::MAX)),
        _ => return None,
    })
}

/// True if a function is for another compiler: it has the attribute `Compiler`, and that is not null.
pub fn is_external(store: &Store, function: ExprId) -> bool {
    let attrs = store.as_function(function).and_then(|f| f.attrs);
    store.attr(attrs, "Compiler").is_some_and(|compiler| *compiler != AttrValue::Null)
}

/// True if a function has this attribute and it is not zero.
pub fn has_nonzero(store: &Store, function: ExprId, name: &str) -> bool {
    let attrs = store.as_function(function).and_then(|f| f.attrs);
    store.attr_int(attrs, name).is_some_and(|v| v != 0)
}
