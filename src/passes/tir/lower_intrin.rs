//! LowerIntrin: lowers intrinsics to those of the target, and division to the rounding of machines.
//!
//! Source: `src/tirx/transform/lower_intrin.cc`; the rules of targets are in `rules`.

mod address;
mod division;
mod rules;

use super::{prim_func, targets};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Buffer, DType, DTypeCode, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::DEEPEST;
use crate::tir::effect::is_pure;
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, rewrite_func};
use rules::Rules;
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.LowerIntrin`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.LowerIntrin",
    info_name: "tirx.LowerIntrin",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.enable_fast_math"],
    summary: "Replaces intrinsics by what the target has.",
    doc: explained(
        "By the `target` of the function: mathematical functions become intrinsics of LLVM (`llvm.exp`), functions of CUDA \
(`expf`, `__expf` with `tirx.enable_fast_math`) or of C, and what a target lacks is computed (`T.sigmoid`, `T.rsqrt`). For \
LLVM `a * b + c` of floats becomes one instruction.\n\n\
Quotients that are rounded down become shifts where the divisor is a power of two, divisions that are rounded towards zero \
where the ranges of variables and conditions around say that nothing is negative, and otherwise such divisions with a \
correction; remainders likewise. `T.tvm_access_ptr` becomes the address of an element.\n\n\
Here rules are known for LLVM and CUDA; other targets get those that hold everywhere.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), n: T.int32):
        T.func_attr({\"target\": T.target({\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})})
        for i in range(64):
            A[i] = T.exp(A[i // 7 * 7 + n % 8])
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), n: T.int32):
        T.func_attr({\"target\": T.target({\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})})
        for i in range(64):
            A[i] = T.call_llvm_pure_intrin(\"float32\", \"llvm.exp\", A[T.Div(i, 7) * 7 + (n & 7)])
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let Some(target) = cx.store.attr(prim.attrs, "target").cloned() else {
        let message = "LowerIntrin: Require the target attribute: BindTarget gives it";
        return Err(vec![Diagnostic::error("tir-lower", message, cx.store.source_span(func))]);
    };
    let kind = match targets::field(cx.store, &target, "kind") {
        Some(AttrValue::Str(kind)) => cx.store.str(kind).to_owned(),
        _ => String::new(),
    };
    let rules = Rules::of(&kind, cx.config_flag("tirx.enable_fast_math"));
    let mut lower = Lower {
        known: Known::default(),
        rules,
        context: 0,
        contexts: 0,
        done: FxHashMap::default(),
        views: Vec::new(),
        error: None,
    };
    rewrite_func(cx.store, func, &mut lower).map(Some)
}

struct Lower {
    known: Known,
    rules: Rules,
    /// The conditions that hold, by number, and how many there were.
    context: u32,
    contexts: u32,
    /// The results for expressions under these conditions.
    done: FxHashMap<(PrimId, u32), PrimId>,
    /// Buffers to be declared before the statement under way.
    views: Vec<Id<Buffer>>,
    error: Option<String>,
}

impl Knowing for Lower {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "intrinsic lowered"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let begin = self.views.len();
        let new = descend_knowing(self, cx, id);
        if let Some(message) = self.error.take() {
            cx.fail("tir-lower", message);
        }
        if self.views.len() == begin {
            return Some(new);
        }
        let mut stmts: Vec<StmtId> = Vec::new();
        for view in self.views.split_off(begin) {
            stmts.push(cx.store.add_stmt(Stmt::Declare(view)));
        }
        stmts.push(new);
        Some(cx.store.add_stmts(&stmts))
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        self.done.clear();
        Some(self.value(cx.store, root))
    }
}

impl Lower {
    /// Lowers an expression under the facts known here.
    fn value(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        if let Some(new) = self.done.get(&(id, self.context)) {
            return *new;
        }
        if store.prim_depth(id) > DEEPEST {
            self.error.get_or_insert_with(|| "an expression is too deep to be lowered".to_owned());
            return id;
        }
        let new = self.node(store, id);
        self.done.insert((id, self.context), new);
        new
    }

    /// Lowers an expression under a condition that holds.
    fn value_where(&mut self, store: &mut Store, cond: PrimId, quotients: bool, id: PrimId) -> PrimId {
        let (begin, outer) = (self.known.begin(), self.context);
        self.contexts += 1;
        self.context = self.contexts;
        match quotients {
            true => self.known.holds_with_quotients(store, cond),
            false => self.known.holds(store, cond),
        }
        let new = self.value(store, id);
        self.known.end(begin);
        self.context = outer;
        new
    }

    fn node(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let expr = store.prim_rc(id);
        match &*expr {
            PrimExpr::Call { op, args, dtype } => {
                let name = store.str(*op).to_owned();
                if name == "tvm_access_ptr" && args.len() == 5 {
                    let address = self.address(store, id);
                    return if address == id { id } else { self.value(store, address) };
                }
                if let Some(new) = self.rules.apply(store, &name, args, *dtype) {
                    return self.value(store, new);
                }
                if let ("if_then_else", [cond, then, other]) = (&name[..], &args[..]) {
                    let new_cond = self.value(store, *cond);
                    let new_then = self.value_where(store, new_cond, true, *then);
                    let opposite = store.prim(PrimExpr::Not(new_cond));
                    let new_other = self.value_where(store, opposite, false, *other);
                    return match store.as_prim_int(new_cond) {
                        Some(0) => new_other,
                        Some(_) => new_then,
                        None => store.prim_call(&name, &[new_cond, new_then, new_other], *dtype),
                    };
                }
                self.inside(store, id)
            }
            PrimExpr::Select { cond, then, other } => {
                let new_cond = self.value(store, *cond);
                let new_then = self.value_where(store, new_cond, true, *then);
                let opposite = store.prim(PrimExpr::Not(new_cond));
                let opposite = self.known.analyzer.rewrite_simplify(store, opposite);
                let new_other = self.value_where(store, opposite, false, *other);
                match store.as_prim_int(new_cond) {
                    Some(0) => new_other,
                    Some(_) => new_then,
                    None => store.prim(PrimExpr::Select { cond: new_cond, then: new_then, other: new_other }),
                }
            }
            PrimExpr::Let { var, value, body } => {
                let value = self.value(store, *value);
                if is_pure(store, value) {
                    self.known.analyzer.bind(store, *var, value);
                }
                let body = self.value(store, *body);
                store.prim(PrimExpr::Let { var: *var, value, body })
            }
            PrimExpr::Binary { op, a, b } => self.operation(store, id, *op, *a, *b),
            _ => self.inside(store, id),
        }
    }

    /// Rebuilds an expression over its lowered operands.
    fn inside(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let expr = store.prim_rc(id);
        let mut same = true;
        let new = expr.over(&mut |child| {
            let new = self.value(store, child);
            same &= new == child;
            new
        });
        if same { id } else { store.prim(new) }
    }

    fn operation(&mut self, store: &mut Store, id: PrimId, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        let factors = |store: &Store, id| match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::Mul, a, b } => Some((a, b)),
            _ => None,
        };
        let quotient = |store: &Store, id, wanted| match *store.prim_of_id(id) {
            PrimExpr::Binary { op, a, b } if op == wanted => Some((a, b)),
            _ => None,
        };
        match op {
            PrimOp::Add => {
                let (product, rest) = (factors(store, b), a);
                let (product, rest) = if product.is_some() { (product, rest) } else { (factors(store, a), b) };
                match product {
                    Some((x, y)) => self.product_and_sum(store, id, x, y, rest),
                    None => self.inside(store, id),
                }
            }
            PrimOp::FloorDiv => self.floor_div(store, id),
            PrimOp::FloorMod => self.floor_mod(store, id),
            PrimOp::Max => {
                let at_least = store.as_prim_int(b).filter(|n| *n >= 0);
                if let (Some((x, y)), Some(_)) = (quotient(store, a, PrimOp::FloorDiv), at_least)
                    && self.known.analyzer.can_prove_greater_equal(store, y, 0)
                {
                    let quotient = binary(store, PrimOp::Div, x, y);
                    let quotient = self.value(store, quotient);
                    return crate::tir::math::min_max(store, PrimOp::Max, quotient, b);
                }
                self.inside(store, id)
            }
            PrimOp::Eq | PrimOp::Ne => {
                let zero = store.as_prim_int(b) == Some(0);
                if let (Some((x, y)), true) = (quotient(store, a, PrimOp::FloorMod), zero) {
                    let rest = binary(store, PrimOp::Mod, x, y);
                    let new = binary(store, op, rest, b);
                    return self.value(store, new);
                }
                self.inside(store, id)
            }
            _ => self.inside(store, id),
        }
    }

    /// Makes `a * b + c`, as one instruction if there is one.
    fn product_and_sum(&mut self, store: &mut Store, id: PrimId, a: PrimId, b: PrimId, c: PrimId) -> PrimId {
        let (x, y) = (widened_later(store, a), widened_later(store, b));
        let dtype = store.prim_dtype(id);
        if self.rules.has_fma() && dtype.code == DTypeCode::Float {
            let call = store.prim_call("fma", &[x, y, c], dtype);
            return self.value(store, call);
        }
        if (x, y) != (a, b) {
            let product = store.prim_binary(PrimOp::Mul, x, y);
            let (product, c) = (self.value(store, product), self.value(store, c));
            return store.prim_binary(PrimOp::Add, product, c);
        }
        self.inside(store, id)
    }
}

/// Rewrites `broadcast(cast(x))` to `cast(broadcast(x))` if the conversion widens.
fn widened_later(store: &mut Store, id: PrimId) -> PrimId {
    let PrimExpr::Broadcast { value, lanes } = *store.prim_of_id(id) else { return id };
    let PrimExpr::Cast { dtype, value } = *store.prim_of_id(value) else { return id };
    let from = store.prim_dtype(value);
    let is_integer = |dtype: DType| matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) && dtype.bits != 1;
    let widens = is_integer(dtype) && is_integer(from) && dtype.bits > from.bits;
    if dtype.bits != from.bits * 2 && !widens {
        return id;
    }
    let value = store.prim(PrimExpr::Broadcast { value, lanes });
    store.prim(PrimExpr::Cast { dtype: DType { lanes, ..dtype }, value })
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, error, unchanged};

    const LLVM: &str = "{\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}";
    const CUDA: &str = "{\"arch\": \"sm_50\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32}";

    fn source(target: &str, body: &str) -> String {
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func(private=True, s_tir=True)\n    def f(A: T.Buffer((64,), \"float32\"), C: T.Buffer((8, 8), \"float32\"), D: T.Buffer((64,), \"int32\"), n: T.int32, m: T.int32):\n        T.func_attr({{\"target\": T.target({target})}})\n{body}"
        )
    }

    fn lowered(target: &str, body: &str) -> String {
        after(&source(target, body), "tir.LowerIntrin()")
    }

    #[test]
    fn quotients_and_remainders_are_what_machines_compute() {
        for (before, after) in [
            ("n // 8", "n >> 3"),
            ("n % 8", "n & 7"),
            ("n // 7", "T.Div(n, 7) + (T.truncmod(n, 7) >> 31)"),
            ("n % 7", "T.truncmod(n, 7) + (7 & T.truncmod(n, 7) >> 31)"),
            ("T.max(n // 7, 0)", "T.max(T.Div(n, 7), 0)"),
            ("T.if_then_else(n >= 0, n % 7, 0)", "T.if_then_else(n >= 0, T.truncmod(n, 7), 0)"),
            (
                "n // m",
                "T.Let(T.Let(T.Select(m >= 0 and rmod >= 0 or m < 0 and rmod <= 0, rdiv, rdiv - 1), where={rdiv: T.Div(n, m)}), where={rmod: T.truncmod(n, m)})",
            ),
        ] {
            let text = lowered(LLVM, &format!("D[0] = {before}"));
            assert!(text.contains(&format!("D[0] = {after}")), "{before}: {text}");
        }
        let text = lowered(LLVM, "for i in range(10):\n    D[i] = (i - 5) // 3 + (i - 5) % 3");
        assert!(text.contains("T.Div(i - 5 + 6, 3) - 2 + T.truncmod(i - 5 + 6, 3)"), "{text}");
        assert!(lowered(LLVM, "if n % m == 0:\n    D[0] = 1").contains("if T.truncmod(n, m) == 0:"));
    }

    #[test]
    fn functions_become_those_of_the_target() {
        for (target, before, after) in [
            (LLVM, "T.exp(A[1])", "T.call_llvm_pure_intrin(\"float32\", \"llvm.exp\", A[1])"),
            (LLVM, "T.log1p(A[1])", "T.call_pure_extern(\"float32\", \"log1pf\", A[1])"),
            (
                LLVM,
                "T.tan(A[1])",
                "T.call_llvm_pure_intrin(\"float32\", \"llvm.sin\", A[1]) / T.call_llvm_pure_intrin(\"float32\", \"llvm.cos\", A[1])",
            ),
            (LLVM, "A[1] * A[2] + A[3]", "T.call_llvm_pure_intrin(\"float32\", \"llvm.fmuladd\", A[1], A[2], A[3])"),
            (CUDA, "A[1] * A[2] + A[3]", "A[1] * A[2] + A[3]"),
            (
                CUDA,
                "T.sigmoid(A[1])",
                "T.float32(1.0) / (T.float32(1.0) + T.call_pure_extern(\"float32\", \"expf\", T.float32(0.0) - A[1]))",
            ),
            (CUDA, "T.rsqrt(A[1])", "T.call_pure_extern(\"float32\", \"rsqrtf\", A[1])"),
        ] {
            let text = lowered(target, &format!("A[0] = {before}"));
            assert!(text.contains(&format!("A[0] = {after}")), "{before}: {text}");
        }
        let fast = after_with(&source(CUDA, "A[0] = T.exp(A[1])"), "tir.LowerIntrin()", &[("tirx.enable_fast_math", "True")]);
        assert!(fast.contains("\"__expf\""), "{fast}");
    }

    #[test]
    fn a_pointer_into_a_buffer_of_two_axes_is_one_into_a_flat_view() {
        let pointer = |name: &str| {
            format!(
                "T.evaluate(T.call_extern(\"int32\", \"f\", T.tvm_access_ptr(T.type_annotation(\"float32\"), {name}.data, 4, 16, 1)))"
            )
        };
        assert!(lowered(LLVM, &pointer("A")).contains("T.address_of(A[4])"));
        let text = lowered(LLVM, &pointer("C"));
        assert!(text.contains("C_access") && text.contains("T.address_of(C_access[4])"), "{text}");
    }

    #[test]
    fn what_the_target_has_stays() {
        unchanged(&source(CUDA, "A[0] = A[1] + A[2]\nD[1] = T.truncdiv(n, m)"), "tir.LowerIntrin()");
    }

    #[test]
    fn a_function_without_target_is_refused() {
        let bare = source(LLVM, "A[0] = A[1]").replace(&format!("        T.func_attr({{\"target\": T.target({LLVM})}})\n"), "");
        assert!(error(&bare, "tir.LowerIntrin()").contains("Require the target"));
    }
}
