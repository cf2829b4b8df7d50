//! Rules of a script for operators over quantised tensors.

use super::{Affine, AffineType, Region, Rewritten};
use crate::ir::{DType, Expr, ExprId, Store};
use crate::ops::build::{args, op_name, scalar};
use crate::passes::relay::support::tensor_type;

/// A question to a script: words about a call, and the words of its answer.
pub type Ask<'a> = dyn FnMut(&mut Store, &[u32]) -> Option<Vec<u32>> + 'a;

/// The operators for which a script has rules, and the way to ask it.
pub struct Asked<'a> {
    /// Names of operators.
    pub operators: &'a [String],
    /// Asks for a call.
    pub ask: &'a mut Ask<'a>,
}

impl Asked<'_> {
    /// Lends the same script for a shorter time.
    pub fn again(&mut self) -> Asked<'_> {
        Asked { operators: self.operators, ask: self.ask }
    }

    /// True if the script has a rule for the operator of that name.
    pub fn has(&self, name: &str) -> bool {
        self.operators.iter().any(|known| known == name)
    }
}

/// A tensor in words: its scale, its zero point, a zero of its element type, its axis.
const WORDS: usize = 4;

/// Lets the script rewrite a call. It is told the call, and for the call and its arguments what they stand for: the node, 0 for a
/// tensor or one more than the number of fields, and the words of each tensor. It answers with a node and what that stands for.
pub(super) fn rewritten(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let why = format!("the rule for `{}` gave nothing", op_name(region.store, call));
    let failed = || why.clone();
    let mut known = vec![call];
    known.extend(args(region.store, call));
    let mut words = vec![call.index() as u32];
    for id in known {
        let tensors = match region.types.get(&id) {
            Some(AffineType::Tensor(ty)) => {
                words.extend([id.index() as u32, 0]);
                vec![*ty]
            }
            Some(AffineType::Tuple(types)) => {
                words.extend([id.index() as u32, types.len() as u32 + 1]);
                types.clone()
            }
            None => continue,
        };
        for ty in tensors {
            let zero = scalar(region.store, ty.dtype, 0.0);
            words.extend([ty.scale.index() as u32, ty.zero_point.index() as u32, zero.index() as u32, ty.axis as i32 as u32]);
        }
    }
    let answer = match &mut region.asked {
        Some(asked) => (asked.ask)(region.store, &words).ok_or_else(failed)?,
        None => return Err(failed()),
    };
    let [new, fields, rest @ ..] = answer.as_slice() else { return Err(failed()) };
    let node = |id: u32| region.store.expr_at(id as usize).ok_or_else(failed);
    let new = node(*new)?;
    let mut types = Vec::new();
    for tensor in rest.chunks_exact(WORDS) {
        let (scale, zero_point, zero) = (node(tensor[0])?, node(tensor[1])?, node(tensor[2])?);
        let dtype = dtype_of(region.store, zero).ok_or_else(failed)?;
        types.push(Affine { scale, zero_point, dtype, axis: i64::from(tensor[3] as i32) });
    }
    match (*fields, types.as_slice()) {
        (0, [ty]) => Ok((new, AffineType::Tensor(*ty))),
        (fields, _) if fields as usize == types.len() + 1 => Ok((new, AffineType::Tuple(types))),
        _ => Err(failed()),
    }
}

fn dtype_of(store: &Store, id: ExprId) -> Option<DType> {
    match store.expr(id) {
        Expr::Constant(tensor) => Some(store.tensor(tensor).dtype),
        _ => tensor_type(store, id).map(|(_, dtype)| dtype),
    }
}
