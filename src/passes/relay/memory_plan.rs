//! MemoryPlan: one region of memory for all tensors of a scope, as TVM 0.19 has it.
//!
//! TVM's pass is not up to its operators: it takes two arguments of `memory.alloc_storage`, which has three, and fails on every
//! program with one. That is what happens here, too. A program without allocations stays as it is.
//!
//! Source: `python/tvm/relay/transform/memory_plan.py`.

use super::manifest_alloc::with_storage;
use crate::diag::Diagnostic;
use crate::ir::Module;
use crate::ir::walk::post_order;
use crate::ops::build::is_call;
use crate::pass::manager::optimisable;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Fails on programs that allocate memory, as in TVM.
pub static SPEC: PassSpec = PassSpec {
    name: "MemoryPlan",
    info_name: "MemoryPlan",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Was to put all tensors of a scope into one region; in TVM 0.19 it fails on allocations.",
    doc: explained(
        "The pass is written for an earlier `memory.alloc_storage`, which had no shape: in TVM 0.19 it fails with *too many values to \
unpack* on every program that allocates memory, and the compiler of the virtual machine does not run it any more. Programs without \
allocations get the type `Storage` and stay as they are otherwise.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    for (_, function) in optimisable(cx.store, module) {
        if let Some(id) = post_order(cx.store, function).into_iter().find(|id| is_call(cx.store, *id, "memory.alloc_storage")) {
            let message = "too many values to unpack (expected 2)";
            let error = Diagnostic::error("relay-memory-plan", message, cx.store.source_span(id));
            return Err(vec![
                error.with_note("TVM 0.19 fails here: its pass does not know the shape, the second of three arguments"),
            ]);
        }
    }
    let result = with_storage(cx.store, module);
    cx.run("InferType()", &result)
}
