//! InjectSoftwarePipeline: rounds of a loop overlap.
//!
//! Source: `src/s_tir/transform/inject_software_pipeline.cc`.

mod body;
mod pipeline;
mod queue;

use super::{block_of, convert_ssa, infer_fragment, prim_func};
use crate::ir::{Block, Buffer, ExprId, For, Id, Kinds, Module, PrimId, PrimParam, Region, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::access::block_reads_and_writes;
use crate::tir::{Rewriting, StmtMutator, has_kinds, rewrite_func};
use pipeline::Pipeline;
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `s_tir.transform.InjectSoftwarePipeline`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectSoftwarePipeline",
    info_name: "s_tir.InjectSoftwarePipeline",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Overlaps the rounds of a loop.",
    doc: explained(
        "Loops with the annotations `software_pipeline_stage` and `software_pipeline_order` become a prologue, a body in which the \
stages of several rounds run side by side, and an epilogue. Statement number i of the loop is in stage `stage[i]` (so many rounds \
behind) and stands at place `order[i]`. A buffer that is written in one stage and read in a later one gets several versions. Stages \
in `software_pipeline_async_stages` copy asynchronously: `async_commit_queue_scope` ends a group of copies, and \
`async_wait_queue_scope` with `async_wait_inflight_count` waits until at most so many are under way. Blocks must be opaque.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\"), C: T.Buffer((16,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in T.serial(16, annotations={\"software_pipeline_order\": [0, 1], \"software_pipeline_stage\": [0, 1]}):
            with T.sblock(\"\"):
                T.reads(A[i])
                T.writes(C[i])
                B = T.sblock_alloc_buffer((1,))
                with T.sblock(\"load\"):
                    T.reads(A[i])
                    T.writes(B[0])
                    B[0] = A[i] * T.float32(2.0)
                with T.sblock(\"work\"):
                    T.reads(B[0])
                    T.writes(C[i])
                    C[i] = B[0] + T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\"), C: T.Buffer((16,), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            with T.sblock(\"\"):
                T.reads(A[0:16])
                T.writes(C[0:16])
                B = T.sblock_alloc_buffer((2, 1))
                with T.sblock(\"load\"):
                    T.reads(A[0])
                    T.writes(B[T.FloorMod(0, 2), 0])
                    B[T.FloorMod(0, 2), 0] = A[0] * T.float32(2.0)
                with T.sblock(\"\"):
                    T.reads(A[1:16], B[0:2, 0])
                    T.writes(B[0:2, 0], C[0:15])
                    for i in range(15):
                        with T.sblock(\"load\"):
                            T.where(i + 1 < 16)
                            T.reads(A[i + 1])
                            T.writes(B[(i + 1) % 2, 0])
                            B[(i + 1) % 2, 0] = A[i + 1] * T.float32(2.0)
                        with T.sblock(\"work\"):
                            T.where(i + 1 - 1 < 16)
                            T.reads(B[(i - 1 + 1) % 2, 0])
                            T.writes(C[i - 1 + 1])
                            C[i - 1 + 1] = B[(i - 1 + 1) % 2, 0] + T.float32(1.0)
                with T.sblock(\"work\"):
                    T.reads(B[T.FloorMod(15, 2), 0])
                    T.writes(C[15])
                    C[15] = B[T.FloorMod(15, 2), 0] + T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    if !has_kinds(cx.store, func, Kinds::LOOP_ANNOTATION | Kinds::BLOCK_ANNOTATION) {
        return Ok(Some(func));
    }
    let known = prim.params.iter().filter_map(|param| match param {
        PrimParam::Buffer(buffer) => Some(*buffer),
        PrimParam::Var(_) => None,
    });
    let known = known.collect();
    let symbol = cx.store.attr_str(prim.attrs, "global_symbol").unwrap_or_default().to_owned();
    let fragments = infer_fragment::sizes(cx.store, prim.body);
    let mut inject = Inject { known, doubled: FxHashSet::default(), symbol, fragments };
    let new = rewrite_func(cx.store, func, &mut inject)?;
    Ok(Some(if new == func { func } else { convert_ssa::convert(cx.store, new) }))
}

const STAGE: &str = "software_pipeline_stage";
const ORDER: &str = "software_pipeline_order";
const ASYNC: &str = "software_pipeline_async_stages";

/// A statement of a pipelined loop, as a block.
struct Piece {
    /// The block, whose condition is always true.
    stmt: StmtId,
    reads: Box<[Region]>,
    writes: Box<[Region]>,
    stage: i64,
    order: i64,
    is_async: bool,
}

impl Piece {
    fn reads(&self, buffer: Id<Buffer>) -> Option<&Region> {
        self.reads.iter().find(|region| region.buffer == buffer)
    }

    fn writes(&self, buffer: Id<Buffer>) -> Option<&Region> {
        self.writes.iter().find(|region| region.buffer == buffer)
    }
}

/// A block around a statement with the regions that it touches; the block that it is when it always runs.
fn block_around(store: &mut Store, body: StmtId, known: &FxHashSet<Id<Buffer>>) -> Block {
    if let Some(block) = block_of(store, body)
        && block.predicate.is_none_or(|predicate| store.as_prim_int(predicate) == Some(1))
    {
        return (*block).clone();
    }
    let mut block = Block::around(store.name(""), body);
    let (reads, writes) = block_reads_and_writes(store, &block, &|buffer| known.contains(&buffer));
    block.reads = reads.into();
    block.writes = writes.into();
    block
}

/// The statement that runs a block under a condition.
fn realize(store: &mut Store, block: Block, predicate: Option<PrimId>) -> StmtId {
    let predicate = predicate.filter(|predicate| store.as_prim_int(*predicate) != Some(1));
    let block = store.add_prim_block(Block { predicate, ..block });
    store.add_stmt(Stmt::Block(block))
}

/// The block that a statement is; one around it when it is none.
fn block(store: &mut Store, stmt: StmtId) -> Block {
    match block_of(store, stmt) {
        Some(block) => (*block).clone(),
        None => Block::around(store.name(""), stmt),
    }
}

/// A block over another body.
fn over_body(store: &mut Store, stmt: StmtId, f: impl FnOnce(&mut Store, StmtId) -> StmtId) -> StmtId {
    let mut new = block(store, stmt);
    new.body = f(store, new.body);
    let new = store.add_prim_block(new);
    store.rebuild_stmt(stmt, Stmt::Block(new))
}

struct Inject {
    /// The buffers in reach.
    known: FxHashSet<Id<Buffer>>,
    /// Buffers under `double_buffer_scope`.
    doubled: FxHashSet<Id<Buffer>>,
    /// The function's name.
    symbol: String,
    fragments: FxHashMap<Id<Buffer>, i64>,
}

impl Inject {
    /// The pipeline of a loop over finished parts, or TVM's words for what is wrong with it.
    fn pipeline(&mut self, store: &mut Store, old: &For, head: &For, body: StmtId) -> Result<StmtId, String> {
        let mut allocs = Vec::new();
        let mut inner = body;
        if let Some(block) = block_of(store, body) {
            allocs.extend(block.allocs.iter().copied());
            inner = block.body;
        }
        let mut known = self.known.clone();
        known.extend(&allocs);
        let Stmt::Seq(list) = store.stmt(inner) else {
            return Err("The body of the software pipeline should be SeqStmt, got ".to_owned() + kind(store.stmt(inner)));
        };
        let mut children = Vec::new();
        for child in store.items(*list).collect::<Vec<_>>() {
            match block_of(store, child) {
                Some(block) if block.predicate.is_none() && matches!(store.stmt(block.body), Stmt::Seq(_)) => {
                    allocs.extend(block.allocs.iter().copied());
                    known.extend(block.allocs.iter().copied());
                    children.extend(store.stmts_of(block.body));
                }
                _ => children.push(child),
            }
        }
        let blocks: Vec<Block> = children.iter().map(|child| block_around(store, *child, &known)).collect();
        let mut numbers = [STAGE, ORDER].map(|key| store.attr_ints(old.annotations, key).unwrap_or_default());
        for given in &numbers {
            if given.len() != blocks.len() {
                let names: Vec<String> = blocks.iter().map(|block| format!("\"{}\"", store.str(block.name))).collect();
                let numbers: Vec<String> = given.iter().map(i64::to_string).collect();
                let (symbol, names) = (&self.symbol, names.join(", "));
                let given = if numbers.len() == 1 { format!("({},)", numbers[0]) } else { format!("({})", numbers.join(", ")) };
                return Err(format!(
                    "PrimFunc \"{symbol}\" has original order ({names}), but pipeline annotation is {given} with different size"
                ));
            }
        }
        let (orders, stages) = (std::mem::take(&mut numbers[1]), std::mem::take(&mut numbers[0]));
        let later = store.attr_ints(old.annotations, ASYNC).unwrap_or_default();
        let pieces: Vec<Piece> = (blocks.into_iter().zip(stages.into_iter().zip(orders)))
            .map(|(block, (stage, order))| {
                let (reads, writes) = (block.reads.clone(), block.writes.clone());
                Piece { stmt: realize(store, block, None), reads, writes, stage, order, is_async: later.contains(&stage) }
            })
            .collect();
        validate(&pieces)?;
        let mut annotations = head.annotations;
        for key in [STAGE, ORDER, ASYNC] {
            annotations = store.without_attr(annotations, key);
        }
        let (doubled, fragments) = (&self.doubled, &self.fragments);
        Ok(Pipeline { store, head: *head, pieces, allocs, known, doubled, fragments, annotations }.build())
    }
}

/// TVM's type key of a statement that cannot be pipelined.
fn kind(stmt: &Stmt) -> &'static str {
    match stmt {
        Stmt::For(..) => "tirx.For",
        Stmt::Block(_) => "tirx.SBlockRealize",
        Stmt::Store { .. } => "tirx.BufferStore",
        Stmt::If { .. } => "tirx.IfThenElse",
        Stmt::While { .. } => "tirx.While",
        Stmt::Attr { .. } => "tirx.AttrStmt",
        _ => "tirx.Evaluate",
    }
}

/// Checks that the order of the statements keeps what they depend on.
fn validate(pieces: &[Piece]) -> Result<(), String> {
    for (at, piece) in pieces.iter().enumerate() {
        if pieces[..at].iter().any(|other| other.order == piece.order) {
            return Err("Two statements in the software pipeline cannot have the same order".to_owned());
        }
        if piece.order < 0 || piece.order >= pieces.len() as i64 {
            return Err(format!("Index {} out of bounds {}", piece.order, pieces.len()));
        }
    }
    for (at, reader) in pieces.iter().enumerate() {
        for writer in &pieces[..at] {
            if !reader.reads.iter().any(|region| writer.writes(region.buffer).is_some()) {
                continue;
            }
            let (stage, before) = (reader.stage, writer.stage);
            if before > stage {
                return Err(format!("statement in stage {stage} cannot depends on statement in a later stage {before}"));
            }
            if before == stage && writer.order >= reader.order {
                return Err("two statements with buffer access dependency in the same stage of the software pipeline cannot be \
reordered"
                    .to_owned());
            }
        }
    }
    Ok(())
}

impl StmtMutator for Inject {
    fn rule(&self) -> &'static str {
        "loop pipelined"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Block(block) => {
                let block = cx.store.prim_block(block).clone();
                self.known.extend(&block.allocs);
                if let Some(index) = cx.store.attr_int(block.annotations, "double_buffer_scope") {
                    match usize::try_from(index).ok().and_then(|index| block.writes.get(index)) {
                        Some(region) => {
                            self.doubled.insert(region.buffer);
                        }
                        None => cx.fail(
                            "tir-annotation",
                            format!(
                                "Index of the buffer exceeds the size of the write regions of the block. ({index} vs. {})",
                                block.writes.len()
                            ),
                        ),
                    }
                }
                let new = cx.descend(self, id);
                for buffer in &block.allocs {
                    self.known.remove(buffer);
                }
                Some(new)
            }
            Stmt::For(old, _) => {
                let has = |key| cx.store.attr(old.annotations, key).is_some();
                let (stage, order) = (has(STAGE), has(ORDER));
                let new = cx.descend(self, id);
                match (stage, order) {
                    (false, false) => {}
                    (true, true) => {
                        let Stmt::For(head, body) = cx.store.stmt(new).clone() else { return Some(new) };
                        match self.pipeline(cx.store, &old, &head, body) {
                            Ok(pipeline) => return Some(pipeline),
                            Err(message) => cx.fail("tir-annotation", message),
                        }
                    }
                    (true, false) => cx.fail("tir-annotation", "Order of the software pipeline is not defined."),
                    (false, true) => cx.fail("tir-annotation", "Stage of the software pipeline is not defined."),
                }
                Some(new)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "s_tir.InjectSoftwarePipeline()";

    /// The example with other stages and orders.
    fn with(stages: &str, orders: &str, more: &str) -> String {
        SPEC.example_before.replace(
            "\"software_pipeline_order\": [0, 1], \"software_pipeline_stage\": [0, 1]",
            &format!("\"software_pipeline_order\": {orders}, \"software_pipeline_stage\": {stages}{more}"),
        )
    }

    #[test]
    fn a_loop_without_annotations_stays() {
        let plain = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(A: T.Buffer((16,), \"float32\")):\n        for i in range(16):\n            A[i] = T.float32(0.0)\n";
        unchanged(plain, CALL);
    }

    #[test]
    fn one_stage_needs_one_version() {
        let text = after(&with("[0, 0]", "[0, 1]", ""), CALL);
        assert!(text.contains("B = T.sblock_alloc_buffer((1,))") && text.contains("for i in range(16):"), "{text}");
    }

    #[test]
    fn asynchronous_stages_are_committed_and_waited_for() {
        let text = after(&with("[0, 1]", "[0, 1]", ", \"software_pipeline_async_stages\": [0]"), CALL);
        let waits = |count: u8| format!("T.attr({{\"async_wait_queue_scope\": 0, \"async_wait_inflight_count\": {count}}})");
        assert_eq!(text.matches("T.attr({\"async_commit_queue_scope\": 0, \"async_scope\": 1})").count(), 2, "{text}");
        assert!(text.contains(&waits(1)) && text.contains(&waits(0)), "{text}");
    }

    #[test]
    fn what_a_pipeline_may_not_do_is_refused() {
        for (stages, orders, message) in [
            ("[0, 1]", "[0, 0]", "Two statements in the software pipeline cannot have the same order"),
            ("[1, 0]", "[0, 1]", "statement in stage 0 cannot depends on statement in a later stage 1"),
            ("[0, 0]", "[1, 0]", "two statements with buffer access dependency in the same stage"),
            ("[0]", "[0]", "PrimFunc \"f\" has original order (\"load\", \"work\"), but pipeline annotation is (0,) with"),
        ] {
            let error = error(&with(stages, orders, ""), CALL);
            assert!(error.starts_with(message), "{error}");
        }
        let half = SPEC.example_before.replace("\"software_pipeline_order\": [0, 1], ", "");
        assert_eq!(error(&half, CALL), "Order of the software pipeline is not defined.");
    }
}
