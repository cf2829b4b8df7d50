//! CombineParallelBatchMatmul: matrix products of the same data as one product.
//!
//! Calls of `nn.batch_matmul` with the same left side become one over the concatenated right sides,
//! followed by one `strided_slice` for each; equal calls behind all of them are combined too.
//!
//! Does nothing to fewer than `min_num_branches` calls, nor to calls other than with
//! `transpose_a=False, transpose_b=True`.
//!
//! Source: `src/relay/transforms/combine_parallel_batch_matmul.cc`.

use super::support::combine::{Branch, Combiner, concatenate, run, slice_sizes};
use super::support::tensor_type;
use crate::ir::{ExprId, Store};
use crate::ops::build::{args, call_with};
use crate::pass::{Param, PassSpec, Run, explained};

/// Combines calls of `nn.batch_matmul` with the same left operand.
pub static SPEC: PassSpec = PassSpec {
    name: "CombineParallelBatchMatmul",
    info_name: "CombineParallelBatchMatmul",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["InferType"],
    params: &[Param { name: "min_num_branches", default: "3", doc: "Fewer products than this stay as they are." }],
    config: &[],
    summary: "Computes batched matrix products of the same data by one larger product.",
    doc: explained("Calls of `nn.batch_matmul` with the same left side become one over the right sides concatenated; a \
`strided_slice` takes each result out. Only products with `transpose_a=False` and `transpose_b=True` are looked \
at."),
    example_before: explained("\
def @main(%x: Tensor[(1, 2, 4), float32], %a: Tensor[(1, 3, 4), float32], %b: Tensor[(1, 3, 4), float32], %c: Tensor[(1, 5, 4), float32]) {
  %0 = nn.batch_matmul(%x, %a, transpose_b=True);
  %1 = nn.batch_matmul(%x, %b, transpose_b=True);
  %2 = nn.batch_matmul(%x, %c, transpose_b=True);
  (%0, %1, %2)
}
"),
    example_after: explained("\
def @main(%x: Tensor[(1, 2, 4), float32], %a: Tensor[(1, 3, 4), float32], %b: Tensor[(1, 3, 4), float32], %c: Tensor[(1, 5, 4), float32]) -> (Tensor[(1, 2, 3), float32], Tensor[(1, 2, 3), float32], Tensor[(1, 2, 5), float32]) {
  %0 = (%a, %b, %c);
  %1 = concatenate(%0, axis=1);
  %2 = nn.batch_matmul(%x, %1, transpose_b=True);
  %3 = strided_slice(%2, begin=[0, 0, 0], end=[-1, -1, 3], strides=[1, 1, 1], slice_mode=\"size\", axes=None);
  %4 = strided_slice(%2, begin=[0, 0, 3], end=[-1, -1, 3], strides=[1, 1, 1], slice_mode=\"size\", axes=None);
  %5 = strided_slice(%2, begin=[0, 0, 6], end=[-1, -1, 5], strides=[1, 1, 1], slice_mode=\"size\", axes=None);
  (%3, %4, %5)
}
"),
    run: Run::Function(|cx, _, function, arguments| {
        let min = usize::try_from(arguments.int("min_num_branches")).unwrap_or(0);
        run(cx.store, function, &BatchMatmul, min)
    }),
};

struct BatchMatmul;

impl Combiner for BatchMatmul {
    fn op(&self) -> &'static str {
        "nn.batch_matmul"
    }

    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool {
        let facts = |id| {
            let attrs = store.call(id)?.attrs;
            if store.attr_int(attrs, "transpose_a") != Some(0) || store.attr_int(attrs, "transpose_b") != Some(1) {
                return None;
            }
            let (shape, dtype) = tensor_type(store, args(store, id)[1])?;
            let result = tensor_type(store, id)?.1;
            (shape.len() == 3).then(|| (shape[0], dtype, result, store.attr(attrs, "out_dtype").cloned()))
        };
        let facts_a = facts(a);
        facts_a.is_some() && facts_a == facts(b)
    }

    fn arg_compatible(&self, _: &Store, _: ExprId, _: ExprId, _: ExprId, _: usize) -> bool {
        true
    }

    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId> {
        let attrs = store.call(branches[0][0])?.attrs;
        let mut written = Vec::new();
        for name in ["out_dtype", "transpose_a", "transpose_b"] {
            written.push((name, store.attr(attrs, name)?.clone()));
        }
        let data = args(store, branches[0][0])[0];
        let weights: Vec<ExprId> = branches.iter().map(|branch| args(store, branch[0])[1]).collect();
        let weight = concatenate(store, &weights, 1);
        Some(call_with(store, "nn.batch_matmul", &[data, weight], &written))
    }

    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, _: usize) -> Option<ExprId> {
        let fields: Vec<ExprId> = branches.iter().map(|branch| args(store, branch[depth])[index]).collect();
        Some(concatenate(store, &fields, -1))
    }

    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], _: usize) -> Option<Vec<ExprId>> {
        let mut index = 0;
        let mut parts = Vec::with_capacity(branches.len());
        for branch in branches {
            let features = tensor_type(store, args(store, branch[0])[1])?.0.get(1)?.known()?;
            parts.push(slice_sizes(store, data, &[0, 0, index], &[-1, -1, features]));
            index += features;
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::unchanged;

    #[test]
    fn products_without_a_transposed_right_side_stay() {
        unchanged(
            "CombineParallelBatchMatmul(min_num_branches=2)",
            "def @main(%x: Tensor[(1, 2, 4), float32], %a: Tensor[(1, 4, 3), float32]) {
               (nn.batch_matmul(%x, %a), nn.batch_matmul(%x, %a))
             }",
        );
    }
}
