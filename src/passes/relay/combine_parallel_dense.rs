//! CombineParallelDense: dense layers of the same data as one.
//!
//! With `to_batch` the layers, which must have weights of one shape, become one `nn.batch_matmul` over
//! stacked data and weights; otherwise one wide `nn.dense` over concatenated weights, with a
//! `strided_slice` for each. The calls behind each, as far as they are element-wise or broadcasting
//! and the same in all, are combined too.
//!
//! Does nothing to fewer than `min_num_branches` layers.
//!
//! Source: `src/relay/transforms/combine_parallel_dense.cc`.

use super::support::combine::{Branch, Combiner, concatenate, run, slice_sizes};
use super::support::combine_batch::{same_arg_type, stacked_arg, stacked_following, unstack};
use super::support::{static_shape, tensor_type};
use crate::ir::{AttrValue, ExprId, Store};
use crate::ops::build::{args, call_with};
use crate::pass::{Param, PassSpec, Run, explained};

/// Combines dense layers of the same data into one `nn.batch_matmul` or one wide `nn.dense`.
pub static SPEC: PassSpec = PassSpec {
    name: "CombineParallelDense",
    info_name: "CombineParallelDense",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["InferType"],
    params: &[
        Param { name: "min_num_branches", default: "3", doc: "Fewer layers than this stay as they are." },
        Param { name: "to_batch", default: "True", doc: "Combine into nn.batch_matmul, not into one wide nn.dense." },
    ],
    config: &[],
    summary: "Computes dense layers of the same data by one larger call.",
    doc: explained("Dense layers of the same data become one call. With `to_batch=True`, data and weights are stacked \
and multiplied by `nn.batch_matmul`, which needs weights of one shape. With `to_batch=False` the weights are \
concatenated for one `nn.dense`, and `strided_slice` takes each result out. Element-wise and broadcasting calls that \
follow all of them alike are combined as well."),
    example_before: explained("\
def @main(%x: Tensor[(2, 4), float32], %w1: Tensor[(3, 4), float32], %w2: Tensor[(3, 4), float32], %w3: Tensor[(3, 4), float32]) {
  %0 = nn.dense(%x, %w1, units=None);
  %1 = nn.dense(%x, %w2, units=None);
  %2 = nn.dense(%x, %w3, units=None);
  (%0, %1, %2)
}
"),
    example_after: explained("\
def @main(%x: Tensor[(2, 4), float32], %w1: Tensor[(3, 4), float32], %w2: Tensor[(3, 4), float32], %w3: Tensor[(3, 4), float32]) -> (Tensor[(2, 3), float32], Tensor[(2, 3), float32], Tensor[(2, 3), float32]) {
  %0 = (%x, %x, %x);
  %1 = (%w1, %w2, %w3);
  %2 = stack(%0);
  %3 = stack(%1);
  %4 = nn.batch_matmul(%2, %3, transpose_b=True);
  %5 = split(%4, indices_or_sections=meta[runtime.BoxInt][0]);
  %6 = %5.0;
  %7 = %5.1;
  %8 = %5.2;
  %9 = squeeze(%6, axis=[0]);
  %10 = squeeze(%7, axis=[0]);
  %11 = squeeze(%8, axis=[0]);
  (%9, %10, %11)
}
"),
    run: Run::Function(|cx, _, function, arguments| {
        let min = usize::try_from(arguments.int("min_num_branches")).unwrap_or(0);
        match arguments.bool("to_batch") {
            true => run(cx.store, function, &ToBatch, min),
            false => run(cx.store, function, &ToDense, min),
        }
    }),
};

fn weight_shape(store: &Store, dense: ExprId) -> Option<[crate::ir::Dim; 2]> {
    tensor_type(store, args(store, dense)[1])?.0.try_into().ok()
}

fn same_out_dtype(store: &Store, a: ExprId, b: ExprId) -> bool {
    let [a, b] = [a, b].map(|id| store.call(id).and_then(|call| call.attrs));
    store.attr(a, "out_dtype") == store.attr(b, "out_dtype")
}

struct ToBatch;

impl Combiner for ToBatch {
    fn op(&self) -> &'static str {
        "nn.dense"
    }

    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool {
        let shape = weight_shape(store, a);
        same_out_dtype(store, a, b) && shape.is_some() && shape == weight_shape(store, b)
    }

    fn arg_compatible(&self, store: &Store, _: ExprId, a: ExprId, b: ExprId, index: usize) -> bool {
        same_arg_type(store, a, b, index)
    }

    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId> {
        let out_dtype = store.attr(store.call(branches[0][0])?.attrs, "out_dtype")?.clone();
        let data = stacked_arg(store, branches, 0, 0);
        let weight = stacked_arg(store, branches, 0, 1);
        let written = [("out_dtype", out_dtype), ("transpose_a", AttrValue::Bool(false)), ("transpose_b", AttrValue::Bool(true))];
        Some(call_with(store, "nn.batch_matmul", &[data, weight], &written))
    }

    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, _: usize) -> Option<ExprId> {
        Some(stacked_following(store, branches, depth, index))
    }

    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], _: usize) -> Option<Vec<ExprId>> {
        Some(unstack(store, data, branches.len()))
    }
}

struct ToDense;

impl Combiner for ToDense {
    fn op(&self) -> &'static str {
        "nn.dense"
    }

    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool {
        match (weight_shape(store, a), weight_shape(store, b)) {
            (Some(wa), Some(wb)) => wa[1] == wb[1] && same_out_dtype(store, a, b),
            _ => false,
        }
    }

    fn arg_compatible(&self, store: &Store, _: ExprId, a: ExprId, b: ExprId, index: usize) -> bool {
        let types = [a, b].map(|call| Some((tensor_type(store, args(store, call)[index])?, tensor_type(store, call)?)));
        let [Some(((ta, da), (out_a, _))), Some(((tb, db), (out_b, _)))] = types else { return false };
        da == db && ta.len() == tb.len() && ta.len() <= out_a.len() && tb.len() <= out_b.len()
            // The last axis is concatenated and may differ.
            && ta.iter().zip(&tb).take(ta.len().saturating_sub(1)).all(|(a, b)| a == b)
    }

    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId> {
        let mut weights = Vec::new();
        let mut units = 0;
        for branch in branches {
            weights.push(args(store, branch[0])[1]);
            units += weight_shape(store, branch[0])?[0].known()?;
        }
        let out_dtype = store.attr(store.call(branches[0][0])?.attrs, "out_dtype")?.clone();
        let data = args(store, branches[0][0])[0];
        let weight = concatenate(store, &weights, 0);
        let written = [("units", AttrValue::int(units)), ("out_dtype", out_dtype)];
        Some(call_with(store, "nn.dense", &[data, weight], &written))
    }

    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, parent: usize) -> Option<ExprId> {
        let mut fields = Vec::with_capacity(branches.len());
        let mut axis = 0;
        for branch in branches {
            let call_args = args(store, branch[depth]);
            let width = tensor_type(store, call_args[parent])?.0.last()?.known()?;
            let mut arg = call_args[index];
            let shape = tensor_type(store, arg)?.0;
            axis = shape.len().saturating_sub(1) as i64;
            // An operand that broadcasts along the units is repeated, because the combined layer has several units in a row.
            let repeat = match shape.last() {
                None => {
                    let written = [("axis", AttrValue::int(-1)), ("num_newaxis", AttrValue::int(1))];
                    arg = call_with(store, "expand_dims", &[arg], &written);
                    true
                }
                Some(last) => width > 1 && last.known()? == 1,
            };
            if repeat {
                let written = [("repeats", AttrValue::int(width)), ("axis", AttrValue::int(axis))];
                arg = call_with(store, "repeat", &[arg], &written);
            }
            fields.push(arg);
        }
        Some(concatenate(store, &fields, axis))
    }

    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], depth: usize) -> Option<Vec<ExprId>> {
        let mut index = 0;
        let mut parts = Vec::with_capacity(branches.len());
        for branch in branches {
            let shape = static_shape(store, branch[depth])?;
            let units = *static_shape(store, branch[0])?.get(1)?;
            // As in TVM, the last axis of that extent is taken for the axis of the units.
            let axis = shape.iter().rposition(|extent| *extent == units)?;
            let (mut begin, mut size) = (vec![0; shape.len()], vec![-1; shape.len()]);
            begin[axis] = index;
            size[axis] = units;
            parts.push(slice_sizes(store, data, &begin, &size));
            index += units;
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure, unchanged};

    const TWO: &str = "def @main(%x: Tensor[(2, 4), float32], %w1: Tensor[(3, 4), float32], %w2: Tensor[(5, 4), float32]) {
           (nn.dense(%x, %w1, units=3), nn.dense(%x, %w2, units=5))
         }";

    #[test]
    fn weights_of_different_height_are_combined_into_one_dense_layer_only() {
        unchanged("CombineParallelDense(min_num_branches=2)", TWO);
        let made = after("CombineParallelDense(min_num_branches=2, to_batch=False)", TWO);
        assert!(made.contains("units=8") && made.contains("begin=[0, 3], end=[-1, 5]"), "{made}");
    }

    #[test]
    fn too_few_layers_stay() {
        unchanged("CombineParallelDense(to_batch=False)", TWO);
    }

    #[test]
    fn a_layer_whose_one_user_calls_a_function_is_refused() {
        let message = failure(
            "CombineParallelDense()",
            "def @f(%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { %y }
             def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
               (@f(nn.dense(%x, %w, units=3)), nn.dense(%x, %w, units=3))
             }",
        );
        assert!(message.contains("must be a call of an operator"), "{message}");
    }

    /// The pass did not end.
    #[test]
    fn a_layer_whose_weight_is_the_result_of_another_is_refused() {
        let program = "def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {
            %0 = nn.dense(%x, %w, units=None);
            nn.dense(%x, %0, units=None)
        }";
        let said = failure("CombineParallelDense(min_num_branches=2)", program);
        assert!(said.starts_with("one of the calls that are combined"), "{said}");
    }
}
