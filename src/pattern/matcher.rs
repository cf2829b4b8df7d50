//! Matches patterns against expressions.
//!
//! TVM also matches a quotient of a product with a product of a quotient where one is nested in the other, which does
//! not occur in normal form.

use super::{Pat, Pattern, Patterns};
use crate::ir::{Dim, Expr, ExprId, Id, Store, Symbol, VarId};
use crate::ops;
use rustc_hash::FxHashMap;

/// Steps of one match. Sums match with their operands swapped, too, so that a pattern of many may take a step for each order.
const MAX_STEPS: u32 = 1_000_000;

/// The values of variables.
pub type Bound = FxHashMap<VarId, ExprId>;

/// The expressions that the parts of a pattern match.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    found: FxHashMap<Pat, ExprId>,
    /// In the order of matching: parts before the whole.
    pub(super) order: Vec<Pat>,
}

impl Matches {
    /// Returns the match of a part; `None` if it was not needed, as the other side of an `or`.
    pub fn get(&self, pat: Pat) -> Option<ExprId> {
        self.found.get(&pat).copied()
    }

    /// Sets the match of a part.
    pub fn set(&mut self, pat: Pat, expr: ExprId) {
        if self.found.insert(pat, expr).is_none() {
            self.order.push(pat);
        }
    }

    /// Returns all parts with their matches, those of a part before itself.
    pub fn iter(&self) -> impl Iterator<Item = (Pat, ExprId)> + '_ {
        self.order.iter().filter_map(|pat| Some((*pat, self.get(*pat)?)))
    }

    pub(super) fn forget(&mut self, from: usize) {
        for pat in self.order.drain(from..) {
            self.found.remove(&pat);
        }
    }
}

/// Matches patterns against expressions (TVM's `DFPatternMatcher`).
pub struct Matcher<'p> {
    pub(super) patterns: &'p Patterns,
    bound: &'p Bound,
    pub(super) matches: Matches,
    /// The values of symbols for the types in the pattern.
    pub(super) symbols: FxHashMap<Id<Symbol>, Dim>,
    steps: u32,
}

impl<'p> Matcher<'p> {
    /// Makes a matcher that follows variables to their values.
    pub fn new(patterns: &'p Patterns, bound: &'p Bound) -> Matcher<'p> {
        Matcher { patterns, bound, matches: Matches::default(), symbols: FxHashMap::default(), steps: 0 }
    }

    /// Returns the matches of the pattern's parts, if the expression matches (`ExtractMatchedExpr`).
    pub fn matches(mut self, store: &mut Store, pat: Pat, expr: ExprId) -> Option<Matches> {
        self.found(store, pat, expr)
    }

    /// Does the same with a matcher that can be asked further.
    pub fn found(&mut self, store: &mut Store, pat: Pat, expr: ExprId) -> Option<Matches> {
        self.is_match(store, pat, expr).then(|| std::mem::take(&mut self.matches))
    }

    /// True if the expression matches the pattern (`MatchExpr`).
    pub fn is_match(&mut self, store: &mut Store, pat: Pat, expr: ExprId) -> bool {
        self.matches.forget(0);
        self.symbols.clear();
        self.steps = 0;
        self.visit(store, pat, expr)
    }

    /// Returns the value of a variable, through variables and sequences without bindings.
    fn unwrap(&self, store: &Store, mut expr: ExprId) -> ExprId {
        loop {
            expr = match store.expr(expr) {
                Expr::Var(var) => match self.bound.get(&var) {
                    Some(value) => *value,
                    None => return expr,
                },
                Expr::Seq { blocks, body } if blocks.is_empty() => body,
                _ => return expr,
            };
        }
    }

    pub(super) fn visit(&mut self, store: &mut Store, pat: Pat, given: ExprId) -> bool {
        let expr = self.unwrap(store, given);
        if let Some(known) = self.matches.get(pat) {
            return known == expr;
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.patterns.give_up();
            return false;
        }
        let mark = self.matches.order.len();
        let symbols = self.symbols.clone();
        let found = self.visit_new(store, pat, expr);
        if found {
            self.matches.set(pat, expr);
        } else {
            self.matches.forget(mark);
            self.symbols = symbols;
        }
        found
    }

    /// As in TVM, variables are followed before any pattern is tried: a bound variable never matches as a variable.
    fn visit_new(&mut self, store: &mut Store, pat: Pat, expr: ExprId) -> bool {
        let patterns: &'p Patterns = self.patterns;
        match patterns.get(pat) {
            Pattern::Wildcard => true,
            Pattern::Var(name) => is_var(store, expr, name.as_deref()).is_some(),
            Pattern::Constant => matches!(store.expr(expr), Expr::Constant(_)),
            Pattern::Op(op) => matches!(store.expr(expr), Expr::Op(other) if other == *op),
            Pattern::OpKind(kind) => matches!(store.expr(expr), Expr::Op(op) if ops::info(op).pattern == Some(*kind)),
            Pattern::Call { callee, args, more } => self.call(store, *callee, args, *more, expr),
            Pattern::Chain { op, end } => {
                let mut at = expr;
                while store.called_op(at) == Some(*op)
                    && let Some(call) = store.call(at).filter(|call| !call.args.is_empty())
                {
                    at = self.unwrap(store, store.item(call.args, 0));
                }
                at != expr && self.visit(store, *end, at)
            }
            Pattern::Tuple(pats) => match fields(store, expr) {
                Some(fields) => self.all(store, pats, &fields),
                None => false,
            },
            Pattern::TupleGetItem { tuple, index } => match store.expr(expr) {
                Expr::TupleGetItem { tuple: other, index: at } => {
                    index.is_none_or(|index| index == at) && self.visit(store, *tuple, other)
                }
                _ => false,
            },
            Pattern::Or(a, b) => self.visit(store, *a, expr) || self.visit(store, *b, expr),
            Pattern::And(a, b) => self.visit(store, *a, expr) && self.visit(store, *b, expr),
            Pattern::Not(pat) => !self.visit(store, *pat, expr),
            _ => self.visit_rare(store, pat, expr),
        }
    }

    pub(super) fn all(&mut self, store: &mut Store, pats: &[Pat], fields: &[ExprId]) -> bool {
        pats.len() == fields.len() && pats.iter().zip(fields).all(|(pat, field)| self.visit(store, *pat, *field))
    }

    fn call(&mut self, store: &mut Store, callee: Pat, pats: &[Pat], more: bool, expr: ExprId) -> bool {
        let Some(call) = store.call(expr) else { return false };
        // Most calls are of another operator, which is tested first.
        if matches!(self.patterns.get(callee), Pattern::Op(op) if !matches!(store.expr(call.callee), Expr::Op(other) if other == *op))
        {
            return false;
        }
        let args: Vec<ExprId> = store.items(call.args).collect();
        let mark = self.matches.order.len();
        if !self.visit(store, callee, call.callee) {
            self.matches.forget(mark);
            return false;
        }
        if pats.len() > args.len() || (!more && pats.len() != args.len()) {
            return false;
        }
        let inner = self.matches.order.len();
        if pats.iter().zip(&args).all(|(pat, arg)| self.visit(store, *pat, *arg)) {
            return true;
        }
        self.matches.forget(inner);
        let commutes = match self.patterns.get(callee) {
            Pattern::Op(op) => matches!(ops::info(*op).name, "add" | "multiply"),
            Pattern::Expr(callee) => {
                matches!(store.expr(*callee), Expr::Op(op) if matches!(ops::info(op).name, "add" | "multiply"))
            }
            _ => false,
        };
        let found = commutes && pats.iter().zip(args.iter().rev()).all(|(pat, arg)| self.visit(store, *pat, *arg));
        if !found {
            self.matches.forget(inner);
        }
        found
    }
}

pub(super) fn is_var(store: &Store, expr: ExprId, name: Option<&str>) -> Option<VarId> {
    match store.expr(expr) {
        Expr::Var(var) if name.is_none_or(|name| name.is_empty() || name == store.var_name(var)) => Some(var),
        _ => None,
    }
}

pub(super) fn fields(store: &Store, expr: ExprId) -> Option<Vec<ExprId>> {
    match store.expr(expr) {
        Expr::Tuple(fields) => Some(store.items(fields).collect()),
        _ => None,
    }
}
