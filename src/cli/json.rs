//! Values as JSON: tensors `{dtype, shape, b64}` with little-endian bytes, `{scalar}`, `{tuple}`; in Relax also
//! `{extents}`, a shape, and `{prim}`, a scalar that is no tensor.

use crate::eval::{Value, show};
use crate::ir::{DType, Store, Tensor};
use crate::ops::kernel::write;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// Converts a value to JSON. Closures and constructor values have no JSON form and become a `{text}`.
pub fn value_to_json(store: &Store, value: &Value) -> Json {
    match value {
        Value::Tensor(tensor) => {
            let b64 = tensor.data.as_ref().map(|data| STANDARD.encode(data));
            json!({ "dtype": tensor.dtype.to_string(), "shape": &*tensor.shape, "b64": b64 })
        }
        Value::Tuple(fields) => {
            json!({ "tuple": fields.items().iter().map(|field| value_to_json(store, field)).collect::<Vec<_>>() })
        }
        Value::Shape(extents) => json!({ "extents": &**extents }),
        other => json!({ "text": show(store, other) }),
    }
}

/// Converts JSON to a value; the error tells why it is invalid.
pub fn value_from_json(json: &Json) -> Result<Value, String> {
    if let Some(fields) = json.get("tuple").and_then(Json::as_array) {
        return Ok(Value::tuple(fields.iter().map(value_from_json).collect::<Result<_, _>>()?));
    }
    if let Some(extents) = json.get("extents").and_then(Json::as_array) {
        let extents: Option<Vec<i64>> = extents.iter().map(Json::as_i64).collect();
        return Ok(Value::Shape(extents.ok_or("`extents` is a list of integers")?.into()));
    }
    if let Some(prim) = json.get("prim") {
        let dtype = json.get("dtype").and_then(Json::as_str).or(prim.is_i64().then_some("int64"));
        return scalar_from_json(prim, dtype).map(|value| value.as_tensor().cloned().map_or(Value::unit(), Value::Prim));
    }
    if let Some(scalar) = json.get("scalar") {
        return scalar_from_json(scalar, json.get("dtype").and_then(Json::as_str));
    }
    let dtype = json.get("dtype").and_then(Json::as_str).and_then(DType::parse).ok_or("a tensor needs a `dtype`")?;
    let shape = json.get("shape").and_then(Json::as_array).ok_or("a tensor needs a `shape`")?;
    let shape: Vec<i64> = shape.iter().map(Json::as_i64).collect::<Option<_>>().ok_or("`shape` is a list of integers")?;
    let b64 = json.get("b64").and_then(Json::as_str).ok_or("a tensor needs its bytes as `b64`")?;
    let data = STANDARD.decode(b64).map_err(|e| format!("`b64` is damaged: {e}"))?;
    let count = shape.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).filter(|n| *n >= 0).ok_or("`shape` is impossible")?;
    let expected = usize::try_from(count).ok().and_then(|n| n.checked_mul(dtype.bytes())).ok_or("`shape` is too large")?;
    if data.len() != expected {
        return Err(format!("{} bytes of {dtype} do not fill the shape {shape:?}, which takes {expected}", data.len()));
    }
    Ok(Value::Tensor(Tensor::new(dtype, shape, data)))
}

fn scalar_from_json(scalar: &Json, dtype: Option<&str>) -> Result<Value, String> {
    let dtype = match (dtype, scalar) {
        (Some(name), _) => DType::parse(name).ok_or_else(|| format!("`{name}` is no element type"))?,
        (None, Json::Bool(_)) => DType::BOOL,
        (None, Json::Number(n)) if n.is_i64() => DType::I32,
        (None, _) => DType::F32,
    };
    let made = match scalar {
        Json::Bool(truth) => write(dtype, &[], &[i64::from(*truth)]),
        Json::Number(n) => match (n.as_i64(), n.as_u64(), n.as_f64()) {
            (Some(value), ..) if dtype == DType::I32 && i32::try_from(value).is_err() => {
                return Err("the scalar does not fit int32".to_owned());
            }
            (Some(value), ..) => write(dtype, &[], &[value]),
            (_, Some(value), _) => write(dtype, &[], &[value]),
            (.., value) => write(dtype, &[], &[value.unwrap_or(0.0)]),
        },
        _ => return Err("a scalar is a number or a truth value".to_owned()),
    };
    made.map(Value::Tensor).map_err(|error| error.0)
}
