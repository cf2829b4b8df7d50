//! BackwardFoldScaleAxis: a scale behind a convolution moves into its weight.
//!
//! First, from the inputs to the output, each node learns along which axes its result could be
//! scaled by scaling weights further up: convolutions and dense layers along their output channels;
//! `add`, `subtract`, `nn.bias_add`, `nn.relu` and `nn.leaky_relu` pass that on, a relu only for factors
//! that are not negative. Only nodes with a single use take part. Then each `multiply` by factors along
//! such axes is removed, and the weights and biases above are multiplied instead.
//!
//! Does nothing to scales that meet no convolution or dense layer, to grouped convolutions that are
//! not depthwise, and through nodes that are used more than once.
//!
//! Source: `src/relay/transforms/fold_scale_axis.cc`.

use super::support::scale_axis::{Message, along_axes, broadcasts_along, can_go_along, conv_axes, factors_along, is_positive};
use super::support::tensor_type;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::{post_order, use_counts};
use crate::ir::{Dim, Expr, ExprId, IdMap, Module, Store};
use crate::ops::build::{args, call, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Folds a multiplication behind a convolution or dense layer into the weight.
pub static SPEC: PassSpec = PassSpec {
    name: "BackwardFoldScaleAxis",
    info_name: "BackwardFoldScaleAxis",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Moves a scale behind a convolution or dense layer into its weight.",
    doc: explained("`multiply(relu(add(conv2d(x, w), b)), s)` with one factor a channel becomes \
`relu(add(conv2d(x, w * s), b * s))`: the weight and the bias are multiplied instead of the data, which FoldConstant can \
do once and for all. The scale may pass `add`, `subtract`, `nn.bias_add`, and relus if no factor is negative.\n\n\
Every node on the way must have a single use."),
    example_before: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32], %s: Tensor[(6, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3]);
  multiply(%0, %s)
}
"),
    example_after: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32], %s: Tensor[(6, 1, 1), float32]) -> Tensor[(1, 6, 8, 8), float32] {
  %0 = squeeze(%s, axis=[1, 2]);
  %1 = expand_dims(%0, axis=1, num_newaxis=3);
  %2 = multiply(%w, %1);
  nn.conv2d(%x, %2, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3])
}
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let messages = prepare(cx.store, function);
    Ok(rewrite(cx.store, function, &mut Folder { messages, done: IdMap::new() }))
}

type Messages = IdMap<Expr, Message>;

/// Returns the axes along which each call could be scaled.
fn prepare(store: &mut Store, root: ExprId) -> Messages {
    let counts = use_counts(store, root);
    let mut messages = Messages::new();
    for id in post_order(store, root) {
        if store.called_op(id).is_some()
            && counts.get(id) == Some(&1)
            && let Some(message) = message(store, &messages, id)
        {
            messages.insert(id, message);
        }
    }
    messages
}

fn message(store: &mut Store, messages: &Messages, id: ExprId) -> Option<Message> {
    let args = args(store, id);
    match op_name(store, id) {
        "nn.conv2d" | "nn.conv3d" => Some(Message { axes: conv_axes(store, id, true)?.channels, require_positive: false }),
        "nn.dense" => Some(Message { axes: vec![1], require_positive: false }),
        "nn.relu" | "nn.leaky_relu" => Some(Message { require_positive: true, ..messages.get(*args.first()?)?.clone() }),
        "nn.bias_add" => {
            let attrs = store.call(id)?.attrs;
            let axis = usize::try_from(store.attr_int(attrs, "axis")?).ok()?;
            messages.get(args[0]).filter(|message| message.axes == [axis]).cloned()
        }
        "add" | "subtract" => {
            let [lhs, rhs] = shapes(store, id)?;
            let [left, right] = [messages.get(args[0]), messages.get(args[1])];
            let message = match (left, right) {
                (Some(left), _) if broadcasts_along(&lhs, &rhs, &left.axes) => left,
                (_, Some(right)) if broadcasts_along(&rhs, &lhs, &right.axes) => right,
                (Some(left), Some(right)) if left.axes == right.axes && lhs == rhs => left,
                _ => return None,
            };
            // Both sides are scaled when both can be, so they must agree on the axes.
            let agree = [left, right].iter().flatten().all(|side| side.axes == message.axes);
            let reachable = can_go_along(&lhs, &message.axes) && can_go_along(&rhs, &message.axes);
            (agree && (left.is_some() && right.is_some() || reachable)).then(|| message.clone())
        }
        _ => None,
    }
}

/// The shapes of the two arguments of a call.
fn shapes(store: &Store, id: ExprId) -> Option<[Vec<Dim>; 2]> {
    let [lhs, rhs] = args(store, id).try_into().ok()?;
    Some([tensor_type(store, lhs)?.0, tensor_type(store, rhs)?.0])
}

struct Folder {
    messages: Messages,
    /// The replacement of each node.
    done: IdMap<Expr, ExprId>,
}

impl ExprMutator for Folder {
    fn rule(&self) -> &'static str {
        "scale moved into the weights before it"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let mut result = post;
        if op_name(store, pre) == "multiply" {
            result = self.fold(store, pre).unwrap_or(post);
        }
        self.done.insert(pre, result);
        result
    }
}

impl Folder {
    /// Removes the multiplication `pre`, if one of its sides can be scaled further up.
    fn fold(&mut self, store: &mut Store, pre: ExprId) -> Option<ExprId> {
        let args = args(store, pre);
        let shapes = shapes(store, pre)?;
        for (data, factors) in [(0, 1), (1, 0)] {
            let Some(message) = self.messages.get(args[data]).cloned() else { continue };
            if message.require_positive && !is_positive(store, args[factors]) {
                continue;
            }
            let found = factors_along(store, &shapes[data], &shapes[factors], &message.axes, args[factors]);
            if let Some(factors) = found {
                return self.scale(store, args[data], &message.axes, factors);
            }
        }
        None
    }

    /// Rebuilds `root` with its result scaled: the calls with messages are made anew, down to the weights.
    fn scale(&mut self, store: &mut Store, root: ExprId, axes: &[usize], factors: ExprId) -> Option<ExprId> {
        let mut scaled: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        // Parents come before the arguments that are scaled too; they are built in reverse.
        let mut order = vec![root];
        let mut next = 0;
        while next < order.len() {
            let id = order[next];
            next += 1;
            if !matches!(op_name(store, id), "nn.conv2d" | "nn.conv3d" | "nn.dense") {
                order.extend(args(store, id).into_iter().filter(|arg| self.messages.contains(*arg)));
            }
        }
        for id in order.into_iter().rev() {
            let new = self.scale_one(store, id, axes, factors, &scaled)?;
            scaled.insert(id, new);
        }
        scaled.get(&root).copied()
    }

    fn scale_one(
        &self,
        store: &mut Store,
        id: ExprId,
        axes: &[usize],
        factors: ExprId,
        scaled: &FxHashMap<ExprId, ExprId>,
    ) -> Option<ExprId> {
        let old = args(store, id);
        let mut new: Vec<ExprId> = old.iter().map(|arg| self.done.get(*arg).copied().unwrap_or(*arg)).collect();
        match op_name(store, id) {
            "nn.conv2d" | "nn.conv3d" => {
                let conv = conv_axes(store, id, true)?;
                let shape = tensor_type(store, old[1])?.0;
                let along = along_axes(store, factors, &shape, &conv.weight_axes('O'));
                new[1] = call(store, "multiply", &[new[1], along]);
            }
            "nn.dense" => {
                let along = along_axes(store, factors, &[Dim::Any, Dim::Any], &[0]);
                new[1] = call(store, "multiply", &[new[1], along]);
            }
            "nn.bias_add" => {
                new[0] = *scaled.get(&old[0])?;
                new[1] = call(store, "multiply", &[new[1], factors]);
            }
            "add" | "subtract" => {
                let shapes = shapes(store, id)?;
                for side in 0..2 {
                    new[side] = match scaled.get(&old[side]) {
                        Some(side) => *side,
                        None => {
                            let along = along_axes(store, factors, &shapes[1 - side], axes);
                            call(store, "multiply", &[new[side], along])
                        }
                    };
                }
            }
            _ => new[0] = *scaled.get(&old[0])?,
        }
        let Expr::Call { callee, info, .. } = store.expr(id) else { return None };
        let args = store.list(&new);
        let ty = store.checked_type(id);
        Some(store.rebuild(id, Expr::Call { callee, args, info }, ty))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn a_bias_on_the_way_is_scaled_as_well() {
        check(
            "BackwardFoldScaleAxis()",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32], \
             %s: Tensor[(3), float32]) {
               multiply(add(nn.dense(%x, %w, units=3), %b), %s)
             }",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32], \
             %s: Tensor[(3), float32]) {
               %0 = multiply(%w, expand_dims(%s, axis=1));
               add(nn.dense(%x, %0, units=3), multiply(%b, %s))
             }",
        );
    }

    #[test]
    fn through_a_relu_only_factors_known_not_to_be_negative_pass() {
        let relu = |scale: &str| {
            format!(
                "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(1, 4), float32], %s: Tensor[(1), float32]) {{
                   multiply(nn.relu(nn.dense(%x, %w, units=1)), {scale})
                 }}"
            )
        };
        unchanged("BackwardFoldScaleAxis()", &relu("%s"));
        unchanged("BackwardFoldScaleAxis()", &relu("-2f"));
        check(
            "BackwardFoldScaleAxis()",
            &relu("2f"),
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(1, 4), float32], %s: Tensor[(1), float32]) {
               %0 = repeat(expand_dims(2f, axis=0), repeats=1, axis=0);
               %1 = multiply(%w, expand_dims(%0, axis=1));
               nn.relu(nn.dense(%x, %1, units=1))
             }",
        );
    }

    #[test]
    fn a_result_with_two_uses_is_not_scaled() {
        unchanged(
            "BackwardFoldScaleAxis()",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(3), float32]) {
               %0 = nn.dense(%x, %w, units=3); (%0, multiply(%0, %s))
             }",
        );
    }
}
