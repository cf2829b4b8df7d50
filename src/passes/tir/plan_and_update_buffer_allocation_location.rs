//! PlanAndUpdateBufferAllocationLocation: buffers are allocated no further out than they are used.
//!
//! Source: `src/s_tir/transform/plan_update_buffer_allocation_location.cc`.

use super::{block_of, prim_func};
use crate::ir::{Block, Buffer, ExprId, Id, Mentions, Module, PrimParam, Region, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::access::block_reads_and_writes;
use crate::tir::lca::buffer_access_lca;
use crate::tir::{Rewriting, StmtMutator, rewrite_func};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `s_tir.transform.PlanAndUpdateBufferAllocationLocation`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.PlanAndUpdateBufferAllocationLocation",
    info_name: "s_tir.PlanAndUpdateBufferAllocationLocation",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Moves allocations to the innermost place that holds all uses.",
    doc: explained(
        "A buffer of a block is allocated where the innermost loop or block begins that holds everything that accesses it. In a \
loop that takes a block of its own, which says what the loop reads and writes. What a reduction adds up stays outside of the \
loops of the reduction, and global memory directly inside of the outermost loop over `blockIdx` at most. Buffers that nothing \
accesses go. A block must not have a `T.init()` any more: *LowerInitBlock* comes before.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            B = T.sblock_alloc_buffer((4, 8))
            for i in range(4):
                for j in range(8):
                    with T.sblock(\"B\"):
                        T.reads(A[i, j])
                        T.writes(B[i, j])
                        B[i, j] = A[i, j] + T.float32(1.0)
                for j in range(8):
                    with T.sblock(\"C\"):
                        T.reads(B[i, j])
                        T.writes(C[i, j])
                        C[i, j] = B[i, j] * T.float32(2.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(4):
            with T.sblock(\"\"):
                T.reads(A[i, 0:8])
                T.writes(C[i, 0:8])
                B = T.sblock_alloc_buffer((4, 8))
                for j in range(8):
                    with T.sblock(\"B\"):
                        T.reads(A[i, j])
                        T.writes(B[i, j])
                        B[i, j] = A[i, j] + T.float32(1.0)
                for j in range(8):
                    with T.sblock(\"C\"):
                        T.reads(B[i, j])
                        T.writes(C[i, j])
                        C[i, j] = B[i, j] * T.float32(2.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let store = &*cx.store;
    let params: FxHashSet<Id<Buffer>> =
        prim.params.iter().filter_map(|param| if let PrimParam::Buffer(buffer) = *param { Some(buffer) } else { None }).collect();
    let mut managed = Vec::new();
    store.for_each_stmt(prim.body, |stmt| {
        if let Stmt::Block(block) = *stmt {
            managed.extend(store.prim_block(block).allocs.iter().copied());
        }
    });
    let places: FxHashMap<Id<Buffer>, Option<StmtId>> = buffer_access_lca(store, &prim).into_iter().collect();
    let mut plan = Plan { places: FxHashMap::default(), known: params.clone() };
    plan.known.extend(places.keys());
    for buffer in managed {
        if let Some(place) = places.get(&buffer)
            && !params.contains(&buffer)
        {
            plan.places.entry(*place).or_default().push(buffer);
        }
    }
    rewrite_func(cx.store, func, &mut plan).map(Some)
}

struct Plan {
    /// The allocations at each place.
    places: FxHashMap<Option<StmtId>, Vec<Id<Buffer>>>,
    /// The buffers that are there: those to come and those around.
    known: FxHashSet<Id<Buffer>>,
}

impl StmtMutator for Plan {
    fn rule(&self) -> &'static str {
        "allocations moved"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn looks_for(&self) -> Mentions {
        Mentions::NONE
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt_rc(id) {
            Stmt::For(ref head, _) => {
                let here = self.places.get(&Some(id)).cloned()?;
                self.known.extend(&here);
                let new = cx.descend(self, id);
                here.iter().for_each(|buffer| {
                    self.known.remove(buffer);
                });
                let Stmt::For(_, body) = *cx.store.stmt(new) else { return Some(new) };
                let body = self.opaque(cx.store, body, here);
                Some(cx.store.add_stmt(Stmt::For(*head, body)))
            }
            Stmt::Block(_) => self.block(cx, id),
            _ => None,
        }
    }
}

impl Plan {
    fn block(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let block = block_of(cx.store, id)?;
        if block.init.is_some() {
            cx.fail(
                "tir-blocks",
                "Check failed: (!op->init.has_value()) is false: a block has a T.init(), LowerInitBlock comes first",
            );
            return None;
        }
        let here = self.places.get(&Some(id)).cloned().unwrap_or_default();
        self.known.extend(&here);
        for (part, source) in &block.matches {
            if !self.known.contains(&source.buffer) {
                cx.fail("tir-blocks", "Check failed: (buffer_data_to_buffer_.count(source_var)) is false");
                return None;
            }
            self.known.insert(*part);
        }
        let inner = cx.descend(self, id);
        let gone = block.matches.iter().map(|(part, _)| part).chain(&here);
        gone.for_each(|buffer| {
            self.known.remove(buffer);
        });
        let old = block_of(cx.store, inner)?;
        let known = |region: &&Region| self.known.contains(&region.buffer);
        if old.reads.iter().chain(&old.writes).all(|region| known(&region)) && *old.allocs == *here {
            return Some(inner);
        }
        let kept = |regions: &[Region]| regions.iter().filter(known).cloned().collect();
        let new = Block { reads: kept(&old.reads), writes: kept(&old.writes), allocs: here.into(), ..(*old).clone() };
        let new = cx.store.add_prim_block(new);
        Some(cx.store.add_stmt(Stmt::Block(new)))
    }

    /// Makes a block of its own around the body of a loop.
    fn opaque(&self, store: &mut Store, body: StmtId, allocs: Vec<Id<Buffer>>) -> StmtId {
        let name = store.name("");
        let block = Block { allocs: allocs.into(), ..Block::around(name, body) };
        let (reads, writes) = block_reads_and_writes(store, &block, &|buffer| self.known.contains(&buffer));
        let block = store.add_prim_block(Block { reads: reads.into(), writes: writes.into(), ..block });
        store.add_stmt(Stmt::Block(block))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    const CALL: &str = "s_tir.PlanAndUpdateBufferAllocationLocation()";

    fn source(loops: &str, scope: &str) -> String {
        format!(
            "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((4,), \"float32\")):
    with T.sblock(\"root\"):
        T.reads()
        T.writes()
        B = T.sblock_alloc_buffer((4,), scope=\"{scope}\")
        for i in {loops}:
            with T.sblock(\"b\"):
                T.reads(A[i])
                T.writes(A[i])
                B[i] = A[i]
                A[i] = B[i]
"
        )
    }

    #[test]
    fn a_buffer_of_one_block_is_allocated_in_it() {
        let text = after(&source("range(4)", "local"), CALL);
        assert!(text.contains("T.writes(A[i])\n                B = T.sblock_alloc_buffer((4,), scope=\"local\")\n"), "{text}");
    }

    #[test]
    fn global_memory_is_allocated_where_blocks_of_threads_begin() {
        let text = after(&source("T.thread_binding(4, thread=\"blockIdx.x\")", "global"), CALL);
        assert!(
            text.contains(
                "with T.sblock(\"\"):\n                T.reads(A[i])\n                T.writes(A[i])\n                B = "
            ),
            "{text}"
        );
    }

    #[test]
    fn buffers_that_nothing_accesses_go() {
        let text = after(&source("range(4)", "local").replace("B[i] = A[i]", "A[i] = A[i]").replace("= B[i]", "= A[i]"), CALL);
        assert!(!text.contains("alloc_buffer"), "{text}");
    }

    #[test]
    fn an_init_is_refused() {
        let source = source("range(4)", "local")
            .replace("                B[i] = A[i]", "                with T.init():\n                    B[i] = A[i]");
        assert!(error(&source, CALL).contains("op->init"), "{}", error(&source, CALL));
    }
}
