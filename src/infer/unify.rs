//! Unification: makes two types equal, or returns the reason why they are not. After `Unifier` in
//! TVM's `type_solver.cc`, with its left and right: TVM compares the right side with the left.

use super::solver::{Slot, Solver};
use super::subst;
use crate::ir::{Dim, PrimExpr, Store, Type, TypeId, show_dim, show_type};
use rustc_hash::FxHashMap;

/// Symbolic extents that were found to be equal to other extents.
#[derive(Default)]
pub(super) struct DimEqualities(FxHashMap<Dim, Dim>);

impl DimEqualities {
    fn find(&self, mut dim: Dim) -> Dim {
        while let Some(&next) = self.0.get(&dim) {
            dim = next;
        }
        dim
    }

    /// Unifies two extents: an unknown one absorbs all others, a symbol becomes the number it meets,
    /// numbers must be equal whatever their width.
    fn unify(&mut self, store: &Store, left: Dim, right: Dim) -> Option<Dim> {
        let (left, right) = (self.find(left), self.find(right));
        if left == right {
            return Some(left);
        }
        if has_any(store, left) || has_any(store, right) {
            return Some(Dim::Any);
        }
        match (left, right) {
            (Dim::Symbol(_), Dim::Int { .. }) => {
                self.0.insert(left, right);
                Some(right)
            }
            (Dim::Int { .. }, Dim::Symbol(_)) => {
                self.0.insert(right, left);
                Some(left)
            }
            (Dim::Int { value: a, .. }, Dim::Int { value: b, .. }) if a == b => Some(left),
            _ => None,
        }
    }
}

fn has_any(store: &Store, dim: Dim) -> bool {
    let mut found = dim == Dim::Any;
    if let Dim::Expr(expr) = dim {
        store.for_each_prim(expr, &mut |_, part| found |= *part == PrimExpr::Any);
    }
    found
}

/// The reason why two types are not equal.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// The left type as text.
    pub left: String,
    /// The right type as text.
    pub right: String,
    /// The differences, innermost first.
    pub details: Vec<String>,
}

impl Mismatch {
    /// Returns the message for users, in TVM's words.
    pub(super) fn message(&self) -> String {
        let mut text = format!(
            "The Relay type checker is unable to show the following types match. In particular `{}` does not match `{}`",
            self.left, self.right
        );
        for detail in &self.details {
            text.push_str("; ");
            text.push_str(detail);
        }
        text
    }
}

impl Solver {
    /// Makes two occurrences equal and returns their slot. With `assign_*` false that side keeps its
    /// own type when the two differ in precision (`5` and `?`).
    pub(super) fn unify(
        &mut self,
        store: &mut Store,
        left: Slot,
        right: Slot,
        assign_left: bool,
        assign_right: bool,
    ) -> Result<Slot, Mismatch> {
        let (a, b) = (self.root(left), self.root(right));
        if a == b {
            return Ok(a);
        }
        let (left, right) = (self.known(a), self.known(b));
        // Of two holes the program's own remains, so that inferring again changes nothing.
        let keep_left = self.is_unknown(b) && self.is_from_program(store, a);
        if self.is_unknown(a) && !keep_left {
            return self.fill(store, a, b, left, right);
        }
        if self.is_unknown(b) {
            return self.fill(store, b, a, left, right);
        }
        let mut details = Vec::new();
        let Some(unified) = self.unify_known(store, right, left, 0, &mut details) else {
            return Err(self.mismatch(store, left, right, details));
        };
        let top = if unified == right { b } else { self.occurrence(store, unified) };
        if assign_left {
            self.merge(store, a, top);
        }
        if assign_right {
            self.merge(store, b, top);
        }
        Ok(top)
    }

    fn mismatch(&mut self, store: &mut Store, left: TypeId, right: TypeId, details: Vec<String>) -> Mismatch {
        let (left, right) = (self.resolve_type(store, left), self.resolve_type(store, right));
        Mismatch { left: show_type(store, left), right: show_type(store, right), details }
    }

    fn fill(&mut self, store: &mut Store, hole: Slot, by: Slot, left: TypeId, right: TypeId) -> Result<Slot, Mismatch> {
        let known = self.known(by);
        if !self.is_unknown(by) && self.occurs(store, hole, known) {
            let detail = "an unknown type cannot contain itself".to_owned();
            return Err(self.mismatch(store, left, right, vec![detail]));
        }
        self.merge(store, hole, by);
        Ok(by)
    }

    /// Unifies types inside of others, and fills holes on the way. `None` when they do not fit.
    fn unify_types(
        &mut self,
        store: &mut Store,
        a: TypeId,
        b: TypeId,
        depth: usize,
        details: &mut Vec<String>,
    ) -> Option<TypeId> {
        if a == b {
            return Some(a);
        }
        if depth > crate::ir::MAX_TYPE_DEPTH {
            self.too_deep = true;
            return None;
        }
        let (a_hole, b_hole) = (is_hole(store, a), is_hole(store, b));
        if !a_hole && !b_hole {
            return self.unify_known(store, a, b, depth, details);
        }
        let (slot_a, slot_b) = (self.occurrence(store, a), self.occurrence(store, b));
        let (root_a, root_b) = (self.root(slot_a), self.root(slot_b));
        if root_a == root_b {
            return Some(self.known(root_a));
        }
        let (known_a, known_b) = (self.known(root_a), self.known(root_b));
        let keep_a = self.is_unknown(root_b) && self.is_from_program(store, root_a);
        let (hole, by, known) = if self.is_unknown(root_a) && !keep_a {
            (root_a, root_b, known_b)
        } else if self.is_unknown(root_b) {
            (root_b, root_a, known_a)
        } else {
            let unified = self.unify_known(store, known_a, known_b, depth, details)?;
            let top = self.occurrence(store, unified);
            self.merge(store, root_a, top);
            self.merge(store, root_b, top);
            return Some(unified);
        };
        if !self.is_unknown(by) && self.occurs(store, hole, known) {
            details.push("an unknown type cannot contain itself".to_owned());
            return None;
        }
        self.merge(store, hole, by);
        Some(known)
    }

    fn unify_known(
        &mut self,
        store: &mut Store,
        a: TypeId,
        b: TypeId,
        depth: usize,
        details: &mut Vec<String>,
    ) -> Option<TypeId> {
        if a == b {
            return Some(a);
        }
        let depth = depth + 1;
        match (&*store.type_rc(a), &*store.type_rc(b)) {
            (Type::Tensor { shape: sa, dtype: da }, Type::Tensor { shape: sb, dtype: db }) => {
                if da != db {
                    return None;
                }
                if sa.len() != sb.len() {
                    details.push(format!(
                        "tensor type `{}` has {} dimensions, while `{}` has {} dimensions",
                        show_type(store, a),
                        sa.len(),
                        show_type(store, b),
                        sb.len()
                    ));
                    return None;
                }
                let mut shape = Vec::with_capacity(sa.len());
                for (axis, (&x, &y)) in sa.iter().zip(sb.iter()).enumerate() {
                    match self.dims.unify(store, x, y) {
                        Some(dim) => shape.push(dim),
                        None => details.push(format!(
                            "dimension {axis} conflicts: {} does not match {}.",
                            show_dim(store, x),
                            show_dim(store, y)
                        )),
                    }
                }
                (shape.len() == sa.len()).then(|| store.tensor_type(&shape, *da))
            }
            (Type::Tuple(fa), Type::Tuple(fb)) => {
                if fa.len() != fb.len() {
                    details.push(format!("a tuple of {} is not a tuple of {}", fa.len(), fb.len()));
                    return None;
                }
                let fields = self.unify_lists(store, fa, fb, depth, details)?;
                Some(store.tuple_type(&fields))
            }
            (Type::Func { type_params: pa, .. }, Type::Func { type_params: pb, .. }) => {
                if pa.len() < pb.len() {
                    self.unify_functions(store, b, a, depth, details)
                } else {
                    self.unify_functions(store, a, b, depth, details)
                }
            }
            (Type::Ref(va), Type::Ref(vb)) => {
                let value = self.unify_types(store, *va, *vb, depth, details)?;
                Some(store.ty(Type::Ref(value)))
            }
            (Type::Apply { head: ha, args: aa }, Type::Apply { head: hb, args: ab }) => {
                if aa.len() != ab.len() {
                    return None;
                }
                let head = self.unify_types(store, *ha, *hb, depth, details)?;
                let args = self.unify_lists(store, aa, ab, depth, details)?;
                Some(store.ty(Type::Apply { head, args: args.into() }))
            }
            _ => None,
        }
    }

    fn unify_lists(
        &mut self,
        store: &mut Store,
        a: &[TypeId],
        b: &[TypeId],
        depth: usize,
        details: &mut Vec<String>,
    ) -> Option<Vec<TypeId>> {
        a.iter().zip(b).map(|(&x, &y)| self.unify_types(store, x, y, depth, details)).collect()
    }

    /// `a` has at least as many type parameters as `b`: the first ones are matched in order, the
    /// others are unknown.
    fn unify_functions(
        &mut self,
        store: &mut Store,
        a: TypeId,
        b: TypeId,
        depth: usize,
        details: &mut Vec<String>,
    ) -> Option<TypeId> {
        let (Type::Func { type_params: pa, params: xa, ret: ra }, Type::Func { type_params: pb, params: xb, ret: rb }) =
            (&*store.type_rc(a), &*store.type_rc(b))
        else {
            return None;
        };
        if xa.len() != xb.len() {
            details.push(format!("a function of {} arguments is not a function of {}", xa.len(), xb.len()));
            return None;
        }
        let mut by = FxHashMap::default();
        for (i, &param) in pa.iter().enumerate() {
            let ty = match pb.get(i) {
                Some(&other) => store.ty(Type::Var(other)),
                None => {
                    let hole = self.hole(store);
                    self.own(hole)
                }
            };
            by.insert(param, ty);
        }
        let mut renamed = Vec::with_capacity(xa.len());
        for &param in xa {
            renamed.push(subst::substitute(store, &mut self.facts, param, &by));
        }
        let ret = subst::substitute(store, &mut self.facts, *ra, &by);
        let ret = self.unify_types(store, ret, *rb, depth, details)?;
        let params = self.unify_lists(store, &renamed, xb, depth, details)?;
        Some(store.ty(Type::Func { type_params: pb.clone(), params: params.into(), ret }))
    }
}

fn is_hole(store: &Store, ty: TypeId) -> bool {
    matches!(store.type_of_id(ty), Type::Hole(_))
}
