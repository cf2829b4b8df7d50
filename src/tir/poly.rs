//! Integer expressions as polynomials, for equality where shapes are symbolic: `(i * 4 + j) // 16 * 16 + (i * 4 + j) %
//! 16` is `i * 4 + j` for all values of the variables.
//!
//! A remainder is written with the quotient, `a - a // m * m`, so only quotients are left as atoms, and corresponding
//! terms cancel. A quotient vanishes if its numerator is known to be smaller than its divisor.

use crate::ir::sort::sort_by;
use crate::ir::{Id, IdMap, PrimExpr, PrimId, PrimOp, Store, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Expressions with more terms or quotients are left as they are: indices of real programs have a handful.
const MOST: usize = 64;

/// A sum of products of atoms, each with its factor. The empty product is the number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Poly(BTreeMap<Vec<Atom>, i64>);

/// The indeterminates of a polynomial: expressions, and quotients by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Atom {
    Prim(PrimId),
    Quotient(u32),
}

impl Poly {
    /// Makes a number.
    pub fn number(value: i64) -> Poly {
        Poly(if value == 0 { BTreeMap::new() } else { BTreeMap::from([(Vec::new(), value)]) })
    }

    fn atom(atom: Atom) -> Poly {
        Poly(BTreeMap::from([(vec![atom], 1)]))
    }

    /// Returns the number, if it is one.
    fn as_number(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Computes `self + other * factor`.
    pub fn plus(&self, other: &Poly, factor: i64) -> Poly {
        let mut sum = self.clone();
        for (atoms, scale) in &other.0 {
            let entry = sum.0.entry(atoms.clone()).or_insert(0);
            *entry = entry.wrapping_add(scale.wrapping_mul(factor));
            if *entry == 0 {
                sum.0.remove(atoms);
            }
        }
        sum
    }

    /// Computes `self * other`.
    pub fn times(&self, other: &Poly) -> Poly {
        let mut product = Poly::default();
        for (a, s) in &self.0 {
            for (b, t) in &other.0 {
                let mut atoms = [a.as_slice(), b.as_slice()].concat();
                sort_by(&mut atoms, Ord::cmp);
                product = product.plus(&Poly(BTreeMap::from([(atoms, s.wrapping_mul(*t))])), 1);
            }
        }
        product
    }

    /// Returns the polynomial with a polynomial substituted for an atom.
    fn with(&self, atom: Atom, by: &Poly) -> Poly {
        let mut result = Poly::default();
        for (atoms, scale) in &self.0 {
            let (same, rest): (Vec<Atom>, Vec<Atom>) = atoms.iter().partition(|other| **other == atom);
            let term = Poly(BTreeMap::from([(rest, *scale)]));
            result = result.plus(&same.iter().fold(term, |term, _| term.times(by)), 1);
        }
        result
    }

    /// True if it cannot be negative when no atom is.
    fn is_natural(&self) -> bool {
        self.0.values().all(|scale| *scale >= 0)
    }
}

/// The ranges of variables, and the quotients found so far.
#[derive(Default)]
pub struct Polys {
    /// Least and greatest value of variables that run.
    ranges: IdMap<Symbol, (Poly, Poly)>,
    /// Numerators and divisors.
    quotients: Vec<(Poly, Poly)>,
    numbers: FxHashMap<(Poly, Poly), u32>,
}

impl Polys {
    /// Sets the range of a variable: `extent` values from `min`. One with a single value is that value.
    pub fn assume(&mut self, symbol: Id<Symbol>, min: Poly, extent: &Poly) {
        let most = min.plus(extent, 1).plus(&Poly::number(1), -1);
        self.ranges.insert(symbol, (min, most));
    }

    /// Converts an expression to a polynomial.
    pub fn of(&mut self, store: &Store, root: PrimId) -> Poly {
        let mut done: IdMap<PrimExpr, Poly> = IdMap::new();
        store.for_each_prim(root, &mut |id, expr| {
            let poly = match *expr {
                PrimExpr::Int { value, .. } => Poly::number(value),
                PrimExpr::Var(symbol) => match self.ranges.get(symbol) {
                    Some((least, most)) if least == most => least.clone(),
                    _ => Poly::atom(Atom::Prim(id)),
                },
                PrimExpr::Binary { op, a, b } => {
                    let of = |id: PrimId| done.get(id).cloned().unwrap_or_else(|| Poly::atom(Atom::Prim(id)));
                    let (a, b) = (of(a), of(b));
                    match op {
                        _ if a.0.len() * b.0.len() > MOST || self.quotients.len() > MOST => Poly::atom(Atom::Prim(id)),
                        PrimOp::Add => a.plus(&b, 1),
                        PrimOp::Sub => a.plus(&b, -1),
                        PrimOp::Mul => a.times(&b),
                        PrimOp::FloorDiv => self.quotient(store, &a, &b),
                        PrimOp::FloorMod => a.plus(&self.quotient(store, &a, &b).times(&b), -1),
                        _ => Poly::atom(Atom::Prim(id)),
                    }
                }
                _ => Poly::atom(Atom::Prim(id)),
            };
            done.insert(id, poly);
        });
        done.get(root).cloned().unwrap_or_default()
    }

    /// Computes `a // m`.
    fn quotient(&mut self, store: &Store, a: &Poly, m: &Poly) -> Poly {
        let (whole, rest) = split(a, m);
        if rest.0.is_empty() || self.fits(store, &rest, m) {
            return whole;
        }
        // Drops a part smaller than a common factor of all the rest: `(x * 4 + y) // 16` is `x // 4`.
        let (mut rest, mut m) = (rest, m.clone());
        if let Some(divisor) = m.as_number().filter(|divisor| *divisor > 1) {
            let mut factors: Vec<i64> = rest.0.values().copied().filter(|g| *g > 1 && divisor % g == 0).collect();
            sort_by(&mut factors, |a, b| b.cmp(a));
            for factor in factors {
                let (large, small) = split(&rest, &Poly::number(factor));
                if self.fits(store, &small, &Poly::number(factor)) {
                    (rest, m) = (large, Poly::number(divisor / factor));
                    break;
                }
            }
        }
        let next = self.quotients.len() as u32;
        let number = *self.numbers.entry((rest.clone(), m.clone())).or_insert(next);
        if number == next {
            self.quotients.push((rest, m));
        }
        whole.plus(&Poly::atom(Atom::Quotient(number)), 1)
    }

    /// True if `0 <= a < m`.
    fn fits(&self, store: &Store, a: &Poly, m: &Poly) -> bool {
        self.bounds(store, a, 0)
            .is_some_and(|(least, most)| least.is_natural() && m.plus(&most, -1).plus(&Poly::number(1), -1).is_natural())
    }

    /// Bounds of a polynomial in terms of extents. Quotients nest as deep as shapes have axes; deeper ones are given up.
    fn bounds(&self, store: &Store, poly: &Poly, depth: u32) -> Option<(Poly, Poly)> {
        if depth > 16 {
            return None;
        }
        let mut rest = poly.clone();
        let (mut least, mut most) = (Poly::default(), Poly::default());
        // A remainder, written as a difference, lies below its divisor.
        for (number, (numerator, divisor)) in self.quotients.iter().enumerate() {
            let shape = numerator.plus(&Poly::atom(Atom::Quotient(number as u32)).times(divisor), -1);
            let Some((first, scale)) = numerator.0.iter().next() else { continue };
            let Some(times) = rest.0.get(first).map(|found| found / scale).filter(|times| *times > 0) else { continue };
            let without = rest.plus(&shape, -times);
            if without.0.len() + shape.0.len() == rest.0.len() {
                rest = without;
                most = most.plus(&divisor.plus(&Poly::number(1), -1), times);
            }
        }
        for (atoms, scale) in &rest.0 {
            let (mut low, mut high) = (Poly::number(*scale), Poly::number(*scale));
            for atom in atoms {
                let (a, b) = self.atom_bounds(store, *atom, depth)?;
                if !a.is_natural() {
                    return None;
                }
                let (a, b) = if *scale < 0 { (b, a) } else { (a, b) };
                (low, high) = (low.times(&a), high.times(&b));
            }
            (least, most) = (least.plus(&low, 1), most.plus(&high, 1));
        }
        Some((least, most))
    }

    fn atom_bounds(&self, store: &Store, atom: Atom, depth: u32) -> Option<(Poly, Poly)> {
        match atom {
            Atom::Prim(id) => match *store.prim_of_id(id) {
                PrimExpr::Var(symbol) => {
                    let own = Poly::atom(atom);
                    Some(self.ranges.get(symbol).cloned().unwrap_or((own.clone(), own)))
                }
                _ => None,
            },
            Atom::Quotient(number) => {
                let (numerator, divisor) = &self.quotients[number as usize];
                let (least, most) = self.bounds(store, numerator, depth + 1)?;
                if !least.is_natural() {
                    return None;
                }
                // Rounding the rest up keeps it a bound.
                let (whole, rest) = split(&most, divisor);
                match rest.as_number() {
                    Some(rest) if rest < 0 => Some((Poly::default(), whole.plus(&Poly::number(1), -1))),
                    Some(rest) => {
                        let up = divisor.as_number().map_or(rest, |divisor| rest.div_euclid(divisor.max(1)));
                        Some((Poly::default(), whole.plus(&Poly::number(up), 1)))
                    }
                    None => Some((Poly::default(), most)),
                }
            }
        }
    }
}

/// The range of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its least value, at least 1.
    pub least: i64,
    /// Its greatest value, if there is one.
    pub most: Option<i64>,
}

/// True if `a < b` provably holds for all values of the symbols; those without a range are at least 1.
///
/// The difference is linear in each symbol that stands once in every product, so a property at the ends of a range
/// holds in between; for a symbol without an end its growth decides.
pub fn is_negative(store: &Store, a: PrimId, b: PrimId, ranges: &[(Id<Symbol>, Range)]) -> bool {
    let polys = &mut Polys::default();
    let (a, b) = (polys.of(store, a), polys.of(store, b));
    let mut corners = vec![a.plus(&b, -1)];
    let atoms: std::collections::BTreeSet<Atom> = corners[0].0.keys().flatten().copied().collect();
    for atom in atoms {
        let Atom::Prim(id) = atom else { return false };
        let PrimExpr::Var(symbol) = *store.prim_of_id(id) else { return false };
        let range = ranges.iter().find(|(known, _)| *known == symbol).map_or(Range { least: 1, most: None }, |(_, range)| *range);
        let linear =
            corners.iter().all(|poly| poly.0.keys().all(|atoms| atoms.iter().filter(|other| **other == atom).count() < 2));
        let ends = match range.most {
            Some(most) if linear && corners.len() <= MOST => vec![Poly::number(range.least), Poly::number(most)],
            _ => vec![Poly::atom(atom).plus(&Poly::number(range.least), 1)],
        };
        corners = corners.iter().flat_map(|poly| ends.iter().map(|end| poly.with(atom, end)).collect::<Vec<_>>()).collect();
    }
    // The remaining symbols stand for distances above their least values.
    corners.iter().all(|poly| {
        let constant = poly.0.get(&Vec::new()).copied().unwrap_or(0);
        constant < 0 && poly.0.values().all(|scale| *scale <= 0)
    })
}

/// Returns the terms that a single term divides, divided, and the others.
fn split(a: &Poly, m: &Poly) -> (Poly, Poly) {
    let (mut whole, mut rest) = (Poly::default(), Poly::default());
    let Some((divisor, by)) = m.0.iter().next().filter(|_| m.0.len() == 1) else { return (whole, a.clone()) };
    for (atoms, scale) in &a.0 {
        let mut left = atoms.clone();
        let fits = divisor.iter().all(|atom| left.iter().position(|other| other == atom).map(|at| left.remove(at)).is_some());
        if fits && scale % by == 0 {
            whole.0.insert(left, scale / by);
        } else {
            rest.0.insert(atoms.clone(), *scale);
        }
    }
    (whole, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    fn symbol(store: &mut Store, name: &str) -> (Id<Symbol>, PrimId) {
        let name = store.name(name);
        let symbol = store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        (symbol, store.prim(PrimExpr::Var(symbol)))
    }

    #[test]
    fn a_flattened_index_is_what_it_was_computed_from() {
        let store = &mut Store::new();
        let ((i, i_), (j, j_), (_, n)) = (symbol(store, "i"), symbol(store, "j"), symbol(store, "n"));
        let polys = &mut Polys::default();
        let n_poly = polys.of(store, n);
        polys.assume(i, Poly::default(), &n_poly.times(&Poly::number(4)));
        polys.assume(j, Poly::default(), &Poly::number(4));
        let [four, sixteen] = [4, 16].map(|value| store.prim_int(value, DType::I64));
        let mut op = |op, a, b| store.prim_binary(op, a, b);
        // (i * 4 + j) // 16 % n * 16 + (i * 4 + j) % 16, where i < 4 * n and j < 4
        let scaled = op(PrimOp::Mul, i_, four);
        let flat = op(PrimOp::Add, scaled, j_);
        let row = op(PrimOp::FloorDiv, flat, sixteen);
        let row = op(PrimOp::FloorMod, row, n);
        let row = op(PrimOp::Mul, row, sixteen);
        let column = op(PrimOp::FloorMod, flat, sixteen);
        let again = op(PrimOp::Add, row, column);
        let other = op(PrimOp::Add, row, j_);
        assert_eq!(polys.of(store, again), polys.of(store, flat));
        assert_ne!(polys.of(store, other), polys.of(store, flat));
    }
}
