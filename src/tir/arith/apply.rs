//! Applies the rules of the table: the first that fits rewrites the expression.

use super::rewrite::{folded, operand_class};
use super::table::{Act, Fun, Match, Node, NodeId, Table, kind, table};
use super::{Analyzer, Mode};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::constant;
use crate::tir::effect::{Effect, effect};

impl Analyzer {
    /// Rewrites `id`, which is `a root b`, by the first rule that fits. An operation on one operand has it twice.
    pub(super) fn apply(&mut self, store: &mut Store, root: usize, a: PrimId, b: PrimId, id: PrimId, mode: Mode) -> PrimId {
        let table = table();
        let class = operand_class(store, a);
        let kinds = [a, b].map(|operand| kind(store.prim_of_id(operand)));
        for rule in table.candidates(root, kinds, class) {
            match (rule.act, rule.pattern) {
                (Act::Call(hook), _) => {
                    if let Some(result) = self.call_hook(store, hook, a, b, id, mode) {
                        return result;
                    }
                }
                (Act::Make { result, again }, Some(pattern)) => {
                    let found = &mut Match::default();
                    if !table.matches(store, pattern, id, found) {
                        continue;
                    }
                    if rule.condition.is_some_and(|condition| !self.holds(store, table, condition, found, mode)) {
                        continue;
                    }
                    let result = table.make(store, result, found, Some(id));
                    return if again { self.again(store, result, mode) } else { result };
                }
                (Act::Make { .. }, None) => {}
            }
        }
        id
    }

    fn holds(&mut self, store: &mut Store, table: &Table, at: NodeId, found: &Match, mode: Mode) -> bool {
        match table.nodes[at as usize] {
            Node::Op(PrimOp::And, a, b) => self.holds(store, table, a, found, mode) && self.holds(store, table, b, found, mode),
            Node::Op(PrimOp::Or, a, b) => self.holds(store, table, a, found, mode) || self.holds(store, table, b, found, mode),
            Node::Op(op, a, b) => match (table.value(store, a, found), table.value(store, b, found)) {
                (Some(a), Some(b)) => op.fold(a, b) == Some(1),
                _ => false,
            },
            Node::Call(fun, [a, b, _]) => {
                let expr = table.make(store, a, found, None);
                let number = || table.value(store, b, found);
                match fun {
                    Fun::Ge => number().is_some_and(|least| self.can_prove_greater_equal(store, expr, least)),
                    Fun::Lt => number().is_some_and(|most| self.can_prove_less(store, expr, most)),
                    Fun::IsZero => self.is_zero(store, expr, mode),
                    Fun::Proven => self.can_prove(store, expr),
                    Fun::Pure => effect(store, expr) <= Effect::Reads,
                    Fun::Vscale => contains_vscale(store, expr),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl Table {
    /// Returns the value of a part of a condition, if it is defined; for a floating point number only if it is zero.
    fn value(&self, store: &Store, at: NodeId, found: &Match) -> Option<i64> {
        match self.nodes[at as usize] {
            Node::Number(number) => Some(number),
            Node::Var(var) => match *store.prim_of_id(found.found[var as usize]?) {
                PrimExpr::Int { value, .. } => Some(value),
                PrimExpr::Float { value, .. } => Some(i64::from(value.0 != 0.0)),
                _ => None,
            },
            Node::Op(op, a, b) => {
                let (a, b) = (self.value(store, a, found)?, self.value(store, b, found)?);
                match op {
                    PrimOp::Add => Some(a.wrapping_add(b)),
                    PrimOp::Sub => Some(a.wrapping_sub(b)),
                    PrimOp::Mul => Some(a.wrapping_mul(b)),
                    _ => op.fold(a, b),
                }
            }
            _ => None,
        }
    }

    /// Returns the expression that a part of a rule stands for; `true` and `false` have as many lanes as `root`.
    fn make(&self, store: &mut Store, at: NodeId, found: &Match, root: Option<PrimId>) -> PrimId {
        match self.nodes[at as usize] {
            // Every variable on the right stands on the left, too: a test reads all rules.
            Node::Var(var) => found.found[var as usize].expect("a variable of the left side"),
            Node::Number(number) => store.prim_int(number, DType::I32),
            Node::Truth(value) => {
                let lanes = root.map_or(1, |root| store.prim_dtype(root).lanes);
                constant(store, i64::from(value), DType { lanes, ..DType::BOOL })
            }
            Node::Op(op, a, b) => {
                // A number has the type of the other operand.
                let (a, b) = match (self.nodes[a as usize], self.nodes[b as usize]) {
                    (Node::Number(number), _) => {
                        let b = self.make(store, b, found, root);
                        (constant(store, number, store.prim_dtype(b)), b)
                    }
                    (_, Node::Number(number)) => {
                        let a = self.make(store, a, found, root);
                        (a, constant(store, number, store.prim_dtype(a)))
                    }
                    _ => (self.make(store, a, found, root), self.make(store, b, found, root)),
                };
                folded(store, op, a, b)
            }
            Node::Not(a) => {
                let a = self.make(store, a, found, root);
                store.prim(PrimExpr::Not(a))
            }
            Node::Call(fun, [a, b, c]) => {
                let first = self.make(store, a, found, root);
                match fun {
                    Fun::Select => {
                        let (then, other) = (self.make(store, b, found, root), self.make(store, c, found, root));
                        store.prim(PrimExpr::Select { cond: first, then, other })
                    }
                    Fun::Ramp => {
                        let stride = self.make(store, b, found, root);
                        store.prim(PrimExpr::Ramp { base: first, stride, lanes: found.lanes })
                    }
                    Fun::Broadcast => store.prim(PrimExpr::Broadcast { value: first, lanes: found.lanes }),
                    Fun::Zero => constant(store, 0, store.prim_dtype(first)),
                    Fun::One => constant(store, 1, store.prim_dtype(first)),
                    // These stand in conditions alone.
                    Fun::Ge | Fun::Lt | Fun::IsZero | Fun::Pure | Fun::Vscale | Fun::Proven => first,
                }
            }
        }
    }
}

/// True if an expression contains the machine's number of lanes, which is known only at run time.
pub(super) fn contains_vscale(store: &Store, root: PrimId) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, expr| found |= matches!(expr, PrimExpr::Call { op, .. } if store.str(*op) == "vscale"));
    found
}
