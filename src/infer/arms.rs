//! Patterns and the arms of a match: the part of [`super::collect`] about them.

use super::collect::Collector;
use super::exhaustive;
use super::solver::Slot;
use super::subst;
use crate::ir::{Clause, CtorId, ExprId, List, Pattern, PatternId, Type, TypeId};

impl Collector<'_> {
    /// Patterns nest as deep as the parser lets them, which is shallow enough to recurse.
    pub(super) fn pattern(&mut self, id: ExprId, pattern: PatternId, slot: Slot) {
        match *self.store.pattern(pattern) {
            Pattern::Wildcard => {}
            Pattern::Var(var) => {
                let var = self.var(var);
                self.unify(id, var, slot);
            }
            Pattern::Tuple(fields) => {
                let holes = (0..fields.len()).map(|_| self.annotation_or_hole(None)).collect();
                let expected = self.make(Type::Tuple(holes));
                let Ok(unified) = self.try_unify(id, slot, expected) else { return };
                let root = self.solver.root(unified);
                if let Type::Tuple(types) = &*self.store.type_rc(self.solver.known(root)) {
                    self.patterns(id, fields, types);
                }
            }
            Pattern::Ctor { ctor, fields } => self.ctor_pattern(id, ctor, fields, slot),
        }
    }

    fn patterns(&mut self, id: ExprId, patterns: List<Pattern>, types: &[TypeId]) {
        for (index, &ty) in types.iter().enumerate().take(patterns.len()) {
            let pattern = self.store.item(patterns, index);
            let slot = self.solver.occurrence(self.store, ty);
            self.pattern(id, pattern, slot);
        }
    }

    fn ctor_pattern(&mut self, id: ExprId, ctor: CtorId, fields: List<Pattern>, slot: Slot) {
        let (name, adt) = (self.store.ctor(ctor).name, self.store.ctor(ctor).adt);
        let Some(adt_id) = self.module.adt(adt) else {
            let text = self.store.str(adt).to_owned();
            self.error(id, "relay-unbound-type", format!("the type variable : `{text}` is undefined"));
            return;
        };
        let type_params = self.store.adt(adt_id).type_params.clone();
        let head = self.store.ty(Type::Global(adt));
        let args = type_params.iter().map(|_| self.annotation_or_hole(None)).collect();
        let expected = self.make(Type::Apply { head, args });
        let Ok(unified) = self.try_unify(id, slot, expected) else { return };
        let root = self.solver.root(unified);
        let Type::Apply { args, .. } = &*self.store.type_rc(self.solver.known(root)) else { return };
        let inputs = self.store.ctor(ctor).inputs.clone();
        if inputs.len() != fields.len() {
            let message = format!(
                "Not enough inputs for the constructor `{}`; expected {}, got {}",
                self.store.str(name),
                inputs.len(),
                fields.len()
            );
            self.error(id, "relay-pattern", message);
            return;
        }
        let by = type_params.iter().copied().zip(args.iter().copied()).collect();
        let types: Vec<TypeId> =
            inputs.iter().map(|ty| subst::substitute(self.store, &mut self.solver.facts, *ty, &by)).collect();
        self.patterns(id, fields, &types);
    }

    pub(super) fn matched(&mut self, id: ExprId, clauses: List<Clause>, complete: bool) -> Slot {
        let clauses: Vec<Clause> = self.store.items(clauses).map(|clause| *self.store.clause(clause)).collect();
        let mut result = self.solver.hole(self.store);
        for clause in &clauses {
            let body = self.slot(clause.body);
            result = self.unify(id, result, body);
        }
        if complete && !self.failed.contains(&id) {
            let patterns: Vec<PatternId> = clauses.iter().map(|clause| clause.pattern).collect();
            let unmatched = exhaustive::unmatched_cases(self.store, self.module, &patterns);
            if !unmatched.is_empty() {
                let cases = unmatched.join(", ");
                let message = format!("match expression does not handle the following cases: {cases}");
                self.error(id, "relay-match", message);
            }
        }
        result
    }
}
