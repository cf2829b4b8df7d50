//! TransformMmaBufferLayout: matrices of tensor cores become registers of threads.
//!
//! Source: `src/s_tir/transform/transform_mma_buffer_layout.cc`; where an element of the result is:
//! `index_map_m16n8k8_matrixC` in `python/tvm/s_tir/tensor_intrin/cuda.py`.

use super::block_of;
use crate::ir::{Buffer, DType, ExprId, Id, Kinds, Module, PrimId, PrimOp, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `s_tir.transform.TransformMmaBufferLayout`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.TransformMmaBufferLayout",
    info_name: "s_tir.TransformMmaBufferLayout",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lays matrices of tensor cores out as registers of threads.",
    doc: explained(
        "Buffers that blocks allocate in the scopes `m16n8k8.matrixA`, `matrixB` and `matrixC` become local ones in which each thread \
has its own elements: small blocks of 32 by 8, 8 by 32 and 16 by 8, of which a thread holds 4 by 2, 1 by 8 and 2 by 2. Accesses to \
`matrixC` go to their new places. The operands are reached by intrinsics alone; a load or a store of them is refused.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(D: T.Buffer((16, 8), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            C = T.sblock_alloc_buffer((16, 8), scope=\"m16n8k8.matrixC\")
            for i, j in T.grid(16, 8):
                D[i, j] = C[i, j]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(D: T.Buffer((16, 8), \"float32\")):
        # with T.sblock(\"root\"):
        C = T.sblock_alloc_buffer((1, 1, 2, 2), scope=\"local\")
        for i, j in T.grid(16, 8):
            D[i, j] = C[i // 16, j // 8, i % 16 // 8, j % 2]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Transform::default()).map(Some)
}

#[derive(Default)]
struct Transform {
    /// Results, whose accesses move.
    results: FxHashSet<Id<Buffer>>,
    /// Operands, which have no accesses but those of intrinsics, and the names of their scopes.
    operands: FxHashMap<Id<Buffer>, String>,
    analyzer: Analyzer,
}

/// Returns the small blocks of a matrix, and the part of each that a thread holds.
fn layout(scope: &str) -> Option<([i64; 2], [i64; 2])> {
    match scope {
        "m16n8k8.matrixA" => Some(([32, 8], [4, 2])),
        "m16n8k8.matrixB" => Some(([8, 32], [1, 8])),
        "m16n8k8.matrixC" => Some(([16, 8], [2, 2])),
        _ => None,
    }
}

impl StmtMutator for Transform {
    fn rule(&self) -> &'static str {
        "matrix laid out"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::SPECIAL_MEMORY)
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        for &buffer in &block_of(cx.store, id)?.allocs {
            let old = cx.store.buffer(buffer).clone();
            let scope = cx.store.str(old.scope).to_owned();
            let Some((blocks, own)) = layout(&scope) else { continue };
            let extents: Vec<Option<i64>> =
                old.shape.iter().rev().take(2).rev().map(|extent| cx.store.as_prim_int(*extent)).collect();
            let [Some(rows), Some(columns)] = extents[..] else {
                cx.fail("tir-buffers", format!("a buffer of scope {scope} needs two dimensions of known extent"));
                return None;
            };
            if rows % blocks[0] != 0 || columns % blocks[1] != 0 {
                let [height, width] = blocks;
                cx.fail("tir-buffers", format!("a buffer of scope {scope} is made of blocks of {height} by {width}"));
                return None;
            }
            let mut shape = old.shape[..old.shape.len() - 2].to_vec();
            for extent in [rows / blocks[0], columns / blocks[1], own[0], own[1]] {
                shape.push(cx.store.prim_int(extent, DType::I32));
            }
            let local = cx.store.name("local");
            let new = cx.store.add_buffer(Buffer::new(old.name, old.dtype, shape.into(), local));
            cx.set_buffer(buffer, new);
            if scope.ends_with('C') {
                self.results.insert(buffer);
            } else {
                self.operands.insert(buffer, scope);
            }
        }
        None
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        if let Some(scope) = self.operands.get(&buffer) {
            let what = "buffers to be accessed through opaque ldmatrix/mma_sync operations, but found an explicit load or store.";
            cx.fail("tir-buffers", format!("TransformMmaBufferLayout requires {scope} {what}"));
        }
        if !self.results.contains(&buffer) {
            return None;
        }
        let [i, j] = indices else {
            cx.fail("tir-indices", "an element of m16n8k8.matrixC has two indices");
            return None;
        };
        let mut places = Vec::new();
        for (index, steps) in [
            (*i, &[(PrimOp::FloorDiv, 8), (PrimOp::FloorDiv, 2)][..]),
            (*j, &[(PrimOp::FloorDiv, 8)]),
            (*i, &[(PrimOp::FloorDiv, 8), (PrimOp::FloorMod, 2)]),
            (*j, &[(PrimOp::FloorMod, 8), (PrimOp::FloorMod, 2)]),
        ] {
            let place = steps.iter().fold(index, |place, (op, by)| by_number(cx.store, *op, place, *by));
            places.push(self.analyzer.simplify(cx.store, place));
        }
        Some((cx.buffer(buffer), places))
    }
}

fn by_number(store: &mut Store, op: PrimOp, a: PrimId, b: i64) -> PrimId {
    let b = store.prim_int(b, store.prim_dtype(a));
    binary(store, op, a, b)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(shape: &str, scope: &str) -> String {
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(D: T.Buffer((64, 64), \"float32\")):\n    with T.sblock(\"root\"):\n        T.reads()\n        T.writes()\n        C = T.sblock_alloc_buffer({shape}, scope=\"{scope}\")\n        C[0, 0] = D[0, 0]\n"
        )
    }

    #[test]
    fn operands_are_reached_by_intrinsics_alone() {
        for matrix in ["A", "B"] {
            let source = source("(64, 32)", &format!("m16n8k8.matrix{matrix}"));
            let refused = error(&source, "s_tir.TransformMmaBufferLayout()");
            assert!(refused.contains("through opaque ldmatrix/mma_sync operations"), "{refused}");
            let alone = source.replace("        C[0, 0] = D[0, 0]\n", "        D[0, 0] = T.float32(0)\n");
            let shape = if matrix == "A" { "(2, 4, 4, 2)" } else { "(8, 1, 1, 8)" };
            let text = after(&alone, "s_tir.TransformMmaBufferLayout()");
            assert!(text.contains(&format!("C = T.sblock_alloc_buffer({shape}, scope=\"local\")\n")), "{text}");
        }
    }

    #[test]
    fn other_memory_stays() {
        unchanged(&source("(64, 32)", "local"), "s_tir.TransformMmaBufferLayout()");
    }

    #[test]
    fn what_is_not_made_of_blocks_is_refused() {
        let error = error(&source("(8, 8)", "m16n8k8.matrixC"), "s_tir.TransformMmaBufferLayout()");
        assert_eq!(error, "a buffer of scope m16n8k8.matrixC is made of blocks of 16 by 8");
    }
}
