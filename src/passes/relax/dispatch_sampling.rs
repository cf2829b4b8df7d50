//! DispatchSampling: replaces sampling from distributions by a running sum and a program that searches in it.
//!
//! The target is that of the result's device; without one it is a CPU (TVM takes the target of the context). The kernel
//! for GPUs is missing here, so calls on GPUs stay.
//!
//! Source: `python/tvm/relax/backend/dispatch_sampling.py`, `gpu_generic/sampling.py`.

use super::dispatch_sort_scan::Dispatch;
use crate::build::rewrite_module_by_name;
use crate::ir::Module;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.backend.DispatchSampling`.
pub static SPEC: PassSpec = PassSpec {
    name: "DispatchSampling",
    info_name: "DispatchSampling",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes a running sum and a search of drawing from distributions.",
    doc: explained("`R.multinomial_from_uniform` draws from the distributions in the rows of `prob`: for each uniform sample it gives \
the first place of its row where the running sum of the probabilities exceeds the sample. The pass writes the sum as \
`R.cumsum`, which *DispatchSortScan* lowers, and the search as a tensor program. Samples and row numbers are columns: \
tensors of shape `(n, 1)`. Calls on a GPU stay as they are."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(p: R.Tensor((3, 5), dtype=\"float32\"), u: R.Tensor((6, 1), dtype=\"float32\"), rows: R.Tensor((6, 1), dtype=\"int64\")) -> R.Tensor((6, 1), dtype=\"int64\"):
        with R.dataflow():
            y: R.Tensor((6, 1), dtype=\"int64\") = R.multinomial_from_uniform(p, u, rows, dtype=\"int64\")
            R.output(y)
        return y
"),
    example_after: explained("\
batch = TypeVar(\"batch\")
out_batch = TypeVar(\"out_batch\")
vocab_size = TypeVar(\"vocab_size\")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def get_sample_index(prob: T.Buffer((batch, vocab_size), \"float32\"), usample: T.Buffer((out_batch, 1), \"float32\"), sample_indices: T.Buffer((out_batch, 1), \"int64\"), output_index: T.Buffer((out_batch, 1), \"int64\")):
        # with T.sblock(\"root\"):
        for ax0, ax1 in T.grid(out_batch, vocab_size):
            with T.sblock(\"T_get_sample_index\"):
                v_ax0, v_ax1 = T.axis.remap(\"SS\", [ax0, ax1])
                T.reads(usample[v_ax0, T.int64(0)], prob[sample_indices[v_ax0, T.int64(0)], v_ax1 - T.int64(1):v_ax1 - T.int64(1) + T.int64(2)], sample_indices[v_ax0, T.int64(0)])
                T.writes(output_index[v_ax0, 0])
                if usample[v_ax0, T.int64(0)] < prob[sample_indices[v_ax0, T.int64(0)], v_ax1] or v_ax1 + T.int64(1) == vocab_size:
                    if v_ax1 == T.int64(0):
                        output_index[v_ax0, 0] = T.int64(0)
                    else:
                        if usample[v_ax0, T.int64(0)] >= prob[sample_indices[v_ax0, T.int64(0)], v_ax1 - T.int64(1)]:
                            output_index[v_ax0, 0] = v_ax1

    @R.function
    def main(p: R.Tensor((3, 5), dtype=\"float32\"), u: R.Tensor((6, 1), dtype=\"float32\"), rows: R.Tensor((6, 1), dtype=\"int64\")) -> R.Tensor((6, 1), dtype=\"int64\"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((3, 5), dtype=\"float32\") = R.cumsum(p, axis=1, dtype=\"float32\", exclusive=False)
            y = R.call_tir(cls.get_sample_index, (lv, u, rows), out_ty=R.Tensor((6, 1), dtype=\"int64\"))
            R.output(y)
        return y
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let result = rewrite_module_by_name(cx.store, module, &mut Dispatch(&["multinomial_from_uniform"]))?;
    // TVM's builder gives functions their names at the end.
    cx.run("NormalizeGlobalVar()", &result)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn the_program_gives_the_type_that_is_asked_for() {
        let text = super::SPEC.example_before.replace("dtype=\"int64\"", "dtype=\"int32\"");
        let made = after(&text, "DispatchSampling()");
        assert!(made.contains("output_index[v_ax0, 0] = T.Cast(\"int32\", v_ax1)"), "{made}");
    }
}
