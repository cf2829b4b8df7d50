//! DenseToSparse: dense layers over weights in block sparse row format.
//!
//! `nn.dense` over a weight of the list becomes `nn.sparse_dense` over three new parameters: `w.data`, `w.indices` and
//! `w.indptr`, of the extents that are given. The user makes them of the weight, and runs the program with them.
//!
//! Does nothing to dense layers over other weights. Parameters that nothing uses go, as in TVM.
//!
//! Source: `src/relay/transforms/convert_sparse_dense.cc`.

use super::support::weights::{SparseWeight, sparse_vars, sparse_weights, with_used_params};
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{ExprId, Module, Store};
use crate::ops::build::{arg, call_with, is_call};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Computes dense layers over sparse weights.
pub static SPEC: PassSpec = PassSpec {
    name: "DenseToSparse",
    info_name: "DenseToSparse",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["DeadCodeElimination"],
    params: &[
        Param { name: "weight_name", default: "", doc: "Names of the weights, `[\"w\"]`." },
        Param {
            name: "weight_shape",
            default: "",
            doc: "For each the extents of `w.data` (blocks, height, width), `w.indices` and `w.indptr`: `[[8, 2, 1, 8, 3]]`.",
        },
    ],
    config: &[],
    summary: "Computes dense layers over weights in block sparse row format.",
    doc: explained(
        "`nn.dense` over a weight of the list becomes `nn.sparse_dense` over new parameters `w.data`, `w.indices` and `w.indptr`: the \
weight in block sparse row format, which is made outside of the program (in TVM by `data_dep_optimization.bsr_dense`). Parameters \
come in the order of their uses afterwards, new ones last, and those without a use go.\n\n\
It requires DeadCodeElimination, which TVM makes without the arguments that this one needs: in a list that is an error, as in TVM. Called \
directly, or inside of ApplyPassToFunction, it runs.",
    ),
    example_before: explained(
        "\
# DenseToSparse(weight_name=[\"w\"], weight_shape=[[4, 2, 1, 4, 3]])
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(2, 4), float32] {
  nn.dense(%x, %w, units=None)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 8), float32], %w.data: Tensor[(4, 2, 1), float32], %w.indices: Tensor[(4), int32], \
%w.indptr: Tensor[(3), int32]) -> Tensor[(2, 4), float32] {
  nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let weights = sparse_weights(arguments, &[5])?;
    Ok(cx.store.rewrite(RULE, function, function, |store| {
        let new = rewrite(store, function, &mut Sparse(weights));
        with_used_params(store, new)
    }))
}

const RULE: &str = "dense layer over a sparse weight";

struct Sparse(Vec<SparseWeight>);

impl ExprMutator for Sparse {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !is_call(store, pre, "nn.dense") {
            return post;
        }
        let weight = arg(store, pre, 1);
        let Some([values, indices, pointers]) = sparse_vars(store, weight, &self.0) else { return post };
        let data = arg(store, post, 0);
        call_with(store, "nn.sparse_dense", &[data, values, indices, pointers], &[])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failure, unchanged};

    const DENSE: &str = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w, units=None) }";

    #[test]
    fn layers_over_other_weights_stay() {
        unchanged("DenseToSparse([\"v\"], [[4, 2, 1, 4, 3]])", DENSE);
    }

    #[test]
    fn names_and_shapes_that_do_not_fit_are_refused() {
        assert!(failure("DenseToSparse([\"w\"], [])", DENSE).contains("1 names of weights, but 0 shapes"));
        assert!(failure("DenseToSparse([\"w\"], [[4, 2, 1]])", DENSE).contains("of 5 numbers"));
    }
}
