//! StmtSimplify: simplifies statements by the facts that hold there.
//!
//! Source: `src/tirx/transform/stmt_simplify.cc`.

use super::prim_func;
use crate::ir::{Buffer, DTypeCode, ExprId, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Symbol};
use crate::pass::{PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::extension;
use crate::tir::effect::is_pure;
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, rewrite_func, substitute};
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.StmtSimplify`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.StmtSimplify",
    info_name: "tirx.StmtSimplify",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.StmtSimplify"],
    summary: "Simplifies expressions and branches with what loops and conditions say.",
    doc: explained(
        "Every expression becomes its simplest form, given the ranges of the loops around, the conditions that hold, and that \
extents of parameters are not negative. A branch whose condition is decided goes, and so does a store of what stands at its \
place already. Of blocks it knows nothing; `s_tir.StmtSimplify` does. Three settings let it try harder: \
`transitively_prove_inequalities` (from `a < b` and `b < c` follows `a < c`), `convert_boolean_to_and_of_ors`, and \
`apply_constraints_to_boolean_branches` (each side of `and` and `or` knows of the other).",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\")):
        for i in range(16):
            if i < 20:
                A[i * 4 + 1 - 1] = T.float32(0.0)
            A[i] = A[i + 0 * 3]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\")):
        for i in range(16):
            A[i * 4] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(|cx, _, func, _| run(cx, func, false)),
};

/// TVM's `s_tir.transform.StmtSimplify`.
pub static BLOCKS: PassSpec = PassSpec {
    name: "s_tir.StmtSimplify",
    info_name: "s_tir.StmtSimplify",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.StmtSimplify"],
    summary: "Simplifies expressions and branches with what loops, blocks and conditions say.",
    doc: explained(
        "*tirx.StmtSimplify* for programs that can be scheduled: the variables of a block are known to be in their ranges.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(64):
            with T.sblock(\"A\"):
                vi = T.axis.spatial(64, i)
                T.reads()
                T.writes(A[vi])
                if vi < 80:
                    A[vi] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(64):
            with T.sblock(\"A\"):
                vi = T.axis.spatial(64, i)
                T.reads()
                T.writes(A[vi])
                A[vi] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(|cx, _, func, _| run(cx, func, true)),
};

fn run(cx: &mut PassCx<'_>, func: ExprId, blocks: bool) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let mut known = Known::of_params(cx.store, &prim);
    let flag = |name, bit| if cx.config_field("tirx.StmtSimplify", name) != 0 { bit } else { 0 };
    known.analyzer.set_extensions(
        flag("transitively_prove_inequalities", extension::TRANSITIVELY_PROVE_INEQUALITIES)
            | flag("convert_boolean_to_and_of_ors", extension::CONVERT_BOOLEAN_TO_AND_OF_ORS)
            | flag("apply_constraints_to_boolean_branches", extension::APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES),
    );
    rewrite_func(cx.store, func, &mut Simplify { known, blocks, bound: FxHashMap::default() }).map(Some)
}

struct Simplify {
    known: Known,
    /// True if the variables of blocks are known.
    blocks: bool,
    /// The values of variables.
    bound: FxHashMap<Id<Symbol>, PrimId>,
}

impl Knowing for Simplify {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Simplify {
    fn rule(&self) -> &'static str {
        "simplified"
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        if matches!(cx.store.prim_dtype(root).code, DTypeCode::Handle) {
            // Of a call that gives no number the arguments are.
            cx.forget();
            return None;
        }
        Some(self.known.analyzer.simplify(cx.store, root))
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        match cx.store.prim_dtype(id).code {
            DTypeCode::Handle => None,
            _ => Some(self.known.analyzer.simplify(cx.store, id)),
        }
    }

    fn define_buffer(&mut self, _: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        Some(buffer)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, _) => {
                self.known.bind_variables(cx.store, id);
                let begin = self.known.begin();
                let var = cx.store.prim(PrimExpr::Var(head.var));
                let least = binary(cx.store, PrimOp::Ge, var, head.min);
                self.known.holds(cx.store, least);
                let end = binary(cx.store, PrimOp::Add, head.min, head.extent);
                let most = binary(cx.store, PrimOp::Lt, var, end);
                self.known.holds(cx.store, most);
                let new = descend_knowing(self, cx, id);
                self.known.end(begin);
                Some(new)
            }
            Stmt::Bind { var, .. } => {
                let new = descend_knowing(self, cx, id);
                if let Stmt::Bind { value, .. } = *cx.store.stmt(new)
                    && cx.store.prim_dtype(value).code != DTypeCode::Handle
                    && is_pure(cx.store, value)
                {
                    self.bound.insert(var, value);
                }
                Some(new)
            }
            Stmt::If { cond, then, other } => {
                let asked = substitute(cx.store, cond, &mut |_, symbol| self.bound.get(&symbol).copied());
                let asked = self.known.analyzer.simplify(cx.store, asked);
                match cx.store.as_prim_int(asked) {
                    None => Some(descend_knowing(self, cx, id)),
                    Some(decided) => {
                        let taken = if decided != 0 { Some(then) } else { other };
                        let new = match taken {
                            Some(taken) => cx.visit(self, taken),
                            None => cx.store.no_op(),
                        };
                        cx.set_rule("branch decided");
                        Some(new)
                    }
                }
            }
            Stmt::Store { .. } => {
                let new = cx.descend(self, id);
                if let Stmt::Store { buffer, ref indices, value } = *cx.store.stmt(new)
                    && let PrimExpr::Load { buffer: from, indices: at } = cx.store.prim_of_id(value)
                    && (buffer, indices) == (*from, at)
                {
                    cx.set_rule("store of what is there removed");
                    return Some(cx.store.no_op());
                }
                Some(new)
            }
            Stmt::Block(_) if !self.blocks => None,
            _ => Some(descend_knowing(self, cx, id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, unchanged};

    fn source(body: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16, \"n\"), \"float32\"), i: T.int32, j: T.int32):\n    n = T.int32()\n{body}"
        )
    }

    #[test]
    fn inside_of_a_branch_its_condition_holds() {
        let text = after(
            &source(
                "    if i < 3:\n        if i < 5:\n            A[i, 0] = T.float32(0.0)\n    else:\n        if i == 2:\n            A[0, 0] = T.float32(1.0)\n",
            ),
            "tirx.StmtSimplify()",
        );
        assert!(text.contains("if i < 3:\n            A[i, 0] = T.float32(0.0)"), "{text}");
        assert!(!text.contains("i == 2"), "{text}");
    }

    #[test]
    fn what_a_variable_stands_for_decides_a_branch() {
        let text =
            after(&source("    x: T.let = i * 2\n    if x == i + i:\n        A[0, 0] = T.float32(0.0)\n"), "tirx.StmtSimplify()");
        assert!(text.contains("x: T.let[T.int32] = i * 2\n") && !text.contains("if "), "{text}");
    }

    #[test]
    fn extents_of_parameters_are_not_negative() {
        let text = after(&source("    if n >= 0:\n        A[0, 0] = T.float32(0.0)\n"), "tirx.StmtSimplify()");
        assert!(!text.contains("if "), "{text}");
    }

    #[test]
    fn inequalities_are_chained_when_asked_to() {
        let body = source("    if i < j and j < n:\n        if i < n:\n            A[0, 0] = T.float32(0.0)\n");
        unchanged(&body, "tirx.StmtSimplify()");
        let text =
            after_with(&body, "tirx.StmtSimplify()", &[("tirx.StmtSimplify", "{\"transitively_prove_inequalities\": True}")]);
        assert!(!text.contains("if i < n"), "{text}");
    }

    #[test]
    fn variables_of_blocks_are_known_to_one_of_the_two() {
        let source = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    for i in range(16):
        with T.sblock(\"b\"):
            vi = T.axis.spatial(16, i)
            T.reads()
            T.writes(A[vi])
            if vi < 16:
                A[vi] = T.float32(0.0)
";
        unchanged(source, "tirx.StmtSimplify()");
        assert!(!after(source, "s_tir.StmtSimplify()").contains("if "));
    }
}
