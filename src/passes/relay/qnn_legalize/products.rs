//! Products of quantised matrices: the sum over `(x - x_zero) * (y - y_zero)` as four terms.
//!
//! Source: `src/relay/qnn/op/dense.cc`, `batch_matmul.cc`.

use super::super::support::emit::Emit;
use super::super::support::legalizer::Site;
use crate::ir::{AttrValue, DType, ExprId};
use crate::ops::build::int_tensor;

type Made = Result<ExprId, String>;

/// Returns the zero points as numbers, if both are constants of rank 0.
pub(super) fn zeros(emit: &Emit<'_>, x: ExprId, y: ExprId) -> Option<[i64; 2]> {
    emit.value(x).zip(emit.value(y)).map(|(x, y)| [x as i64, y as i64])
}

/// Combines the terms, without those that are zero. The product of the zero points is made when it is needed.
pub(super) fn combine(
    emit: &mut Emit<'_>,
    zeros: Option<[i64; 2]>,
    first: ExprId,
    rest: [&mut dyn FnMut(&mut Emit<'_>) -> Made; 3],
) -> Made {
    let [second, third, fourth] = rest;
    match zeros {
        Some([0, 0]) => Ok(first),
        Some([0, _]) => {
            let second = second(emit)?;
            Ok(emit.call("subtract", &[first, second]))
        }
        Some([_, 0]) => {
            let third = third(emit)?;
            Ok(emit.call("subtract", &[first, third]))
        }
        _ => {
            let (second, third, fourth) = (second(emit)?, third(emit)?, fourth(emit)?);
            let data = emit.call("subtract", &[first, second]);
            // Constants stand together, so that they are folded.
            let constants = emit.call("subtract", &[fourth, third]);
            Ok(emit.call("add", &[data, constants]))
        }
    }
}

/// Makes a constant of a product, which wraps in 32 bits.
pub(super) fn wrapped(emit: &mut Emit<'_>, dtype: DType, factors: &[i64]) -> ExprId {
    let product = factors.iter().fold(1i32, |product, factor| product.wrapping_mul(*factor as i32));
    int_tensor(emit.store, dtype, &[], &[i64::from(product)])
}

fn sum(emit: &mut Emit<'_>, x: ExprId, axis: i64, keepdims: bool) -> ExprId {
    let x = emit.cast(x, DType::I32);
    emit.reduce("sum", x, &[axis], keepdims)
}

pub(super) fn dense(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let [x, w, x_zero, w_zero, _, _] = site.inputs()?;
    let (x_shape, w_shape) = (site.shape(emit.store, 0)?, site.shape(emit.store, 1)?);
    let (Some(reduced), Some(units)) = (x_shape.get(1).copied(), w_shape.first().copied()) else {
        return Err("a matrix has two axes".to_owned());
    };
    let first = emit.over("nn.dense", &[x, w], site.attrs, &[]);
    let known = zeros(emit, x_zero, w_zero);
    combine(
        emit,
        known,
        first,
        [
            &mut |emit| {
                let mut rows = sum(emit, x, 1, true);
                if emit.value(w_zero).is_none() {
                    rows = emit.repeat(rows, units, 1);
                }
                Ok(emit.call("multiply", &[w_zero, rows]))
            },
            &mut |emit| {
                let columns = sum(emit, w, 1, false);
                Ok(emit.call("multiply", &[x_zero, columns]))
            },
            &mut |emit| {
                if let Some([x, w]) = known {
                    return Ok(wrapped(emit, DType::I32, &[x, w, reduced]));
                }
                let count = emit.int(reduced);
                let product = emit.call("multiply", &[x_zero, w_zero]);
                Ok(emit.call("multiply", &[product, count]))
            },
        ],
    )
}

pub(super) fn batch_matmul(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let [x, y, x_zero, y_zero, _, _] = site.inputs()?;
    let (x_shape, y_shape) = (site.shape(emit.store, 0)?, site.shape(emit.store, 1)?);
    let (Some(reduced), Some(columns)) = (x_shape.get(2).copied(), y_shape.get(1).copied()) else {
        return Err("a batch of matrices has three axes".to_owned());
    };
    let flag = |name: &str| emit.store.attr_int(site.attrs, name).unwrap_or(0) != 0;
    if flag("transpose_a") || !flag("transpose_b") {
        return Err("Currently qnn.batch_matmul only supports (transpose_a=false, transpose_b=true).".to_owned());
    }
    for index in [2, 3] {
        if site.shape(emit.store, index)?.iter().any(|extent| *extent != 1) {
            return Err("Tensor zero point (non-scalar) is not supported".to_owned());
        }
    }
    let out = emit.store.attr(site.attrs, "out_dtype").cloned().unwrap_or(AttrValue::Null);
    let written = [("out_dtype", out), ("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(true))];
    let first = emit.with("nn.batch_matmul", &[x, y], &written);
    let known = zeros(emit, x_zero, y_zero);
    combine(
        emit,
        known,
        first,
        [
            &mut |emit| {
                let rows = sum(emit, x, 2, true);
                Ok(emit.call("multiply", &[y_zero, rows]))
            },
            &mut |emit| {
                let sums = sum(emit, y, 2, true);
                let sums = emit.call("multiply", &[x_zero, sums]);
                Ok(emit.reshape(sums, &[0, 1, columns]))
            },
            &mut |emit| {
                if let Some([x, y]) = known {
                    return Ok(wrapped(emit, DType::I32, &[x, y, reduced]));
                }
                let product = emit.call("multiply", &[x_zero, y_zero]);
                let count = emit.int(reduced);
                Ok(emit.call("multiply", &[product, count]))
            },
        ],
    )
}
