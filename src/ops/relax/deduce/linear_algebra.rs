//! Products of matrices (TVM: src/relax/op/tensor/linear_algebra.cc).

use super::{Deduce, Tensor};
use crate::ir::sort::sort_by;
use crate::ir::{Dim, Extents, TypeId, show_dim, show_relax_type};

/// `matmul`: as NumPy multiplies, with leading axes broadcast.
pub fn matmul(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let vdevice = cx.common_vdevice(&[&a, &b]).ok().flatten();
    let dtype = match cx.dtype("out_dtype") {
        Some(dtype) => Some(dtype),
        None => cx.arith_dtype(&a, &b)?,
    };
    let (Some(a_rank), Some(b_rank)) = (a.rank, b.rank) else { return Ok(cx.vague(None, dtype, vdevice)) };
    if a_rank == 0 || b_rank == 0 {
        return Err("Matmul operands must not be scalar.".to_owned());
    }
    let (a_vector, b_vector) = (a_rank == 1, b_rank == 1);
    let rank = a_rank.max(2).max(b_rank) - usize::from(a_vector) - usize::from(b_vector);
    let (Extents::Known(x), Extents::Known(y)) = (&a.info.extents, &b.info.extents) else {
        return Ok(cx.vague(Some(rank), dtype, vdevice));
    };
    let (x_lead, y_lead) = (&x[..a_rank.saturating_sub(2)], &y[..b_rank.saturating_sub(2)]);
    let Some(mut shape) = cx.broadcast(x_lead, y_lead)? else { return Ok(cx.vague(Some(rank), dtype, vdevice)) };
    let (x_inner, y_inner) = (x[a_rank - 1], if b_vector { y[0] } else { y[b_rank - 2] });
    if cx.differ(x_inner, y_inner) {
        let [x, y] = [x_inner, y_inner].map(|dim| show_dim(cx.store, dim));
        return Err(format!(
            "Matmul requires the reduction length of the operands to be equal. However, the LHS has type {}, while the RHS has \
             type {}. The reduction dimensions of {x} and {y} are not equal.",
            show_relax_type(cx.store, cx.types[0]),
            show_relax_type(cx.store, cx.types[1])
        ));
    }
    if !a_vector {
        shape.push(x[a_rank - 2]);
    }
    if !b_vector {
        shape.push(y[b_rank - 1]);
    }
    Ok(cx.out(&shape, dtype, vdevice))
}

/// `outer`: of two vectors.
pub fn outer(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if a.rank != Some(1) || b.rank != Some(1) {
        return Err("torch.outer requires both inputs to be 1D tensors, of one dimension each.".to_owned());
    }
    // The element type and the device of the second vector do not matter to TVM.
    match (&a.info.extents, &b.info.extents) {
        (Extents::Known(x), Extents::Known(y)) => Ok(cx.out(&[x[0], y[0]], a.dtype(), None)),
        _ => Ok(cx.vague(Some(2), a.dtype(), None)),
    }
}

/// `einsum`: the extent of each letter of the subscripts.
pub fn einsum(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let tensors = cx.tensors(0)?;
    let refs: Vec<&Tensor> = tensors.iter().collect();
    let dtype = cx.common_dtype(&refs)?;
    let vdevice = cx.common_vdevice(&refs).ok().flatten();
    let subscripts = cx.text("subscripts").unwrap_or_default().replace(' ', "");
    let (inputs, output) = match subscripts.split_once("->") {
        Some((inputs, output)) => (inputs.to_owned(), output.to_owned()),
        None => {
            // Without an arrow the result has the letters that occur once, in alphabetical order.
            let mut letters: Vec<char> = subscripts.chars().filter(|c| c.is_alphabetic()).collect();
            sort_by(&mut letters, char::cmp);
            let once = letters.iter().filter(|c| letters.iter().filter(|d| d == c).count() == 1).collect();
            (subscripts.clone(), once)
        }
    };
    let mut inputs: Vec<String> = inputs.split(',').map(str::to_owned).collect();
    let output = with_axes_named(&mut inputs, &tensors, output, subscripts.contains("->"));
    if inputs.len() != tensors.len() {
        if tensors.iter().any(|tensor| !matches!(tensor.info.extents, Extents::Known(_))) {
            return Ok(cx.vague(None, dtype, vdevice));
        }
        return Err(format!(
            "Check failed: equation_.inputs.size() == input_shapes_.size() ({} vs. {}) : Number of operands does not match the \
             equation",
            inputs.len(),
            tensors.len()
        ));
    }
    let mut known: Vec<(char, Dim)> = Vec::new();
    for (letters, tensor) in inputs.iter().zip(&tensors) {
        let Some(shape) = &tensor.shape else { return Ok(cx.vague(tensors[0].rank, dtype, vdevice)) };
        if letters.chars().count() != shape.len() {
            return Err(format!("Index {0} out of bounds {0}: the subscripts `{letters}` name other axes", shape.len()));
        }
        for (letter, extent) in letters.chars().zip(shape.iter()) {
            match known.iter_mut().find(|(other, _)| *other == letter) {
                // An axis of extent one is broadcast.
                Some(entry) if entry.1.known() == Some(1) => entry.1 = *extent,
                Some(entry) if extent.known() != Some(1) && cx.differ(entry.1, *extent) => {
                    let [a, b] = [entry.1, *extent].map(|dim| dim.known().unwrap_or_default());
                    return Err(format!("Cannot broadcast extents {a} and {b}"));
                }
                Some(_) => {}
                None => known.push((letter, *extent)),
            }
        }
    }
    let shape: Option<Vec<Dim>> =
        output.chars().map(|letter| known.iter().find(|(other, _)| *other == letter).map(|(_, extent)| *extent)).collect();
    match shape {
        Some(shape) => Ok(cx.out(&shape, dtype, vdevice)),
        None => Err("einsum: the output names an axis that no operand has".to_owned()),
    }
}

/// Writes letters of no alphabet for the axes that `...` stands for, counted from the last one; returns the output with them.
fn with_axes_named(inputs: &mut [String], tensors: &[Tensor], output: String, explicit: bool) -> String {
    const DOTS: &str = "...";
    let letters = |count: usize| (0..count).rev().filter_map(|at| char::from_u32(0xE000 + at as u32)).collect::<String>();
    let mut most = None;
    for (input, tensor) in inputs.iter_mut().zip(tensors) {
        if input.contains(DOTS) {
            let own = input.replace(DOTS, "").chars().count();
            let count = tensor.rank.unwrap_or(0).saturating_sub(own);
            *input = input.replace(DOTS, &letters(count));
            most = most.max(Some(count));
        }
    }
    match most {
        None => output,
        Some(most) if explicit => output.replace(DOTS, &letters(most)),
        Some(most) => letters(most) + &output,
    }
}
