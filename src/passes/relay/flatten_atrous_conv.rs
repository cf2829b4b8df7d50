//! FlattenAtrousConv: a convolution between `space_to_batch_nd` and `batch_to_space_nd` as a dilated
//! one.
//!
//! Frameworks without dilated convolutions move every n-th pixel into a batch of its own, convolve,
//! and move the pixels back. The three calls become one convolution with that dilation and the
//! padding that keeps the size.
//!
//! Looks only at calls that follow one another in evaluation order: a call between the three hides
//! the pattern, as in TVM. Needs `NHWC` data of known extents; leaves the three calls otherwise.
//!
//! Source: `src/relay/transforms/flatten_atrous_conv.cc`.

use super::support::static_shape;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, ExprId, Module, Store};
use crate::ops::build::{args, ints, op_name, with_attrs};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces `space_to_batch_nd`, a convolution and `batch_to_space_nd` by one dilated convolution.
pub static SPEC: PassSpec = PassSpec {
    name: "FlattenAtrousConv",
    info_name: "FlattenAtrousConv",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Turns space_to_batch_nd, conv2d, batch_to_space_nd into one dilated convolution.",
    doc: explained(
        "The sequence `nn.space_to_batch_nd`, `nn.conv2d` or `qnn.conv2d`, `nn.batch_to_space_nd` computes a \
dilated convolution. It becomes one call with the block shape as dilation and the padding that keeps the size \
of the image. Only `NHWC` data of known size are handled.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Flatten { met: 0 }))
}

const SEQUENCE: [&[&str]; 3] = [&["nn.space_to_batch_nd"], &["nn.conv2d", "qnn.conv2d"], &["nn.batch_to_space_nd"]];

struct Flatten {
    /// The number of calls of the sequence met in a row.
    met: usize,
}

impl ExprMutator for Flatten {
    fn rule(&self) -> &'static str {
        "dilated convolution"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !matches!(store.expr(post), Expr::Call { .. }) {
            return post;
        }
        if !SEQUENCE[self.met].contains(&op_name(store, post)) {
            self.met = 0;
            return post;
        }
        self.met = (self.met + 1) % SEQUENCE.len();
        if self.met == 0 { flatten(store, pre, post).unwrap_or(post) } else { post }
    }
}

fn flatten(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let inner = |store: &Store, id| args(store, id).first().copied();
    let conv = inner(store, post).filter(|conv| SEQUENCE[1].contains(&op_name(store, *conv)))?;
    let to_batch = inner(store, conv).filter(|call| op_name(store, *call) == "nn.space_to_batch_nd")?;
    let data = inner(store, to_batch)?;
    let pre_data = inner(store, inner(store, inner(store, pre)?)?)?;
    let block = store.attr_ints(store.call(post)?.attrs, "block_shape")?;
    let attrs = store.call(conv)?.attrs?;
    let kernel = store.attr_ints(Some(attrs), "kernel_size")?;
    if store.attr_str(Some(attrs), "data_layout") != Some("NHWC") || block.len() < 2 || kernel.len() < 2 {
        return None;
    }
    let shape = static_shape(store, pre_data)?;
    let mut before = Vec::new();
    let mut after = Vec::new();
    for axis in 0..2 {
        let extent = *shape.get(axis + 1)?;
        let dilated = (kernel[axis] - 1) * block[axis] + 1;
        // With a stride of 1 the result is as large as the image, so the padding is the part of the
        // kernel outside of the image.
        let pad = ((extent - 1) + dilated - extent).max(0);
        before.push(pad / 2);
        after.push(pad - pad / 2);
    }
    let changes = [
        ("strides", ints(&[1, 1])),
        ("padding", ints(&[before[0], before[1], after[0], after[1]])),
        ("dilation", ints(&block[..2])),
    ];
    let attrs = with_attrs(store, attrs, &changes);
    let mut new_args = args(store, conv);
    new_args[0] = data;
    let callee = store.call(conv)?.callee;
    Some(store.add_call(callee, &new_args, Some(attrs)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    fn program(layout: &str, between: &str) -> String {
        format!(
            "def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 4), float32]) {{
               %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
               {between}
               %2 = nn.conv2d(%1, %w, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3], {layout});
               nn.batch_to_space_nd(%2, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
             }}"
        )
    }
    const NHWC: &str = "data_layout=\"NHWC\", kernel_layout=\"HWIO\"";

    #[test]
    fn the_padding_keeps_the_size_of_the_image() {
        // A kernel of 3 with a dilation of 2 covers 5 pixels, so it sticks out by 2 on each side.
        check(
            "FlattenAtrousConv()",
            &program(NHWC, "%1 = %0;"),
            &format!(
                "def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 4), float32]) {{
                   nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], channels=4, kernel_size=[3, 3], {NHWC})
                 }}"
            ),
        );
    }

    #[test]
    fn a_call_in_between_hides_the_pattern() {
        unchanged("FlattenAtrousConv()", &program(NHWC, "%1 = nn.relu(%0);"));
    }
}
