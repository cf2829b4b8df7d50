//! Rearrangements of the same elements.

use super::Gradient;
use crate::ir::{AttrValue, Dim, ExprId, PrimOp, Type};
use crate::ops::build::ints;

type Partials = Result<Vec<Option<ExprId>>, String>;

/// `permute_dims`: the inverse permutation.
pub fn permute_dims(cx: &mut Gradient<'_>) -> Partials {
    let attrs = match cx.ints("axes").filter(|axes| !axes.is_empty()) {
        Some(axes) => {
            let mut back = vec![0; axes.len()];
            for (at, axis) in axes.iter().enumerate() {
                if let Some(slot) = back.get_mut(axis.rem_euclid(axes.len() as i64) as usize) {
                    *slot = at as i64;
                }
            }
            vec![("axes", ints(&back))]
        }
        None => Vec::new(),
    };
    Ok(vec![Some(cx.call("permute_dims", &[cx.out], &attrs)?)])
}

/// `concat`: the parts.
pub fn concat(cx: &mut Gradient<'_>) -> Partials {
    let axis = cx.store.attr_int(cx.attrs, "axis").ok_or("concat without an axis has no gradient")?;
    let ty = cx.ty(cx.arg(0)?)?;
    let Type::Tuple(fields) = cx.store.type_of_id(ty).clone() else { return Err("concat takes a tuple".to_owned()) };
    let mut places: Vec<AttrValue> = Vec::new();
    let mut end = Dim::Int { value: 0, bits: 64 };
    for field in fields.iter().take(fields.len().saturating_sub(1)) {
        let dims = match cx.store.tensor_info(*field).map(|info| info.extents) {
            Some(crate::ir::Extents::Known(dims)) => dims,
            _ => return Err("the shape of a tensor is not known".to_owned()),
        };
        let extent = dims.get(axis.rem_euclid(dims.len().max(1) as i64) as usize).copied().ok_or("concat along no axis")?;
        end = cx.arith(PrimOp::Add, end, extent);
        places.push(match end.known() {
            Some(place) => AttrValue::int(place),
            None => AttrValue::Dim(end),
        });
    }
    let places = AttrValue::Array(places.into());
    let parts = cx.call("split", &[cx.out], &[("indices_or_sections", places), ("axis", AttrValue::int(axis))])?;
    Ok(vec![Some(parts)])
}

/// `split`: the whole.
pub fn split(cx: &mut Gradient<'_>) -> Partials {
    let axis = cx.attr("axis");
    Ok(vec![Some(cx.call("concat", &[cx.out], &[("axis", axis)])?)])
}

/// `expand_dims`
pub fn expand_dims(cx: &mut Gradient<'_>) -> Partials {
    let axis = cx.attr("axis");
    Ok(vec![Some(cx.call("squeeze", &[cx.out], &[("axis", axis)])?)])
}

/// `reshape`
pub fn reshape(cx: &mut Gradient<'_>) -> Partials {
    let shape = cx.shape_of(cx.arg(0)?)?;
    Ok(vec![Some(cx.call("reshape", &[cx.out, shape], &[])?), None])
}

/// `broadcast_to`
pub fn broadcast_to(cx: &mut Gradient<'_>) -> Partials {
    let shape = cx.shape_of(cx.arg(0)?)?;
    Ok(vec![Some(cx.call("collapse_sum_to", &[cx.out, shape], &[])?), None])
}

/// `take`
pub fn take(cx: &mut Gradient<'_>) -> Partials {
    let axis = cx.attr("axis");
    let operands = [cx.out, cx.arg(0)?, cx.arg(1)?];
    Ok(vec![Some(cx.call("grad.take_backward", &operands, &[("axis", axis)])?), None])
}

/// Exchanges the last two axes of a tensor.
fn transposed(cx: &mut Gradient<'_>, tensor: ExprId, rank: usize) -> Result<ExprId, String> {
    let axes: Vec<i64> = (0..rank).map(|at| if at + 2 < rank { at as i64 } else { (2 * rank - 3 - at) as i64 }).collect();
    cx.call("permute_dims", &[tensor], &[("axes", ints(&axes))])
}

/// `matmul`
pub fn matmul(cx: &mut Gradient<'_>) -> Partials {
    let (a, b) = (cx.arg(0)?, cx.arg(1)?);
    let (of_a, of_b) = (cx.dims(a)?.len(), cx.dims(b)?.len());
    let axis = |at: i64| ("axis", ints(&[at]));
    let (first, second) = if of_a > 1 && of_b > 1 {
        let turned = transposed(cx, b, of_b)?;
        let first = cx.binary("matmul", cx.out, turned)?;
        let turned = transposed(cx, a, of_a)?;
        (first, cx.binary("matmul", turned, cx.out)?)
    } else if of_b > 1 {
        let column = cx.call("expand_dims", &[a], &[axis(1)])?;
        let row = cx.call("expand_dims", &[cx.out], &[axis(-2)])?;
        let turned = transposed(cx, b, of_b)?;
        let first = cx.binary("matmul", row, turned)?;
        (first, cx.binary("matmul", column, row)?)
    } else if of_a > 1 {
        let row = cx.call("expand_dims", &[b], &[axis(0)])?;
        let column = cx.call("expand_dims", &[cx.out], &[axis(-1)])?;
        let first = cx.binary("matmul", column, row)?;
        let turned = transposed(cx, a, of_a)?;
        let second = cx.binary("matmul", turned, column)?;
        (first, cx.call("squeeze", &[second], &[axis(-1)])?)
    } else {
        (cx.binary("multiply", cx.out, b)?, cx.binary("multiply", cx.out, a)?)
    };
    Ok(vec![Some(cx.fit(first, a)?), Some(cx.fit(second, b)?)])
}
