//! LiftThreadBinding: loops over threads come around all that runs on these threads.
//!
//! Source: `src/s_tir/transform/lift_thread_binding.cc`.

use super::hash_order::map_order;
use crate::ir::{Attrs, AttrsId, ExprId, For, ForKind, Id, Kinds, Module, Name, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.LiftThreadBinding`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LiftThreadBinding",
    info_name: "s_tir.LiftThreadBinding",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lifts loops bound to one thread index to where they meet.",
    doc: explained(
        "Inside of the outermost loop that is bound to threads, all loops bound to the same index (`threadIdx.x`) become one, \
just inside of the innermost loop that is around all of them, where a later pass sees what its threads share. Their \
annotations are put together. Where several indices meet, those with shorter names, such as `blockIdx.x`, are further out.",
    ),
    example_before: explained(BEFORE),
    example_after: explained(AFTER),
    run: Run::PrimFunc(run),
};

/// Two loops over one index of threads.
pub(super) const BEFORE: &str = "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((4, 8), \"float32\")):
        for bx in T.thread_binding(4, thread=\"blockIdx.x\"):
            for i in T.thread_binding(8, thread=\"threadIdx.x\"):
                A[bx, i] = T.float32(0.0)
            for j in T.thread_binding(8, thread=\"threadIdx.x\"):
                B[bx, j] = A[bx, j]
";

/// The same program as one loop.
pub(super) const AFTER: &str = "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((4, 8), \"float32\")):
        for blockIdx_x in T.thread_binding(4, thread=\"blockIdx.x\"):
            for threadIdx_x in T.thread_binding(8, thread=\"threadIdx.x\"):
                A[blockIdx_x, threadIdx_x] = T.float32(0.0)
                B[blockIdx_x, threadIdx_x] = A[blockIdx_x, threadIdx_x]
";

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Lift::default()).map(Some)
}

/// Loops over one index of threads, as one.
struct Lifted {
    tag: Id<Name>,
    var: Id<Symbol>,
    min: PrimId,
    extent: PrimId,
    annotations: Vec<(Id<Name>, crate::ir::AttrValue)>,
    /// The loops around all of them, the outermost first.
    path: Vec<StmtId>,
}

#[derive(Default)]
struct Lift {
    /// The loops lifted right into each loop, the innermost first.
    lifted: FxHashMap<StmtId, Vec<(For, Option<AttrsId>)>>,
}

impl StmtMutator for Lift {
    fn rule(&self) -> &'static str {
        "thread bindings lifted"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::THREADS)
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::For(head, _) = cx.store.stmt(id).clone() else { return None };
        let is_thread = matches!(head.kind, ForKind::Thread(_));
        let is_root = is_thread && self.lifted.is_empty();
        let mut variables = Vec::new();
        if is_root {
            let mut loops = Loops::default();
            loops.of(cx.store, id, &mut Vec::new());
            for (var, tag) in loops.variables {
                let Some(lifted) = loops.found.iter().find(|lifted| lifted.tag == tag) else { continue };
                let becomes = cx.store.prim(PrimExpr::Var(lifted.var));
                cx.set_symbol(var, becomes);
                variables.push(var);
            }
            self.lifted = placed(cx.store, loops.found);
        }
        let new = cx.descend(self, id);
        let Stmt::For(new_head, mut body) = cx.store.stmt(new).clone() else { return Some(new) };
        let inner = body;
        for (head, annotations) in self.lifted.get(&id).cloned().unwrap_or_default() {
            body = cx.store.add_stmt(Stmt::For(For { annotations, ..head }, body));
        }
        if is_root {
            self.lifted.clear();
            variables.into_iter().for_each(|var| cx.unset_symbol(var));
        }
        Some(match (is_thread, body == inner) {
            (true, _) => body,
            (false, true) => new,
            (false, false) => cx.store.rebuild_stmt(id, Stmt::For(new_head, body)),
        })
    }
}

/// The loops bound to threads in a kernel.
#[derive(Default)]
struct Loops {
    found: Vec<Lifted>,
    variables: Vec<(Id<Symbol>, Id<Name>)>,
}

impl Loops {
    /// Collects the threads of a statement. Statements nest as deep as the parser's limit.
    fn of(&mut self, store: &mut Store, id: StmtId, stack: &mut Vec<StmtId>) {
        let head = match store.stmt(id) {
            Stmt::For(head, _) => Some(*head),
            _ => None,
        };
        stack.extend(head.as_ref().map(|_| id));
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().for_each(|stmt| self.of(store, stmt, stack));
        let Some(head) = head else { return };
        if let ForKind::Thread(tag) = head.kind {
            self.meet(store, tag, &head, stack);
        }
        stack.pop();
    }

    fn meet(&mut self, store: &mut Store, tag: Id<Name>, head: &For, stack: &[StmtId]) {
        self.variables.push((head.var, tag));
        let own = head.annotations.map_or(Vec::new(), |attrs| store.attrs_of_id(attrs).fields.to_vec());
        match self.found.iter_mut().find(|lifted| lifted.tag == tag) {
            Some(lifted) => {
                for (key, value) in own {
                    lifted.annotations.retain(|(known, _)| *known != key);
                    lifted.annotations.push((key, value));
                }
                let common = lifted.path.iter().zip(stack).take_while(|(a, b)| a == b).count();
                lifted.path.truncate(common);
            }
            None => {
                let symbol = Symbol { name: tag, ..store.symbol(head.var).clone() };
                let var = store.add_symbol(symbol);
                let (min, extent) = (head.min, head.extent);
                self.found.push(Lifted { tag, var, min, extent, annotations: own, path: stack.to_vec() });
            }
        }
    }
}

/// Places the lifted loops, each into the innermost loop around all its former places.
fn placed(store: &mut Store, found: Vec<Lifted>) -> FxHashMap<StmtId, Vec<(For, Option<AttrsId>)>> {
    let tags: Vec<&str> = found.iter().map(|lifted| store.str(lifted.tag)).collect();
    let mut order = map_order(&tags);
    // Among names of one length it is the order of TVM's map that decides.
    crate::ir::sort::sort_by(&mut order, |a, b| tags[*b].len().cmp(&tags[*a].len()));
    let mut placed: FxHashMap<StmtId, Vec<(For, Option<AttrsId>)>> = FxHashMap::default();
    for place in order {
        let lifted = &found[place];
        let Some(last) = lifted.path.last() else { continue };
        let key = store.name("DictAttrs");
        let fields = lifted.annotations.clone();
        let annotations = (!fields.is_empty()).then(|| store.attrs(Attrs { key, fields: fields.into() }));
        let kind = ForKind::Thread(lifted.tag);
        let head = For { var: lifted.var, min: lifted.min, extent: lifted.extent, step: None, kind, annotations: None };
        placed.entry(*last).or_default().push((head, annotations));
    }
    placed
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

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
    fn loops_over_one_index_become_one_around_all() {
        let text = after(TWICE, "s_tir.LiftThreadBinding()");
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| line.starts_with("for") || line.contains(" = ")).collect();
        assert_eq!(
            lines[lines.len() - 4..],
            [
                "for blockIdx_x in T.thread_binding(4, thread=\"blockIdx.x\"):",
                "for threadIdx_x in T.thread_binding(8, thread=\"threadIdx.x\"):",
                "A[blockIdx_x, threadIdx_x] = T.float32(0.0)",
                "B[blockIdx_x, threadIdx_x] = A[blockIdx_x, threadIdx_x]",
            ],
            "{text}"
        );
    }

    #[test]
    fn without_threads_nothing_changes() {
        unchanged(
            &TWICE
                .replace("T.thread_binding(4, thread=\"blockIdx.x\")", "range(4)")
                .replace("T.thread_binding(8, thread=\"threadIdx.x\")", "range(8)"),
            "s_tir.LiftThreadBinding()",
        );
    }
}
