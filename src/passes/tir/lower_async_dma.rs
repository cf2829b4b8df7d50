//! LowerAsyncDMA: loops that copy, and are asynchronous, become calls of a device that copies.
//!
//! Source: `src/s_tir/transform/lower_async_dma.cc`.

mod copies;

use crate::ir::{Buffer, DType, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, enter_knowing, rewrite_func};
use copies::{Copy, copy_of};
use rustc_hash::FxHashSet;

/// TVM's `s_tir.transform.LowerAsyncDMA`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerAsyncDMA",
    info_name: "s_tir.LowerAsyncDMA",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns asynchronous copies into calls of a copying device.",
    doc: explained(
        "Inside of an attribute `async_commit_queue_scope`, loops that copy a run of elements to another run in the same order \
become one `T.dma_copy` with the number of the queue. Both buffers have one axis. Waiting for that queue (`async_wait_queue_scope` \
directly around `async_wait_inflight_count`) becomes `T.dma_wait`; for a queue without such a copy before it, it stays. As in TVM, \
each attribute around a copy counts it twice, and a scope with more than one copy has `T.dma_start_group` and `T.dma_end_group` \
around it: a single copy in an `async_scope` has them, too. Where commit scopes stand in each other, more than eight attributes \
in each other are refused, because TVM's time doubles with each.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):
        C = T.alloc_buffer((64,), scope=\"global.vtcm\")
        with T.attr(0, \"async_commit_queue_scope\", 0):
            for i in range(64):
                C[i] = A[i]
        with T.attr(0, \"async_wait_queue_scope\", 0):
            with T.attr(0, \"async_wait_inflight_count\", 0):
                for i in range(64):
                    B[i] = C[i]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):
        C = T.alloc_buffer((64,), scope=\"global.vtcm\")
        with T.attr({\"async_commit_queue_scope\": 0}):
            T.dma_copy(0, T.address_of(C[0]), T.address_of(A[0]), 256, 0)
        T.dma_wait(0, 0)
        for i in range(64):
            B[i] = C[i]
",
    ),
    run: Run::PrimFunc(run),
};

/// Attributes that may stand in each other in a commit scope with another one in it.
const MOST_NESTED: usize = 8;

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Lower { times: 1, ..Lower::default() }).map(Some)
}

#[derive(Default)]
struct Lower {
    known: Known,
    /// The queue of the commit scope around.
    queue: Option<i64>,
    /// Queues that got a copy so far.
    used: FxHashSet<i64>,
    /// Copies of the commit scope so far, each counted as often as TVM meets it.
    copies: u32,
    /// The number of times that TVM meets a statement here, for each time that we do.
    times: u32,
    /// True if an attribute around was visited before, so that all queues in it are known.
    settled: bool,
    /// In a commit scope with another one in it, the number of attributes around: there every visit counts, because the
    /// end of the inner scope ends the outer one.
    nested: Option<usize>,
}

/// True if a commit scope stands in a statement.
fn commits(store: &Store, id: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(id, |stmt| found |= matches!(stmt, Stmt::Attr { key, .. } if store.str(*key) == COMMIT));
    found
}

const COMMIT: &str = "async_commit_queue_scope";

impl Lower {
    /// Rewrites the parts of a statement that TVM meets `times` as often as the statement.
    fn inside(&mut self, cx: &mut Rewriting<'_>, id: StmtId, times: u32) -> StmtId {
        let outer = self.times;
        self.times = outer.saturating_mul(times);
        let new = descend_knowing(self, cx, id);
        self.times = outer;
        new
    }

    /// TVM rewrites what stands in an attribute twice, and the second time knows the queues of the first. Once they are
    /// known, a single visit gives the same.
    fn attribute(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        let Stmt::Attr { key, value, body, .. } = *cx.store.stmt(id) else { return id };
        let queue = cx.store.as_prim_int(value);
        let once = self.settled && self.nested.is_none();
        match cx.store.str(key) {
            "async_wait_queue_scope" => self.wait(cx, id, (queue, body), once),
            COMMIT => {
                let begins = self.nested.is_none() && commits(cx.store, body);
                if begins {
                    self.nested = Some(0);
                }
                let new = self.deeper(cx, id, |lower, cx| lower.commit(cx, id, queue));
                if begins {
                    self.nested = None;
                }
                new
            }
            _ if once => self.inside(cx, id, 2),
            _ => self.deeper(cx, id, |lower, cx| {
                lower.inside(cx, id, 1);
                lower.settle(cx, |lower, cx| lower.inside(cx, id, 1))
            }),
        }
    }

    /// Counts the attributes where each is visited twice, and refuses to take TVM's time for many of them.
    fn deeper(&mut self, cx: &mut Rewriting<'_>, id: StmtId, f: impl FnOnce(&mut Lower, &mut Rewriting<'_>) -> StmtId) -> StmtId {
        let outer = self.nested;
        if outer.is_some_and(|depth| depth >= MOST_NESTED) {
            cx.fail("pass-incomplete", "LowerAsyncDMA reads at most eight attributes in each other around nested commit scopes");
            return id;
        }
        self.nested = outer.map(|depth| depth + 1);
        let new = f(self, cx);
        self.nested = outer;
        new
    }

    fn wait(&mut self, cx: &mut Rewriting<'_>, id: StmtId, (queue, body): (Option<i64>, StmtId), once: bool) -> StmtId {
        let inner = match *cx.store.stmt(body) {
            Stmt::Attr { key, value, body, .. } if cx.store.str(key) == "async_wait_inflight_count" => Some((value, body)),
            _ => None,
        };
        let is_used = |lower: &Lower| queue.is_some_and(|queue| lower.used.contains(&queue));
        let skips = once && inner.is_some() && is_used(self);
        let first = if skips { id } else { self.deeper(cx, id, |lower, cx| lower.inside(cx, id, 1)) };
        let Some(number) = queue else {
            cx.fail("tir-annotation", "the queue of `async_wait_queue_scope` must be a number");
            return id;
        };
        let Some((inflight, body)) = inner.filter(|_| is_used(self)) else { return first };
        let outer = self.times;
        self.times = if skips { outer.saturating_mul(3) } else { outer };
        let rest = self.deeper(cx, id, |lower, cx| lower.settle(cx, |lower, cx| cx.visit(lower, body)));
        self.times = outer;
        let queue = cx.store.prim_int(number, DType::I32);
        let wait = cx.store.prim_call("dma_wait", &[queue, inflight], DType::I32);
        let wait = cx.store.add_stmt(Stmt::Evaluate(wait));
        seq(cx.store, &[wait, rest])
    }

    fn commit(&mut self, cx: &mut Rewriting<'_>, id: StmtId, queue: Option<i64>) -> StmtId {
        if self.nested.is_some() {
            self.inside(cx, id, 1);
        }
        let Some(number) = queue else {
            cx.fail("tir-annotation", "the queue of `async_commit_queue_scope` must be a number");
            return id;
        };
        self.queue = queue;
        // Each visit of a commit scope begins to count anew.
        let outer = std::mem::replace(&mut self.times, 1);
        let mut new = self.inside(cx, id, 1);
        self.times = outer;
        if self.copies > 1 {
            let queue = cx.store.prim_int(number, DType::I32);
            let [start, end] = ["dma_start_group", "dma_end_group"].map(|op| {
                let call = cx.store.prim_call(op, &[queue], DType::I32);
                cx.store.add_stmt(Stmt::Evaluate(call))
            });
            new = seq(cx.store, &[start, new, end]);
        }
        (self.queue, self.copies) = (None, 0);
        new
    }

    fn settle(&mut self, cx: &mut Rewriting<'_>, f: impl FnOnce(&mut Lower, &mut Rewriting<'_>) -> StmtId) -> StmtId {
        let outer = std::mem::replace(&mut self.settled, true);
        let new = f(self, cx);
        self.settled = outer;
        new
    }
}

/// Joins statements as TVM's constructor of sequences does: it drops `T.evaluate(0)` only where it opens a sequence.
fn seq(store: &mut Store, stmts: &[StmtId]) -> StmtId {
    match stmts.iter().any(|stmt| matches!(store.stmt(*stmt), Stmt::Seq(_))) {
        true => store.flat_seq(None, stmts),
        false => store.add_stmts(stmts),
    }
}

impl Knowing for Lower {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "asynchronous copy"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        enter_knowing(self, cx, id)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id) {
            Stmt::Attr { .. } => Some(self.attribute(cx, id)),
            Stmt::For(..) if let Some(queue) = self.queue => {
                let Some(copy) = copy_of(cx.store, &mut self.known.analyzer, id) else {
                    return Some(descend_knowing(self, cx, id));
                };
                self.used.insert(queue);
                self.copies = self.copies.saturating_add(self.times);
                Some(call(cx.store, queue, &copy))
            }
            _ => Some(descend_knowing(self, cx, id)),
        }
    }
}

fn call(store: &mut Store, queue: i64, copy: &Copy) -> StmtId {
    let address = |store: &mut Store, (buffer, first): (Id<Buffer>, PrimId)| {
        let (dtype, scope) = (store.buffer(buffer).dtype, store.buffer(buffer).scope);
        let load = store.prim(PrimExpr::Load { buffer, indices: [first].into() });
        let pointer = store.pointer(dtype, scope);
        store.prim_call("address_of", &[load], pointer)
    };
    let (to, from) = (address(store, copy.to), address(store, copy.from));
    let dtype = store.buffer(copy.from.0).dtype;
    let bytes = (i64::from(dtype.bits) * i64::from(dtype.lanes) + 7) / 8;
    let bytes = store.prim_int(bytes, DType::I32);
    let size = binary(store, PrimOp::Mul, copy.count, bytes);
    let (queue, bypass) = (store.prim_int(queue, DType::I32), store.prim_int(0, DType::I32));
    let call = store.prim_call("dma_copy", &[queue, to, from, size, bypass], DType::I32);
    store.add_stmt(Stmt::Evaluate(call))
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "s_tir.LowerAsyncDMA()";

    #[test]
    fn a_nest_of_loops_over_one_run_is_one_copy() {
        let nest = "for i, j in T.grid(4, 8):\n                C[i * 8 + j] = A[i * 8 + j + 16]";
        let text = after(&SPEC.example_before.replace("for i in range(64):\n                C[i] = A[i]", nest), CALL);
        assert!(text.contains("T.dma_copy(0, T.address_of(C[0]), T.address_of(A[16]), 128, 0)"), "{text}");
    }

    #[test]
    fn copies_in_one_scope_are_a_group() {
        let copies = "C[i] = A[i]\n            for i in range(8):\n                A[i] = B[i]";
        let text = after(&SPEC.example_before.replace("C[i] = A[i]", copies), CALL);
        assert!(text.contains("T.dma_start_group(0)") && text.contains("T.dma_end_group(0)"), "{text}");
    }

    #[test]
    fn a_copy_in_another_order_or_with_gaps_stays_and_nobody_waits_for_it() {
        for (to, from) in [("i", "i * 2"), ("63 - i", "i"), ("i // 2", "i")] {
            unchanged(&SPEC.example_before.replace("C[i] = A[i]", &format!("C[{to}] = A[{from}]")), CALL);
        }
    }

    #[test]
    fn loops_outside_of_commit_scopes_stay() {
        unchanged(&SPEC.example_before.replace("commit_queue_scope", "scope"), CALL);
    }

    #[test]
    fn a_queue_without_a_number_is_refused() {
        let source =
            SPEC.example_before.replace("scope\", 0)", "scope\", n)").replace("\"float32\")):", "\"float32\"), n: T.int32):");
        assert_eq!(error(&source, CALL), "the queue of `async_commit_queue_scope` must be a number");
    }
}
