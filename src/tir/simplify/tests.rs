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
