//! Building calls of operators by name, for passes that write new code.

use super::lookup;
use crate::ir::{AttrValue, AttrsId, DType, DTypeCode, Expr, ExprId, Store, Tensor};

/// Makes `name(args)` without attributes (TVM's `Call(op, args, Attrs())`). The operator must
/// exist.
pub fn call(store: &mut Store, name: &str, args: &[ExprId]) -> ExprId {
    call_attrs(store, name, args, None)
}

/// Makes `name(args, attrs)` with an existing attribute set.
pub fn call_attrs(store: &mut Store, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
    let callee = store.add(Expr::Op(super::op(name)));
    store.add_call(callee, args, attrs)
}

/// Makes `name(args, attrs)` with the written attributes and the defaults of the others. Panics
/// when a required attribute is missing, which only this program can get wrong.
pub fn call_with(store: &mut Store, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> ExprId {
    let attrs = attrs_of(store, name, written);
    call_attrs(store, name, args, Some(attrs))
}

/// Returns the attributes of the operator `name`: the written ones and the defaults of the others.
pub fn attrs_of(store: &mut Store, name: &str, written: &[(&str, AttrValue)]) -> AttrsId {
    let schema = super::info(super::op(name)).relay_attrs().unwrap_or_else(|| panic!("`{name}` takes no attributes"));
    let attrs = schema.complete(store, written).unwrap_or_else(|field| panic!("`{name}` needs the attribute `{field}`"));
    store.attrs(attrs)
}

/// Replaces some attributes of a set. Fields that the set does not have are left out.
pub fn with_attrs(store: &mut Store, attrs: AttrsId, changes: &[(&str, AttrValue)]) -> AttrsId {
    let mut new = (*store.attrs_rc(attrs)).clone();
    for (name, value) in changes {
        let name = store.name(name);
        if let Some((_, slot)) = new.fields.iter_mut().find(|(n, _)| *n == name) {
            *slot = value.clone();
        }
    }
    store.attrs(new)
}

/// Makes `[1, 2]` as an attribute, of TVM's usual 32 bit integers.
pub fn ints(values: &[i64]) -> AttrValue {
    AttrValue::Array(values.iter().map(|v| AttrValue::int(*v)).collect())
}

/// Returns the name of the operator that `id` calls, or `""` when it is not a call of an operator.
pub fn op_name(store: &Store, id: ExprId) -> &'static str {
    store.called_op(id).map_or("", |op| super::info(op).name)
}

/// True if `id` calls the operator of that name.
pub fn is_call(store: &Store, id: ExprId, name: &str) -> bool {
    store.called_op(id).is_some_and(|op| lookup(name) == Some(op))
}

/// Returns the argument at `index` of the call `id`. Panics when there is none.
pub fn arg(store: &Store, id: ExprId, index: usize) -> ExprId {
    let call = store.call(id).expect("a call");
    store.item(call.args, index)
}

/// Returns the arguments of the call `id`; none when it is not a call.
pub fn args(store: &Store, id: ExprId) -> Vec<ExprId> {
    store.call(id).map_or(Vec::new(), |call| store.items(call.args).collect())
}

/// Makes a constant of rank 0. Integers wrap and floats round as in C.
pub fn scalar(store: &mut Store, dtype: DType, value: f64) -> ExprId {
    tensor(store, dtype, &[], &[value])
}

/// Makes a constant with these elements, converted to its element type.
pub fn tensor(store: &mut Store, dtype: DType, shape: &[i64], values: &[f64]) -> ExprId {
    let mut bytes = Vec::with_capacity(values.len() * dtype.bytes());
    for value in values {
        encode(dtype, *value, &mut bytes);
    }
    store.add_constant(Tensor::new(dtype, shape, bytes))
}

/// Makes a constant of integers without rounding.
pub fn int_tensor(store: &mut Store, dtype: DType, shape: &[i64], values: &[i64]) -> ExprId {
    let width = dtype.bytes();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(width)).collect();
    store.add_constant(Tensor::new(dtype, shape, bytes))
}

fn encode(dtype: DType, value: f64, out: &mut Vec<u8>) {
    match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 64) => out.extend(value.to_le_bytes()),
        (DTypeCode::Float, 32) => out.extend((value as f32).to_le_bytes()),
        (DTypeCode::Float, 16) => out.extend(half::f16::from_f32(value as f32).to_le_bytes()),
        (DTypeCode::BFloat, 16) => out.extend(half::bf16::from_f32(value as f32).to_le_bytes()),
        (DTypeCode::UInt, 1) => out.push(u8::from(value != 0.0)),
        (DTypeCode::UInt, 64) => out.extend((value as u64).to_le_bytes()),
        _ => out.extend((value as i64).to_le_bytes().into_iter().take(dtype.bytes())),
    }
}

/// Returns the tensor of a constant.
pub fn constant(store: &Store, id: ExprId) -> Option<&Tensor> {
    match store.expr(id) {
        Expr::Constant(tensor) => Some(store.tensor(tensor)),
        _ => None,
    }
}

/// Returns the elements of a tensor as doubles, if it has a value of a numeric element type.
pub fn elements(tensor: &Tensor) -> Option<Vec<f64>> {
    let data = tensor.data.as_ref()?;
    let DType { code, bits, lanes } = tensor.dtype;
    if lanes != 1 {
        return None;
    }
    let decode: fn(&[u8]) -> f64 = match (code, bits) {
        (DTypeCode::Float, 64) => |b| f64::from_le_bytes(fixed(b)),
        (DTypeCode::Float, 32) => |b| f64::from(f32::from_le_bytes(fixed(b))),
        (DTypeCode::Float, 16) => |b| half::f16::from_le_bytes(fixed(b)).to_f64(),
        (DTypeCode::BFloat, 16) => |b| half::bf16::from_le_bytes(fixed(b)).to_f64(),
        (DTypeCode::Int, 8) => |b| f64::from(b[0] as i8),
        (DTypeCode::Int, 16) => |b| f64::from(i16::from_le_bytes(fixed(b))),
        (DTypeCode::Int, 32) => |b| f64::from(i32::from_le_bytes(fixed(b))),
        (DTypeCode::Int, 64) => |b| i64::from_le_bytes(fixed(b)) as f64,
        (DTypeCode::UInt, 1 | 8) => |b| f64::from(b[0]),
        (DTypeCode::UInt, 16) => |b| f64::from(u16::from_le_bytes(fixed(b))),
        (DTypeCode::UInt, 32) => |b| f64::from(u32::from_le_bytes(fixed(b))),
        (DTypeCode::UInt, 64) => |b| u64::from_le_bytes(fixed(b)) as f64,
        _ => return None,
    };
    Some(data.chunks_exact(tensor.dtype.bytes()).map(decode).collect())
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}

/// Returns the value of a constant of rank 0.
pub fn scalar_value(store: &Store, id: ExprId) -> Option<f64> {
    let tensor = constant(store, id)?;
    if !tensor.is_scalar() {
        return None;
    }
    elements(tensor)?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_reads_back_as_it_was_written() {
        let store = &mut Store::new();
        for dtype in ["float64", "float32", "float16", "bfloat16", "int8", "int64", "uint8", "uint64"] {
            let id = scalar(store, DType::parse(dtype).unwrap(), 3.0);
            assert_eq!(scalar_value(store, id), Some(3.0), "{dtype}");
        }
        let truth = scalar(store, DType::BOOL, 7.0);
        assert_eq!(scalar_value(store, truth), Some(1.0));
    }
}
