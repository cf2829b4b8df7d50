//! ManifestSharedMemoryLocalStage: loads data for shared memory into registers first.
//!
//! Source: `src/s_tir/transform/manifest_shared_memory_local_stage.cc`.

use super::block_of;
use crate::ir::{Block, Buffer, ExprId, For, ForKind, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, copy_stmt, rewrite_func};

/// TVM's `s_tir.transform.ManifestSharedMemoryLocalStage`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.ManifestSharedMemoryLocalStage",
    info_name: "s_tir.ManifestSharedMemoryLocalStage",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Loads what goes to shared memory into registers first.",
    doc: explained(
        "A block with the annotation `tirx.manifest_shared_memory_local_stage` stores to shared memory in serial loops. The pass puts \
loops of their own before these, which store the same values to a local buffer, and the block loads from that: the loads can run \
ahead of the stores then.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            S = T.sblock_alloc_buffer((8,), scope=\"shared\")
            for i in range(8):
                with T.sblock(\"S\"):
                    T.reads(A[i])
                    T.writes(S[i])
                    T.sblock_attr({\"tirx.manifest_shared_memory_local_stage\": 1})
                    S[i] = A[i]
            for i in range(8):
                with T.sblock(\"B\"):
                    T.reads(S[i])
                    T.writes(B[i])
                    B[i] = S[i]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):
        # with T.sblock(\"root\"):
        S = T.sblock_alloc_buffer((8,), scope=\"shared\")
        S_local = T.sblock_alloc_buffer((8,), scope=\"local\")
        for i in range(8):
            with T.sblock(\"\"):
                T.reads(A[i])
                T.writes(S_local[i])
                S_local[i] = A[i]
        for i in range(8):
            with T.sblock(\"S\"):
                T.reads(A[i])
                T.writes(S[i])
                S[i] = S_local[i]
        for i in range(8):
            with T.sblock(\"B\"):
                T.reads(S[i])
                T.writes(B[i])
                B[i] = S[i]
",
    ),
    run: Run::PrimFunc(run),
};

const MARK: &str = "tirx.manifest_shared_memory_local_stage";

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Manifest::default()).map(Some)
}

/// A buffer in shared memory, the one in registers, and the statement that fills that.
#[derive(Clone)]
struct Stage {
    target: Id<Buffer>,
    local: Id<Buffer>,
    fill: StmtId,
}

#[derive(Default)]
struct Manifest {
    /// Loops and blocks around, outermost first.
    around: Vec<StmtId>,
    stages: Vec<Stage>,
}

impl StmtMutator for Manifest {
    fn rule(&self) -> &'static str {
        "local stage inserted"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::BLOCK_ANNOTATION)
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if matches!(cx.store.stmt(id), Stmt::For(..)) {
            self.around.push(id);
            let new = cx.descend(self, id);
            self.around.pop();
            return Some(new);
        }
        let block = block_of(cx.store, id)?;
        if cx.store.attr(block.annotations, MARK).is_some() {
            return match self.staged(cx, id, &block) {
                Ok(new) => Some(new),
                Err(message) => {
                    cx.fail("tir-blocks", message);
                    None
                }
            };
        }
        self.around.push(id);
        let stmts = cx.store.stmts_of(block.body);
        let (mut body, mut allocs) = (Vec::new(), block.allocs.to_vec());
        for stmt in stmts.iter().copied() {
            let before = self.stages.len();
            let new = cx.visit(self, stmt);
            for stage in self.stages[before..].iter().filter(|stage| block.allocs.contains(&stage.target)) {
                body.push(stage.fill);
                allocs.push(stage.local);
            }
            body.push(new);
        }
        self.around.pop();
        if body == stmts {
            return Some(id);
        }
        let body = cx.store.flat_seq(None, &body);
        let new = cx.store.add_prim_block(Block { body, allocs: allocs.into(), ..(*block).clone() });
        Some(cx.store.add_stmt(Stmt::Block(new)))
    }
}

impl Manifest {
    /// Makes the block load from registers, and notes the statements that fill them. The error is TVM's.
    fn staged(&mut self, cx: &mut Rewriting<'_>, id: StmtId, block: &Block) -> Result<StmtId, String> {
        let Stmt::Store { buffer: target, indices, value } = cx.store.stmt(block.body).clone() else {
            return Err("Expect the body of the block to be BufferStore to shared memory.".to_owned());
        };
        let old = cx.store.buffer(target).clone();
        if !cx.store.str(old.scope).starts_with("shared") {
            return Err("Expect the body of the block to be BufferStore to shared memory.".to_owned());
        }
        let loops = self.loops(cx, id, target)?;
        let mut places: Vec<PrimId> = Vec::new();
        for head in loops.iter().rev() {
            let var = cx.store.prim(PrimExpr::Var(head.var));
            places.push(binary(cx.store, PrimOp::Add, head.min, var));
        }
        let shape = loops.iter().rev().map(|head| head.extent).collect();
        let name = cx.store.name(&format!("{}_local", cx.store.str(old.name)));
        let scope = cx.store.name("local");
        let local = cx.store.add_buffer(Buffer { name, scope, shape, ..old });
        let places: Box<[PrimId]> = places.into();

        let store = cx.store.add_stmt(Stmt::Store { buffer: local, indices: places.clone(), value });
        let written = Region { buffer: local, ranges: places.iter().map(|place| (*place, None)).collect() };
        let name = cx.store.name("");
        let fill = Block {
            predicate: block.predicate,
            reads: block.reads.clone(),
            writes: [written].into(),
            ..Block::around(name, store)
        };
        let fill = cx.store.add_prim_block(fill);
        let fill = cx.store.add_stmt(Stmt::Block(fill));
        let fill = loops.into_iter().fold(fill, |body, head| cx.store.add_stmt(Stmt::For(head, body)));
        let fill = copy_stmt(cx.store, fill, &[]);
        self.stages.push(Stage { target, local, fill });

        let load = cx.store.prim(PrimExpr::Load { buffer: local, indices: places });
        let body = cx.store.add_stmt(Stmt::Store { buffer: target, indices, value: load });
        let annotations = cx.store.without_attr(block.annotations, MARK);
        let new = cx.store.add_prim_block(Block { body, annotations, ..block.clone() });
        Ok(cx.store.add_stmt(Stmt::Block(new)))
    }

    /// Returns the loops between the block and the one that allocates the buffer, innermost first.
    fn loops(&self, cx: &Rewriting<'_>, block: StmtId, target: Id<Buffer>) -> Result<Vec<For>, String> {
        let (mut loops, mut inner) = (Vec::new(), block);
        for around in self.around.iter().rev() {
            match cx.store.stmt(*around) {
                Stmt::For(head, body) => {
                    if !matches!(head.kind, ForKind::Serial | ForKind::Vectorized) {
                        return Err("Expect the ancestor loops to be serial or vectorized".to_owned());
                    }
                    if *body != inner {
                        return Err("Expect the ancestor loops to have a single child.".to_owned());
                    }
                    loops.push(*head);
                    inner = *around;
                }
                _ => {
                    let allocates = block_of(cx.store, *around).is_some_and(|block| block.allocs.contains(&target));
                    return match allocates {
                        true => Ok(loops),
                        false => Err("Expect the shared memory allocation to be in the parent block.".to_owned()),
                    };
                }
            }
        }
        Ok(loops)
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn a_block_that_is_not_marked_stays() {
        unchanged(
            &SPEC.example_before.replace("tirx.manifest_shared_memory_local_stage", "other"),
            "s_tir.ManifestSharedMemoryLocalStage()",
        );
    }

    #[test]
    fn the_store_must_go_to_shared_memory() {
        let source = SPEC.example_before.replace("scope=\"shared\"", "scope=\"global\"");
        let error = error(&source, "s_tir.ManifestSharedMemoryLocalStage()");
        assert_eq!(error, "Expect the body of the block to be BufferStore to shared memory.");
    }
}
