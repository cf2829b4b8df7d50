//! Type relations: the constraints of an operator on the types of its inputs and output.

use crate::ir::{AttrsId, DType, Dim, PrimOp, Store, Type, TypeId, show_type};
use std::rc::Rc;

/// The result of a relation: `Ok(true)` when it holds and everything is assigned, `Ok(false)` when an input is not
/// known well enough yet and it must be asked again, `Err` with TVM's message when the types can never fit.
pub type RuleResult = Result<bool, String>;

/// A type relation (TVM's `TypeRelationFn`).
pub type TypeRule = fn(&mut RuleCx<'_>) -> RuleResult;

/// Unifies two types, or returns TVM's message why they do not fit.
pub type Unify<'a> = dyn FnMut(&mut Store, TypeId, TypeId) -> Result<(), String> + 'a;

/// The context of a relation (TVM's `TypeReporter` with its arguments).
pub struct RuleCx<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// Types of the inputs, then of the output, as far as they are known: unknown ones are [`Type::Hole`]. Nested types
    /// are resolved too.
    pub types: &'a [TypeId],
    /// The number of inputs among `types`.
    pub n_inputs: usize,
    /// The attributes of the call.
    pub attrs: Option<AttrsId>,
    /// The function that unifies types.
    pub unify: &'a mut Unify<'a>,
}

impl RuleCx<'_> {
    /// Demands that the type at `index` is `ty` (TVM's `reporter->Assign`).
    pub fn assign(&mut self, index: usize, ty: TypeId) -> Result<(), String> {
        (self.unify)(self.store, self.types[index], ty)
    }

    /// Demands that the type at `index` is this tensor type.
    pub fn assign_tensor(&mut self, index: usize, shape: &[Dim], dtype: DType) -> Result<(), String> {
        let ty = self.store.tensor_type(shape, dtype);
        self.assign(index, ty)
    }

    /// Demands that the output is `ty`, and is done.
    pub fn output(&mut self, ty: TypeId) -> RuleResult {
        self.assign(self.n_inputs, ty)?;
        Ok(true)
    }

    /// Demands that the output is this tensor type, and is done.
    pub fn output_tensor(&mut self, shape: &[Dim], dtype: DType) -> RuleResult {
        let ty = self.store.tensor_type(shape, dtype);
        self.output(ty)
    }

    /// The type at `index`.
    pub fn ty(&self, index: usize) -> Rc<Type> {
        self.store.type_rc(self.types[index])
    }

    /// Shape and element type at `index`, if it is known to be a tensor.
    pub fn tensor(&self, index: usize) -> Option<(Vec<Dim>, DType)> {
        tensor_of(self.store, self.types[index])
    }

    /// The fields of the tuple at `index`, if it is known to be one.
    pub fn tuple(&self, index: usize) -> Option<Vec<TypeId>> {
        match self.store.type_of_id(self.types[index]) {
            Type::Tuple(fields) => Some(fields.to_vec()),
            _ => None,
        }
    }

    /// True if two extents may be equal (TVM's `reporter->AssertEQ`): false only when they are known to differ.
    pub fn may_equal(&mut self, a: Dim, b: Dim) -> bool {
        let difference = dim_arith(self.store, PrimOp::Sub, a, b);
        difference.known().is_none_or(|d| d == 0)
    }

    /// `a op b`, folded where both are known. See [`dim_arith`].
    pub fn dim(&mut self, op: PrimOp, a: Dim, b: Dim) -> Dim {
        dim_arith(self.store, op, a, b)
    }
}

/// Gives the output, and every input, the type of the first input (TVM's `IdentityRel`). It holds at once: types that
/// are not known yet are unified.
pub fn identity(cx: &mut RuleCx<'_>) -> RuleResult {
    let first = cx.types[0];
    for index in 1..cx.types.len() {
        let other = cx.types[index];
        if matches!(cx.store.type_of_id(other), Type::Hole(_)) {
            // In this order the two occurrences become one, as in TVM: if the output turns out to be `?` instead of
            // `5`, because of an annotation, so does the input.
            cx.assign(0, other)?;
        } else if other != first {
            cx.assign(index, first)?;
            cx.assign(0, other)?;
        }
    }
    Ok(true)
}

/// Gives the output truth values in the shape of the input (TVM's `IdentityCompRel`).
pub fn identity_compare(cx: &mut RuleCx<'_>) -> RuleResult {
    match cx.tensor(0) {
        Some((shape, _)) => cx.output_tensor(&shape, DType::BOOL),
        None => Ok(false),
    }
}

/// Broadcasts two inputs of one element type against each other (TVM's `BroadcastRel`).
pub fn broadcast(cx: &mut RuleCx<'_>) -> RuleResult {
    broadcast_to_dtype(cx, "BroadcastRel", None)
}

/// Does the same with truth values as the result (TVM's `BroadcastCompRel`).
pub fn broadcast_compare(cx: &mut RuleCx<'_>) -> RuleResult {
    broadcast_to_dtype(cx, "BroadcastCompRel", Some(DType::BOOL))
}

fn broadcast_to_dtype(cx: &mut RuleCx<'_>, relation: &str, out: Option<DType>) -> RuleResult {
    let (Some((a, a_dtype)), Some((b, b_dtype))) = (cx.tensor(0), cx.tensor(1)) else {
        return Ok(false);
    };
    if a_dtype != b_dtype {
        return Err(format!("data types {a_dtype} and {b_dtype} do not match in {relation}"));
    }
    let Some(shape) = broadcast_shapes(cx.store, &a, &b) else {
        return Err(format!(
            "Incompatible broadcast type {} and {}",
            show_type(cx.store, cx.types[0]),
            show_type(cx.store, cx.types[1])
        ));
    };
    cx.output_tensor(&shape, out.unwrap_or(a_dtype))
}

/// Returns the shape that two shapes broadcast to, aligned at the right; `None` when they do not fit. An extent of 1
/// yields to the other, then an unknown one does; all others must be provably equal (TVM's `ConcreteBroadcast`).
pub fn broadcast_shapes(store: &mut Store, a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
    let (long, short) = if a.len() > b.len() { (a, b) } else { (b, a) };
    let mut out = long[..long.len() - short.len()].to_vec();
    for (&x, &y) in a[a.len() - short.len()..].iter().zip(&b[b.len() - short.len()..]) {
        out.push(match (x, y) {
            (Dim::Int { value: 1, .. }, _) => y,
            (_, Dim::Int { value: 1, .. }) => x,
            (Dim::Any, _) => y,
            (_, Dim::Any) => x,
            _ if must_equal(store, x, y) => x,
            _ => return None,
        });
    }
    Some(out)
}

/// True if two extents are known to be equal (TVM's `EqualCheck`).
fn must_equal(store: &mut Store, a: Dim, b: Dim) -> bool {
    dim_arith(store, PrimOp::Sub, a, b).known() == Some(0)
}

/// Returns shape and element type, if the type is a tensor.
pub fn tensor_of(store: &Store, ty: TypeId) -> Option<(Vec<Dim>, DType)> {
    match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => Some((shape.to_vec(), *dtype)),
        _ => None,
    }
}

/// Computes on extents as TVM's `PrimExpr` operators do: constants fold, `x + 0`, `x - 0`, `x * 1` and `x / 1` become
/// `x`, an unknown extent makes the result unknown, the rest is a [`PrimExpr`](crate::ir::PrimExpr). The wider integer
/// type wins.
pub fn dim_arith(store: &mut Store, op: PrimOp, a: Dim, b: Dim) -> Dim {
    if a == Dim::Any || b == Dim::Any {
        return Dim::Any;
    }
    let bits = dim_bits(store, a).max(dim_bits(store, b));
    if let (Some(x), Some(y)) = (a.known(), b.known())
        && let Some(value) = op.fold(x, y)
    {
        return Dim::Int { value, bits };
    }
    match (op, a.known(), b.known()) {
        (PrimOp::Add, Some(0), _) => return b,
        (PrimOp::Add | PrimOp::Sub, _, Some(0)) => return a,
        (PrimOp::Mul, Some(1), _) => return b,
        (PrimOp::Mul | PrimOp::FloorDiv | PrimOp::Div, _, Some(1)) => return a,
        (PrimOp::Sub, _, _) if a == b => return Dim::Int { value: 0, bits },
        (PrimOp::Max | PrimOp::Min, _, _) if a == b => return a,
        _ => {}
    }
    store.dim_binary(op, a, b)
}

/// Returns the width in bits of an extent's integer type.
pub fn dim_bits(store: &Store, dim: Dim) -> u8 {
    match dim {
        Dim::Int { bits, .. } => bits,
        Dim::Any => 32,
        Dim::Symbol(s) => store.symbol(s).dtype.bits,
        Dim::Expr(e) => store.prim_dtype(e).bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_fold_and_unknown_ones_absorb() {
        let store = &mut Store::new();
        assert_eq!(dim_arith(store, PrimOp::FloorDiv, Dim::int(-7), Dim::int(2)), Dim::int(-4));
        assert_eq!(dim_arith(store, PrimOp::Add, Dim::int(3), Dim::Any), Dim::Any);
        let wide = Dim::Int { value: 2, bits: 64 };
        assert_eq!(dim_arith(store, PrimOp::Mul, Dim::int(3), wide), Dim::Int { value: 6, bits: 64 });
    }

    #[test]
    fn broadcasting_prefers_the_extent_that_says_more() {
        let store = &mut Store::new();
        let d = Dim::int;
        let out = broadcast_shapes(store, &[d(5), d(1), Dim::Any, Dim::Any], &[d(4), d(3), d(1)]);
        assert_eq!(out, Some(vec![d(5), d(4), d(3), Dim::Any]));
        assert_eq!(broadcast_shapes(store, &[d(2)], &[d(3)]), None);
    }
}
