//! LowerCrossThreadReduction: threads reduce together.
//!
//! Source: `src/s_tir/transform/lower_cross_thread_reduction.cc`.

mod check;
mod made;

use crate::ir::{Block, Buffer, ExprId, For, ForKind, Id, Module, Name, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{StmtMutator, binary, rewrite_body};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.LowerCrossThreadReduction`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerCrossThreadReduction",
    info_name: "s_tir.LowerCrossThreadReduction",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lets threads of a block reduce together.",
    doc: explained(
        "A reduction over loops of which some are bound to `threadIdx.x`, `.y` or `.z` becomes up to four blocks: each thread begins \
with the value that changes nothing and reduces what is its own (only where there are other loops, or a condition), all threads \
exchange their results (`T.tvm_thread_allreduce`), and what comes of it is written back, by one thread where the buffer is not \
local. A later block that reads the result and is not over those threads runs on the first of them.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((1,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in T.thread_binding(8, thread=\"threadIdx.x\"):
            with T.sblock(\"sum\"):
                v = T.axis.reduce(8, i)
                T.reads(A[v])
                T.writes(B[0])
                with T.init():
                    B[0] = T.float32(0.0)
                B[0] = B[0] + A[v]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((1,), \"float32\")):
        # with T.sblock(\"root\"):
        cross_thread_B = T.sblock_alloc_buffer((1,), strides=(1,), scope=\"local\")
        for i in T.thread_binding(8, thread=\"threadIdx.x\"):
            with T.sblock(\"sum_cross_thread\"):
                v = T.axis.reduce(8, i)
                T.reads(A[v])
                T.writes(cross_thread_B[0])
                T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0.0)]), \"reduce_scope\", 0)
                T.tvm_thread_allreduce(T.uint32(1), A[v], T.bool(True), cross_thread_B[0], i)
            with T.sblock(\"sum_write_back\"):
                T.where(i == 0)
                T.reads(cross_thread_B[0])
                T.writes(B[0])
                B[0] = cross_thread_B[0]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_body(cx.store, func, &mut Lower::default(), |lower, cx, body| match lower.stmt(cx.store, body) {
        Ok(new) => new,
        Err(message) => {
            cx.fail("tir-reduction", message);
            body
        }
    })
    .map(Some)
}

/// A binding to threads: the index, its first value and number of values.
type Threads = (Id<Name>, PrimId, PrimId);

/// A loop around the statement under way.
type Loop = (StmtId, For);

#[derive(Default)]
struct Lower {
    loops: Vec<Loop>,
    /// All statements around, the innermost last.
    around: Vec<StmtId>,
    /// The blocks around, with the buffers that they are to allocate.
    blocks: Vec<(Id<Block>, Vec<Id<Buffer>>)>,
    /// The variables of loops since the innermost block.
    ranges: Vec<(Id<Symbol>, (PrimId, PrimId))>,
    /// The replacements of loops.
    becomes: FxHashMap<StmtId, StmtId>,
    /// The threads that have reduced what is in a buffer of the kernel under way.
    reduced: FxHashMap<Id<Buffer>, Vec<Threads>>,
    lowered: bool,
    /// The number of enclosing loops over blocks and over threads.
    depth: [usize; 2],
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "reduction over threads lowered"
    }

    fn stepwise(&self) -> bool {
        false
    }
}

/// The index of threads that a loop is bound to.
fn tag_of(head: &For) -> Option<Id<Name>> {
    if let ForKind::Thread(tag) = head.kind { Some(tag) } else { None }
}

impl Lower {
    fn stmt(&mut self, store: &mut Store, id: StmtId) -> Result<StmtId, String> {
        self.around.push(id);
        let new = self.inside(store, id);
        self.around.pop();
        new
    }

    fn inside(&mut self, store: &mut Store, id: StmtId) -> Result<StmtId, String> {
        Ok(match store.stmt(id).clone() {
            Stmt::Seq(list) => {
                let old: Vec<StmtId> = store.items(list).collect();
                let mut new = Vec::with_capacity(old.len());
                for stmt in &old {
                    new.push(self.stmt(store, *stmt)?);
                }
                if new == old { id } else { store.flat_seq(Some(id), &new) }
            }
            Stmt::For(head, body) => self.over(store, id, head, body)?,
            Stmt::Block(block) => self.block(store, id, block)?,
            Stmt::If { cond, then, other } => {
                let new = self.stmt(store, then)?;
                let new_other = match other {
                    Some(other) => Some(self.stmt(store, other)?),
                    None => None,
                };
                if (new, new_other) == (then, other) {
                    return Ok(id);
                }
                store.rebuild_stmt(id, Stmt::If { cond, then: new, other: new_other })
            }
            Stmt::While { cond, body } => match self.stmt(store, body)? {
                new if new == body => id,
                body => store.rebuild_stmt(id, Stmt::While { cond, body }),
            },
            Stmt::Attr { node, key, value, body } => match self.stmt(store, body)? {
                new if new == body => id,
                body => store.rebuild_stmt(id, Stmt::Attr { node, key, value, body }),
            },
            _ => id,
        })
    }

    fn over(&mut self, store: &mut Store, id: StmtId, head: For, body: StmtId) -> Result<StmtId, String> {
        let tag = tag_of(&head).map(|tag| store.str(tag).to_owned()).unwrap_or_default();
        let kind = [tag.starts_with("blockIdx."), tag.starts_with("threadIdx.")].iter().position(|is| *is);
        if let Some(kind) = kind {
            self.depth[kind] += 1;
        }
        self.loops.push((id, head));
        self.ranges.push((head.var, (head.min, head.extent)));
        let new = self.stmt(store, body)?;
        self.ranges.pop();
        self.loops.pop();
        if let Some(kind) = kind {
            self.depth[kind] -= 1;
            if kind == 0 || self.depth == [0, 0] {
                self.reduced.clear();
            }
        }
        Ok(match self.becomes.remove(&id) {
            Some(new) => new,
            None if new == body => id,
            None => store.rebuild_stmt(id, Stmt::For(head, new)),
        })
    }

    fn block(&mut self, store: &mut Store, id: StmtId, block: Id<Block>) -> Result<StmtId, String> {
        let old = store.prim_block(block).clone();
        let loops = self.reduction_loops(store, &old);
        if let Some((first, _)) = loops.first() {
            let first = *first;
            self.lowered = true;
            let new = self.lower(store, id, &old, &loops)?;
            self.becomes.insert(first, new);
            return Ok(id);
        }
        if self.lowered {
            let free = self.free_threads(store, &old);
            if !free.is_empty() {
                return Ok(on_first(store, id, old, &free));
            }
        }
        self.blocks.push((block, Vec::new()));
        let ranges = std::mem::take(&mut self.ranges);
        let body = self.stmt(store, old.body)?;
        self.ranges = ranges;
        let (_, more) = self.blocks.pop().unwrap_or((block, Vec::new()));
        if body == old.body && more.is_empty() {
            return Ok(id);
        }
        let allocs = old.allocs.iter().copied().chain(more).collect();
        let block = store.add_prim_block(Block { allocs, body, ..old });
        Ok(store.rebuild_stmt(id, Stmt::Block(block)))
    }

    /// The threads that have reduced what a block reads, and that it is not over.
    fn free_threads(&self, store: &Store, block: &Block) -> Vec<Threads> {
        let mut found: Vec<Threads> = Vec::new();
        if block.writes.iter().any(|region| store.str(store.buffer(region.buffer).scope) == "local") {
            return found;
        }
        for threads in block.reads.iter().filter_map(|region| self.reduced.get(&region.buffer)).flatten() {
            match found.iter_mut().find(|known| known.0 == threads.0) {
                Some(known) => *known = *threads,
                None => found.push(*threads),
            }
        }
        found.retain(|(tag, ..)| !self.loops.iter().any(|(_, head)| tag_of(head) == Some(*tag)));
        // TVM goes through a table in which what came last stands first.
        found.reverse();
        found
    }
}

/// A block that runs on the first of threads.
fn on_first(store: &mut Store, id: StmtId, block: Block, threads: &[Threads]) -> StmtId {
    let mut predicate = block.predicate.unwrap_or_else(|| store.prim_int(1, crate::ir::DType::BOOL));
    let mut vars = Vec::new();
    for (tag, min, _) in threads {
        let axis = store.str(*tag).chars().last().unwrap_or('x');
        let name = store.name(&format!("t{axis}"));
        let var = store.add_symbol(Symbol { name, dtype: store.prim_dtype(*min), size: false });
        vars.push(var);
        let index = store.prim(PrimExpr::Var(var));
        let first = binary(store, PrimOp::Eq, index, *min);
        predicate = binary(store, PrimOp::And, first, predicate);
    }
    let block = store.add_prim_block(Block { predicate: Some(predicate), ..block });
    let mut body = store.rebuild_stmt(id, Stmt::Block(block));
    for ((tag, min, extent), var) in threads.iter().zip(vars) {
        let head = For { var, min: *min, extent: *extent, step: None, kind: ForKind::Thread(*tag), annotations: None };
        body = store.add_stmt(Stmt::For(head, body));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "s_tir.LowerCrossThreadReduction()";

    #[test]
    fn reductions_without_threads_stay() {
        unchanged(&SPEC.example_before.replace("T.thread_binding(8, thread=\"threadIdx.x\")", "range(8)"), CALL);
    }

    #[test]
    fn a_thread_reduces_what_is_its_own_first() {
        let source = SPEC
            .example_before
            .replace(
                "for i in T.thread_binding(8, thread=\"threadIdx.x\"):\n",
                "for o in range(2):\n         for i in T.thread_binding(4, thread=\"threadIdx.x\"):\n",
            )
            .replace("reduce(8, i)", "reduce(8, o * 4 + i)");
        let text = after(&source, CALL);
        for part in [
            "with T.sblock(\"sum_in_thread_init\"):",
            "in_thread_B[0] = in_thread_B[0] + A[v]",
            "T.tvm_thread_allreduce(T.uint32(1), in_thread_B[0], T.bool(True), cross_thread_B[0], i)",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn what_reads_the_result_runs_on_one_thread() {
        let more =
            "        with T.sblock(\"copy\"):\n            T.reads(B[0])\n            T.writes(C[0])\n            C[0] = B[0]\n";
        let source = SPEC
            .example_before
            .replace("B: T.Buffer((1,), \"float32\")", "B: T.Buffer((1,), \"float32\"), C: T.Buffer((1,), \"float32\")");
        let source = source
            .replace("        for i in", "        for b in T.thread_binding(1, thread=\"blockIdx.x\"):\n         for i in")
            + &more.replace("        with", "         with");
        let text = after(&source, CALL);
        assert!(
            text.contains("for tx in T.thread_binding(8, thread=\"threadIdx.x\"):") && text.contains("T.where(tx == 0)"),
            "{text}"
        );
    }

    #[test]
    fn the_loops_of_a_reduction_are_the_innermost() {
        let source = SPEC
            .example_before
            .replace("            with T.sblock(\"sum\"):", "          for u in range(2):\n            with T.sblock(\"sum\"):");
        assert!(error(&source, CALL).contains("requires all the reduction-related loops to be the deepest"));
    }
}
