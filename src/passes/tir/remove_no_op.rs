//! RemoveNoOp: statements that do nothing go.
//!
//! Source: `src/tirx/transform/remove_no_op.cc`. TVM bounds the extent of a loop by integer sets; here it is bounded by the
//! ranges of the variables in it.

use super::prim_func;
use crate::ir::{Buffer, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::effect::{Effect, effect};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, is_index, math, rewrite_func};

/// TVM's `tirx.transform.RemoveNoOp`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.RemoveNoOp",
    info_name: "tirx.RemoveNoOp",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.RemoveNoOp"],
    summary: "Removes statements that do nothing.",
    doc: explained(
        "These do nothing: evaluating what has no effect, loops that never run or whose body does nothing, branches of \
which none does something, attributes around nothing, and stores of a value that is there already (`A[i] = A[i]`). A branch \
of which only `else` does something is turned round. What had an effect in such a statement, such as a call in a condition, \
stays by itself.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        for i in range(16):
            A[i] = A[i]
        for i in range(16):
            if i < n:
                T.evaluate(0)
            else:
                A[i] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        for i in range(16):
            if not i < n:
                A[i] = T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    if prim_func(cx.store, func).is_none() {
        return Ok(Some(func));
    }
    let ignore_profiler = cx.config_field("tirx.RemoveNoOp", "ignore_profiler_call") != 0;
    rewrite_func(cx.store, func, &mut Remover { known: Known::default(), ignore_profiler }).map(Some)
}

struct Remover {
    known: Known,
    /// True if calls that start and stop timers on a GPU count as no-ops.
    ignore_profiler: bool,
}

impl Knowing for Remover {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Remover {
    fn rule(&self) -> &'static str {
        "statement without effect removed"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { key, value, body, .. } => {
                match cx.store.str(key) {
                    "pragma_debug_skip_region" => return Some(cx.store.no_op()),
                    "async_wait_queue_scope" => {
                        if let Some(inner) = self.wait_for_nothing(cx.store, body) {
                            return Some(cx.visit(self, inner));
                        }
                    }
                    _ => {}
                }
                let new = descend_knowing(self, cx, id);
                let Stmt::Attr { body, .. } = *cx.store.stmt(new) else { return Some(new) };
                Some(if cx.store.is_no_op(body) { evaluated(cx.store, &[value]) } else { new })
            }
            Stmt::If { .. } => {
                let new = descend_knowing(self, cx, id);
                let Stmt::If { cond, then, other } = *cx.store.stmt(new) else { return Some(new) };
                let other_stays = other.filter(|other| !cx.store.is_no_op(*other));
                Some(match (cx.store.is_no_op(then), other_stays) {
                    (true, None) => evaluated(cx.store, &[cond]),
                    (false, None) if other.is_some() => cx.store.rebuild_stmt(id, Stmt::If { cond, then, other: None }),
                    (true, Some(then)) => {
                        let cond = math::not(cx.store, cond);
                        cx.store.add_stmt(Stmt::If { cond, then, other: None })
                    }
                    _ => new,
                })
            }
            Stmt::For(head, _) => {
                let zero = cx.store.prim_int(0, cx.store.prim_dtype(head.extent));
                let never = binary(cx.store, PrimOp::Le, head.extent, zero);
                if self.known.analyzer.can_prove(cx.store, never) {
                    return Some(cx.store.no_op());
                }
                let new = descend_knowing(self, cx, id);
                let Stmt::For(head, body) = cx.store.stmt(new).clone() else { return Some(new) };
                Some(if cx.store.is_no_op(body) { evaluated(cx.store, &[head.min, head.extent]) } else { new })
            }
            Stmt::Evaluate(value) => {
                let timer = |store: &Store| match store.prim_of_id(value) {
                    PrimExpr::Call { op, .. } => store.str(*op).starts_with("timer_") && store.str(*op).ends_with("_cuda"),
                    _ => false,
                };
                let stays = effect(cx.store, value) > Effect::Reads && !(self.ignore_profiler && timer(cx.store));
                Some(if stays || cx.store.is_no_op(id) { id } else { cx.store.no_op() })
            }
            Stmt::Store { buffer, indices, value } => Some(match self.is_there(cx.store, buffer, &indices, value) {
                true => {
                    let parts: Vec<PrimId> = [value].into_iter().chain(indices).collect();
                    evaluated(cx.store, &parts)
                }
                false => id,
            }),
            Stmt::Seq(_) => None,
            _ => Some(descend_knowing(self, cx, id)),
        }
    }
}

impl Remover {
    /// Returns the body of a wait for less than nothing.
    fn wait_for_nothing(&mut self, store: &mut Store, inner: StmtId) -> Option<StmtId> {
        let Stmt::Attr { value: count, body, .. } = *store.stmt(inner) else { return None };
        let zero = store.prim_int(0, store.prim_dtype(count));
        let none = binary(store, PrimOp::Lt, count, zero);
        crate::tir::arith::Analyzer::new().can_prove(store, none).then_some(body)
    }

    /// True if a store writes the value that is already in its place.
    fn is_there(&mut self, store: &mut Store, buffer: Id<Buffer>, indices: &[PrimId], value: PrimId) -> bool {
        if let PrimExpr::Load { buffer: from, indices: at } = &*store.prim_rc(value)
            && *from == buffer
            && at.len() == indices.len()
            && at.iter().zip(indices).all(|(a, b)| a == b || self.known.analyzer.can_prove_equal(store, *a, *b))
        {
            return true;
        }
        let there = store.prim(PrimExpr::Load { buffer, indices: indices.into() });
        if !is_index(store.prim_dtype(value)) || store.prim_dtype(there) != store.prim_dtype(value) {
            return false;
        }
        let difference = binary(store, PrimOp::Sub, value, there);
        let zero = store.prim_int(0, store.prim_dtype(difference));
        let equal = binary(store, PrimOp::Eq, difference, zero);
        let equal = self.known.analyzer.simplify(store, equal);
        store.as_prim_int(equal) == Some(1)
    }
}

/// Makes a statement of the expressions that have an effect.
fn evaluated(store: &mut Store, values: &[PrimId]) -> StmtId {
    let mut stmts = Vec::new();
    for value in values {
        if effect(store, *value) > Effect::Reads {
            stmts.push(store.add_stmt(Stmt::Evaluate(*value)));
        }
    }
    if stmts.is_empty() { store.no_op() } else { store.add_stmts(&stmts) }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, unchanged};

    fn body(text: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"int32\"), n: T.int32):\n{}",
            text.lines().map(|line| format!("    {line}\n")).collect::<String>()
        )
    }

    fn removed(text: &str) -> String {
        after(&body(text), "tir.RemoveNoOp()")
    }

    #[test]
    fn a_loop_that_never_runs_goes() {
        for extent in ["0", "T.min(n, 0)"] {
            let text = removed(&format!("for i in range({extent}):\n    A[i] = 1\nA[0] = 2"));
            assert!(!text.contains("for") && text.contains("A[0] = 2"), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_there_is_not_stored() {
        for value in ["A[i + n - n]", "A[i] + n - n"] {
            let text = removed(&format!("for i in range(16):\n    A[i] = {value}"));
            assert!(text.contains("T.evaluate(0)") && !text.contains("for"), "{text}");
        }
    }

    #[test]
    fn an_effect_in_a_condition_stays() {
        let text = removed("if T.call_extern(\"int32\", \"f\") > 0:\n    T.evaluate(n)\nelse:\n    T.evaluate(1)");
        assert!(text.contains("T.evaluate(T.call_extern(\"int32\", \"f\") > 0)"), "{text}");
    }

    #[test]
    fn a_wait_for_less_than_nothing_goes() {
        let wait = |count: &str| {
            format!(
                "with T.attr(0, \"async_wait_queue_scope\", 0):\n    with T.attr(0, \"async_wait_inflight_count\", {count}):\n        A[0] = 1"
            )
        };
        assert!(!removed(&wait("1 - 2")).contains("T.attr"));
        unchanged(&body(&wait("n")), "tir.RemoveNoOp()");
    }

    #[test]
    fn timers_go_when_the_configuration_says_so() {
        let source = body("T.evaluate(T.call_extern(\"int32\", \"f\"))\nA[0] = 1");
        let text = after_with(&source, "tirx.RemoveNoOp()", &[("tirx.RemoveNoOp", "{\"ignore_profiler_call\": True}")]);
        assert!(text.contains("call_extern"), "{text}");
    }

    #[test]
    fn what_may_do_something_stays() {
        unchanged(
            &body("for i in range(n):\n    if i < 3:\n        A[i] = A[i + 1]\n    else:\n        A[i] = i"),
            "tir.RemoveNoOp()",
        );
    }
}
