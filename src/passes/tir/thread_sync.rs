//! ThreadSync: threads wait for each other where they share memory.
//!
//! Source: `src/s_tir/transform/thread_storage_sync.cc` and `storage_access.cc`.

mod plan;

use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, DType, ExprId, Module, PrimExpr, Stmt, StmtId, Store};
use crate::pass::spec::Param;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};
use rustc_hash::FxHashSet;

/// TVM's `s_tir.transform.ThreadSync`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.ThreadSync",
    info_name: "s_tir.ThreadSync",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "storage_scope", default: "", doc: "The memory: `\"shared\"`, `\"shared.dyn\"`, `\"warp\"`." }],
    config: &[],
    summary: "Inserts barriers between accesses to shared memory.",
    doc: explained(
        "Under launches of threads, `T.tvm_storage_sync` is put before a statement that reads what another thread may have written \
since the last barrier, or writes what another may still read, also one round of a loop later. Two accesses at the same index that \
the innermost thread decides do not meet. All of `shared.dyn` counts as one buffer. A barrier inside of a condition would wait for \
ever, so where one is needed there the pass fails.",
    ),
    example_before: explained(
        "\
# s_tir.ThreadSync(\"shared\")
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        S = T.alloc_buffer((32,), scope=\"shared\", layout=None)
        S[tx] = A[tx]
        B[tx] = S[31 - tx]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        S = T.alloc_shared((32,), layout=None)
        S[tx] = A[tx]
        T.tvm_storage_sync(\"shared\")
        B[tx] = S[31 - tx]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    let scope = args.str("storage_scope").unwrap_or_default().to_owned();
    let func = match scope.as_str() {
        "shared" => rewrite_func(cx.store, func, &mut AfterWaiting { scope: scope.clone() })?,
        _ => func,
    };
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let barriers = plan::barriers(cx.store, prim.body, &scope);
    let barriers = barriers.map_err(|message| vec![Diagnostic::error("tir-threads", message, None)])?;
    if barriers.is_empty() {
        return Ok(Some(func));
    }
    rewrite_func(cx.store, func, &mut Insert { scope, barriers }).map(Some)
}

fn barrier(store: &mut Store, scope: &str) -> StmtId {
    let scope = store.name(scope);
    let scope = store.prim(PrimExpr::Str(scope));
    let call = store.prim_call("tvm_storage_sync", &[scope], DType::I32);
    store.add_stmt(Stmt::Evaluate(call))
}

struct Insert {
    scope: String,
    /// Statements before which threads wait.
    barriers: FxHashSet<StmtId>,
}

impl StmtMutator for Insert {
    fn rule(&self) -> &'static str {
        "barrier inserted"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if !self.barriers.contains(&id) {
            return None;
        }
        let barrier = barrier(cx.store, &self.scope);
        let stmt = cx.descend(self, id);
        Some(cx.store.flat_seq(None, &[barrier, stmt]))
    }
}

/// A barrier after every wait for asynchronous copies.
struct AfterWaiting {
    scope: String,
}

impl StmtMutator for AfterWaiting {
    fn rule(&self) -> &'static str {
        "barrier after a wait inserted"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let store = &mut *cx.store;
        let Stmt::Attr { key, value, body, .. } = *store.stmt(id) else { return None };
        if store.str(key) != "async_wait_queue_scope" {
            return None;
        }
        let Stmt::Attr { key: inner, value: count, body, .. } = *store.stmt(body) else { return None };
        let barrier = barrier(store, &self.scope);
        let body = store.flat_seq(None, &[barrier, body]);
        let zero = store.prim_int(0, DType::I32);
        let body = store.add_stmt(Stmt::Attr { node: AttrNode::Prim(zero), key: inner, value: count, body });
        Some(store.add_stmt(Stmt::Attr { node: AttrNode::Prim(zero), key, value, body }))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((32,), \"float32\")):\n    tx = T.launch_thread(\"threadIdx.x\", 32)\n    S = T.alloc_buffer((32,), scope=\"shared\", layout=None)\n{body}"
        )
    }

    #[test]
    fn a_loop_waits_for_its_last_round() {
        let body = "    for i in range(4):\n        S[tx] = A[tx]\n        A[tx] = S[31 - tx]\n";
        let text = after(&source(body), "s_tir.ThreadSync(\"shared\")");
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| line.starts_with("S[") || line.starts_with("T.tvm")).collect();
        assert_eq!(lines, ["T.tvm_storage_sync(\"shared\")", "S[tx] = A[tx]", "T.tvm_storage_sync(\"shared\")"], "{text}");
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        unchanged(&source("    S[tx] = A[tx]\n    A[tx] = S[tx]\n"), "s_tir.ThreadSync(\"shared\")");
    }

    #[test]
    fn other_memory_is_not_looked_at() {
        unchanged(&source("    S[tx] = A[tx]\n    A[tx] = S[0]\n"), "s_tir.ThreadSync(\"shared.dyn\")");
    }

    #[test]
    fn a_barrier_in_a_condition_is_refused() {
        let source = source("    if tx < 16:\n        S[tx] = A[tx]\n        A[tx] = S[0]\n");
        assert_eq!(error(&source, "s_tir.ThreadSync(\"shared\")"), "Cannot insert syncs inside condition");
    }
}
