//! The walk of both simplifiers over an expression: operands first, conditions in force in branches, then the rules
//! (TVM's `src/arith/rewrite_simplify.cc` on `ir_mutator_with_analyzer.cc`).

use super::canonical::Canon;
use super::{Analyzer, DEEPEST, Mode, Scope, extension, is_index, table};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::{Folded, cast, constant, fold};

/// The greatest nesting depth of simplified results of rewrites.
const DEEPEST_AGAIN: u8 = 5;

/// Conditions that hold in a branch.
pub(super) struct Branch(Vec<Scope>);

impl Analyzer {
    /// Returns an expression after one of the simplifiers went over it once.
    pub(super) fn visit(&mut self, store: &mut Store, id: PrimId, mode: Mode) -> PrimId {
        match mode {
            Mode::Rewrite => self.remembered(store, id, mode, Analyzer::visit_node),
            Mode::Canonical => self.remembered(store, id, mode, |analyzer, store, id, _| {
                let canon = analyzer.canonical(store, id);
                canon.normal(store)
            }),
        }
    }

    fn remembered(
        &mut self,
        store: &mut Store,
        id: PrimId,
        mode: Mode,
        step: fn(&mut Analyzer, &mut Store, PrimId, Mode) -> PrimId,
    ) -> PrimId {
        if store.prim_depth(id) == 0 && !matches!(store.prim_of_id(id), PrimExpr::Var(_)) {
            return id;
        }
        let key = (id, mode, self.depth[mode as usize]);
        if let Some(&found) = self.memo().simple.get(&key) {
            return found;
        }
        match &mut self.left {
            Some(0) | None => return id,
            Some(left) => *left -= 1,
        }
        if store.prim_depth(id) > DEEPEST {
            return id;
        }
        let result = step(self, store, id, mode);
        self.memo().simple.insert(key, result);
        result
    }

    /// Simplifies one node with all below it, in the way of the rewriting simplifier.
    pub(super) fn visit_node(&mut self, store: &mut Store, id: PrimId, mode: Mode) -> PrimId {
        let expr = store.prim_rc(id);
        match *expr {
            PrimExpr::Binary { op: op @ (PrimOp::And | PrimOp::Or), a, b } => self.visit_logic(store, op, a, b, mode),
            PrimExpr::Binary { op, a, b } => match op {
                PrimOp::Gt => self.visit_mirrored(store, PrimOp::Lt, b, a, mode),
                PrimOp::Ge => self.visit_mirrored(store, PrimOp::Le, b, a, mode),
                _ => {
                    let (a, b) = (self.visit(store, a, mode), self.visit(store, b, mode));
                    self.binary_node(store, op, a, b, mode)
                }
            },
            PrimExpr::Not(value) => {
                let value = self.visit(store, value, mode);
                if let Some(number) = store.as_prim_int(value) {
                    return store.prim_int(i64::from(number == 0), DType::BOOL);
                }
                let result = store.prim(PrimExpr::Not(value));
                match self.literal(store, result, mode) {
                    Some(truth) => truth,
                    None => self.apply(store, table::NOT, value, value, result, mode),
                }
            }
            PrimExpr::Var(symbol) => {
                if store.symbol(symbol).dtype == DType::BOOL
                    && let Some(truth) = self.literal(store, id, mode)
                {
                    return truth;
                }
                self.known.get(&symbol).and_then(|known| known.value).unwrap_or(id)
            }
            PrimExpr::Cast { dtype, value } => {
                let value = self.visit(store, value, mode);
                cast(store, dtype, value)
            }
            PrimExpr::Select { cond, then, other } => {
                let cond = self.visit(store, cond, mode);
                let branch = self.enter_facts(store, cond);
                let then = self.visit(store, then, mode);
                self.exit_facts(branch);
                let negation = store.prim(PrimExpr::Not(cond));
                let negation = self.rewrite_simplify(store, negation);
                let scope = self.enter(store, negation);
                let other = self.visit(store, other, mode);
                self.exit(scope);
                match store.as_prim_int(cond) {
                    Some(0) => other,
                    Some(1) => then,
                    _ if then == other => then,
                    _ => store.prim(PrimExpr::Select { cond, then, other }),
                }
            }
            PrimExpr::Call { op, ref args, dtype } => self.visit_call(store, op, args, dtype, mode),
            PrimExpr::Let { var, value, body } => {
                let value = self.visit(store, value, mode);
                let trivial = matches!(store.prim_of_id(value), PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Var(_));
                if trivial {
                    self.bind(store, var, value);
                    return self.visit(store, body, mode);
                }
                let body = self.visit(store, body, mode);
                store.prim(PrimExpr::Let { var, value, body })
            }
            ref other => {
                let over = other.over(&mut |operand| self.visit(store, operand, mode));
                store.prim(over)
            }
        }
    }

    fn visit_mirrored(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let mirrored = folded(store, op, a, b);
        self.visit(store, mirrored, mode)
    }

    /// Simplifies an operation whose operands are simplified.
    pub(super) fn binary_node(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let result = folded(store, op, a, b);
        if !matches!(*store.prim_of_id(result), PrimExpr::Binary { op: o, a: x, b: y } if (o, x, y) == (op, a, b)) {
            return result;
        }
        if op.is_logic()
            && let Some(truth) = self.literal(store, result, mode)
        {
            return truth;
        }
        match op {
            PrimOp::Ne => self.unequal(store, a, b, mode),
            PrimOp::Le => self.at_most(store, a, b, mode),
            _ => self.apply(store, op as usize, a, b, result, mode),
        }
    }

    fn visit_logic(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let extensions = if mode == Mode::Rewrite { self.extensions } else { 0 };
        let (a, b) = if extensions & extension::APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES == 0 {
            (self.visit(store, a, mode), self.visit(store, b, mode))
        } else {
            self.visit_sides(store, op, a, b, mode)
        };
        let result = folded(store, op, a, b);
        if !matches!(*store.prim_of_id(result), PrimExpr::Binary { op: o, a: x, b: y } if (o, x, y) == (op, a, b)) {
            return result;
        }
        if let Some(truth) = self.literal(store, result, mode) {
            return truth;
        }
        if extensions & extension::CONVERT_BOOLEAN_TO_AND_OF_ORS != 0 {
            return self.as_and_of_ors(store, result);
        }
        self.apply(store, op as usize, a, b, result, mode)
    }

    /// Simplifies the result of a rewrite, unless these nest too deep.
    pub(super) fn again(&mut self, store: &mut Store, id: PrimId, mode: Mode) -> PrimId {
        if self.depth[mode as usize] >= DEEPEST_AGAIN {
            return id;
        }
        self.depth[mode as usize] += 1;
        let result = self.visit(store, id, mode);
        self.depth[mode as usize] -= 1;
        result
    }

    /// Enters a condition with its facts about the dividends of quotients.
    pub(super) fn enter_facts(&mut self, store: &mut Store, cond: PrimId) -> Branch {
        let mut scopes = vec![self.enter(store, cond)];
        for fact in quotient_facts(store, cond) {
            scopes.push(self.enter(store, fact));
        }
        Branch(scopes)
    }

    pub(super) fn exit_facts(&mut self, branch: Branch) {
        branch.0.into_iter().rev().for_each(|scope| self.exit(scope));
    }

    /// Writes sums in normal form, remembered.
    pub(super) fn canonical(&mut self, store: &mut Store, id: PrimId) -> std::rc::Rc<Canon> {
        let key = (id, self.depth[Mode::Canonical as usize]);
        if let Some(found) = self.memo().sums.get(&key) {
            return found.clone();
        }
        let result = std::rc::Rc::new(match store.prim_depth(id) > DEEPEST {
            true => Canon::Expr(id),
            false => self.canonical_node(store, id),
        });
        self.memo().sums.insert(key, result.clone());
        result
    }
}

/// Derives facts about the dividends of quotients from a conjunction: `x // 4 == 2` gives `8 <= x < 12`.
pub(super) fn quotient_facts(store: &mut Store, cond: PrimId) -> Vec<PrimId> {
    let mut facts = Vec::new();
    let mut todo = vec![cond];
    while let Some(id) = todo.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => todo.extend([b, a]),
            PrimExpr::Call { op, ref args, .. }
                if store.str(op) == "bitwise_and" && args.iter().all(|arg| store.prim_dtype(*arg) == DType::BOOL) =>
            {
                todo.extend(args.iter().rev());
            }
            PrimExpr::Binary { op, a, b } => {
                for (quotient, number, op) in [(a, b, op), (b, a, op.mirrored())] {
                    if let Some(number) = store.as_prim_int(number)
                        && let PrimExpr::Binary { op: PrimOp::FloorDiv, a: dividend, b: divisor } = *store.prim_of_id(quotient)
                        && let Some(divisor) = store.as_prim_int(divisor).filter(|divisor| *divisor > 0)
                    {
                        let dtype = store.prim_dtype(dividend);
                        let least = store.prim_int(number.wrapping_mul(divisor), dtype);
                        let next = store.prim_int(number.wrapping_add(1).wrapping_mul(divisor), dtype);
                        let found: &[(PrimOp, PrimId)] = match op {
                            PrimOp::Eq => &[(PrimOp::Ge, least), (PrimOp::Lt, next)],
                            PrimOp::Lt => &[(PrimOp::Lt, least)],
                            PrimOp::Le => &[(PrimOp::Lt, next)],
                            PrimOp::Gt => &[(PrimOp::Ge, next)],
                            PrimOp::Ge => &[(PrimOp::Ge, least)],
                            _ => &[],
                        };
                        for (op, end) in found {
                            facts.push(folded(store, *op, dividend, *end));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    facts
}

/// Makes `a op b` of operands of one type, folded if possible.
pub(super) fn folded(store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
    match fold(store, op, a, b) {
        None => store.prim_binary(op, a, b),
        Some(Folded::Left) => a,
        Some(Folded::Right) => b,
        Some(Folded::Int(value)) => store.prim_int(value, store.prim_dtype(a)),
        Some(Folded::Float(value)) => store.prim_float(value, store.prim_dtype(a)),
        Some(Folded::Bool(value)) => store.prim_int(i64::from(value), DType::BOOL),
    }
}

/// Makes `true` or `false` of as many lanes as `like` has.
pub(super) fn truth(store: &mut Store, like: PrimId, value: bool) -> PrimId {
    let lanes = store.prim_dtype(like).lanes;
    constant(store, i64::from(value), DType { lanes, ..DType::BOOL })
}

/// Returns the class of an operand, which selects the rules for it, such as those about indices.
pub(super) fn operand_class(store: &Store, operand: PrimId) -> u8 {
    use crate::ir::DTypeCode;
    use table::class;
    let dtype = store.prim_dtype(operand);
    if is_index(dtype) {
        return class::INDEX;
    }
    let vector = if dtype.lanes > 1 { class::VECTOR } else { 0 };
    let unsigned = if dtype.code == DTypeCode::UInt && matches!(dtype.bits, 32 | 64) { class::UNSIGNED } else { 0 };
    class::OTHER | vector | unsigned
}
