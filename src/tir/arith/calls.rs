//! Calls of intrinsics that the simplifiers know (`CallNode` in TVM's `src/arith/rewrite_simplify.cc`).

use super::{Analyzer, Mode, is_index};
use crate::ir::{DType, Id, Name, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::{cast, constant};

impl Analyzer {
    pub(super) fn visit_call(&mut self, store: &mut Store, op: Id<Name>, args: &[PrimId], dtype: DType, mode: Mode) -> PrimId {
        let name = store.name_rc(op);
        if let ("if_then_else", &[cond, then, other]) = (&*name.0, args) {
            return self.visit_choice(store, op, [cond, then, other], dtype, mode);
        }
        let args: Box<[PrimId]> = args.iter().map(|arg| self.visit(store, *arg, mode)).collect();
        let known = match (&*name.0, &args[..]) {
            ("likely", &[cond]) => match store.as_prim_int(cond) {
                Some(_) => Some(cond),
                None => self.literal(store, cond, mode),
            },
            ("shift_right" | "shift_left", &[a, b]) => shifted(store, &name.0, a, b),
            ("ceil", &[arg]) => ceiling(store, arg, dtype),
            ("clz", &[arg]) => match *store.prim_of_id(arg) {
                PrimExpr::Int { value, dtype: of } => {
                    let bits = u32::from(of.bits);
                    let low = (value as u64) << (64 - bits.max(1));
                    Some(store.prim_int(i64::from(low.leading_zeros().min(bits)), dtype))
                }
                _ => None,
            },
            _ => None,
        };
        known.unwrap_or_else(|| store.prim(PrimExpr::Call { op, args, dtype }))
    }

    /// Simplifies `T.if_then_else(cond, then, other)`.
    fn visit_choice(&mut self, store: &mut Store, op: Id<Name>, parts: [PrimId; 3], dtype: DType, mode: Mode) -> PrimId {
        let [cond, then, other] = parts;
        let cond = self.visit(store, cond, mode);
        let branch = self.enter_facts(store, cond);
        let then = self.visit(store, then, mode);
        self.exit_facts(branch);
        let negation = store.prim(PrimExpr::Not(cond));
        let scope = self.enter(store, negation);
        let other = self.visit(store, other, mode);
        self.exit(scope);
        match store.as_prim_int(cond) {
            Some(0) => return other,
            Some(1) => return then,
            _ => {}
        }
        // A choice within a choice is one, where both say the same number otherwise.
        if let PrimExpr::Call { op: inner, ref args, .. } = *store.prim_of_id(then)
            && inner == op
            && let &[also, value, rest] = &args[..]
            && rest == other
            && matches!(store.prim_of_id(rest), PrimExpr::Int { .. } | PrimExpr::Float { .. })
        {
            let both = super::rewrite::folded(store, PrimOp::And, cond, also);
            return store.prim(PrimExpr::Call { op, args: [both, value, other].into(), dtype });
        }
        store.prim(PrimExpr::Call { op, args: [cond, then, other].into(), dtype })
    }
}

fn shifted(store: &mut Store, name: &str, a: PrimId, b: PrimId) -> Option<PrimId> {
    let (x, y) = (store.as_prim_int(a)?, store.as_prim_int(b)?);
    let dtype = store.prim_dtype(a);
    if !is_index(dtype) || !is_index(store.prim_dtype(b)) || !(0..i64::from(dtype.bits)).contains(&y) {
        return None;
    }
    Some(store.prim_int(if name == "shift_right" { x >> y } else { x << y }, dtype))
}

/// Folds `ceil(x)` of a number, and `ceil(log2(x))` of one: that is an integer however machines round.
fn ceiling(store: &mut Store, arg: PrimId, dtype: DType) -> Option<PrimId> {
    match *store.prim_of_id(arg) {
        PrimExpr::Int { value, .. } => Some(constant(store, value, dtype)),
        PrimExpr::Float { value, dtype: of } => {
            let number = store.prim_float(value.0.ceil(), of);
            Some(cast(store, dtype, number))
        }
        PrimExpr::Call { op, ref args, .. } if store.str(op) == "log2" => match *store.prim_of_id(*args.first()?) {
            PrimExpr::Float { value, .. } => Some(store.prim_float(value.0.log2().ceil(), dtype)),
            _ => None,
        },
        _ => None,
    }
}
