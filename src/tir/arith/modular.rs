//! Computes modular sets of integer expressions: a divisor and a remainder (TVM's `src/arith/modular_set.cc`).

use super::{Analyzer, DEEPEST};
use crate::ir::{Id, PrimExpr, PrimId, PrimOp, Store, Symbol};

/// The numbers `coeff * k + base`; a `coeff` of 0 stands for `base` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modular {
    /// The divisor of which `base` is the remainder; not negative.
    pub coeff: i64,
    /// The remainder.
    pub base: i64,
}

/// Returns the greatest common divisor, where 0 is divided by all.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

/// Returns the greatest common divisor of `a` and `b`, and `x` and `y` with `a * x + b * y` being it.
fn extended_gcd(a: i64, b: i64) -> (i64, i64, i64) {
    let (mut s, mut old_s) = (0i64, 1i64);
    let (mut r, mut old_r) = (b, a.wrapping_abs());
    while r != 0 {
        let q = old_r / r;
        (old_r, r) = (r, old_r.wrapping_sub(q.wrapping_mul(r)));
        (old_s, s) = (s, old_s.wrapping_sub(q.wrapping_mul(s)));
    }
    let x = if a >= 0 { old_s } else { -old_s };
    let y = if b != 0 { old_r.wrapping_sub(x.wrapping_mul(a)) / b } else { 1 };
    (old_r, x, y)
}

impl Modular {
    /// All integers.
    pub const ALL: Modular = Modular { coeff: 1, base: 0 };

    /// Makes `coeff * k + base`, with the least base that is not negative.
    pub fn new(coeff: i64, base: i64) -> Modular {
        let (coeff, base) = if coeff < 0 { (coeff.wrapping_neg(), base.wrapping_neg()) } else { (coeff, base) };
        Modular { coeff, base: if coeff > 0 { base.rem_euclid(coeff) } else { base } }
    }

    fn union(self, other: Modular) -> Modular {
        let coeff = gcd(self.coeff, other.coeff);
        if coeff == 0 {
            return if self.base == other.base { self } else { Modular::ALL };
        }
        let (a, b) = (self.base % coeff, other.base % coeff);
        Modular::new(if a == b { coeff } else { gcd(gcd(a, b), coeff) }, a)
    }

    fn intersect(self, other: Modular) -> Modular {
        let (gcd, x, _) = extended_gcd(self.coeff, other.coeff);
        let distance = other.base.wrapping_sub(self.base);
        if gcd == 0 || distance % gcd != 0 {
            return Modular::new(0, 1);
        }
        let coeff = (self.coeff / gcd).wrapping_mul(other.coeff);
        Modular::new(coeff, (distance / gcd).wrapping_mul(x).wrapping_mul(self.coeff).wrapping_add(self.base))
    }

    fn number(self) -> Option<i64> {
        (self.coeff == 0).then_some(self.base)
    }
}

impl Analyzer {
    /// Returns the modular set of an expression: a divisor and the remainder.
    pub fn modular_set(&mut self, store: &mut Store, expr: PrimId) -> Modular {
        if store.prim_depth(expr) > DEEPEST {
            return Modular::ALL;
        }
        if let Some(&found) = self.memo().modular.get(&expr) {
            return found;
        }
        let result = self.modular_of(store, expr);
        self.memo().modular.insert(expr, result);
        result
    }

    fn modular_of(&mut self, store: &mut Store, id: PrimId) -> Modular {
        match *store.prim_of_id(id) {
            PrimExpr::Int { value, .. } => Modular::new(0, value),
            PrimExpr::Var(symbol) => self.known.get(&symbol).and_then(|known| known.modular).unwrap_or(Modular::ALL),
            PrimExpr::Cast { value, .. } => self.modular_set(store, value),
            PrimExpr::Binary { op, a, b } => self.modular_of_binary(store, op, a, b),
            PrimExpr::Select { then, other, .. } => {
                let then = self.modular_set(store, then);
                then.union(self.modular_set(store, other))
            }
            PrimExpr::Let { var, value, body } => {
                if self.known.get(&var).is_some_and(|known| known.modular.is_some()) {
                    return self.modular_set(store, body);
                }
                let set = self.modular_set(store, value);
                let (memo, old) = (std::mem::take(&mut self.memo), self.known.remove(&var));
                self.known.insert(var, super::scope::Known { modular: Some(set), ..old.clone().unwrap_or_default() });
                let result = self.modular_set(store, body);
                self.memo = memo;
                self.known.remove(&var);
                old.map(|old| self.known.insert(var, old));
                result
            }
            PrimExpr::Call { op, ref args, .. } => match args[..] {
                [a, b] => {
                    let name = store.name_rc(op);
                    self.modular_of_call(store, &name.0, a, b)
                }
                _ => Modular::ALL,
            },
            _ => Modular::ALL,
        }
    }

    fn modular_of_binary(&mut self, store: &mut Store, op: PrimOp, x: PrimId, y: PrimId) -> Modular {
        if op.is_logic() {
            return Modular::ALL;
        }
        let b = self.modular_set(store, y);
        if matches!(op, PrimOp::Div | PrimOp::FloorDiv | PrimOp::Mod | PrimOp::FloorMod) {
            let Some(value) = b.number().filter(|value| *value != 0) else { return Modular::ALL };
            let down = matches!(op, PrimOp::FloorDiv | PrimOp::FloorMod);
            return match op {
                PrimOp::Div | PrimOp::FloorDiv => self.modular_of_quotient(store, x, value, down),
                _ => self.modular_of_rest(store, x, value, down),
            };
        }
        let a = self.modular_set(store, x);
        match op {
            PrimOp::Add => Modular::new(gcd(a.coeff, b.coeff), a.base.wrapping_add(b.base)),
            PrimOp::Sub => Modular::new(gcd(a.coeff, b.coeff), a.base.wrapping_sub(b.base)),
            PrimOp::Mul => {
                // (p x + n) (q y + m) = p q x y + p m x + q n y + n m
                let [pq, pm, qn] = [(a.coeff, b.coeff), (a.coeff, b.base), (a.base, b.coeff)].map(|(x, y)| x.wrapping_mul(y));
                Modular::new(gcd(pq, gcd(pm, qn)), a.base.wrapping_mul(b.base))
            }
            _ => a.union(b),
        }
    }

    fn modular_of_call(&mut self, store: &mut Store, name: &str, a: PrimId, b: PrimId) -> Modular {
        if !matches!(name, "shift_right" | "shift_left" | "bitwise_and") {
            return Modular::ALL;
        }
        let Some(b) = self.modular_set(store, b).number() else { return Modular::ALL };
        let shift = (b & 63) as u32;
        match name {
            "shift_right" => self.modular_of_quotient(store, a, 1i64.wrapping_shl(shift), true),
            "shift_left" => {
                let a = self.modular_set(store, a);
                Modular::new(a.coeff.wrapping_shl(shift), a.base.wrapping_shl(shift))
            }
            // Masking low bits gives a remainder.
            _ => match b.checked_add(1).filter(|mask| *mask > 0 && mask & (mask - 1) == 0) {
                Some(mask) => self.modular_of_rest(store, a, mask, true),
                None => Modular::ALL,
            },
        }
    }

    fn modular_of_quotient(&mut self, store: &mut Store, x: PrimId, value: i64, down: bool) -> Modular {
        let a = self.modular_set(store, x);
        if value == 0 || a.coeff % value != 0 {
            return Modular::ALL;
        }
        if a.base == 0 {
            return Modular::new((a.coeff / value).wrapping_abs(), 0);
        }
        if a.base > 0 && value > 0 && (down || self.can_prove_greater_equal(store, x, 0)) {
            return Modular::new(a.coeff / value, a.base / value);
        }
        Modular::ALL
    }

    fn modular_of_rest(&mut self, store: &mut Store, x: PrimId, value: i64, down: bool) -> Modular {
        let a = self.modular_set(store, x);
        let coeff = gcd(a.coeff, value);
        if a.base % coeff == 0 || (a.base > 0 && (down || self.can_prove_greater_equal(store, x, 0))) {
            return Modular::new(coeff, a.base % coeff);
        }
        Modular::ALL
    }

    /// Narrows the set of a variable by `x % c == b`; returns the variable and its former set.
    pub(super) fn enter_modular(&mut self, store: &Store, cond: PrimId) -> Option<(Id<Symbol>, Option<Modular>)> {
        let PrimExpr::Binary { op: PrimOp::Eq, a, b } = *store.prim_of_id(cond) else { return None };
        let PrimExpr::Binary { op: PrimOp::Mod | PrimOp::FloorMod, a: x, b: coeff } = *store.prim_of_id(a) else { return None };
        let PrimExpr::Var(symbol) = *store.prim_of_id(x) else { return None };
        let (coeff, base) = (store.as_prim_int(coeff)?, store.as_prim_int(b)?);
        let known = self.known.entry(symbol).or_default();
        let old = known.modular;
        known.modular = Some(old.unwrap_or(Modular::ALL).intersect(Modular::new(coeff, base)));
        Some((symbol, old))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_join_and_meet() {
        assert_eq!(Modular::new(4, 1).union(Modular::new(4, 3)), Modular::new(1, 0));
        assert_eq!(Modular::new(4, 0).union(Modular::new(4, 2)), Modular::new(2, 0));
        assert_eq!(Modular::new(6, 1).union(Modular::new(9, 4)), Modular::new(3, 1));
        assert_eq!(Modular::new(4, 3).intersect(Modular::new(6, 1)), Modular::new(12, 7));
        assert_eq!(Modular::new(-4, 3), Modular::new(4, 1));
    }
}
