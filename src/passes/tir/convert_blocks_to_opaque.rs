//! ConvertBlocksToOpaque: blocks without variables of their own.
//!
//! Source: `src/s_tir/transform/convert_blocks_to_opaque.cc`.

use super::block_of;
use crate::ir::{ExprId, Id, Kinds, Mentions, Module, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `s_tir.transform.ConvertBlocksToOpaque`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.ConvertBlocksToOpaque",
    info_name: "s_tir.ConvertBlocksToOpaque",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts what block variables are bound to in their place.",
    doc: explained(
        "The variables of a block go; where they stood, also in what it reads and writes, stands what the loops around gave \
them. The blocks stay, with their allocations, predicates and annotations. A block must not have a `T.init()` any more \
(*LowerInitBlock* removes it), and what its variables are bound to must not name these variables.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        # with T.sblock(\"root\"):
        for i, j in T.grid(2, 4):
            with T.sblock(\"B\"):
                v = T.axis.spatial(8, i * 4 + j)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            for i, j in T.grid(2, 4):
                with T.sblock(\"B\"):
                    T.reads(A[i * 4 + j])
                    T.writes(B[i * 4 + j])
                    B[i * 4 + j] = A[i * 4 + j] * T.float32(2.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Convert).map(Some)
}

struct Convert;

impl StmtMutator for Convert {
    fn rule(&self) -> &'static str {
        "block variables substituted"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::BLOCK)
    }

    fn looks_for(&self) -> Mentions {
        Mentions::NONE
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let block = block_of(cx.store, id)?;
        if block.init.is_some() {
            cx.fail("tir-blocks", "Block Init part is not allowed in pass ConvertBlocksToOpaque");
            return None;
        }
        if block.iters.is_empty() || block.iters.iter().any(|iter| iter.value.is_none()) {
            return None;
        }
        let values = || block.iters.iter().filter_map(|iter| iter.value);
        for iter in &block.iters {
            if values().chain(block.predicate).any(|value| names(cx.store, value, iter.var)) {
                let name = cx.store.str(cx.store.symbol(iter.var).name).to_owned();
                cx.fail(
                    "tir-blocks",
                    format!(
                        "Variable {name} occurs in the predicate or iter_values of a block, but isn't defined until the body of the block"
                    ),
                );
                return None;
            }
        }
        for (iter, value) in block.iters.iter().zip(values()) {
            let value = cx.root(self, value);
            cx.set_symbol(iter.var, value);
        }
        let predicate = cx.predicate(self, &block);
        let opaque = cx.inside_block(self, &block, Some([].into()), predicate)?;
        let opaque = cx.store.add_prim_block(opaque);
        Some(cx.store.add_stmt(Stmt::Block(opaque)))
    }
}

/// True if a variable occurs in an expression.
fn names(store: &Store, root: PrimId, var: Id<Symbol>) -> bool {
    if !store.prim_mentions(root).meets(Mentions::symbol(var)) {
        return false;
    }
    let mut found = false;
    store.for_each_prim(root, &mut |_, part| found |= matches!(part, PrimExpr::Var(symbol) if *symbol == var));
    found
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const NESTED: &str = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    for i in range(4):
        with T.sblock(\"outer\"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4])
            T.writes(A[vi * 4:vi * 4 + 4])
            for j in range(4):
                with T.sblock(\"inner\"):
                    vj = T.axis.spatial(4, j)
                    T.where(vi * 4 + j < 15)
                    T.reads(A[vi * 4 + vj])
                    T.writes(A[vi * 4 + vj])
                    A[vi * 4 + vj] = A[vi * 4 + vj] + T.float32(1.0)
";

    #[test]
    fn inner_blocks_see_what_outer_variables_stand_for() {
        let text = after(NESTED, "s_tir.ConvertBlocksToOpaque()");
        assert!(text.contains("T.where(i * 4 + j < 15)\n"), "{text}");
        assert!(!text.contains("T.axis"), "{text}");
    }

    #[test]
    fn a_block_without_variables_stays() {
        unchanged(&after(NESTED, "s_tir.ConvertBlocksToOpaque()"), "s_tir.ConvertBlocksToOpaque()");
    }

    #[test]
    fn a_predicate_over_the_variables_of_its_own_block_is_refused() {
        let error = error(&NESTED.replace("+ j < 15", "+ vj < 15"), "s_tir.ConvertBlocksToOpaque()");
        assert!(error.starts_with("Variable vj occurs in the predicate"), "{error}");
    }

    #[test]
    fn an_init_is_refused() {
        let init = NESTED.replace(
            "            for j in",
            "            with T.init():\n                A[vi] = T.float32(0.0)\n            for j in",
        );
        let error = error(&init, "s_tir.ConvertBlocksToOpaque()");
        assert!(error.contains("Init part is not allowed"), "{error}");
    }
}
