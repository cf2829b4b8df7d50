//! Functions of one quantised tensor: as a table of their values, or computed on real numbers.
//!
//! Source: `python/tvm/relay/qnn/op/canonicalizations.py`, `src/relay/qnn/op/unary_elementwise_op.cc`.

use super::super::support::emit::Emit;
use super::super::support::legalizer::{Replaced, Site};
use super::elementwise::{Scale, from_reals, to_reals};
use crate::eval::{EvalOptions, eval_expr, value_to_expr};
use crate::ir::{AttrValue, DType, Module};
use crate::ops::build::int_tensor;

/// The functions.
const FUNCTIONS: &[&str] = &["tanh", "exp", "sqrt", "rsqrt", "erf", "sigmoid", "hardswish", "log", "abs"];

/// Returns the name of the function on real numbers.
fn function(name: &str) -> Option<&str> {
    name.strip_prefix("qnn.").filter(|name| FUNCTIONS.contains(name))
}

/// Replaces a call by a `take` from the values for all numbers of 8 bits.
pub(super) fn lookup(emit: &mut Emit<'_>, site: &Site<'_>, name: &str) -> Replaced {
    if function(name).is_none() {
        return Ok(None);
    }
    let [data, scales @ ..] = site.inputs::<5>()?;
    if scales.iter().any(|scale| emit.value(*scale).is_none()) {
        return Err("the scales and zero points must be constants".to_owned());
    }
    let dtype = site.dtype(emit.store, 0)?;
    // The bits as unsigned numbers, read as the type of the data.
    let bits: Vec<i64> = (0..256).map(|bits: i64| if dtype == DType::I8 { i64::from(bits as i8) } else { bits }).collect();
    let inputs = int_tensor(emit.store, dtype, &[256], &bits);
    let [scale, zero, out_scale, out_zero] = scales;
    let call = emit.call(name, &[inputs, scale, zero, out_scale, out_zero]);
    let value =
        eval_expr(emit.store, &Module::default(), call, &[], EvalOptions::default()).map_err(|failure| failure.message)?;
    let table = value_to_expr(emit.store, &value).ok_or("the table has no value")?;
    let index = emit.with("reinterpret", &[data], &[("dtype", AttrValue::DType(Some(DType::U8)))]);
    let mode = emit.text("fast");
    Ok(Some(emit.with("take", &[table, index], &[("axis", AttrValue::int(0)), ("mode", mode)])))
}

/// Computes on real numbers between two scales.
pub(super) fn in_floats(emit: &mut Emit<'_>, site: &Site<'_>, name: &str) -> Replaced {
    let Some(name) = function(name) else { return Ok(None) };
    let [data, scale, zero_point, out_scale, out_zero] = site.inputs()?;
    let dtype = site.dtype(emit.store, 0)?;
    let x = to_reals(emit, data, Scale { scale, zero_point });
    let y = if name == "hardswish" {
        let (three, six) = (emit.number(DType::F32, 3.0), emit.number(DType::F32, 6.0));
        let shifted = emit.call("add", &[x, three]);
        let clipped = emit.clip(shifted, 0.0, 6.0);
        let product = emit.call("multiply", &[x, clipped]);
        emit.call("divide", &[product, six])
    } else {
        emit.call(name, &[x])
    };
    from_reals(emit, y, Scale { scale: out_scale, zero_point: out_zero }, dtype).map(Some)
}
