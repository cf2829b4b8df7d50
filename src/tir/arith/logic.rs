//! Conditions: proofs by facts, the facts for each side of `and` and `or`, and their normal form (TVM's
//! `src/arith/rewrite_simplify.cc` and `conjunctive_normal_form.cc`).

use super::rewrite::folded;
use super::{Analyzer, Mode, extension};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};

/// Conjunctions with more parts than this stay as they are: the normal form may have as many parts as there are
/// combinations.
const MOST_PARTS: usize = 256;

impl Analyzer {
    /// Returns the truth of a condition that is known literally.
    pub(super) fn literal(&mut self, store: &mut Store, id: PrimId, mode: Mode) -> Option<PrimId> {
        if mode == Mode::Canonical || self.literals.is_empty() {
            return None;
        }
        let negation = store.prim(PrimExpr::Not(id));
        let found = self.literals.iter().find(|literal| [id, negation].contains(literal))?;
        Some(store.prim_int(i64::from(*found == id), store.prim_dtype(id)))
    }

    /// Simplifies both sides of `and` or `or`, each with the fact that the other does not decide.
    pub(super) fn visit_sides(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId, mode: Mode) -> (PrimId, PrimId) {
        let mut sides = [a, b];
        let mut unchanged = 0;
        for round in 0..4 {
            let (at, other) = (round % 2, 1 - round % 2);
            let known = match op {
                PrimOp::And => sides[other],
                _ => {
                    let negation = store.prim(PrimExpr::Not(sides[other]));
                    without_not(store, negation)
                }
            };
            let scope = self.enter(store, known);
            let new = self.visit(store, sides[at], mode);
            self.exit(scope);
            if new != sides[at] {
                sides[at] = new;
                unchanged = 0;
            } else {
                unchanged += 1;
                if unchanged >= 2 {
                    break;
                }
            }
        }
        (sides[0], sides[1])
    }

    /// Returns the condition as a conjunction of disjunctions, without parts that follow from others.
    pub(super) fn as_and_of_ors(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let extensions = self.extensions;
        self.set_extensions(extensions & !extension::CONVERT_BOOLEAN_TO_AND_OF_ORS);
        let simple = self.simplify(store, id);
        let mut chunks = Vec::new();
        let fits = conjunction(store, simple, &mut chunks);
        let result = match fits {
            true => {
                self.shorten_ors(store, &mut chunks);
                without_truths(store, &mut chunks);
                self.shorten_ands(store, &mut chunks);
                without_truths(store, &mut chunks);
                joined(store, &chunks)
            }
            false => simple,
        };
        self.set_extensions(extensions);
        result
    }

    /// Joins two conditions, simplifies, and splits them again.
    fn shorten(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> (PrimId, PrimId) {
        let joint = folded(store, op, a, b);
        let simple = self.rewrite_simplify(store, joint);
        match *store.prim_of_id(simple) {
            _ if simple == joint => (a, b),
            PrimExpr::Binary { op: found, a, b } if found == op => (a, b),
            _ => (store.prim_int(i64::from(op == PrimOp::And), DType::BOOL), simple),
        }
    }

    fn shorten_ors(&mut self, store: &mut Store, chunks: &mut [Vec<PrimId>]) {
        for chunk in chunks {
            for i in 0..chunk.len() {
                for j in i + 1..chunk.len() {
                    (chunk[i], chunk[j]) = self.shorten(store, PrimOp::Or, chunk[i], chunk[j]);
                }
            }
        }
    }

    fn shorten_ands(&mut self, store: &mut Store, chunks: &mut [Vec<PrimId>]) {
        let always = store.prim_int(1, DType::BOOL);
        for i in 0..chunks.len() {
            for j in i + 1..chunks.len() {
                if let ([a], [b]) = (&chunks[i][..], &chunks[j][..]) {
                    let (a, b) = self.shorten(store, PrimOp::And, *a, *b);
                    (chunks[i][0], chunks[j][0]) = (a, b);
                    continue;
                }
                let own = |of: &[PrimId], other: &[PrimId]| of.iter().position(|part| !other.contains(part));
                let Some(at) = own(&chunks[i], &chunks[j]) else {
                    // A disjunction with all parts of another follows from it.
                    chunks[j] = vec![always];
                    continue;
                };
                let Some(other) = own(&chunks[j], &chunks[i]) else {
                    chunks[i] = vec![always];
                    continue;
                };
                let shared = chunks[j].iter().filter(|part| chunks[i].contains(part)).count();
                if chunks[i].len() != chunks[j].len() || shared + 1 != chunks[i].len() {
                    continue;
                }
                // (a or b) and (a or c) is a or (b and c), where a is false as far as b and c matter.
                let mut known = always;
                for (place, part) in chunks[i].clone().into_iter().enumerate() {
                    if place != at {
                        let negation = match store.as_prim_int(part) {
                            Some(value) => store.prim_int(i64::from(value == 0), DType::BOOL),
                            None => store.prim(PrimExpr::Not(part)),
                        };
                        let negation = self.simplify(store, negation);
                        known = folded(store, PrimOp::And, known, negation);
                    }
                }
                let scope = self.enter(store, known);
                let (a, b) = self.shorten(store, PrimOp::And, chunks[i][at], chunks[j][other]);
                self.exit(scope);
                (chunks[i][at], chunks[j][other]) = (a, b);
            }
        }
    }
}

/// Fills in the disjunctions whose conjunction a condition is; false where there are too many.
fn conjunction(store: &mut Store, id: PrimId, chunks: &mut Vec<Vec<PrimId>>) -> bool {
    let Some(parts) = split(store, id, PrimOp::And) else { return false };
    for part in parts {
        let Some(mut chunk) = split(store, part, PrimOp::Or) else { return false };
        let mut seen = Vec::new();
        chunk.retain(|part| {
            !seen.contains(part) && {
                seen.push(*part);
                true
            }
        });
        let same = |other: &Vec<PrimId>| other.len() == chunk.len() && chunk.iter().all(|part| other.contains(part));
        if !chunks.iter().any(same) {
            chunks.push(chunk);
        }
    }
    true
}

/// Returns the parts of a conjunction (or disjunction), after the other operation was distributed over them.
fn split(store: &mut Store, id: PrimId, by: PrimOp) -> Option<Vec<PrimId>> {
    let over = if by == PrimOp::And { PrimOp::Or } else { PrimOp::And };
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op, a, b } if op == by => {
            let (mut parts, rest) = (split(store, a, by)?, split(store, b, by)?);
            parts.extend(rest);
            (parts.len() <= MOST_PARTS).then_some(parts)
        }
        PrimExpr::Binary { op, a, b } if op == over => {
            let (left, right) = (split(store, a, by)?, split(store, b, by)?);
            if left.len() * right.len() > MOST_PARTS {
                return None;
            }
            let pairs: Vec<(PrimId, PrimId)> = left.iter().flat_map(|a| right.iter().map(|b| (*a, *b))).collect();
            Some(pairs.into_iter().map(|(a, b)| folded(store, over, a, b)).collect())
        }
        _ => Some(vec![id]),
    }
}

/// Leaves out parts that are always true or false.
fn without_truths(store: &Store, chunks: &mut Vec<Vec<PrimId>>) {
    let is = |part: &PrimId, truth: i64| store.prim_dtype(*part) == DType::BOOL && store.as_prim_int(*part) == Some(truth);
    for chunk in chunks.iter_mut() {
        match chunk.iter().find(|part| is(part, 1)) {
            Some(always) => *chunk = vec![*always],
            None => chunk.retain(|part| !is(part, 0)),
        }
    }
    if chunks.iter().any(Vec::is_empty) {
        *chunks = vec![Vec::new()];
    } else {
        chunks.retain(|chunk| chunk.len() != 1 || !is(&chunk[0], 1));
    }
}

fn joined(store: &mut Store, chunks: &[Vec<PrimId>]) -> PrimId {
    let (never, always) = (store.prim_int(0, DType::BOOL), store.prim_int(1, DType::BOOL));
    let mut all = always;
    for chunk in chunks {
        let any = chunk.iter().fold(never, |any, part| folded(store, PrimOp::Or, any, *part));
        all = folded(store, PrimOp::And, all, any);
    }
    all
}

/// Pushes a `not` into a condition, and writes comparisons with `<` and `<=`.
pub(super) fn without_not(store: &mut Store, mut id: PrimId) -> PrimId {
    loop {
        let (negated, inner) = match *store.prim_of_id(id) {
            PrimExpr::Not(inner) => (true, inner),
            _ => (false, id),
        };
        let (op, a, b) = match *store.prim_of_id(inner) {
            PrimExpr::Not(twice) if negated => {
                id = twice;
                continue;
            }
            PrimExpr::Binary { op, a, b } => (op, a, b),
            _ => return id,
        };
        return match (negated, op) {
            (true, PrimOp::And | PrimOp::Or) => {
                let [a, b] = [a, b].map(|side| {
                    let side = store.prim(PrimExpr::Not(side));
                    without_not(store, side)
                });
                folded(store, if op == PrimOp::And { PrimOp::Or } else { PrimOp::And }, a, b)
            }
            (false, PrimOp::Ge) | (true, PrimOp::Lt) => folded(store, PrimOp::Le, b, a),
            (false, PrimOp::Gt) | (true, PrimOp::Le) => folded(store, PrimOp::Lt, b, a),
            (true, PrimOp::Gt) => folded(store, PrimOp::Le, a, b),
            (true, PrimOp::Ge) => folded(store, PrimOp::Lt, a, b),
            (true, PrimOp::Eq) => folded(store, PrimOp::Ne, a, b),
            (true, PrimOp::Ne) => folded(store, PrimOp::Eq, a, b),
            _ => id,
        };
    }
}
