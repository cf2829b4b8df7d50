//! Finds the shape of a result with known inputs by running the type relation once more.
//!
//! Inferred types may leave extents open that are known once there are values, so kernels do not
//! rely on them.

use super::{EvalError, KernelCx, RuleCx, TypeRule};
use crate::ir::{AttrValue, Attrs, AttrsId, DType, Dim, Store, Tensor, Type, TypeId};

/// Shape and element type of the result, or of each field of a result that is a tuple. With
/// `as_tuple` the inputs are the fields of one tuple, as those of `concatenate` are.
pub fn result_types(
    cx: &KernelCx<'_>,
    rule: TypeRule,
    inputs: &[Tensor],
    as_tuple: bool,
) -> Result<Vec<(Vec<i64>, DType)>, EvalError> {
    // The relation adds types to a store; the session's own must not change here.
    let store = &mut Store::new();
    let attrs = cx.attrs.map(|attrs| carried(cx.store, attrs, store));
    let mut types: Vec<TypeId> = inputs
        .iter()
        .map(|input| {
            let shape: Vec<Dim> = input.shape.iter().map(|e| Dim::int(*e)).collect();
            store.tensor_type(&shape, input.dtype)
        })
        .collect();
    if as_tuple {
        types = vec![store.tuple_type(&types)];
    }
    let n_inputs = types.len();
    let result = store.hole();
    types.push(result);
    let mut found = None;
    let mut unify = |_: &mut Store, ty: TypeId, assigned: TypeId| {
        if ty == result && found.is_none() {
            found = Some(assigned);
        }
        Ok(())
    };
    rule(&mut RuleCx { store, types: &types, n_inputs, attrs, unify: &mut unify })?;
    let found = found.ok_or("the shape of the result is not known")?;
    let fields = match store.type_of_id(found) {
        Type::Tuple(fields) => fields.to_vec(),
        _ => vec![found],
    };
    let known = |ty: TypeId| match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => Some((shape.iter().map(|d| d.known()).collect::<Option<Vec<i64>>>()?, *dtype)),
        _ => None,
    };
    let fields: Option<Vec<_>> = fields.into_iter().map(known).collect();
    fields.ok_or_else(|| EvalError::new("the shape of the result depends on values"))
}

/// Shape and element type of a result that is one tensor.
pub fn result_type(cx: &KernelCx<'_>, rule: TypeRule, inputs: &[Tensor]) -> Result<(Vec<i64>, DType), EvalError> {
    let mut fields = result_types(cx, rule, inputs, false)?;
    Ok(fields.swap_remove(0))
}

/// Copies the attributes to another store, without those that have a meaning only in their own.
fn carried(from: &Store, attrs: AttrsId, to: &mut Store) -> AttrsId {
    let attrs = from.attrs_of_id(attrs);
    let key = to.name(from.str(attrs.key));
    let fields = attrs.fields.iter().map(|(name, value)| (to.name(from.str(*name)), carried_value(from, value, to)));
    let fields: Vec<_> = fields.collect();
    to.attrs(Attrs { key, fields: fields.into() })
}

fn carried_value(from: &Store, value: &AttrValue, to: &mut Store) -> AttrValue {
    match value {
        AttrValue::Null | AttrValue::Bool(_) | AttrValue::Int { .. } | AttrValue::Float(_) | AttrValue::DType(_) => value.clone(),
        AttrValue::Str(text) => AttrValue::Str(to.name(from.str(*text))),
        AttrValue::Array(items) => AttrValue::Array(items.iter().map(|item| carried_value(from, item, to)).collect()),
        other => from.value_int(other).map_or(AttrValue::Null, AttrValue::int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernel::write;
    use crate::ops::{info, lookup};

    #[test]
    fn the_relation_is_asked_about_the_inputs_at_hand() {
        let store = &mut Store::new();
        let schema = info(lookup("reshape").unwrap()).relay_attrs().unwrap();
        let wanted = AttrValue::Array([AttrValue::int(-1), AttrValue::int(2)].into());
        let attrs = schema.complete(store, &[("newshape", wanted)]).unwrap();
        let attrs = Some(store.attrs(attrs));
        let out_type = store.hole();
        let cx = KernelCx { store, attrs, out_type };
        let input = write(DType::F32, &[3, 4], &[0f32; 12]).unwrap();
        let rule = info(lookup("reshape").unwrap()).relay_rule().unwrap();
        assert_eq!(result_type(&cx, rule, &[input]).unwrap(), (vec![6, 2], DType::F32));
    }
}
