//! RenormalizeSplitPattern: quotients and remainders of indices in the form that splitting loops gives.
//!
//! Source: `src/s_tir/transform/renormalize_split_pattern.cc`.

use crate::ir::{ExprId, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::DEEPEST;
use crate::tir::{Rewriting, StmtMutator, binary, constant, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.RenormalizeSplitPattern`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.RenormalizeSplitPattern",
    info_name: "s_tir.RenormalizeSplitPattern",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Writes quotients of indices as splitting loops makes them.",
    doc: explained(
        "Simplifying turns `x // 4 % 8` into `x % 32 // 4`; the pass turns it back, so that equal parts of an index look equal. \
A common factor is taken out of quotients of sums, `x < 4` is asked as `x // 4 < 1`, and other comparisons become `<`.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"int32\"), x: T.int32):
        A[x % 32 // 4] = (x * 8 + 3) // 12
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"int32\"), x: T.int32):
        A[x // 4 % 8] = (x * 2 + 0) // 3
",
    ),
    run: Run::PrimFunc(run),
};

/// The most times that a result is rewritten again.
const MOST_AGAIN: u8 = 5;

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Renormalize::default()).map(Some)
}

#[derive(Default)]
struct Renormalize {
    /// The number of rewrites under way whose result is rewritten again.
    depth: u8,
    /// Results, by expression and depth.
    done: FxHashMap<(PrimId, u8), PrimId>,
}

impl StmtMutator for Renormalize {
    fn rule(&self) -> &'static str {
        "quotient renormalised"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::If { .. } = cx.store.stmt(id) else { return None };
        let new = cx.descend(self, id);
        let Stmt::If { cond, then, other } = *cx.store.stmt(new) else { return Some(new) };
        Some(match cx.store.as_prim_int(cond) {
            Some(0) => other.unwrap_or_else(|| cx.store.no_op()),
            Some(_) => then,
            None => new,
        })
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        Some(self.visit(cx.store, root))
    }
}

/// Returns the integer of a constant or of a broadcast.
fn number(store: &Store, id: PrimId) -> Option<i64> {
    match *store.prim_of_id(id) {
        PrimExpr::Int { value, .. } => Some(value),
        PrimExpr::Broadcast { value, .. } => store.as_prim_int(value),
        _ => None,
    }
}

fn operands(store: &Store, id: PrimId, wanted: PrimOp) -> Option<(PrimId, PrimId)> {
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op, a, b } if op == wanted => Some((a, b)),
        _ => None,
    }
}

fn divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Renormalize {
    fn visit(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        if store.prim_depth(id) > DEEPEST {
            return id;
        }
        if let Some(done) = self.done.get(&(id, self.depth)) {
            return *done;
        }
        let new = self.rewritten(store, id);
        self.done.insert((id, self.depth), new);
        new
    }

    fn rewritten(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let expr = store.prim_rc(id);
        match *expr {
            PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } => {
                let (a, b) = (self.visit(store, a), self.visit(store, b));
                let quotient = binary(store, PrimOp::FloorDiv, a, b);
                self.quotient(store, quotient).unwrap_or(quotient)
            }
            PrimExpr::Binary { op: op @ (PrimOp::Le | PrimOp::Ge | PrimOp::Gt), a, b } => {
                let (left, right) = if op == PrimOp::Ge { (a, b) } else { (b, a) };
                let less = binary(store, PrimOp::Lt, left, right);
                let asked = if op == PrimOp::Gt { less } else { store.prim(PrimExpr::Not(less)) };
                self.visit(store, asked)
            }
            PrimExpr::Binary { op: PrimOp::Lt, a, b } => {
                let (a, b) = (self.visit(store, a), self.visit(store, b));
                let less = store.prim_binary(PrimOp::Lt, a, b);
                if !matches!(store.prim_of_id(b), PrimExpr::Int { value: 1.., .. }) {
                    return less;
                }
                let quotient = binary(store, PrimOp::FloorDiv, a, b);
                let one = constant(store, 1, store.prim_dtype(quotient));
                let asked = binary(store, PrimOp::Lt, quotient, one);
                self.again(store, asked)
            }
            PrimExpr::Not(inner) => {
                let inner = self.visit(store, inner);
                match *store.prim_of_id(inner) {
                    PrimExpr::Not(twice) => twice,
                    PrimExpr::Binary { op: PrimOp::Le, a, b } => binary(store, PrimOp::Lt, b, a),
                    PrimExpr::Binary { op: PrimOp::Ge, a, b } => binary(store, PrimOp::Lt, a, b),
                    PrimExpr::Binary { op: PrimOp::Lt, a, b } => binary(store, PrimOp::Le, b, a),
                    PrimExpr::Binary { op: PrimOp::Gt, a, b } => binary(store, PrimOp::Le, a, b),
                    _ => store.prim(PrimExpr::Not(inner)),
                }
            }
            _ => {
                let new = expr.over(&mut |child| self.visit(store, child));
                let chosen = match new {
                    PrimExpr::Select { cond, then, other } => Some((cond, then, other)),
                    PrimExpr::Call { op, ref args, .. } if store.str(op) == "if_then_else" && args.len() == 3 => {
                        Some((args[0], args[1], args[2]))
                    }
                    _ => None,
                };
                match chosen.and_then(|(cond, then, other)| Some((store.as_prim_int(cond)?, then, other))) {
                    Some((0, _, other)) => other,
                    Some((_, then, _)) => then,
                    None => store.prim(new),
                }
            }
        }
    }

    fn again(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        if self.depth >= MOST_AGAIN {
            return id;
        }
        self.depth += 1;
        let new = self.visit(store, id);
        self.depth -= 1;
        new
    }

    /// Rewrites a quotient whose operands are done.
    fn quotient(&mut self, store: &mut Store, id: PrimId) -> Option<PrimId> {
        let (a, b) = operands(store, id, PrimOp::FloorDiv)?;
        let by = number(store, b)?;
        let dtype = store.prim_dtype(b);
        if let Some((x, m)) = operands(store, a, PrimOp::FloorMod)
            && let Some(modulus) = number(store, m)
            && modulus.checked_rem(by) == Some(0)
        {
            let x = binary(store, PrimOp::FloorDiv, x, b);
            let modulus = binary(store, PrimOp::FloorDiv, m, b);
            let modulus = number(store, modulus).map_or(modulus, |value| constant(store, value, dtype));
            let rest = binary(store, PrimOp::FloorMod, x, modulus);
            return Some(self.again(store, rest));
        }
        let (sum, last) = operands(store, a, PrimOp::Add)?;
        let scaled = |store: &Store, product| {
            let (x, factor) = operands(store, product, PrimOp::Mul)?;
            number(store, factor).map(|factor| (x, factor))
        };
        // `x * c + y`, or `x * c + y + z`
        let (x, factor, middle) = match scaled(store, sum) {
            Some((x, factor)) => (x, factor, None),
            None => {
                let (product, middle) = operands(store, sum, PrimOp::Add)?;
                let (x, factor) = scaled(store, product)?;
                (x, factor, Some(middle))
            }
        };
        let common = if factor > 0 && by > 0 { divisor(factor, by) } else { 0 };
        if common <= 1 {
            return None;
        }
        let rest = middle.map_or(last, |middle| binary(store, PrimOp::Add, middle, last));
        let [factor, by, common] = [factor / common, by / common, common].map(|value| constant(store, value, dtype));
        let scaled = binary(store, PrimOp::Mul, x, factor);
        let rest = binary(store, PrimOp::FloorDiv, rest, common);
        let sum = binary(store, PrimOp::Add, scaled, rest);
        let quotient = binary(store, PrimOp::FloorDiv, sum, by);
        Some(self.again(store, quotient))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    fn source(value: &str) -> String {
        format!("@T.prim_func(private=True)\ndef f(A: T.Buffer((8,), \"int32\"), x: T.int32, y: T.int32):\n    A[0] = {value}\n")
    }

    #[test]
    fn quotients_are_renormalised() {
        for (value, new) in [
            ("x % 32 // 4", "x // 4 % 8"),
            ("(x * 8 + y) // 12", "(x * 2 + y // 4) // 3"),
            ("(x * 8 + y + x) // 12", "(x * 2 + (y + x) // 4) // 3"),
            ("T.Select(x < 4, 1, 2)", "T.Select(x // 4 < 1, 1, 2)"),
            ("T.Select(x >= y, 1, 2)", "T.Select(y <= x, 1, 2)"),
            ("T.Select(x > y, 1, 2)", "T.Select(y < x, 1, 2)"),
        ] {
            let text = after(&source(value), "s_tir.RenormalizeSplitPattern()");
            assert!(text.ends_with(&format!("A[0] = {new}")), "{value}: {text}");
        }
    }

    #[test]
    fn what_has_no_common_factor_stays() {
        for value in ["x % 30 // 4", "(x * 3 + y) // 4", "x // 4"] {
            unchanged(&source(value), "s_tir.RenormalizeSplitPattern()");
        }
    }
}
