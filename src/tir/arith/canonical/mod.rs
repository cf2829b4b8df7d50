//! Sums in normal form (TVM's `src/arith/canonical_simplify.cc`): a number and terms `(index % upper / lower) * scale`,
//! kept apart by index, written with the largest scale first and negative ones last. Operands that are sums stay in
//! this form until another operation needs them as expressions.

mod cast;
mod divide;

use super::{Analyzer, Bound, Mode, is_index};
use crate::ir::sort::sort_by;
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::{Folded, binary, fold};
use std::rc::Rc;

const INF: i64 = Bound::INF;

/// The rounding of quotients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rounding {
    Zero,
    Down,
}

impl Rounding {
    fn quotient(self) -> PrimOp {
        if self == Rounding::Zero { PrimOp::Div } else { PrimOp::FloorDiv }
    }

    fn remainder(self) -> PrimOp {
        if self == Rounding::Zero { PrimOp::Mod } else { PrimOp::FloorMod }
    }
}

/// `(index % upper / lower) * scale`, where `lower` divides `upper`.
#[derive(Clone, Debug)]
pub(super) struct Split {
    index: PrimId,
    lower: i64,
    upper: i64,
    scale: i64,
    rounding: Rounding,
    dtype: DType,
}

/// `args` and `base` added up. Terms of one index stand together, those with the larger divisor first.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    args: Vec<Split>,
    base: i64,
    dtype: DType,
}

/// An expression that may not have been written out yet.
#[derive(Clone, Debug)]
pub(super) enum Canon {
    Expr(PrimId),
    Split(Split),
    Sum(Sum),
}

impl Split {
    fn whole(store: &Store, index: PrimId) -> Split {
        let dtype = store.prim_dtype(index);
        Split { index, lower: 1, upper: INF, scale: 1, rounding: Rounding::Zero, dtype }
    }

    fn rounds(&self, rounding: Rounding) -> bool {
        self.rounding == rounding || (self.lower == 1 && self.upper == INF)
    }

    fn normal(&self, store: &mut Store, sign: i64) -> PrimId {
        if self.scale == 0 {
            return store.prim_int(0, self.dtype);
        }
        let mut result = self.index;
        if self.upper != INF {
            let upper = store.prim_int(self.upper, self.dtype);
            result = binary(store, self.rounding.remainder(), result, upper);
        }
        if self.lower != 1 {
            let lower = store.prim_int(self.lower, self.dtype);
            result = binary(store, self.rounding.quotient(), result, lower);
        }
        match sign.wrapping_mul(self.scale) {
            1 => result,
            scale => {
                let scale = store.prim_int(scale, self.dtype);
                binary(store, PrimOp::Mul, result, scale)
            }
        }
    }
}

impl Sum {
    fn number(base: i64, dtype: DType) -> Sum {
        Sum { args: Vec::new(), base, dtype }
    }

    fn is_zero(&self) -> bool {
        self.base == 0 && self.args.is_empty()
    }

    fn scale(&mut self, factor: i64) {
        self.base = self.base.wrapping_mul(factor);
        self.args.iter_mut().for_each(|arg| arg.scale = arg.scale.wrapping_mul(factor));
    }

    /// Divides by a common divisor of all parts.
    fn divide(&mut self, divisor: i64) {
        self.base /= divisor;
        self.args.iter_mut().for_each(|arg| arg.scale /= divisor);
    }

    /// Adds `term * factor`.
    fn add(&mut self, mut term: Split, factor: i64) {
        if term.scale == 0 {
            return;
        }
        term.scale = term.scale.wrapping_mul(factor);
        let start = self.args.iter().position(|arg| arg.index == term.index).unwrap_or(self.args.len());
        for at in start..self.args.len() {
            let arg = &mut self.args[at];
            if arg.index != term.index || term.lower > arg.lower {
                self.args.insert(at, term);
                return;
            }
            if (arg.lower, arg.upper) == (term.lower, term.upper) && term.rounds(arg.rounding) {
                arg.scale = arg.scale.wrapping_add(term.scale);
                return;
            }
        }
        self.args.push(term);
    }

    fn add_sum(&mut self, other: &Sum, factor: i64) {
        other.args.iter().for_each(|arg| self.add(arg.clone(), factor));
        self.base = self.base.wrapping_add(other.base.wrapping_mul(factor));
    }

    /// Returns the terms that a number divides, and the others.
    fn separate(&self, divisor: i64) -> (Sum, Sum) {
        let (mut whole, mut rest) = (Sum::number(0, self.dtype), Sum::number(0, self.dtype));
        *(if self.base % divisor == 0 { &mut whole.base } else { &mut rest.base }) = self.base;
        for arg in &self.args {
            let side = if arg.scale % divisor == 0 { &mut whole } else { &mut rest };
            side.args.push(arg.clone());
        }
        (whole, rest)
    }

    /// Terms that are parts of one are joined, `x // 2 * 2 + x % 2` to `x`; then the largest scale is first.
    fn merged(&self) -> Vec<Split> {
        let mut args = self.args.clone();
        for i in 0..args.len() {
            if args[i].scale == 0 {
                continue;
            }
            for j in i + 1..args.len() {
                let (left, right) = (args[i].clone(), &mut args[j]);
                if left.index != right.index || left.upper < right.lower {
                    break;
                }
                if (left.lower, left.upper) == (right.lower, right.upper) && left.rounds(right.rounding) {
                    right.scale = right.scale.wrapping_add(left.scale);
                    args[i].scale = 0;
                } else if left.lower == right.upper
                    && left.rounds(right.rounding)
                    && left.scale.checked_rem(right.scale) == Some(0)
                    && left.lower == (left.scale / right.scale).wrapping_mul(right.lower)
                {
                    // (x // (c * s)) * s + x % (c * s) // c is x // c.
                    right.upper = left.upper;
                    args[i].scale = 0;
                    break;
                }
            }
        }
        let key = |arg: &Split| (arg.scale, arg.lower, arg.upper, arg.rounding);
        sort_by(&mut args, |a, b| key(b).cmp(&key(a)));
        args
    }

    fn normal(&self, store: &mut Store) -> PrimId {
        if self.args.is_empty() {
            return store.prim_int(self.base, self.dtype);
        }
        let args = self.merged();
        let added = self.base > 0 || self.base == least(self.dtype);
        let mut result = store.prim_int(0, self.dtype);
        for arg in args.iter().filter(|arg| arg.scale > 0) {
            let term = arg.normal(store, 1);
            result = binary(store, PrimOp::Add, result, term);
        }
        if added {
            let base = store.prim_int(self.base, self.dtype);
            result = binary(store, PrimOp::Add, result, base);
        }
        for arg in args.iter().filter(|arg| arg.scale < 0) {
            let term = arg.normal(store, -1);
            result = binary(store, PrimOp::Sub, result, term);
        }
        if !added && self.base < 0 {
            let base = store.prim_int(-self.base, self.dtype);
            result = binary(store, PrimOp::Sub, result, base);
        }
        result
    }
}

impl Canon {
    /// Returns the expression, written out.
    pub(super) fn normal(&self, store: &mut Store) -> PrimId {
        match self {
            Canon::Expr(id) => *id,
            Canon::Split(split) => split.normal(store, 1),
            Canon::Sum(sum) => sum.normal(store),
        }
    }

    fn int(&self, store: &Store) -> Option<i64> {
        match self {
            Canon::Expr(id) => store.as_prim_int(*id),
            _ => None,
        }
    }

    fn to_split(&self, store: &mut Store) -> Split {
        match self {
            Canon::Split(split) => split.clone(),
            Canon::Sum(sum) if sum.base == 0 && sum.args.len() == 1 => sum.args[0].clone(),
            _ => {
                let index = self.normal(store);
                Split::whole(store, index)
            }
        }
    }

    fn to_sum(&self, store: &mut Store) -> Sum {
        let expr = match self {
            Canon::Sum(sum) => return sum.clone(),
            Canon::Split(split) => return Sum { args: vec![split.clone()], base: 0, dtype: split.dtype },
            Canon::Expr(expr) => *expr,
        };
        let dtype = store.prim_dtype(expr);
        match store.as_prim_int(expr) {
            Some(base) => Sum::number(base, dtype),
            None => Sum { args: vec![Split::whole(store, expr)], base: 0, dtype },
        }
    }
}

/// Returns the least number of a type, which has no opposite that could be subtracted.
fn least(dtype: DType) -> i64 {
    if dtype.bits == 64 { i64::MIN } else { Bound::of_type(dtype).min }
}

/// Folds `a op b` with a number if the result is simpler.
fn folded(store: &mut Store, op: PrimOp, a: &Rc<Canon>, b: &Rc<Canon>) -> Option<Rc<Canon>> {
    if let (Canon::Expr(x), Canon::Expr(y)) = (&**a, &**b) {
        return Some(match fold(store, op, *x, *y)? {
            Folded::Left => a.clone(),
            Folded::Right => b.clone(),
            Folded::Int(value) => Rc::new(Canon::Expr(store.prim_int(value, store.prim_dtype(*x)))),
            Folded::Float(_) | Folded::Bool(_) => return None,
        });
    }
    match (op, a.int(store), b.int(store)) {
        (PrimOp::Add, Some(0), _) | (PrimOp::Mul, Some(1), _) | (PrimOp::Mul, _, Some(0)) => Some(b.clone()),
        (PrimOp::Add | PrimOp::Sub, _, Some(0)) | (PrimOp::Mul, _, Some(1)) | (PrimOp::Mul, Some(0), _) => Some(a.clone()),
        (PrimOp::Div | PrimOp::FloorDiv, _, Some(1)) => Some(a.clone()),
        (PrimOp::Div | PrimOp::FloorDiv | PrimOp::Mod | PrimOp::FloorMod, Some(0), _) => Some(a.clone()),
        (PrimOp::Mod | PrimOp::FloorMod, _, Some(one @ 1)) => {
            let dtype = match &**a {
                Canon::Split(split) => split.dtype,
                Canon::Sum(sum) => sum.dtype,
                Canon::Expr(expr) => store.prim_dtype(*expr),
            };
            Some(Rc::new(Canon::Expr(store.prim_int(one - 1, dtype))))
        }
        _ => None,
    }
}

/// Returns the factors of a product that are no numbers, in their order, and the product of its numbers.
fn factors(store: &Store, roots: &[PrimId]) -> (Vec<PrimId>, i64) {
    let (mut found, mut scale) = (Vec::new(), 1i64);
    let mut todo: Vec<PrimId> = roots.iter().rev().copied().collect();
    while let Some(id) = todo.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
            PrimExpr::Int { value, .. } => scale = scale.wrapping_mul(value),
            _ => found.push(id),
        }
    }
    (found, scale)
}

/// Makes the product of factors and a number, which stands last.
fn product(store: &mut Store, factors: &[PrimId], scale: i64, dtype: DType) -> PrimId {
    let one = store.prim_int(1, dtype);
    let product = factors.iter().fold(one, |product, factor| binary(store, PrimOp::Mul, product, *factor));
    let scale = store.prim_int(scale, store.prim_dtype(product));
    binary(store, PrimOp::Mul, product, scale)
}

impl Analyzer {
    /// Simplifies one node with all below it, without writing out sums.
    pub(super) fn canonical_node(&mut self, store: &mut Store, id: PrimId) -> Canon {
        let dtype = store.prim_dtype(id);
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::Lt, a, b } => self.canonical_less(store, id, a, b),
            PrimExpr::Binary { op, a, b } if is_index(dtype) => match op {
                PrimOp::Add | PrimOp::Sub | PrimOp::Mul => self.canonical_linear(store, op, a, b),
                PrimOp::Div | PrimOp::FloorDiv => self.canonical_quotient(store, op, a, b),
                PrimOp::Mod | PrimOp::FloorMod => self.canonical_remainder(store, op, a, b),
                _ => Canon::Expr(self.visit_node(store, id, Mode::Canonical)),
            },
            PrimExpr::Cast { dtype, value } if is_index(dtype) => self.canonical_cast(store, id, value, dtype),
            _ => Canon::Expr(self.visit_node(store, id, Mode::Canonical)),
        }
    }

    /// Simplifies `a + b`, `a - b` or `a * b`.
    fn canonical_linear(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> Canon {
        let (a, b) = (self.canonical(store, a), self.canonical(store, b));
        if let Some(result) = folded(store, op, &a, &b) {
            return (*result).clone();
        }
        if op != PrimOp::Mul {
            let sign = if op == PrimOp::Add { 1 } else { -1 };
            let mut sum = a.to_sum(store);
            match (&*b, b.int(store)) {
                (_, Some(number)) => sum.base = sum.base.wrapping_add(number.wrapping_mul(sign)),
                (Canon::Sum(other), _) => sum.add_sum(other, sign),
                _ => sum.add(b.to_split(store), sign),
            }
            return Canon::Sum(sum);
        }
        let (a, b) = if a.int(store).is_some() { (b, a) } else { (a, b) };
        if let Some(factor) = b.int(store) {
            if let Canon::Sum(sum) = &*a {
                let mut sum = sum.clone();
                sum.scale(factor);
                return Canon::Sum(sum);
            }
            let mut split = a.to_split(store);
            split.scale = split.scale.wrapping_mul(factor);
            return Canon::Split(split);
        }
        let (a, b) = (a.normal(store), b.normal(store));
        let (factors, scale) = factors(store, &[a, b]);
        Canon::Expr(product(store, &factors, scale, store.prim_dtype(a)))
    }

    /// Rewrites `a < b` as `a - b < 0`, divided by the common factor of all terms but negligibly small ones.
    fn canonical_less(&mut self, store: &mut Store, id: PrimId, a: PrimId, b: PrimId) -> Canon {
        let difference = binary(store, PrimOp::Sub, a, b);
        let difference = self.canonical(store, difference);
        if let Canon::Sum(sum) = &*difference
            && let Some(shorter) = self.shorter_sum(store, sum)
        {
            let zero = store.prim_int(0, sum.dtype);
            let less = binary(store, PrimOp::Lt, shorter, zero);
            return (*self.canonical(store, less)).clone();
        }
        Canon::Expr(self.visit_node(store, id, Mode::Canonical))
    }

    fn shorter_sum(&mut self, store: &mut Store, sum: &Sum) -> Option<PrimId> {
        let large = sum.args.iter().map(|arg| arg.scale).filter(|scale| !(-1..=1).contains(scale));
        let common = large.clone().fold(sum.base, super::modular::gcd);
        if large.count() == 0 || common <= 1 {
            return None;
        }
        let (mut whole, rest) = sum.separate(common);
        let extra = rest.normal(store);
        let (zero, most) = (store.prim_int(0, sum.dtype), store.prim_int(common, sum.dtype));
        let below = binary(store, PrimOp::Lt, extra, most);
        let above = binary(store, PrimOp::Ge, extra, zero);
        if self.can_prove(store, below) && self.can_prove(store, above) {
            whole.divide(common);
            return Some(whole.normal(store));
        }
        // A remainder with no other term contributes its quotient.
        match &rest.args[..] {
            [only] if only.scale == 1 && only.upper != INF => {
                let lower = common.checked_mul(only.lower)?;
                if only.upper % lower != 0 {
                    return None;
                }
                whole.divide(common);
                let divisor = store.prim_int(lower, store.prim_dtype(only.index));
                let quotient = binary(store, PrimOp::FloorDiv, only.index, divisor);
                let upper = store.prim_int(only.upper / lower, store.prim_dtype(quotient));
                let quotient = binary(store, PrimOp::FloorMod, quotient, upper);
                let whole = whole.normal(store);
                Some(binary(store, PrimOp::Add, whole, quotient))
            }
            _ => None,
        }
    }
}
