//! RewriteUnsafeSelect: a choice whose sides must not both be evaluated becomes a branch.
//!
//! Source: `src/s_tir/transform/rewrite_unsafe_select.cc`.

use crate::ir::{DType, ExprId, Kinds, Module, PrimExpr, PrimId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::effect::{Effect, effect_of_call};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `s_tir.transform.RewriteUnsafeSelect`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.RewriteUnsafeSelect",
    info_name: "s_tir.RewriteUnsafeSelect",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes branches of choices that must not evaluate both sides.",
    doc: explained(
        "`T.Select` evaluates all its operands. Where one of the sides loads from memory or calls something that may have an \
effect, so that evaluating it without being chosen may do harm, `T.if_then_else` takes its place. A choice inside of a side \
counts as safe when its condition is, since it is guarded itself.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((9,), \"float32\")):
        for i in range(9):
            B[i] = T.Select(i < 8, A[i], T.float32(0.0))
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((9,), \"float32\")):
        for i in range(9):
            B[i] = T.if_then_else(i < 8, A[i], T.float32(0.0))
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Guard).map(Some)
}

struct Guard;

impl StmtMutator for Guard {
    fn rule(&self) -> &'static str {
        "unsafe choice guarded"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::SELECT)
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Select { cond, then, other } = *cx.store.prim_of_id(post) else { return post };
        if cx.store.prim_dtype(cond) == DType::BOOL && (is_unsafe(cx.store, then) || is_unsafe(cx.store, other)) {
            return cx.store.prim_call("if_then_else", &[cond, then, other], cx.store.prim_dtype(post));
        }
        post
    }
}

/// True if evaluating an expression that is not chosen may do harm.
fn is_unsafe(store: &Store, root: PrimId) -> bool {
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        match store.prim_of_id(id) {
            PrimExpr::Load { .. } => return true,
            PrimExpr::Select { cond, .. } => todo.push(*cond),
            PrimExpr::Call { op, args, .. } => match (store.str(*op), args.first()) {
                ("if_then_else", Some(cond)) => todo.push(*cond),
                ("address_of", Some(of)) => match store.prim_of_id(*of) {
                    PrimExpr::Load { indices, .. } => todo.extend(indices),
                    _ => todo.push(*of),
                },
                (name, _) if effect_of_call(name) == Effect::Pure => todo.extend(args),
                _ => return true,
            },
            // Both, as TVM has it. A vector holds no vector, so this does not nest.
            PrimExpr::Ramp { base, stride, .. } => {
                if is_unsafe(store, *base) && is_unsafe(store, *stride) {
                    return true;
                }
            }
            PrimExpr::Shuffle { vectors, .. } => todo.extend(vectors),
            other => other.for_each_child(&mut |child| todo.push(child)),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    fn source(value: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((8,), \"int32\"), i: T.int32):\n    A[0] = T.Select(i < 8, {value}, 0)\n"
        )
    }

    #[test]
    fn loads_and_calls_with_effects_are_guarded() {
        for value in ["A[i]", "A[i] + 1", "T.call_extern(\"int32\", \"f\", i)", "T.if_then_else(A[i] == 0, 1, 2)"] {
            let text = after(&source(value), "s_tir.RewriteUnsafeSelect()");
            assert!(text.contains(&format!("A[0] = T.if_then_else(i < 8, {value}, 0)")), "{text}");
        }
    }

    #[test]
    fn arithmetic_and_what_is_guarded_stays() {
        for value in ["i * 2", "T.if_then_else(i == 0, A[i], 2)", "T.popcount(i)"] {
            unchanged(&source(value), "s_tir.RewriteUnsafeSelect()");
        }
    }

    #[test]
    fn a_choice_inside_is_guarded_first_and_safe_then() {
        let text = after(&source("T.Select(i < 4, A[i], 1)"), "s_tir.RewriteUnsafeSelect()");
        assert!(text.contains("A[0] = T.Select(i < 8, T.if_then_else(i < 4, A[i], 1), 0)"), "{text}");
    }
}
