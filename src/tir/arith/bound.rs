//! The least and the greatest value of integer expressions (TVM's `src/arith/const_int_bound.cc`).

use super::scope::each_part;
use super::{Analyzer, DEEPEST, modular};
use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::binary;

/// The values from `min` to `max`. [`Bound::INF`] and its negative stand for no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
}

const INF: i64 = Bound::INF;

impl Bound {
    /// Stands for infinity.
    pub const INF: i64 = i64::MAX;
    /// All integers.
    pub const ALL: Bound = Bound { min: -INF, max: INF };

    /// Returns the range of a type; unbounded for 64 bits.
    pub fn of_type(dtype: DType) -> Bound {
        let bits = u32::from(dtype.bits);
        match dtype.code {
            DTypeCode::Int if bits < 64 => Bound { min: -(1 << (bits - 1)), max: (1 << (bits - 1)) - 1 },
            DTypeCode::UInt if bits < 63 => Bound { min: 0, max: (1 << bits) - 1 },
            DTypeCode::UInt => Bound { min: 0, max: INF },
            _ => Bound::ALL,
        }
    }

    fn new(min: i64, max: i64) -> Bound {
        Bound { min: if min == INF { INF - 1 } else { min }, max: if max == -INF { 1 - INF } else { max } }
    }

    fn union(self, other: Bound) -> Bound {
        Bound { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    fn intersect(self, other: Bound) -> Bound {
        Bound { min: self.min.max(other.min), max: self.max.min(other.max) }
    }

    /// Returns the greatest value of a range that begins here and has so many values.
    pub(super) fn max_of_range(self, count: Bound) -> i64 {
        add(self.max, add(count.max, -1))
    }

    /// Returns the ends of an operation that is monotonic in each operand.
    fn corners(self, other: Bound, op: fn(i64, i64) -> i64) -> Bound {
        let ends = [op(self.min, other.min), op(self.max, other.max), op(self.min, other.max), op(self.max, other.min)];
        ends.into_iter().fold(Bound { min: i64::MAX, max: i64::MIN }, |all, end| all.union(Bound { min: end, max: end }))
    }
}

fn is_infinite(x: i64) -> bool {
    x == INF || x == -INF
}

fn add(x: i64, y: i64) -> i64 {
    match (x, y) {
        (x, _) if is_infinite(x) => x,
        (_, y) if is_infinite(y) => y,
        _ => x.saturating_add(y).max(-INF),
    }
}

fn mul(x: i64, y: i64) -> i64 {
    let sign = if (x > 0) == (y > 0) { INF } else { -INF };
    x.checked_mul(y).filter(|product| *product != i64::MIN).unwrap_or(sign)
}

fn trunc_div(x: i64, y: i64) -> i64 {
    if is_infinite(x) { if y > 0 { x } else { -x } } else { x.checked_div(y).unwrap_or(INF) }
}

fn floor_div(x: i64, y: i64) -> i64 {
    if is_infinite(x) { if y > 0 { x } else { -x } } else { PrimOp::FloorDiv.fold(x, y).unwrap_or(INF) }
}

fn shift_left(x: i64, y: i64) -> i64 {
    if is_infinite(x) {
        return x;
    }
    let bits = 64 - i64::from(x.unsigned_abs().leading_zeros());
    if bits.saturating_add(y) < 64 { x << y } else { INF }
}

fn shift_right(x: i64, y: i64) -> i64 {
    if is_infinite(x) { x } else { x >> y.clamp(0, 63) }
}

impl Analyzer {
    /// Returns the least and the greatest value of an expression, by the facts.
    pub fn const_int_bound(&mut self, store: &mut Store, expr: PrimId) -> Bound {
        if store.prim_depth(expr) > DEEPEST {
            return Bound::of_type(store.prim_dtype(expr));
        }
        if let Some(&found) = self.memo().bounds.get(&expr) {
            return found;
        }
        let mut result = self.bound_of(store, expr);
        for (known, bound) in &self.bounds {
            if *known == expr {
                result = result.intersect(*bound);
            }
        }
        self.memo().bounds.insert(expr, result);
        result
    }

    fn bound_of(&mut self, store: &mut Store, id: PrimId) -> Bound {
        let dtype = store.prim_dtype(id);
        let all = Bound::of_type(dtype);
        match *store.prim_of_id(id) {
            PrimExpr::Int { value, .. } => Bound::new(value, value),
            PrimExpr::Var(symbol) => self.known.get(&symbol).and_then(|known| known.bound).unwrap_or(all),
            PrimExpr::Binary { op, a, b } if !op.is_logic() => {
                let (left, right) = (self.const_int_bound(store, a), self.const_int_bound(store, b));
                self.bound_of_binary(store, op, a, left, right, dtype)
            }
            PrimExpr::Select { then, other, .. } => {
                let then = self.const_int_bound(store, then);
                then.union(self.const_int_bound(store, other))
            }
            PrimExpr::Cast { value, .. } => {
                let of_value = match argument_of_ceil_log2(store, dtype, value) {
                    Some(argument) => self.ceil_log2(store, argument),
                    None => self.const_int_bound(store, value),
                };
                of_value.intersect(all)
            }
            PrimExpr::Broadcast { value, .. } => self.const_int_bound(store, value),
            PrimExpr::Ramp { base, stride, lanes } => {
                let lanes = count_of_lanes(store, lanes);
                let one = store.prim_int(1, DType::I32);
                let steps = binary(store, PrimOp::Sub, lanes, one);
                let way = binary(store, PrimOp::Mul, steps, stride);
                let last = binary(store, PrimOp::Add, base, way);
                let first = self.const_int_bound(store, base);
                first.union(self.const_int_bound(store, last))
            }
            PrimExpr::Let { var, value, body } => {
                if self.is_bound(var) {
                    return self.const_int_bound(store, body);
                }
                // The variable has the bounds of its value here and nowhere else; so have results found with them.
                let bound = self.const_int_bound(store, value);
                let (memo, old) = (std::mem::take(&mut self.memo), self.known.remove(&var));
                self.assume_between(var, bound.min, bound.max);
                let result = self.const_int_bound(store, body);
                self.memo = memo;
                self.known.remove(&var);
                old.map(|old| self.known.insert(var, old));
                result
            }
            PrimExpr::Call { op, ref args, .. } => match args[..] {
                [a, b] => {
                    let name = store.name_rc(op);
                    self.bound_of_call(store, &name.0, a, b).unwrap_or(all)
                }
                _ => all,
            },
            _ => all,
        }
    }

    fn bound_of_call(&mut self, store: &mut Store, name: &str, a: PrimId, b: PrimId) -> Option<Bound> {
        if !matches!(name, "shift_right" | "shift_left" | "bitwise_and") {
            return None;
        }
        let (a, b) = (self.const_int_bound(store, a), self.const_int_bound(store, b));
        match name {
            "shift_right" => Some(a.corners(b, shift_right)),
            // Shifting a negative number is undefined on some machines.
            "shift_left" => (a.min >= 0 && b.min >= 0).then(|| a.corners(b, shift_left)),
            _ => match (a.min >= 0, b.min >= 0) {
                (true, true) => Some(Bound::new(0, a.max.min(b.max))),
                (false, true) => Some(Bound::new(0, b.max)),
                (true, false) => Some(Bound::new(0, a.max)),
                (false, false) => None,
            },
        }
    }

    /// Returns the bounds of `x op y`, where the operands are between `a` and `b`.
    fn bound_of_binary(&mut self, store: &mut Store, op: PrimOp, x: PrimId, a: Bound, b: Bound, dtype: DType) -> Bound {
        match op {
            PrimOp::Add => Bound { min: add(a.min, b.min), max: add(a.max, b.max) },
            PrimOp::Sub => Bound { min: add(a.min, -b.max), max: add(a.max, -b.min) },
            PrimOp::Mul => a.corners(b, mul),
            PrimOp::Div => divided(a, divisor(b), dtype, trunc_div),
            PrimOp::FloorDiv => divided(a, divisor(b), dtype, floor_div),
            PrimOp::Mod | PrimOp::FloorMod => self.bound_of_rest(store, op, x, a, divisor(b), dtype),
            PrimOp::Min => Bound { min: a.min.min(b.min), max: a.max.min(b.max) },
            PrimOp::Max => Bound { min: a.min.max(b.min), max: a.max.max(b.max) },
            _ => Bound::of_type(dtype),
        }
    }

    /// Returns the bounds of a remainder, from the divisor and from the modular set of the dividend.
    fn bound_of_rest(&mut self, store: &mut Store, op: PrimOp, x: PrimId, a: Bound, b: Bound, dtype: DType) -> Bound {
        let floor = op == PrimOp::FloorMod;
        let most = add(b.max, -1);
        if b.min <= 0 {
            let all = Bound::of_type(dtype);
            return if floor { Bound::new(add(b.min, 1).min(0), most.max(0)).intersect(all) } else { all };
        }
        let small = if a.min >= 0 { a.max < b.min } else { !floor && a.max < 0 && a.min > -b.min };
        let interval = match () {
            () if small => a,
            () if a.min >= 0 => Bound::new(0, a.max.min(most)),
            () if floor => Bound::new(0, most),
            () if a.max < 0 => Bound::new(a.min.max(-most), 0),
            () => Bound::new(a.min.max(-most), a.max.max(0).min(most)),
        };
        if b.min != b.max {
            return interval;
        }
        let set = self.modular_set(store, x);
        let gcd = modular::gcd(set.coeff, b.min);
        if gcd <= 1 {
            return interval;
        }
        // The dividend is `base` modulo `gcd`, which divides the divisor: so is the remainder, and mirrored below zero.
        let base = set.base.rem_euclid(gcd);
        let (least, mirrored) = (b.min - gcd, (gcd - base) % gcd);
        let modular = match () {
            () if floor || a.min >= 0 => Bound::new(base, least + base),
            () if a.max < 0 => Bound::new(-(least + mirrored), -mirrored),
            () => Bound::new(-(least + mirrored), least + base),
        };
        interval.intersect(modular)
    }

    /// Derives bounds of expressions from a condition.
    pub(super) fn enter_bounds(&mut self, store: &Store, cond: PrimId) {
        let mut found = Vec::new();
        each_part(store, cond, &mut |part| {
            let PrimExpr::Binary { op, a, b } = *store.prim_of_id(part) else { return };
            let (value, expr, op) = match (store.as_prim_int(a), store.as_prim_int(b)) {
                (None, Some(value)) => (value, a, op),
                // TVM overlooks this one.
                (Some(_), None) if op == PrimOp::Ge => return,
                (Some(value), None) => (value, b, op.mirrored()),
                _ => return,
            };
            let bound = match op {
                PrimOp::Ge => Bound::new(value, INF),
                PrimOp::Gt => Bound::new(value.wrapping_add(1), INF),
                PrimOp::Le => Bound::new(-INF, value),
                PrimOp::Lt => Bound::new(-INF, value.wrapping_sub(1)),
                PrimOp::Eq => Bound::new(value, value),
                _ => return,
            };
            found.push((expr, bound));
        });
        self.bounds.extend(found);
    }

    fn ceil_log2(&mut self, store: &mut Store, argument: PrimId) -> Bound {
        if let PrimExpr::Float { value, .. } = *store.prim_of_id(argument) {
            let log = value.0.log2().ceil() as i64;
            return Bound::new(log, log);
        }
        let bound = self.const_int_bound(store, argument);
        let log = |x: i64| if x > 0 { (x as f64).log2().ceil() as i64 } else { i64::MIN };
        Bound::new(log(bound.min), log(bound.max))
    }
}

/// Returns the number of lanes as an expression.
fn count_of_lanes(store: &mut Store, lanes: u16) -> PrimId {
    let factor = store.prim_int(i64::from(lanes & !DType::SCALABLE), DType::I32);
    if lanes & DType::SCALABLE == 0 {
        return factor;
    }
    let scale = store.prim_call("vscale", &[], DType::I32);
    binary(store, PrimOp::Mul, scale, factor)
}

/// Returns the bounds of a divisor, which is not zero: a non-negative one is at least 1.
fn divisor(b: Bound) -> Bound {
    if b.min == 0 { Bound { min: 1, max: b.max.max(1) } } else { b }
}

fn divided(a: Bound, b: Bound, dtype: DType, op: fn(i64, i64) -> i64) -> Bound {
    if b.min <= 0 && b.max >= 0 && dtype.code == DTypeCode::Int {
        // The greatest quotients are those by the divisors nearest to zero.
        let all = Bound::of_type(dtype);
        let below = if b.min < 0 { Bound::new(b.min, -1) } else { all };
        let above = if b.max > 0 { Bound::new(1, b.max) } else { all };
        let both = a.corners(below, op).union(a.corners(above, op));
        return Bound::new(both.min, both.max);
    }
    a.corners(b, op)
}

/// Returns the argument of `int(ceil(log2(x)))`, which is in the bounds of loops of sorting networks.
fn argument_of_ceil_log2(store: &Store, dtype: DType, value: PrimId) -> Option<PrimId> {
    let argument = |id: PrimId, name: &str| match *store.prim_of_id(id) {
        PrimExpr::Call { op, ref args, .. } if store.str(op) == name => args.first().copied(),
        _ => None,
    };
    if dtype.code != DTypeCode::Int {
        return None;
    }
    argument(argument(value, "ceil")?, "log2")
}
