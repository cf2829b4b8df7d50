//! Expressions over `n` and `m`, neither negative, as TVM 0.27's `Analyzer` simplifies them.

use super::*;
use crate::ir::show_dim;

struct Setting {
    store: Store,
    facts: Facts,
    n: PrimId,
    m: PrimId,
}

fn setting() -> Setting {
    let (mut store, mut facts) = (Store::new(), Facts::new());
    let mut var = |name: &str| {
        let name = store.name(name);
        let symbol = store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        facts.assume_natural(symbol);
        store.prim(PrimExpr::Var(symbol))
    };
    let (n, m) = (var("n"), var("m"));
    Setting { store, facts, n, m }
}

impl Setting {
    fn op(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        self.store.prim_binary(op, a, b)
    }

    fn int(&mut self, value: i64) -> PrimId {
        self.store.prim_int(value, DType::I64)
    }

    fn simple(&mut self, id: PrimId) -> String {
        let id = simplify(&mut self.store, &self.facts, id);
        show_dim(&self.store, self.store.dim_of_prim(id)).replace("i64", "")
    }
}

#[test]
fn sums_have_one_form() {
    let s = &mut setting();
    let (n, m) = (s.n, s.m);
    let [one, two, four] = [1, 2, 4].map(|value| s.int(value));
    // (n + 1) * 2
    let next = s.op(PrimOp::Add, n, one);
    let twice = s.op(PrimOp::Mul, next, two);
    assert_eq!(s.simple(twice), "((n*2) + 2)");
    // 1 + n + m - n
    let sum = s.op(PrimOp::Add, one, n);
    let sum = s.op(PrimOp::Add, sum, m);
    assert_eq!(s.simple(sum), "((n + m) + 1)");
    let rest = s.op(PrimOp::Sub, sum, n);
    assert_eq!(s.simple(rest), "(m + 1)");
    // (n * 4 + 2) // 2, (n * 4 + 1) % 4, n // 2 * 2 + n % 2
    let product = s.op(PrimOp::Mul, n, four);
    let shifted = s.op(PrimOp::Add, product, two);
    let half = s.op(PrimOp::FloorDiv, shifted, two);
    assert_eq!(s.simple(half), "((n*2) + 1)");
    let odd = s.op(PrimOp::Add, product, one);
    let odd = s.op(PrimOp::FloorMod, odd, four);
    assert_eq!(s.simple(odd), "1");
    let quotient = s.op(PrimOp::FloorDiv, n, two);
    let quotient = s.op(PrimOp::Mul, quotient, two);
    let remainder = s.op(PrimOp::FloorMod, n, two);
    let whole = s.op(PrimOp::Add, quotient, remainder);
    assert_eq!(s.simple(whole), "n");
    // max(n + 1, 1)
    let most = s.op(PrimOp::Max, next, one);
    assert_eq!(s.simple(most), "(n + 1)");
}

#[test]
fn comparisons_have_numbers_on_one_side_and_extremes_take_in_what_is_added() {
    let s = &mut setting();
    s.facts = Facts::new();
    let (n, m) = (s.n, s.m);
    let [zero, one, two, eight] = [0, 1, 2, 8].map(|value| s.int(value));
    let (next, before) = (s.op(PrimOp::Add, n, two), s.op(PrimOp::Sub, n, one));
    let twice = s.op(PrimOp::Mul, n, two);
    let greater = s.op(PrimOp::Gt, next, one);
    assert_eq!(s.simple(greater), "(-1 < n)");
    let even = s.op(PrimOp::Lt, twice, eight);
    assert_eq!(s.simple(even), "(n < 4)");
    let at_least = s.op(PrimOp::Ge, m, before);
    assert_eq!(s.simple(at_least), "(n <= (m + 1))");
    // min(n + 2, 8) - n, max(n - 1, 0) + 1, min(n * 2, 8)
    let least = s.op(PrimOp::Min, next, eight);
    let rest = s.op(PrimOp::Sub, least, n);
    assert_eq!(s.simple(rest), "min(2, (8 - n))");
    let most = s.op(PrimOp::Max, before, zero);
    let more = s.op(PrimOp::Add, most, one);
    assert_eq!(s.simple(more), "max(n, 1)");
    let least = s.op(PrimOp::Min, twice, eight);
    assert_eq!(s.simple(least), "(min(n, 4)*2)");
    // Products keep their order.
    let product = s.op(PrimOp::Mul, m, n);
    let product = s.op(PrimOp::Mul, two, product);
    assert_eq!(s.simple(product), "((m*n)*2)");
}

#[test]
fn equality_is_proved_where_the_normal_forms_agree() {
    let s = &mut setting();
    let (n, m) = (s.n, s.m);
    let [one, two] = [1, 2].map(|value| s.int(value));
    let next = s.op(PrimOp::Add, n, one);
    let twice = s.op(PrimOp::Mul, next, two);
    let double = s.op(PrimOp::Add, n, n);
    let other = s.op(PrimOp::Add, double, two);
    assert!(can_prove_equal(&mut s.store, &s.facts, twice, other));
    assert!(!can_prove_equal(&mut s.store, &s.facts, twice, double));
    let (nm, mn) = (s.op(PrimOp::Mul, n, m), s.op(PrimOp::Mul, m, n));
    assert!(can_prove_equal(&mut s.store, &s.facts, nm, mn));
    assert!(!can_prove_equal(&mut s.store, &s.facts, n, m));
}

#[test]
fn bounds_follow_from_extents_that_are_not_negative() {
    let s = &mut setting();
    let (n, four) = (s.n, s.int(4));
    let sum = s.op(PrimOp::Add, n, four);
    assert_eq!(bounds(&s.store, &s.facts, sum), (4, INF));
    let rest = s.op(PrimOp::FloorMod, n, four);
    assert_eq!(bounds(&s.store, &s.facts, rest), (0, 3));
    assert_eq!(bounds(&s.store, &Facts::new(), n), (-INF, INF));
}

#[test]
fn a_number_inside_of_a_difference_goes_to_the_other_side() {
    let mut s = setting();
    let (n, m, two, nine) = (s.n, s.m, s.int(2), s.int(9));
    let sum = s.op(PrimOp::Add, n, two);
    let difference = s.op(PrimOp::Sub, sum, m);
    let less = s.op(PrimOp::Lt, difference, nine);
    let found = simplify(&mut s.store, &s.facts, less);
    let text = show_dim(&s.store, s.store.dim_of_prim(found));
    assert_eq!(text, "((n - m) < 7i64)");
}

#[test]
fn what_is_added_to_a_float_and_taken_away_is_gone() {
    let mut s = setting();
    let (half, x) = (s.store.prim_float(0.5, DType::F32), s.n);
    let x = s.store.prim(PrimExpr::Cast { dtype: DType::F32, value: x });
    let sum = s.op(PrimOp::Add, half, x);
    let difference = s.op(PrimOp::Sub, sum, half);
    assert_eq!(simplify(&mut s.store, &s.facts, difference), x);
}
