//! Matches patterns against expressions.
//!
//! TVM also matches a quotient of a product with a product of a quotient where one is nested in the other, which does
//! not occur in normal form.

use super::{Pat, Pattern, Patterns};
use crate::infer::relax::types::{Fit, fit};
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Extents, Id, Store, Symbol, Type, TypeId, VarId};
use crate::ops;
use crate::tir::arith::equal_extents;
use rustc_hash::FxHashMap;

/// Steps of one match. Sums match with their operands swapped, too, so that a pattern of many may take a step for each order.
pub const MAX_STEPS: u32 = 1_000_000;

/// The values of variables.
pub type Bound = FxHashMap<VarId, ExprId>;

/// The expressions that the parts of a pattern match.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    found: FxHashMap<Pat, ExprId>,
    /// In the order of matching: parts before the whole.
    order: Vec<Pat>,
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

    fn forget(&mut self, from: usize) {
        for pat in self.order.drain(from..) {
            self.found.remove(&pat);
        }
    }
}

/// Matches patterns against expressions (TVM's `DFPatternMatcher`).
pub struct Matcher<'p> {
    patterns: &'p Patterns,
    bound: &'p Bound,
    matches: Matches,
    /// The values of symbols for the types in the pattern.
    symbols: FxHashMap<Id<Symbol>, Dim>,
    steps: u32,
}

impl<'p> Matcher<'p> {
    /// Makes a matcher that follows variables to their values.
    pub fn new(patterns: &'p Patterns, bound: &'p Bound) -> Matcher<'p> {
        Matcher { patterns, bound, matches: Matches::default(), symbols: FxHashMap::default(), steps: 0 }
    }

    /// True if a match was given up because it took more than [`MAX_STEPS`].
    pub fn gave_up(&self) -> bool {
        self.steps > MAX_STEPS
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

    fn visit(&mut self, store: &mut Store, pat: Pat, given: ExprId) -> bool {
        let expr = self.unwrap(store, given);
        if let Some(known) = self.matches.get(pat) {
            return known == expr;
        }
        self.steps += 1;
        if self.gave_up() {
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
            Pattern::DataflowVar(name) => is_var(store, expr, name.as_deref()).is_some_and(|var| store.var_data(var).dataflow),
            Pattern::Global(name) => matches!(store.expr(expr), Expr::Global(global) if store.str(global).contains(name)),
            Pattern::Extern(name) => match store.expr(expr) {
                Expr::Extern(symbol) => name.as_ref().is_none_or(|name| name.is_empty() || name == store.str(symbol)),
                _ => false,
            },
            Pattern::Constant => matches!(store.expr(expr), Expr::Constant(_)),
            Pattern::Op(op) => matches!(store.expr(expr), Expr::Op(other) if other == *op),
            Pattern::OpKind(kind) => matches!(store.expr(expr), Expr::Op(op) if ops::info(op).pattern == Some(*kind)),
            Pattern::Expr(other) => exprs(store, *other, expr, EqualOptions::RELAX).is_ok(),
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
            Pattern::Function { params, body } => {
                let Expr::Function(function) = store.expr(expr) else { return false };
                let function = *store.function(function);
                let own: Vec<VarId> = store.items(function.params).collect();
                let fits = params.as_ref().is_none_or(|params| {
                    params.len() == own.len()
                        && params.iter().zip(own).all(|(pat, param)| {
                            let used = store.use_var(param);
                            self.visit(store, *pat, used)
                        })
                });
                fits && self.visit(store, *body, function.body)
            }
            Pattern::Tuple(pats) => match fields(store, expr) {
                Some(fields) => self.all(store, pats, &fields),
                None => false,
            },
            Pattern::UnorderedTuple(pats) => match fields(store, expr) {
                Some(fields) if fields.len() == pats.len() => self.unordered(store, pats, &fields),
                _ => false,
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
            Pattern::Attrs(pat, wanted) => {
                let attrs = |store: &Store| match store.expr(expr) {
                    Expr::Function(function) => store.function(function).attrs,
                    _ => store.call(expr).and_then(|call| call.attrs),
                };
                self.visit(store, *pat, expr)
                    && wanted.iter().all(|(name, value)| {
                        let attrs = attrs(store);
                        same_value(store, store.attr(attrs, name), value)
                    })
            }
            Pattern::Type(pat, ty) => {
                self.visit(store, *pat, expr) && store.checked_type(expr).is_some_and(|found| self.type_fits(store, *ty, found))
            }
            Pattern::Shape(pat, dims) => match tensor_shape(store, expr) {
                Some(shape) => same_extents(store, dims, &shape) && self.visit(store, *pat, expr),
                None => false,
            },
            Pattern::DType(pat, dtype) => {
                let found = store.checked_type(expr).and_then(|ty| store.tensor_info(ty));
                found.is_some_and(|info| info.dtype == Some(*dtype)) && self.visit(store, *pat, expr)
            }
            Pattern::Extents(dims) => match store.expr(expr) {
                Expr::Shape(other) => {
                    let other = store.dims_of_id(other).to_vec();
                    same_extents(store, dims, &other)
                }
                _ => false,
            },
        }
    }

    fn all(&mut self, store: &mut Store, pats: &[Pat], fields: &[ExprId]) -> bool {
        pats.len() == fields.len() && pats.iter().zip(fields).all(|(pat, field)| self.visit(store, *pat, *field))
    }

    /// Finds a field for each pattern, with backtracking when none is left for the others.
    fn unordered(&mut self, store: &mut Store, pats: &[Pat], fields: &[ExprId]) -> bool {
        let mark = self.matches.order.len();
        // For each pattern its field, and the begin of the matches found with it.
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut next = 0;
        loop {
            let at = taken.len();
            let Some(pat) = pats.get(at) else { return true };
            let start = self.matches.order.len();
            let free = |index: &usize| taken.iter().all(|(other, _)| other != index);
            let candidates: Vec<usize> = (next..fields.len()).filter(free).collect();
            match candidates.into_iter().find(|index| self.visit(store, *pat, fields[*index])) {
                Some(index) => {
                    taken.push((index, start));
                    next = 0;
                }
                None => {
                    let Some((index, start)) = taken.pop() else {
                        self.matches.forget(mark);
                        return false;
                    };
                    self.matches.forget(start);
                    next = index + 1;
                }
            }
        }
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

    /// True if a type fits, consistently with the symbols matched before.
    fn type_fits(&mut self, store: &mut Store, wanted: TypeId, found: TypeId) -> bool {
        match fit(store, wanted, found) {
            Fit::Always => true,
            Fit::Never | Fit::Unknown => false,
            Fit::Extents => {
                let (Some(wanted), Some(found)) = (extents(store, wanted), extents(store, found)) else { return true };
                wanted.into_iter().zip(found).all(|(wanted, found)| match wanted {
                    Dim::Symbol(symbol) => {
                        let known = *self.symbols.entry(symbol).or_insert(found);
                        known.known().is_none() || found.known().is_none() || known == found
                    }
                    _ => true,
                })
            }
        }
    }
}

fn is_var(store: &Store, expr: ExprId, name: Option<&str>) -> Option<VarId> {
    match store.expr(expr) {
        Expr::Var(var) if name.is_none_or(|name| name.is_empty() || name == store.var_name(var)) => Some(var),
        _ => None,
    }
}

fn fields(store: &Store, expr: ExprId) -> Option<Vec<ExprId>> {
    match store.expr(expr) {
        Expr::Tuple(fields) => Some(store.items(fields).collect()),
        _ => None,
    }
}

/// True if an attribute has a value: numbers of any width, names of element types as texts.
fn same_value(store: &Store, found: Option<&AttrValue>, wanted: &AttrValue) -> bool {
    let Some(found) = found else { return false };
    match (found, wanted) {
        (AttrValue::Array(found), AttrValue::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same_value(store, Some(found), wanted))
        }
        (AttrValue::DType(Some(found)), AttrValue::Str(wanted)) => found.to_string() == store.str(*wanted),
        _ => match (store.value_int(found), store.value_int(wanted)) {
            (Some(a), Some(b)) => a == b,
            _ => found == wanted || found.as_float().is_some() && found.as_float() == wanted.as_float(),
        },
    }
}

/// True if two shapes are equal for all values of their symbols.
pub(super) fn same_extents(store: &mut Store, a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_extents(store, *a, *b))
}

fn tensor_shape(store: &Store, expr: ExprId) -> Option<Vec<Dim>> {
    match store.tensor_info(store.checked_type(expr)?)?.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}

/// Returns the extents of a tensor or shape, if all are known.
pub(super) fn extents(store: &Store, ty: TypeId) -> Option<Vec<Dim>> {
    let extents = match store.type_of_id(ty) {
        Type::Shape(extents) => extents.clone(),
        _ => store.tensor_info(ty)?.extents,
    };
    match extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}
