//! FuseTIR: makes one tensor program of every function that FuseOps made.
//!
//! Source: `src/relax/transform/fuse_tir.cc`. TVM makes a `Sequential` of four passes, whose third has no public name;
//! here it is [`FuseTIRInner`](super::fuse_tir_inner).

use crate::pass::{Args, Part, PassSpec, Run, explained};

/// TVM's `relax.transform.FuseTIR`.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseTIR",
    info_name: "FuseTIR",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes one tensor program of each function that FuseOps made, and tidies up.",
    doc: explained(
        "Four passes: *ExpandTupleArguments* and *RemoveUnusedParameters* give private functions parameters that a tensor program \
can have, *FuseTIRInner* makes the programs, *DeadCodeElimination* removes those that nothing calls any more.",
    ),
    example_before: explained(super::fuse_tir_inner::BEFORE),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused(x: T.Buffer((T.int64(4),), \"float32\"), B_intermediate_1: T.Buffer((T.int64(4),), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        B_intermediate = T.sblock_alloc_buffer((T.int64(4),))
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(x[v_i])
                T.writes(B_intermediate[v_i])
                B_intermediate[v_i] = T.exp(x[v_i])
        for i in range(T.int64(4)):
            with T.sblock(\"exp1\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(B_intermediate[v_i])
                T.writes(B_intermediate_1[v_i])
                B_intermediate_1[v_i] = T.exp(B_intermediate[v_i])

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.fused, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            R.output(gv)
        return gv
",
    ),
    run: Run::Sequential(children),
};

fn children(_: &Args) -> Vec<Part> {
    let names = ["ExpandTupleArguments", "RemoveUnusedParameters", "FuseTIRInner", "DeadCodeElimination"];
    names.map(|name| Part::Call(format!("{name}()"))).into()
}
