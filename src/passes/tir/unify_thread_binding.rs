//! UnifyThreadBinding: one variable for each index of threads of a kernel.
//!
//! Source: `src/s_tir/transform/unify_thread_binding.cc`.

use crate::ir::{AttrNode, AttrsId, ExprId, For, ForKind, Id, Kinds, Module, Name, PrimExpr, PrimId, Stmt, StmtId, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, cast, rewrite_func};

/// TVM's `s_tir.transform.UnifyThreadBinding`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.UnifyThreadBinding",
    info_name: "s_tir.UnifyThreadBinding",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives all loops bound to one thread index one variable.",
    doc: explained(
        "A kernel is what stands inside of an outermost loop (or `T.launch_thread`) over threads. All its loops over the same \
index, which must have the same extent, become one around the whole kernel; the variables of the others become its variable, \
cast if they are of another type. Annotations of a loop that goes move to the loop that takes its place, or to a loop of one round.",
    ),
    example_before: explained(super::lift_thread_binding::BEFORE),
    example_after: explained(super::lift_thread_binding::AFTER),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Unify::default()).map(Some)
}

/// An index of threads of the kernel under way.
#[derive(Clone, Copy)]
struct Index {
    tag: Id<Name>,
    var: Id<Symbol>,
    min: PrimId,
    extent: PrimId,
}

#[derive(Default)]
struct Unify {
    indices: Vec<Index>,
    /// The number of loops over blocks around.
    depth: usize,
}

impl StmtMutator for Unify {
    fn rule(&self) -> &'static str {
        "thread bindings unified"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::THREADS)
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { node: AttrNode::Thread { var, tag }, value, .. } => {
                let min = cx.store.prim_int(0, cx.store.prim_dtype(value));
                self.unify(cx, id, var, Index { tag, var, min, extent: value })
            }
            Stmt::For(head, _) => {
                let ForKind::Thread(tag) = head.kind else { return None };
                let new = self.unify(cx, id, head.var, Index { tag, var: head.var, min: head.min, extent: head.extent })?;
                Some(match head.annotations {
                    Some(annotations) => annotated(cx, new, &head, annotations),
                    None => new,
                })
            }
            _ => None,
        }
    }
}

impl Unify {
    /// Rewrites a statement over threads, whose variable is `var`.
    fn unify(&mut self, cx: &mut Rewriting<'_>, id: StmtId, var: Id<Symbol>, found: Index) -> Option<StmtId> {
        let tag = cx.store.str(found.tag);
        let is_block = ["blockIdx.", "clusterIdx.", "clusterCtaIdx"].iter().any(|prefix| tag.starts_with(prefix));
        let depth = self.depth;
        if is_block || depth == 0 {
            if depth == 0 {
                self.indices.clear();
            }
            self.depth += 1;
        }
        let index = match self.indices.iter().find(|index| index.tag == found.tag).copied() {
            Some(index) => {
                if !self.fits(cx, &found, &index) {
                    return None;
                }
                index
            }
            None => {
                let dtype = cx.store.prim_dtype(found.extent);
                let var = cx.store.add_symbol(Symbol { name: found.tag, dtype, size: false });
                let index = Index { var, ..found };
                self.indices.push(index);
                index
            }
        };
        let becomes = cx.store.prim(PrimExpr::Var(index.var));
        let becomes = cast(cx.store, cx.store.symbol(var).dtype, becomes);
        cx.set_symbol(var, becomes);
        let new = cx.descend(self, id);
        self.depth = depth;
        let (Stmt::For(_, body) | Stmt::Attr { body, .. }) = *cx.store.stmt(new) else { return Some(new) };
        if depth > 0 {
            return Some(body);
        }
        Some(self.indices.drain(..).rev().fold(body, |body, Index { tag, var, min, extent }| {
            let head = For { var, min, extent, step: None, kind: ForKind::Thread(tag), annotations: None };
            cx.store.add_stmt(Stmt::For(head, body))
        }))
    }

    fn fits(&self, cx: &mut Rewriting<'_>, found: &Index, index: &Index) -> bool {
        let mut analyzer = Analyzer::new();
        if !analyzer.can_prove_equal(cx.store, found.min, index.min) {
            cx.fail("tir-threads", "loops over one index of threads begin differently");
            return false;
        }
        if analyzer.can_prove_equal(cx.store, found.extent, index.extent) {
            return true;
        }
        let tag = cx.store.str(found.tag).to_owned();
        let [first, second] =
            [index.extent, found.extent].map(|extent| crate::ir::show_dim(cx.store, cx.store.dim_of_prim(extent)));
        cx.fail(
            "tir-threads",
            format!(
                "All loops that are bound to `{tag}` should have the same extent. However, there are two loops with extent {first} and \
{second}, which are not equal"
            ),
        );
        false
    }
}

/// Moves the annotations of a removed loop to its replacement.
fn annotated(cx: &mut Rewriting<'_>, new: StmtId, old: &For, annotations: AttrsId) -> StmtId {
    let annotations = Some(annotations);
    if let Stmt::For(head, body) = cx.store.stmt(new).clone() {
        return cx.store.add_stmt(Stmt::For(For { annotations, ..head }, body));
    }
    let dtype = cx.store.symbol(old.var).dtype;
    let name = cx.store.name("var");
    let var = cx.store.add_symbol(Symbol { name, dtype, size: false });
    let (min, extent) = (cx.store.prim_int(0, dtype), cx.store.prim_int(1, dtype));
    let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations };
    cx.store.add_stmt(Stmt::For(head, new))
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const TWICE: &str = "\
@T.prim_func(private=True)
def f(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((4, 8), \"float32\")):
    for bx in T.thread_binding(4, thread=\"blockIdx.x\"):
        for i in T.thread_binding(8, thread=\"threadIdx.x\"):
            A[bx, i] = T.float32(0.0)
        for j in T.thread_binding(8, thread=\"threadIdx.x\"):
            B[bx, j] = A[bx, j]
";

    #[test]
    fn loops_over_one_index_become_one_around_the_kernel() {
        let text = after(TWICE, "s_tir.UnifyThreadBinding()");
        assert_eq!(text.matches("T.thread_binding(").count(), 2, "{text}");
        assert!(text.contains("B[blockIdx_x, threadIdx_x] = A[blockIdx_x, threadIdx_x]"), "{text}");
    }

    #[test]
    fn loops_of_different_lengths_are_refused() {
        let error = error(&TWICE.replacen("T.thread_binding(8", "T.thread_binding(7", 1), "s_tir.UnifyThreadBinding()");
        assert!(error.contains("there are two loops with extent 7 and 8, which are not equal"), "{error}");
    }

    #[test]
    fn without_threads_nothing_changes() {
        unchanged(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        A[i] = T.float32(0.0)\n",
            "s_tir.UnifyThreadBinding()",
        );
    }
}
