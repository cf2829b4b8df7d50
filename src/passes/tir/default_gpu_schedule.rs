//! DefaultGPUSchedule: every block on threads of a GPU.
//!
//! Source: `src/s_tir/transform/default_gpu_schedule.cc`.

use super::apply_default_schedule::{TARGET, failed, given, is_scheduled, mark};
use super::{prim_func, targets, with_func};
use crate::ir::{
    AttrValue, Block, DType, ExprId, For, ForKind, IterKind, IterVar, Module, PrimExpr, PrimFunc, Stmt, Store, Symbol,
};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::schedule::dlight::bind_threads;

/// TVM's `s_tir.transform.DefaultGPUSchedule`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.DefaultGPUSchedule",
    info_name: "DefaultGPUSchedule",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "target", default: "None", doc: TARGET }],
    config: &[],
    summary: "Binds the loops of every block to threads of a GPU.",
    doc: explained(
        "The spatial loops of each innermost block become one, which is split over `blockIdx.x` and `threadIdx.x`; above 256 \
blocks of the most threads that the target has, each thread does several iterations. Functions for a CPU and those that are \
marked `tirx.is_scheduled` stay; all are marked then.",
    ),
    example_before: explained(
        "\
# s_tir.DefaultGPUSchedule(target=\"cuda\")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):
        for i, j in T.grid(8, 8):
            with T.sblock(\"B\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):
        T.func_attr({\"tirx.is_scheduled\": True})
        # with T.sblock(\"root\"):
        for i_j_fused_0 in T.thread_binding(1, thread=\"blockIdx.x\"):
            for i_j_fused_1 in T.thread_binding(64, thread=\"threadIdx.x\"):
                with T.sblock(\"B\"):
                    vi = T.axis.spatial(8, (i_j_fused_0 * 64 + i_j_fused_1) // 8)
                    vj = T.axis.spatial(8, (i_j_fused_0 * 64 + i_j_fused_1) % 8)
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vi, vj] + T.float32(1.0)
",
    ),
    run: Run::Module(run),
};

/// Kinds of targets that are GPUs here.
const KINDS: &[&str] = &["cuda", "metal", "rocm", "vulkan", "opencl", "webgpu"];

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let default = given(cx.store, args)?;
    let mut new = module.clone();
    let mut todo = Vec::new();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(cx.store, func).filter(|data| !is_scheduled(cx.store, data)) else { continue };
        let target = cx.store.attr(data.attrs, "target").cloned().or_else(|| default.clone());
        let field = |store: &Store, name: &str| target.as_ref().and_then(|target| targets::field(store, target, name));
        let kind = field(cx.store, "kind")
            .and_then(|kind| if let AttrValue::Str(kind) = kind { Some(cx.store.str(kind).to_owned()) } else { None });
        match kind {
            None => {
                return failed(
                    "InternalError: The target is missing either in the current context or in the prim_func's attribute.",
                );
            }
            Some(kind) if !KINDS.contains(&&*kind) => continue,
            Some(kind) => match field(cx.store, "max_num_threads").and_then(|threads| threads.as_int()) {
                None => return failed(format!("InternalError: max_num_threads is not set for target {kind}")),
                Some(threads) => todo.push((cx.store.str(name).to_owned(), threads)),
            },
        }
        new.set_function(name, wrapped(cx.store, func));
    }
    let mut new = match bind_threads(cx.store, &new, &todo) {
        Ok(new) => new,
        Err(refused) => return failed(refused.0),
    };
    for (name, func) in new.functions().to_vec() {
        new.set_function(name, mark(cx.store, func));
    }
    Ok(new)
}

/// A function that is one block without loops, with a loop of one iteration around it.
fn wrapped(store: &mut Store, func: ExprId) -> ExprId {
    with_func(store, "loop of one iteration added", func, |store, func| {
        let Stmt::Block(block) = *store.stmt(func.body) else { return func };
        let mut inner = store.prim_block(block).clone();
        if !inner.iters.is_empty() || matches!(store.stmt(inner.body), Stmt::For(..) | Stmt::Block(_)) {
            return func;
        }
        let mut fresh = |text: &str| {
            let name = store.name(text);
            store.add_symbol(Symbol { name, dtype: DType::I32, size: false })
        };
        let (var, own) = (fresh("u"), fresh("vu"));
        let (min, extent) = (store.prim_int(0, DType::I32), store.prim_int(1, DType::I32));
        let value = Some(store.prim(PrimExpr::Var(var)));
        inner.iters = [IterVar { var: own, kind: IterKind::Spatial, min, extent, value }].into();
        let name = store.name("root");
        let data = Block::around(name, func.body);
        let inner = store.add_prim_block(inner);
        let inner = store.add_stmt(Stmt::Block(inner));
        let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None };
        let body = store.add_stmt(Stmt::For(head, inner));
        let root = store.add_prim_block(Block { body, ..data });
        let body = store.add_stmt(Stmt::Block(root));
        PrimFunc { body, ..func }
    })
}
