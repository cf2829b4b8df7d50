//! ForwardFoldScaleAxis: a scale before a convolution moves into its weight.
//!
//! First, from the output to the inputs, each node learns along which axes it could be scaled, as
//! all its users could make up for it: convolutions and dense layers along their input channels;
//! `add`, `subtract`, `nn.relu` and `nn.leaky_relu` pass that on, a relu only for factors that are not
//! negative. Then each `multiply` by factors along such axes is left out of its users' operands:
//! tensors that are added on the way are divided, and the weight is multiplied.
//!
//! Does nothing to scales of which one user cannot make up for it, and to grouped convolutions that
//! are not depthwise.
//!
//! Source: `src/relay/transforms/fold_scale_axis.cc`, `forward_rewrite.cc`.

use super::support::scale_axis::{
    Message, Messages, along_axes, broadcasts_along, can_go_along, conv_axes, factors_along, has_call, is_positive,
};
use super::support::tensor_type;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::post_order;
use crate::ir::{Dim, Expr, ExprId, IdMap, Module, Store};
use crate::ops::build::{args, call, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Folds a multiplication before a convolution or dense layer into the weight.
pub static SPEC: PassSpec = PassSpec {
    name: "ForwardFoldScaleAxis",
    info_name: "ForwardFoldScaleAxis",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Moves a scale before a convolution or dense layer into its weight.",
    doc: explained("`conv2d(add(multiply(x, s), b), w)` with one factor a channel becomes \
`conv2d(add(x, b / s), w * s)`: the weight is multiplied instead of the data, which FoldConstant can do once and for \
all. The scale may pass `add`, `subtract`, and relus if no factor is negative.\n\n\
Every user of the scaled data must be able to make up for it. A factor of zero makes `b / s` infinite or NaN, in TVM too."),
    example_before: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
  %0 = multiply(%x, %s);
  nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3])
}
"),
    example_after: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) -> Tensor[(1, 6, 8, 8), float32] {
  %0 = squeeze(%s, axis=[1, 2]);
  %1 = expand_dims(%0, axis=1, num_newaxis=2);
  %2 = multiply(%w, %1);
  nn.conv2d(%x, %2, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3])
}
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    if !has_call(cx.store, function, CONSUMERS) {
        return Ok(function);
    }
    let messages = prepare(cx.store, function);
    let mut folder = Folder { messages, scaled: IdMap::new(), bare: IdMap::new(), done: IdMap::new() };
    Ok(rewrite(cx.store, function, &mut folder))
}

const CONSUMERS: &[&str] = &["nn.conv2d", "nn.conv3d", "nn.dense"];

/// Returns the axes along which each node may be scaled. Users come before their operands.
fn prepare(store: &mut Store, root: ExprId) -> Messages {
    let mut messages = Messages::default();
    messages.meet(root, None);
    for id in post_order(store, root).into_iter().rev() {
        let out = messages.get(id).cloned();
        match demands(store, id, out) {
            Some(demands) => {
                for (arg, demand) in args(store, id).into_iter().zip(demands) {
                    messages.meet(arg, demand);
                }
            }
            // TVM says nothing to the tuple of a projection; its fields are forbidden anyway.
            None => messages.forbid_children(store, id),
        }
    }
    messages
}

/// Returns the scales that a call allows for its arguments, if it allows any.
fn demands(store: &mut Store, id: ExprId, out: Option<Message>) -> Option<[Option<Message>; 2]> {
    match op_name(store, id) {
        "nn.conv2d" | "nn.conv3d" => {
            let axes = conv_axes(store, id, false)?.channels;
            Some([Some(Message { axes, require_positive: false }), None])
        }
        "nn.dense" => Some([Some(Message { axes: vec![1], require_positive: false }), None]),
        "nn.relu" | "nn.leaky_relu" => Some([Some(Message { require_positive: true, ..out? }), None]),
        "add" | "subtract" => {
            let out = out?;
            let [lhs, rhs] = shapes(store, id)?;
            if broadcasts_along(&lhs, &rhs, &out.axes) && can_go_along(&lhs, &out.axes) {
                Some([Some(out), None])
            } else if broadcasts_along(&rhs, &lhs, &out.axes) && can_go_along(&rhs, &out.axes) {
                Some([None, Some(out)])
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The shapes of the two arguments of a call.
fn shapes(store: &Store, id: ExprId) -> Option<[Vec<Dim>; 2]> {
    let [lhs, rhs] = args(store, id).try_into().ok()?;
    Some([tensor_type(store, lhs)?.0, tensor_type(store, rhs)?.0])
}

/// A node whose result is another's, times factors.
#[derive(Clone)]
struct Scaled {
    /// The multiplication at the bottom of the chain of such nodes.
    by: ExprId,
    /// The argument on the way there: the data of the multiplication itself, the chain of the other nodes.
    side: usize,
}

struct Folder {
    messages: Messages,
    scaled: IdMap<Expr, Scaled>,
    /// Each scaled node without its factors, and the factors; made when first needed.
    bare: IdMap<Expr, (ExprId, ExprId)>,
    done: IdMap<Expr, ExprId>,
}

impl ExprMutator for Folder {
    fn rule(&self) -> &'static str {
        "scale moved into the weight behind it"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        // A scaled node stays as it is, in case a user needs the factors; the change is made at the
        // convolution, where it is complete.
        if let Some(scaled) = self.find_scaled(store, pre) {
            self.scaled.insert(pre, scaled);
        }
        let result = match store.expr(post) {
            Expr::TupleGetItem { tuple, index } => match store.expr(tuple) {
                Expr::Tuple(fields) if (index as usize) < fields.len() => {
                    store.set_rule("projection of a tuple");
                    store.item(fields, index as usize)
                }
                _ => post,
            },
            Expr::Call { .. } => self.consume(store, pre).unwrap_or(post),
            _ => post,
        };
        self.done.insert(pre, result);
        result
    }
}

impl Folder {
    fn find_scaled(&self, store: &mut Store, pre: ExprId) -> Option<Scaled> {
        let args = args(store, pre);
        match op_name(store, pre) {
            "multiply" => {
                let message = self.messages.get(pre)?.clone();
                let shapes = shapes(store, pre)?;
                let side = [(0, 1), (1, 0)].into_iter().find(|&(data, factors)| {
                    let rhs = &shapes[factors];
                    let fits = rhs.is_empty() || broadcasts_along(&shapes[data], rhs, &message.axes);
                    fits && (!message.require_positive || is_positive(store, args[factors]))
                })?;
                Some(Scaled { by: pre, side: side.0 })
            }
            "nn.relu" | "nn.leaky_relu" | "add" | "subtract" => {
                let side = (0..args.len()).find(|side| self.scaled.contains(args[*side]))?;
                Some(Scaled { by: self.scaled.get(args[side])?.by, side })
            }
            _ => None,
        }
    }

    /// The convolution or dense layer `pre` over bare data and a multiplied weight.
    fn consume(&mut self, store: &mut Store, pre: ExprId) -> Option<ExprId> {
        if !CONSUMERS.contains(&op_name(store, pre)) {
            return None;
        }
        let [data, weight] = args(store, pre).try_into().ok()?;
        if !self.scaled.contains(data) || self.scaled.contains(weight) {
            return None;
        }
        let (bare, factors) = self.bare(store, data)?;
        let along = match conv_axes(store, pre, false) {
            Some(conv) => {
                let axes = conv.weight_axes(if conv.depthwise { 'O' } else { 'I' });
                let shape = tensor_type(store, weight)?.0;
                along_axes(store, factors, &shape, &axes)
            }
            None => factors,
        };
        let weight = self.done.get(weight).copied().unwrap_or(weight);
        let weight = call(store, "multiply", &[weight, along]);
        Some(rebuild(store, pre, &[bare, weight]))
    }

    /// A scaled node without its factors, and the factors.
    fn bare(&mut self, store: &mut Store, id: ExprId) -> Option<(ExprId, ExprId)> {
        let mut chain = Vec::new();
        let mut id = id;
        while !self.bare.contains(id) {
            chain.push(id);
            let scaled = self.scaled.get(id)?;
            if scaled.by == id {
                break;
            }
            id = args(store, id)[scaled.side];
        }
        let first = chain.first().copied().unwrap_or(id);
        while let Some(id) = chain.pop() {
            let made = self.bare_one(store, id)?;
            self.bare.insert(id, made);
        }
        self.bare.get(first).copied()
    }

    fn bare_one(&self, store: &mut Store, id: ExprId) -> Option<(ExprId, ExprId)> {
        let Scaled { by, side } = self.scaled.get(id)?.clone();
        let old = args(store, id);
        let mut new: Vec<ExprId> = old.iter().map(|arg| self.done.get(*arg).copied().unwrap_or(*arg)).collect();
        let axes = self.messages.get(by)?.axes.clone();
        if by == id {
            let shapes = shapes(store, id)?;
            let factors = factors_along(store, &shapes[side], &shapes[1 - side], &axes, new[1 - side])?;
            return Some((new[side], factors));
        }
        let (data, factors) = *self.bare.get(old[side])?;
        new[side] = data;
        if let Some(shapes) = shapes(store, id) {
            let along = along_axes(store, factors, &shapes[side], &axes);
            new[1 - side] = call(store, "divide", &[new[1 - side], along]);
        }
        Some((rebuild(store, id, &new), factors))
    }
}

fn rebuild(store: &mut Store, id: ExprId, args: &[ExprId]) -> ExprId {
    let Expr::Call { callee, info, .. } = store.expr(id) else { unreachable!("only calls are scaled") };
    let args = store.list(args);
    let ty = store.checked_type(id);
    store.rebuild(id, Expr::Call { callee, args, info }, ty)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn both_users_of_scaled_data_make_up_for_it() {
        check(
            "ForwardFoldScaleAxis()",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(4), float32]) {
               %0 = multiply(%x, %s); (nn.dense(%0, %w, units=3), nn.dense(%0, %w, units=3))
             }",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(4), float32]) {
               (nn.dense(%x, multiply(%w, %s), units=3), nn.dense(%x, multiply(%w, %s), units=3))
             }",
        );
    }

    #[test]
    fn what_is_added_on_the_way_is_divided() {
        check(
            "ForwardFoldScaleAxis()",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(4), float32], \
             %b: Tensor[(4), float32]) {
               nn.dense(add(multiply(%x, %s), %b), %w, units=3)
             }",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(4), float32], \
             %b: Tensor[(4), float32]) {
               nn.dense(add(%x, divide(%b, %s)), multiply(%w, %s), units=3)
             }",
        );
    }

    #[test]
    fn data_that_somebody_else_needs_scaled_stay() {
        unchanged(
            "ForwardFoldScaleAxis()",
            "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(4), float32]) {
               %0 = multiply(%x, %s); (nn.dense(%0, %w, units=3), exp(%0))
             }",
        );
    }
}
