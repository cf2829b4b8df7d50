//! Operators of two tensors, element by element with broadcasting (TVM: src/relax/op/tensor/binary.cc and
//! ternary.cc).

use super::{Deduce, Tensor, int};
use crate::ir::{DType, Dim, Extents, TensorInfo, Type, TypeId, show_relax_type};
use std::rc::Rc;

/// An operand: a tensor, or a scalar that counts as a tensor of one element.
enum Operand {
    Tensor(Tensor),
    Scalar(DType),
}

impl Operand {
    fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Tensor(tensor) => tensor.dtype(),
            Operand::Scalar(dtype) => Some(*dtype),
        }
    }

    fn rank(&self) -> Option<usize> {
        match self {
            Operand::Tensor(tensor) => tensor.rank,
            Operand::Scalar(_) => Some(1),
        }
    }

    fn shape(&self) -> Option<Rc<[Dim]>> {
        match self {
            Operand::Tensor(tensor) => tensor.values.clone(),
            Operand::Scalar(_) => Some([int(1)].into()),
        }
    }
}

fn operand(cx: &mut Deduce<'_>, index: usize) -> Result<Operand, String> {
    let ty = cx.ty(index);
    if let Type::Prim(dtype) = cx.store.type_of_id(ty) {
        return Ok(Operand::Scalar(*dtype));
    }
    cx.tensor_of(ty).map(Operand::Tensor).ok_or_else(|| {
        let side = if index == 0 { "LHS" } else { "RHS" };
        let given = show_relax_type(cx.store, ty);
        format!(
            "Arguments to binary operators must be either R.Tensor or R.Prim types, but the {side} of {} has type {given}",
            cx.op
        )
    })
}

/// Gives the result the element type of both.
pub fn arith(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    broadcast(cx, None)
}

/// Gives the result truth values.
pub fn compare(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    broadcast(cx, Some(DType::BOOL))
}

fn broadcast(cx: &mut Deduce<'_>, out: Option<DType>) -> Result<TypeId, String> {
    cx.arity(2)?;
    if let Some(ty) = one_of_both(cx, out) {
        return Ok(ty);
    }
    let (a, b) = (operand(cx, 0)?, operand(cx, 1)?);
    let dtype = match (out, a.dtype(), b.dtype()) {
        (Some(out), _, _) => Some(out),
        // Truth values go with anything.
        (None, Some(a), Some(b)) if a != b && ![a, b].contains(&DType::BOOL) => {
            return Err(format!(
                "Binary operators must have the same datatype for both operands. However, {} uses datatype {a} on the LHS, and datatype {b} on the RHS.",
                cx.op
            ));
        }
        (None, Some(a), Some(_)) => Some(a),
        _ => None,
    };
    if let (Operand::Scalar(_), Operand::Scalar(_), Some(dtype)) = (&a, &b, dtype) {
        return Ok(cx.store.ty(Type::Prim(dtype)));
    }
    let tensors: Vec<&Tensor> = [&a, &b]
        .into_iter()
        .filter_map(|operand| match operand {
            Operand::Tensor(tensor) => Some(tensor),
            Operand::Scalar(_) => None,
        })
        .collect();
    let vdevice = cx.common_vdevice(&tensors)?;
    if let (Some(x), Some(y)) = (a.shape(), b.shape())
        && let Some(shape) = cx.broadcast(&x, &y)?
    {
        return Ok(cx.out(&shape, dtype, vdevice));
    }
    if let (Operand::Tensor(a), Operand::Tensor(b)) = (&a, &b)
        && matches!(a.info.extents, Extents::Known(_) | Extents::Var(_))
        && a.info.extents == b.info.extents
    {
        return Ok(cx.store.tensor_like(TensorInfo { dtype, vdevice, ..a.info.clone() }));
    }
    let rank = a.rank().zip(b.rank()).map(|(a, b)| a.max(b));
    Ok(cx.vague(rank, dtype, vdevice))
}

/// Returns the type of the operand that has the type of the result already: there nearly always is one, and the other
/// is like it, or smaller.
fn one_of_both(cx: &Deduce<'_>, out: Option<DType>) -> Option<TypeId> {
    let &[x, y] = cx.types else { return None };
    let (Type::Tensor { shape: a, dtype }, Type::Tensor { shape: b, dtype: other }) =
        (cx.store.type_of_id(x), cx.store.type_of_id(y))
    else {
        return None;
    };
    if dtype != other || out.is_some_and(|out| out != *dtype) {
        return None;
    }
    // An unknown extent equals no other, and a narrow extent becomes a wide one.
    let stays = |dim: &Dim| !matches!(dim, Dim::Any) && dim.known().is_none_or(|value| *dim == int(value));
    let covers = |a: &[Dim], b: &[Dim]| {
        a.len() >= b.len()
            && a.iter().all(stays)
            && a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b || b.known() == Some(1))
    };
    match () {
        () if covers(a, b) => Some(x),
        () if covers(b, a) => Some(y),
        () => None,
    }
}

/// `ewise_fma`: three tensors of one shape and element type.
pub fn ewise_fma(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let tensors = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let all = [&tensors[0], &tensors[1], &tensors[2]];
    let dtype = cx.common_dtype(&all)?;
    let vdevice = cx.common_vdevice(&all)?;
    let rank = all.iter().find_map(|tensor| tensor.rank);
    if all.iter().any(|tensor| tensor.rank.is_some() && tensor.rank != rank) {
        return Err(format!("{} requires its inputs to have the same ndim", cx.op));
    }
    let shapes: Option<Vec<&Rc<[Dim]>>> = all.iter().map(|tensor| tensor.values.as_ref()).collect();
    if let Some(shapes) = shapes {
        for axis in 0..rank.unwrap_or(0) {
            if cx.differ(shapes[0][axis], shapes[1][axis])
                || cx.differ(shapes[0][axis], shapes[2][axis])
                || cx.differ(shapes[1][axis], shapes[2][axis])
            {
                return Err(format!("{} requires its inputs to have the same shape", cx.op));
            }
        }
        return Ok(cx.out(shapes[0], dtype, vdevice));
    }
    let [x, y, z] = all.map(|tensor| &tensor.info.extents);
    if matches!(x, Extents::Var(_)) && x == y && x == z {
        return Ok(cx.shaped(x.clone(), dtype, vdevice));
    }
    Ok(cx.vague(rank, dtype, vdevice))
}
