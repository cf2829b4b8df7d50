//! Values of number literals: `5`, `5i16`, `1.5f`, `-1e-05f16`, `inff`, `nanf64`.

use crate::ir::{DType, DTypeCode, Tensor};
use std::rc::Rc;

/// A number with its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int { value: i64, bits: u8 },
    Float { value: f64, bits: u8 },
}

/// True if a name is infinity or not-a-number, with or without a width.
pub(super) fn is_not_finite(text: &[u8]) -> bool {
    let width = text.strip_prefix(b"inff").or_else(|| text.strip_prefix(b"nanf"));
    width.is_some_and(|w| matches!(w, b"" | b"16" | b"32" | b"64"))
}

/// Decodes a literal, signs included, or fails in TVM's words. `is_float` is true if the text was read as a floating
/// point number.
pub(super) fn decode(text: &str, is_float: bool) -> Result<Number, String> {
    let digits = text.trim_start_matches('-');
    let negative = (text.len() - digits.len()) % 2 == 1;
    if is_float { decode_float(digits, negative) } else { decode_int(digits, negative) }
}

fn width_of(suffix: &str) -> Result<Option<u8>, String> {
    if suffix.is_empty() {
        return Ok(None);
    }
    suffix.parse().map(Some).map_err(|_| format!("invalid numeric suffix `{suffix}`"))
}

fn decode_int(digits: &str, negative: bool) -> Result<Number, String> {
    let (digits, suffix) = digits.split_once('i').unwrap_or((digits, ""));
    // One more than TVM reads: it cannot read back the smallest 64 bit number, which it prints.
    let value: i128 = digits.parse().map_err(|_| format!("invalid integer number `{digits}`"))?;
    let value = if negative { -value } else { value };
    let value = i64::try_from(value).map_err(|_| format!("invalid integer number `{digits}`"))?;
    let bits = match width_of(suffix)? {
        Some(bits @ (8 | 16 | 32 | 64)) => bits,
        Some(bits) => return Err(format!("integers have 16, 32 or 64 bits, not {bits}")),
        None if i32::try_from(value).is_ok() => 32,
        None => 64,
    };
    let limit = 1_i128 << (bits - 1);
    if i128::from(value) < -limit || i128::from(value) >= limit {
        return Err(format!("integer number `{digits}` unrepresentable in width {bits}"));
    }
    Ok(Number::Int { value, bits })
}

fn decode_float(digits: &str, negative: bool) -> Result<Number, String> {
    let (digits, suffix) = match digits.rsplit_once('f') {
        Some((digits, suffix)) => (digits, suffix),
        None => (digits, ""),
    };
    let named = match digits {
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    };
    let value = match named {
        Some(value) => value,
        None => digits
            .parse::<f64>()
            .ok()
            .filter(|v| v.is_finite())
            .ok_or_else(|| format!("invalid floating point number `{digits}`"))?,
    };
    let bits = match width_of(suffix)? {
        None => 32,
        Some(bits @ (16 | 32 | 64)) => bits,
        Some(bits) => return Err(format!("floating point numbers have 16, 32 or 64 bits, not {bits}")),
    };
    let limit = match bits {
        16 => 65504.0,
        32 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    if named.is_none() && value > limit {
        return Err(format!("floating point number `{digits}` unrepresentable in width {bits}"));
    }
    Ok(Number::Float { value: if negative { -value } else { value }, bits })
}

impl Number {
    /// Makes a scalar tensor of the number. `shape` is the empty shape, shared between scalars.
    pub fn tensor(self, shape: Rc<[i64]>) -> Tensor {
        match self {
            Number::Int { value, bits } => {
                let bytes = value.to_le_bytes();
                Tensor::new(DType::new(DTypeCode::Int, bits), shape, &bytes[..usize::from(bits / 8)])
            }
            Number::Float { value, bits } => {
                let dtype = DType::new(DTypeCode::Float, bits);
                match bits {
                    16 => Tensor::new(dtype, shape, &half::f16::from_f32(value as f32).to_le_bytes()[..]),
                    32 => Tensor::new(dtype, shape, &(value as f32).to_le_bytes()[..]),
                    _ => Tensor::new(dtype, shape, &value.to_le_bytes()[..]),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_32_bits_wide_until_they_do_not_fit() {
        assert_eq!(decode("2147483647", false), Ok(Number::Int { value: 2147483647, bits: 32 }));
        assert_eq!(decode("2147483648", false), Ok(Number::Int { value: 2147483648, bits: 64 }));
        assert_eq!(decode("--10", false), Ok(Number::Int { value: 10, bits: 32 }));
        assert_eq!(decode("-9223372036854775808i64", false), Ok(Number::Int { value: i64::MIN, bits: 64 }));
        assert!(decode("32768i16", false).unwrap_err().contains("unrepresentable in width 16"));
        assert!(decode("1.0", false).unwrap_err().contains("invalid integer number"));
        assert!(decode("1-2", false).is_err());
    }

    #[test]
    fn floats_hold_their_width_and_infinity() {
        assert_eq!(decode("1e-05f", true), Ok(Number::Float { value: 1e-5, bits: 32 }));
        assert_eq!(decode("-inff64", true), Ok(Number::Float { value: f64::NEG_INFINITY, bits: 64 }));
        assert!(matches!(decode("nanf", true), Ok(Number::Float { value, bits: 32 }) if value.is_nan()));
        assert!(decode("65505f16", true).is_err());
        assert!(decode("1e400f64", true).is_err());
    }
}
