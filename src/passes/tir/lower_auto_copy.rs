//! LowerAutoCopy: spreads copies between memories over threads ("memhammer").
//!
//! Source: `src/s_tir/transform/memhammer_lower_auto_copy.cc`. [`coalesce`] has the rules about global and shared memory,
//! [`stage`] buffers between both ends of a copy, [`tensor_core`] the tiles of tensor cores, and [`padding`] makes the rows
//! of buffers in shared memory longer, so that a warp accesses all banks.

mod coalesce;
mod errors;
mod nest;
mod padding;
mod patterns;
mod promote;
mod stage;
mod tensor_core;
#[cfg(test)]
mod tests;

use super::storage_scope::Scope;
use super::{block_of, prim_func};
use crate::ir::{Block, Buffer, ExprId, For, ForKind, Id, Kinds, Module, Region, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Nothing, Rewriting, StmtMutator, has_kinds, rewrite_body};
use padding::Padder;
use tensor_core::Core;

/// TVM's `s_tir.transform.LowerAutoCopy`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerAutoCopy",
    info_name: "s_tir.LowerAutoCopy",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Spreads copies between memories over threads and tensor cores.",
    doc: explained(
        "A block with the annotation `auto_copy` copies from one kind of memory to another, in plain loops. The pass finds better \
ones (TVM calls it memhammer):\n\n\
- between **global and shared memory** the loops become one, which is divided between rounds, the threads of the function \
(`warp_execution` means 32 in `threadIdx.x`) and the lanes of a vector of `vector_bytes`. What goes to global memory is put in the \
order of the writes first. With `local_stage`, what comes from global memory goes through registers;\n\
- from shared memory to **`wmma.matrix_a`** or `matrix_b`, and from `wmma.accumulator` to shared memory, tiles of 16 x 16 are moved \
by `T.tvm_load_matrix_sync` and `T.tvm_store_matrix_sync`;\n\
- from `wmma.accumulator` and **`m16n8k8.matrixC`** to global memory there is a stage in `shared.dyn`: tiles are stored in it, and \
all threads copy from it together.\n\n\
Rows of buffers in shared memory get a **padding**, a stride with which the threads of a warp access as many different banks as \
possible in the copies.\n\n\
What TVM gets wrong is the same here: loops are taken to begin at 0, tiles are loaded as `float16`, and behind an axis of one element \
the loops of a copy to global memory have the extents of other axes. Known divergences: a program with which TVM crashes is refused, \
such as one that adds a number to an index into shared memory, and so is one whose extents are negative or do not fit into 32 bits, \
where TVM reckons with what is left of them.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64, 32), \"float32\"), B: T.Buffer((32, 64), \"float32\")):
        with T.sblock(\"root\"):
            T.sblock_attr({\"warp_execution\": True})
            for i in T.thread_binding(2, thread=\"blockIdx.x\"):
                for j in T.thread_binding(4, thread=\"threadIdx.y\"):
                    with T.sblock(\"\"):
                        T.reads(A[i * 32:i * 32 + 32, 0:32])
                        T.writes(B[0:32, i * 32:i * 32 + 32])
                        S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")
                        with T.sblock(\"S\"):
                            T.reads(A[i * 32:i * 32 + 32, 0:32])
                            T.writes(S[0:32, 0:32])
                            T.sblock_attr({\"auto_copy\": True, \"vector_bytes\": 16})
                            for x, y in T.grid(32, 32):
                                S[x, y] = A[i * 32 + x, y]
                        with T.sblock(\"B\"):
                            T.reads(S[0:32, 0:32])
                            T.writes(B[0:32, i * 32:i * 32 + 32])
                            T.sblock_attr({\"auto_copy\": True})
                            for x, y in T.grid(32, 32):
                                B[y, i * 32 + x] = S[x, y]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64, 32), \"float32\"), B: T.Buffer((32, 64), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            T.sblock_attr({\"warp_execution\": True})
            for i in T.thread_binding(2, thread=\"blockIdx.x\"):
                for j in T.thread_binding(4, thread=\"threadIdx.y\"):
                    with T.sblock(\"\"):
                        T.reads(A[i * 32:i * 32 + 32, 0:32])
                        T.writes(B[0:32, i * 32:i * 32 + 32])
                        S = T.sblock_alloc_buffer((32, 32), strides=(36, 1), scope=\"shared\")
                        with T.sblock(\"S\"):
                            T.reads(A[i * 32:i * 32 + 32, 0:32])
                            T.writes(S[0:32, 0:32])
                            T.sblock_attr({\"auto_copy\": True, \"vector_bytes\": 16})
                            for x_y_fused_0 in range(2):
                                for x_y_fused_1 in T.thread_binding(4, thread=\"threadIdx.y\"):
                                    for x_y_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
                                        for x_y_fused_3 in T.vectorized(4):
                                            S[(((x_y_fused_0 * 4 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) // 32 % 32, (((x_y_fused_0 * 4 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) % 32] = A[i * 32 + (((x_y_fused_0 * 4 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) // 32 % 32, (((x_y_fused_0 * 4 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) % 32]
                        with T.sblock(\"B\"):
                            T.reads(S[0:32, 0:32])
                            T.writes(B[0:32, i * 32:i * 32 + 32])
                            T.sblock_attr({\"auto_copy\": True})
                            for x_inverse_y_inverse_fused_0 in range(8):
                                for x_inverse_y_inverse_fused_1 in T.thread_binding(4, thread=\"threadIdx.y\"):
                                    for x_inverse_y_inverse_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
                                        for x_inverse_y_inverse_fused_3 in T.vectorized(1):
                                            B[((x_inverse_y_inverse_fused_0 * 4 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) // 32 % 32, i * 32 + ((x_inverse_y_inverse_fused_0 * 4 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) % 32] = S[((x_inverse_y_inverse_fused_0 * 4 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) % 32, ((x_inverse_y_inverse_fused_0 * 4 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) // 32 % 32]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func).filter(|_| has_kinds(cx.store, func, Kinds::BLOCK_ANNOTATION)) else {
        return Ok(Some(func));
    };
    let mut threads = Threads::default();
    threads.collect(cx.store, prim.body);
    let mut mutator = AutoCopy { threads, outer: Vec::new(), padder: Padder::default() };
    rewrite_body(cx.store, func, &mut mutator, |mutator, cx, body| {
        let new = cx.visit(mutator, body);
        for (old, padded) in &mutator.padder.padded {
            cx.set_buffer(*old, *padded);
        }
        cx.visit(&mut Nothing, new)
    })
    .map(Some)
}

/// The extents of the threads of a function, where they are known.
#[derive(Clone, Copy, Debug, Default)]
struct Threads {
    /// The extents of `threadIdx.x`, `y` and `z`.
    extents: [Option<i64>; 3],
}

/// The names of the indices of threads, innermost first.
const AXES: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];

impl Threads {
    /// Notes the threads in a statement. Statements nest as deep as the parser's limit.
    fn collect(&mut self, store: &Store, id: StmtId) {
        match store.stmt(id) {
            Stmt::Block(block) => {
                let annotations = store.prim_block(*block).annotations;
                if store.attr_int(annotations, "warp_execution").is_some_and(|mark| mark != 0) {
                    self.set("threadIdx.x", 32);
                }
            }
            Stmt::For(head, _) => {
                if let (ForKind::Thread(tag), Some(extent)) = (head.kind, store.as_prim_int(head.extent)) {
                    self.set(store.str(tag), extent);
                }
            }
            _ => {}
        }
        store.for_each_inner_stmt(id, |inner| self.collect(store, inner));
    }

    fn set(&mut self, tag: &str, extent: i64) {
        for (known, axis) in self.extents.iter_mut().zip(AXES) {
            if tag == axis {
                *known = Some(extent);
            }
        }
    }

    /// Returns the extent of one axis.
    fn extent(&self, tag: &str) -> Option<i64> {
        self.extents.iter().zip(AXES).find(|(_, axis)| tag == *axis).and_then(|(extent, _)| *extent)
    }

    /// Returns the axes that the function has, from `z` to `x`.
    fn outermost_first(&self) -> impl Iterator<Item = (&'static str, i64)> {
        AXES.into_iter().zip(self.extents).rev().filter_map(|(axis, extent)| Some((axis, extent?)))
    }

    /// Returns the part of each axis that the first threads have, as many as run together.
    fn of_a_warp(&self, size: i64) -> Threads {
        let mut part = Threads::default();
        let mut all = 1_i64;
        for (here, extent) in part.extents.iter_mut().zip(self.extents) {
            let extent = extent.unwrap_or(1);
            let next = all.saturating_mul(extent);
            if next >= size {
                *here = size.checked_div(all);
                break;
            }
            *here = Some(extent);
            all = next;
        }
        part
    }
}

/// A copy, as far as it is known.
struct Copying<'a> {
    threads: Threads,
    /// The loops around, outermost first.
    outer: &'a [For],
    read: Region,
    write: Region,
    /// The size of an element that is read.
    bits: i64,
    /// The number of bytes that a thread moves at once.
    vector_bytes: i64,
    /// True if elements go through registers.
    through_local: bool,
}

struct AutoCopy {
    threads: Threads,
    /// The loops around, outermost first.
    outer: Vec<For>,
    padder: Padder,
}

impl StmtMutator for AutoCopy {
    fn rule(&self) -> &'static str {
        "copy scheduled"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if let Stmt::For(head, _) = *cx.store.stmt(id) {
            self.outer.push(head);
            let new = cx.descend(self, id);
            self.outer.pop();
            return Some(new);
        }
        let old = block_of(cx.store, id)?;
        let new = cx.descend(self, id);
        let mut block = (*block_of(cx.store, new)?).clone();
        let copies = cx.store.attr_int(old.annotations, "auto_copy").is_some_and(|mark| mark != 0);
        let mut lowered = if copies { self.lowered(cx.store, &mut block) } else { Ok(()) };
        if lowered.is_ok() {
            lowered = self.padder.pad(cx.store, &mut block);
        }
        if let Err(message) = lowered {
            cx.fail("tir-copy", message);
            return Some(new);
        }
        if block_of(cx.store, new).is_some_and(|same| *same == block) {
            return Some(new);
        }
        let block = cx.store.add_prim_block(block);
        Some(cx.store.rebuild_stmt(id, Stmt::Block(block)))
    }
}

impl AutoCopy {
    /// Applies the rules for the two kinds of memory of a copy. The error is TVM's where it has one.
    fn lowered(&mut self, store: &mut Store, block: &mut Block) -> Result<(), String> {
        let [write] = &*block.writes else {
            return Err(format!("Check failed: block->writes.size() == 1 ({} vs. 1) : ", block.writes.len()));
        };
        let read = target_read(store, block)?;
        let flag = |name| store.attr(block.annotations, name).is_some().then(|| store.attr_int(block.annotations, name));
        let [stage, bytes] = ["local_stage", "vector_bytes"].map(flag);
        let bits = i64::from(store.buffer(read.buffer).dtype.bits).max(1);
        let (Some(stage), Some(vector_bytes)) = (stage.unwrap_or(Some(0)), bytes.unwrap_or(Some(1))) else {
            return Err("the annotations `local_stage` and `vector_bytes` have to be numbers".to_owned());
        };
        if i32::try_from(vector_bytes).is_err() {
            return Err("bad optional access: the annotation `vector_bytes` has more than 32 bits".to_owned());
        }
        let outer = &self.outer[..];
        let (threads, write, through_local) = (self.threads, write.clone(), stage != 0);
        let copying = Copying { threads, outer, read, write, bits, vector_bytes, through_local };

        errors::known_memory(store, copying.read.buffer)?;
        errors::known_memory(store, copying.write.buffer)?;
        let padder = &mut self.padder;
        let memory = |region: &Region| Scope::of(store.str(store.buffer(region.buffer).scope)).rank.to_owned();
        let mut cache = None;
        block.body = match (&*memory(&copying.read), &*memory(&copying.write)) {
            ("shared", "global") => {
                let body = coalesce::inverted(store, block.body, &copying)?;
                coalesce::coalesced(store, body, &copying)?
            }
            ("global", "shared") => {
                let body = coalesce::coalesced(store, block.body, &copying)?;
                match copying.through_local {
                    true => {
                        let stage = stage::local_stage(store, body, &copying)?;
                        cache = Some(stage.cache);
                        stage.stmt(store)
                    }
                    false => body,
                }
            }
            ("shared", "wmma.matrix_a" | "wmma.matrix_b") => {
                padder.at_least(copying.read.buffer, 8);
                tensor_core::load_tiles(store, block.body)?
            }
            (tensor_core::WMMA, "shared") => {
                padder.at_least(copying.write.buffer, 8);
                tensor_core::store_tiles(store, block.body)?
            }
            (from @ (tensor_core::WMMA | tensor_core::MMA), "global") => {
                let core = if from == tensor_core::WMMA { Core::Wmma } else { Core::Mma };
                let stage = tensor_core::tiles_to_global(store, block.body, &copying, core)?;
                padder.at_least(stage.cache, 8);
                cache = Some(stage.cache);
                stage.stmt(store)
            }
            _ => block.body,
        };
        if let Some(cache) = cache {
            stage::allocated(block, cache);
        }
        padder.analyze(store, block.body, outer, &threads)
    }
}

/// Returns the read that a copy is about: the only one, or the last one of a tile of a tensor core.
fn target_read(store: &Store, block: &Block) -> Result<Region, String> {
    match &*block.reads {
        [] => Err("Check failed: block->reads.size() >= 1 (0 vs. 1) : ".to_owned()),
        [only] => Ok(only.clone()),
        reads => {
            let is_tile = |buffer: Id<Buffer>| store.str(store.buffer(buffer).scope) == tensor_core::WMMA;
            let found = reads.iter().rfind(|region| is_tile(region.buffer)).cloned();
            found.ok_or_else(|| "Check failed: (found) is false: Multiple buffer read".to_owned())
        }
    }
}
