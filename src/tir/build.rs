//! Scalar expressions as TVM's operators build them (`src/tirx/op/op.cc`, `src/arith/const_fold.h`): operands get
//! one type, numbers fold, and `x + 0`, `x * 1` and the like vanish.

use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store};

/// The result of folding an operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Folded {
    /// The left operand.
    Left,
    /// The right operand.
    Right,
    /// An integer of the operands' type.
    Int(i64),
    /// A floating point number of the operands' type.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

/// True if arithmetic on a type is that of indices, which TVM folds more eagerly and knows most about.
pub(crate) fn is_index(dtype: DType) -> bool {
    dtype.code == DTypeCode::Int && matches!(dtype.bits, 32 | 64) && dtype.lanes == 1
}

/// Cuts a number to the width of its type, as hardware would.
fn wrap(value: i64, dtype: DType) -> i64 {
    if dtype.bits >= 64 || dtype.bits == 0 {
        return value;
    }
    let shift = 64 - u32::from(dtype.bits);
    if dtype.code == DTypeCode::Int { value << shift >> shift } else { ((value << shift) as u64 >> shift) as i64 }
}

/// Folds `a op b` if it has a simpler value; the operands have one type.
pub fn fold(store: &Store, op: PrimOp, a: PrimId, b: PrimId) -> Option<Folded> {
    let dtype = store.prim_dtype(a);
    let int = |id| match *store.prim_of_id(id) {
        PrimExpr::Int { value, .. } => Some(value),
        _ => None,
    };
    let float = |id| match *store.prim_of_id(id) {
        PrimExpr::Float { value, .. } => Some(value.0),
        _ => None,
    };
    let (pa, pb) = (int(a), int(b));
    let is_u64 = dtype == DType::new(DTypeCode::UInt, 64);
    match op {
        PrimOp::And | PrimOp::Or => {
            let and = op == PrimOp::And;
            return match (pa, pb) {
                (Some(x), _) => Some(if (x != 0) == and { Folded::Right } else { Folded::Left }),
                (_, Some(y)) => Some(if (y != 0) == and { Folded::Left } else { Folded::Right }),
                _ => None,
            };
        }
        PrimOp::FloorMod if dtype.code == DTypeCode::UInt && dtype.bits < 64 => {
            return pa?.checked_rem(pb?).map(Folded::Int);
        }
        PrimOp::Mod | PrimOp::FloorMod if !(is_index(dtype) || (is_u64 && pa.is_some() && pb.is_some())) => return None,
        PrimOp::Min | PrimOp::Max if a == b && matches!(store.prim_of_id(a), PrimExpr::Var(_)) => return Some(Folded::Left),
        _ => {}
    }
    if let (Some(x), Some(y)) = (pa, pb) {
        // Others are the same with and without a sign.
        let value = match op {
            _ if is_u64 && !matches!(op, PrimOp::Add | PrimOp::Sub | PrimOp::Mul) => {
                fold_unsigned(op, x as u64, y as u64)? as i64
            }
            PrimOp::Add => x.wrapping_add(y),
            PrimOp::Sub => x.wrapping_sub(y),
            PrimOp::Mul => x.wrapping_mul(y),
            _ => op.fold(x, y)?,
        };
        return Some(if op.is_logic() { Folded::Bool(value != 0) } else { Folded::Int(wrap(value, dtype)) });
    }
    let (fa, fb) = (float(a), float(b));
    if let (Some(x), Some(y)) = (fa, fb)
        && let Some(folded) = fold_floats(op, x, y, dtype.bits)
    {
        return Some(folded);
    }
    let is = |n: i64, x: Option<i64>, f: Option<f64>| x == Some(n) || f == Some(n as f64);
    match op {
        PrimOp::Add if is(0, pa, fa) => Some(Folded::Right),
        PrimOp::Add | PrimOp::Sub if is(0, pb, fb) => Some(Folded::Left),
        PrimOp::Mul if is(1, pa, fa) => Some(Folded::Right),
        PrimOp::Mul if is(0, pa, fa) => Some(Folded::Left),
        PrimOp::Mul if is(1, pb, fb) => Some(Folded::Left),
        PrimOp::Mul if is(0, pb, fb) => Some(Folded::Right),
        PrimOp::Div | PrimOp::FloorDiv if is(0, pa, fa) || is(1, pb, fb) => Some(Folded::Left),
        PrimOp::Mod | PrimOp::FloorMod if pa == Some(0) => Some(Folded::Left),
        PrimOp::Mod | PrimOp::FloorMod if pb == Some(1) => Some(Folded::Int(0)),
        _ => None,
    }
}

fn fold_unsigned(op: PrimOp, x: u64, y: u64) -> Option<u64> {
    let truth = |b: bool| Some(u64::from(b));
    match op {
        PrimOp::Div | PrimOp::FloorDiv => x.checked_div(y),
        PrimOp::Mod | PrimOp::FloorMod => x.checked_rem(y),
        PrimOp::Min => Some(x.min(y)),
        PrimOp::Max => Some(x.max(y)),
        PrimOp::Lt => truth(x < y),
        PrimOp::Le => truth(x <= y),
        PrimOp::Gt => truth(x > y),
        PrimOp::Ge => truth(x >= y),
        _ => op.fold(x as i64, y as i64).map(|value| value as u64),
    }
}

fn fold_floats(op: PrimOp, x: f64, y: f64, bits: u8) -> Option<Folded> {
    let truth = |b| Some(Folded::Bool(b));
    match op {
        PrimOp::Eq => return truth(x == y),
        PrimOp::Ne => return truth(x != y),
        PrimOp::Lt => return truth(x < y),
        PrimOp::Le => return truth(x <= y),
        PrimOp::Gt => return truth(x > y),
        PrimOp::Ge => return truth(x >= y),
        PrimOp::Min => return Some(Folded::Float(if y < x { y } else { x })),
        PrimOp::Max => return Some(Folded::Float(if x < y { y } else { x })),
        _ => {}
    }
    let compute = |x: f64, y: f64| match op {
        PrimOp::Add => Some(x + y),
        PrimOp::Sub => Some(x - y),
        PrimOp::Mul => Some(x * y),
        PrimOp::Div if y != 0.0 => Some(x / y),
        PrimOp::FloorDiv if y != 0.0 => Some((x / y).floor()),
        _ => None,
    };
    match bits {
        // Computing in double precision and rounding once gives the result of single precision.
        32 => compute(f64::from(x as f32), f64::from(y as f32)).map(|value| Folded::Float(f64::from(value as f32))),
        64 => compute(x, y).map(Folded::Float),
        _ => None,
    }
}

/// Makes `a op b`: converts the operands to one type and folds.
pub fn binary(store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = match_types(store, a, b);
    match fold(store, op, a, b) {
        None => store.prim_binary(op, a, b),
        Some(Folded::Left) => a,
        Some(Folded::Right) => b,
        Some(Folded::Int(value)) => store.prim_int(value, store.prim_dtype(a)),
        Some(Folded::Float(value)) => store.prim_float(value, store.prim_dtype(a)),
        Some(Folded::Bool(value)) => store.prim_int(i64::from(value), DType::BOOL),
    }
}

/// Returns operands of one type: the more general of the two (TVM's `BinaryOpMatchTypes`).
pub(crate) fn match_types(store: &mut Store, a: PrimId, b: PrimId) -> (PrimId, PrimId) {
    let (s, t) = (store.prim_dtype(a), store.prim_dtype(b));
    if s == t {
        return (a, b);
    }
    let widen = |store: &mut Store, id, from: DType, to: DType| match from.lanes == 1 && to.lanes > 1 {
        true => store.prim(PrimExpr::Broadcast { value: id, lanes: to.lanes }),
        false => id,
    };
    let (a, b) = (widen(store, a, s, t), widen(store, b, t, s));
    let (s, t) = (store.prim_dtype(a), store.prim_dtype(b));
    // A kind of number counts more than a width.
    let rank = |d: DType| match d.code {
        DTypeCode::Float => 3,
        _ if d.is_float() => 2,
        _ if d.bits == 1 => 0,
        _ => 1,
    };
    let to = match rank(s).cmp(&rank(t)) {
        std::cmp::Ordering::Less => t,
        std::cmp::Ordering::Greater => s,
        std::cmp::Ordering::Equal if t.bits > s.bits || (t.bits == s.bits && t.code == DTypeCode::UInt) => t,
        std::cmp::Ordering::Equal => s,
    };
    (cast(store, to, a), cast(store, to, b))
}

/// Returns the expression as another type; numbers are converted at once.
pub fn cast(store: &mut Store, dtype: DType, value: PrimId) -> PrimId {
    if store.prim_dtype(value) == dtype {
        return value;
    }
    match *store.prim_of_id(value) {
        PrimExpr::Int { value, .. } if dtype.lanes == 1 => number(store, dtype, value as f64, value),
        PrimExpr::Float { value, .. } if dtype.lanes == 1 => number(store, dtype, value.0, value.0 as i64),
        PrimExpr::Broadcast { value, lanes } => {
            let value = cast(store, DType { lanes: 1, ..dtype }, value);
            store.prim(PrimExpr::Broadcast { value, lanes })
        }
        // Only of integers the steps stay equal.
        PrimExpr::Ramp { base, stride, lanes } if matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) => {
            let [base, stride] = [base, stride].map(|part| cast(store, DType { lanes: 1, ..dtype }, part));
            store.prim(PrimExpr::Ramp { base, stride, lanes })
        }
        _ if dtype.lanes > 1 && store.prim_dtype(value).lanes == 1 => {
            let value = cast(store, DType { lanes: 1, ..dtype }, value);
            store.prim(PrimExpr::Broadcast { value, lanes: dtype.lanes })
        }
        _ => store.prim(PrimExpr::Cast { dtype, value }),
    }
}

/// Makes a number of a type; of a vector in all lanes.
pub fn constant(store: &mut Store, value: i64, dtype: DType) -> PrimId {
    let one = number(store, DType { lanes: 1, ..dtype }, value as f64, value);
    match dtype.lanes {
        1 => one,
        lanes => store.prim(PrimExpr::Broadcast { value: one, lanes }),
    }
}

fn number(store: &mut Store, dtype: DType, float: f64, int: i64) -> PrimId {
    if dtype.is_float() {
        store.prim_float(float, dtype)
    } else if dtype == DType::BOOL {
        store.prim_int(i64::from(int != 0), dtype)
    } else {
        store.prim_int(int, dtype)
    }
}

/// Makes `-a`.
pub fn negate(store: &mut Store, a: PrimId) -> PrimId {
    let minus = number(store, store.prim_dtype(a), -1.0, -1);
    binary(store, PrimOp::Mul, a, minus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Symbol, show_dim};

    fn setup() -> (Store, PrimId) {
        let mut store = Store::new();
        let name = store.name("n");
        let n = store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        let n = store.prim(PrimExpr::Var(n));
        (store, n)
    }

    fn show(store: &Store, id: PrimId) -> String {
        show_dim(store, store.dim_of_prim(id))
    }

    #[test]
    fn numbers_fold_and_identities_vanish() {
        let (store, n) = &mut setup();
        let n = *n;
        let int = |store: &mut Store, value| store.prim_int(value, DType::I32);
        let (zero, one, two, three) = (int(store, 0), int(store, 1), int(store, 2), int(store, 3));
        for (op, a, b, text) in [
            (PrimOp::Add, two, three, "5"),
            (PrimOp::Add, n, zero, "n"),
            (PrimOp::Mul, one, n, "n"),
            (PrimOp::Mul, n, zero, "0i64"),
            (PrimOp::FloorMod, n, one, "0i64"),
            (PrimOp::FloorDiv, three, two, "1"),
            (PrimOp::Add, n, two, "(n + 2i64)"),
            (PrimOp::Sub, n, n, "(n - n)"),
        ] {
            let result = binary(store, op, a, b);
            assert_eq!(show(store, result), text, "{op:?}");
        }
        let big = store.prim_int(i64::from(i32::MAX), DType::I32);
        let wrapped = binary(store, PrimOp::Add, big, one);
        assert_eq!(store.as_prim_int(wrapped), Some(i64::from(i32::MIN)));
        let none = binary(store, PrimOp::FloorDiv, two, zero);
        assert!(matches!(store.prim_of_id(none), PrimExpr::Binary { .. }), "a quotient by zero stays");
    }

    #[test]
    fn the_more_general_type_wins() {
        let (store, n) = &mut setup();
        let half = store.prim_float(0.5, DType::F32);
        let product = binary(store, PrimOp::Mul, *n, half);
        assert_eq!(store.prim_dtype(product), DType::F32);
        assert_eq!(show(store, product), "(float32(n)*0.5)");
    }
}
