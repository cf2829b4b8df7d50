//! Conv2dToSparse: convolutions over kernels in block sparse row format.
//!
//! `nn.conv2d` over a weight of the list becomes `nn.sparse_conv2d` over three new parameters: `w.data`, `w.indices` and
//! `w.indptr`, of the extents that are given. The user makes them of the weight, and runs the program with them.
//!
//! Does nothing to convolutions over other weights, and does not look at the attributes of the others, as in TVM.
//!
//! Known divergence: TVM moves the layout into the first convolution, so that the others have none. Here all have it.
//!
//! Source: `src/relay/transforms/convert_sparse_conv2d.cc`.

use super::support::weights::{SparseWeight, sparse_vars, sparse_weights, with_used_params};
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, ExprId, Module, Store};
use crate::ops::build::{arg, call_with, ints, is_call};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Computes convolutions over sparse kernels.
pub static SPEC: PassSpec = PassSpec {
    name: "Conv2dToSparse",
    info_name: "Conv2dToSparse",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["DeadCodeElimination"],
    params: &[
        Param { name: "weight_name", default: "", doc: "Names of the weights, `[\"w\"]`." },
        Param {
            name: "weight_shape",
            default: "",
            doc: "For each the extents of `w.data` (two or three), `w.indices` and `w.indptr`: `[[8, 2, 1, 8, 3]]`.",
        },
        Param { name: "layout", default: "", doc: "The layout of the data, `\"NHWC\"` or `\"NCHW\"`." },
        Param { name: "kernel_size", default: "", doc: "The height and width of the kernels." },
    ],
    config: &[],
    summary: "Computes convolutions over kernels in block sparse row format.",
    doc: explained(
        "`nn.conv2d` over a weight of the list becomes `nn.sparse_conv2d` over new parameters `w.data`, `w.indices` and `w.indptr`: \
the kernel in block sparse row format, which is made outside of the program (in TVM by `data_dep_optimization.bsr_conv2d`). Layout \
and size of the kernel are not read from the convolution but given. Parameters come in the order of their uses afterwards, new ones \
last, and those without a use go.\n\n\
In TVM only the first convolution gets the layout, the others none, which its type relation then refuses.\n\n\
It requires DeadCodeElimination, which TVM makes without the arguments that this one needs: in a list that is an error, as in TVM. Called \
directly, or inside of ApplyPassToFunction, it runs.",
    ),
    example_before: explained(
        "\
# Conv2dToSparse(weight_name=[\"w\"], weight_shape=[[4, 2, 1, 4, 3]], layout=\"NHWC\", kernel_size=1)
def @main(%x: Tensor[(1, 5, 5, 8), float32], %w: Tensor[(1, 1, 8, 4), float32]) -> Tensor[(1, 5, 5, 4), float32] {
  nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 5, 5, 8), float32], %w.data: Tensor[(4, 2, 1), float32], %w.indices: Tensor[(4), \
int32], %w.indptr: Tensor[(3), int32]) -> Tensor[(1, 5, 5, 4), float32] {
  nn.sparse_conv2d(%x, %w.data, %w.indices, %w.indptr)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let weights = sparse_weights(arguments, &[4, 5])?;
    let layout = arguments.str("layout").unwrap_or_default().to_owned();
    let mut pass = Sparse { weights, layout, size: arguments.int("kernel_size") };
    Ok(cx.store.rewrite(RULE, function, function, |store| {
        let new = rewrite(store, function, &mut pass);
        with_used_params(store, new)
    }))
}

const RULE: &str = "convolution over a sparse kernel";

struct Sparse {
    weights: Vec<SparseWeight>,
    layout: String,
    size: i64,
}

impl ExprMutator for Sparse {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !is_call(store, pre, "nn.conv2d") {
            return post;
        }
        let weight = arg(store, pre, 1);
        match sparse_vars(store, weight, &self.weights) {
            Some(parts) => sparse_conv2d(store, post, parts, &self.layout, self.size),
            None => post,
        }
    }
}

/// Makes `nn.sparse_conv2d` over the data of a convolution.
pub(super) fn sparse_conv2d(
    store: &mut Store,
    conv: ExprId,
    [values, indices, pointers]: [ExprId; 3],
    layout: &str,
    size: i64,
) -> ExprId {
    let data = arg(store, conv, 0);
    let layout = AttrValue::Str(store.name(layout));
    let written = [("layout", layout), ("kernel_size", ints(&[size, size]))];
    call_with(store, "nn.sparse_conv2d", &[data, values, indices, pointers], &written)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failure, unchanged};

    const CONV: &str = "def @main(%x: Tensor[(1, 8, 5, 5), float32], %w: Tensor[(4, 8, 1, 1), float32]) {
        nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]) }";

    #[test]
    fn convolutions_over_other_weights_stay() {
        unchanged("Conv2dToSparse([\"v\"], [[4, 2, 1, 4, 3]], \"NCHW\", 1)", CONV);
    }

    #[test]
    fn a_shape_of_too_few_extents_is_refused() {
        assert!(failure("Conv2dToSparse([\"w\"], [[4, 2, 1]], \"NCHW\", 1)", CONV).contains("of 4 or 5 numbers"));
    }
}
