//! DispatchSortScan: replaces sorting, searching and running sums by calls of programs for the target.
//!
//! The target is that of the result's device. Without a device TVM takes the target of the context and fails if there
//! is none; here it is a CPU. The multi-threaded programs are missing so far: calls whose result is on a device for
//! which TVM has such programs (Thrust, or its own kernels) stay.
//!
//! Source: `python/tvm/relax/backend/dispatch_sort_scan.py`.

use super::calls::op_name;
use super::support::{device_of, is_gpu};
use crate::build::{BlockMutator, Mutation, rewrite_module_by_name};
use crate::ir::{ExprId, Extents, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::topi::{self, Legalized};

/// TVM's `relax.backend.DispatchSortScan`.
pub static SPEC: PassSpec = PassSpec {
    name: "DispatchSortScan",
    info_name: "DispatchSortScan",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes programs for the target of operators that sort, search and scan.",
    doc: explained("*LegalizeOps* leaves `sort`, `argsort`, `topk`, `cumsum` and `cumprod` alone, because how they are computed \
depends on the target. Before it this pass makes tensor programs of them: for a processor, sorting is done by a function \
of the runtime (`tvm.contrib.sort`), and running sums go along the axis one after the other, rows in parallel. \
`bucketize` becomes a binary search.\n\n\
The target is that of the result's device (`vdevice`); without one it is a processor. Calls for GPUs stay as they are. A variable whose type \
TVM writes another way now, `4 * n` for `n * 4`, has no binding after TVM's pass; here it keeps its own."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2, 3), dtype=\"float32\") = R.sort(x, axis=-1, descending=False)
            R.output(y)
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def sort(data_buf: T.Buffer((T.int64(2), T.int64(3)), \"float32\", align=8), out_buf: T.Buffer((T.int64(2), T.int64(3)), \"float32\", align=8)):
        T.func_attr({\"tirx.noalias\": True})
        with T.sblock(\"sort_cpu\"):
            T.reads()
            T.writes()
            T.call_packed(\"tvm.contrib.sort.sort\", T.tvm_stack_make_array(data_buf.data, T.tvm_stack_make_shape(T.int64(2), T.int64(3)), 0, 2, T.float32(0.0), T.int64(0)), T.tvm_stack_make_array(out_buf.data, T.tvm_stack_make_shape(T.int64(2), T.int64(3)), 0, 2, T.float32(0.0), T.int64(0)), -1, T.bool(True))

    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.sort, (x,), out_ty=R.Tensor((2, 3), dtype=\"float32\"))
            R.output(y)
        return y
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let result =
        rewrite_module_by_name(cx.store, module, &mut Dispatch(&["bucketize", "sort", "argsort", "topk", "cumprod", "cumsum"]))?;
    // TVM's builder gives functions their names at the end.
    cx.run("NormalizeGlobalVar()", &result)
}

/// Replaces calls of these operators by programs for the target of their result.
pub(super) struct Dispatch(pub &'static [&'static str]);

impl BlockMutator for Dispatch {
    fn rule(&self) -> &'static str {
        "a program for the target"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, call: ExprId) -> ExprId {
        if !self.0.contains(&op_name(store, call)) {
            return call;
        }
        let device = store.checked_type(call).and_then(|ty| device_of(store, ty));
        if device.is_some_and(|device| is_gpu(store, device)) {
            return call;
        }
        let is_vague =
            |ty| store.tensor_info(ty).is_some_and(|info| !matches!(info.extents, Extents::Known(_) | Extents::Var(_)));
        if matches!(op_name(store, call), "cumsum" | "cumprod") && store.checked_type(call).is_some_and(is_vague) {
            let message = "non-symbolic shape is not supported for now".to_owned();
            cx.builder.error("relax-dispatch", message, store.source_span(call));
            return call;
        }
        match topi::dispatch(store, &mut cx.builder, call) {
            Legalized::New(new) => new,
            Legalized::Same => {
                let message = "emit_te now only supports Tensor that has ShapeExpr shape".to_owned();
                cx.builder.error("relax-dispatch", message, store.source_span(call));
                call
            }
            Legalized::Error(message) => {
                cx.builder.error("relax-dispatch", message, store.source_span(call));
                call
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    fn lowered(call: &str, out: &str) -> String {
        let text = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> {out}:\n        \
             y: {out} = {call}\n        return y\n"
        );
        after(&text, "DispatchSortScan()")
    }

    #[test]
    fn a_sum_without_the_element_itself_begins_with_nothing() {
        let text = lowered("R.cumsum(x, axis=1, dtype=\"float64\", exclusive=True)", "R.Tensor((2, 3), dtype=\"float64\")");
        assert!(text.contains("for v in T.parallel(T.int64(2)):"), "{text}");
        assert!(text.contains("v * T.int64(3) % T.int64(3)] = T.float64(0.0)"), "{text}");
        assert!(text.contains("+ T.Cast(\"float64\", x["), "{text}");
    }

    #[test]
    fn the_runtime_is_told_how_many_of_the_largest_and_which_of_both() {
        let text = lowered(
            "R.topk(x, k=2, axis=1, ret_type=\"indices\", largest=True, dtype=\"int64\")",
            "R.Tensor((2, 2), dtype=\"int64\")",
        );
        // Numbers that TVM passes from Python have 32 bits.
        assert!(text.contains("T.tvm_stack_make_shape(2, 2), 0, 2, T.int64(0), 0), 2, 1, \"indices\", T.bool(False))"), "{text}");
    }

    #[test]
    fn a_call_on_a_gpu_stays() {
        let text = "@I.ir_module\nclass Module:\n    I.module_global_infos({\"vdevice\": [I.vdevice({\"keys\": [\"cuda\", \"gpu\"], \
                    \"kind\": \"cuda\", \"tag\": \"\"}, 0, \"global\")]})\n    @R.function\n    def main(x: R.Tensor((2, 3), \
                    dtype=\"float32\", vdevice=\"cuda:0:global\")) -> R.Tensor((2, 3), dtype=\"float32\", vdevice=\"cuda:0:global\"):\n        \
                    y: R.Tensor((2, 3), dtype=\"float32\", vdevice=\"cuda:0:global\") = R.sort(x, axis=1, descending=False)\n        return y\n";
        assert!(after(text, "DispatchSortScan()").contains("R.sort(x"));
    }
}
