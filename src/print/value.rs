//! The smallest parts of the text: numbers, strings, and the test for default values.

use crate::ir::{AttrValue, DTypeCode, Store, Tensor};
use crate::ops::{AttrDefault, AttrField, AttrKind};
use std::fmt::Write;

/// Writes a number as C++ streams do (`%g`), with this many digits.
pub(super) fn push_float(out: &mut String, value: f64, digits: usize) {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let _ = write!(out, "{sign}{}", if value.is_nan() { "nan" } else { "inf" });
        return;
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", trim_zeros(mantissa), exponent.unsigned_abs());
    } else {
        let decimals = (digits as i32 - 1 - exponent) as usize;
        out.push_str(trim_zeros(&format!("{value:.decimals$}")));
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Prints a constant that has a literal: a scalar of the types that have literals
/// (`src/support/scalars.cc`).
pub(super) fn scalar_text(tensor: &Tensor) -> Option<String> {
    let bytes = tensor.data.as_deref()?;
    if !tensor.is_scalar() || tensor.dtype.lanes != 1 {
        return None;
    }
    let mut out = String::new();
    let mut float = |value: f64, suffix: &str| {
        push_float(&mut out, value, 6);
        out.push_str(suffix);
    };
    match (tensor.dtype.code, tensor.dtype.bits) {
        (DTypeCode::Int, 16) => return Some(format!("{}i16", i16::from_le_bytes(bytes.try_into().ok()?))),
        (DTypeCode::Int, 32) => return Some(i32::from_le_bytes(bytes.try_into().ok()?).to_string()),
        (DTypeCode::Int, 64) => return Some(format!("{}i64", i64::from_le_bytes(bytes.try_into().ok()?))),
        (DTypeCode::UInt, 1) => return Some(if *bytes.first()? != 0 { "True" } else { "False" }.to_string()),
        (DTypeCode::Float, 16) => float(half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64(), "f16"),
        (DTypeCode::Float, 32) => float(f64::from(f32::from_le_bytes(bytes.try_into().ok()?)), "f"),
        (DTypeCode::Float, 64) => float(f64::from_le_bytes(bytes.try_into().ok()?), "f64"),
        _ => return None,
    }
    Some(out)
}

/// Writes a string with quotes and escapes (`src/support/str_escape.h`).
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\x{byte:02X}");
            }
        }
    }
    out.push('"');
}

/// Writes an integer object, with a suffix for its width as in TVM's literals.
pub(super) fn push_int(out: &mut String, value: i64, bits: u8) {
    let suffix = match bits {
        16 => "i16",
        64 => "i64",
        _ => "",
    };
    let _ = write!(out, "{value}{suffix}");
}

/// True if a value equals the default of its field, so that it does not print. As in TVM that is
/// structural equality, with its tolerance for doubles.
pub(super) fn is_default(store: &Store, field: &AttrField, value: &AttrValue) -> bool {
    let close = |a: f64, b: f64| a == b || (a - b).abs() < 1e-9;
    let int = |value: &AttrValue, n: i64| match value {
        AttrValue::Int { value, bits } => *value == n && (*bits == 32 || field.kind == AttrKind::Int),
        _ => false,
    };
    let Some(default) = field.default else { return false };
    match (default, value) {
        (AttrDefault::Null, AttrValue::Null) => true,
        (AttrDefault::Bool(a), AttrValue::Bool(b)) => a == *b,
        (AttrDefault::Bool(a), AttrValue::Int { value, .. }) => i64::from(a) == *value,
        (AttrDefault::Int(a), value @ AttrValue::Int { .. }) => int(value, a),
        (AttrDefault::Float(a), AttrValue::Float(b)) => close(a, b.0),
        (AttrDefault::Float(a), AttrValue::Int { value, .. }) => close(a, *value as f64),
        (AttrDefault::Str(a), AttrValue::Str(b)) => a == store.str(*b),
        (AttrDefault::DType(a), AttrValue::DType(b)) => crate::ir::DType::parse(a) == *b,
        (AttrDefault::Ints(a), AttrValue::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&a, b)| int(b, a)),
        (AttrDefault::Floats(a), AttrValue::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(&a, b)| b.as_float().is_some_and(|b| close(a, b)))
        }
        _ => false,
    }
}
