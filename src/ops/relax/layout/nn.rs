//! Activations and normalisations (TVM: src/relax/op/nn/nn.cc).

use super::{Infer, Inferred, ValueLayout, find_axis, initial};
use crate::ir::AttrValue;
use crate::ops::build::ints;
use crate::ops::layout::Layout;

/// `nn.softmax`: the axis moves with the layout.
pub fn softmax(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let axis = find_axis(&layout, cx.int("axis").unwrap_or(-1));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    Ok(Inferred { attrs, ..cx.all_in(layout, 1) })
}

/// `nn.prelu`: the same; the slopes stay.
pub fn prelu(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    let slopes = ValueLayout::Tensor(cx.layout(1)?);
    let mut inferred = softmax(cx)?;
    inferred.inputs.push(slopes);
    Ok(inferred)
}

/// `nn.batch_norm`: the statistics stay in their one axis.
pub fn batch_norm(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let rank = cx.rank(0)? as i64;
    let axis = find_axis(&layout, (cx.int("axis").unwrap_or(1) + rank) % rank.max(1));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    let inputs = with_weights(cx, layout, 5)?;
    let output = ValueLayout::Tuple([0, 3, 4].map(|index: usize| inputs[index].clone()).into());
    Ok(Inferred { inputs, output, attrs, args: Vec::new() })
}

/// `nn.layer_norm`
pub fn layer_norm(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    normalization(cx, 3, false)
}

/// `nn.rms_norm`
pub fn rms_norm(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    normalization(cx, 2, false)
}

/// `nn.group_norm` and `nn.instance_norm`
pub fn channel_norm(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    normalization(cx, 3, true)
}

fn normalization(cx: &mut Infer<'_>, inputs: usize, channel: bool) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.layout(0)?;
    let rank = cx.rank(0)?.max(1) as i64;
    let axes: Vec<i64> = cx.ints("axes").unwrap_or_default();
    let axes: Vec<i64> = axes.iter().map(|axis| find_axis(&layout, (axis + rank) % rank)).collect();
    let mut changes = vec![("axes", ints(&axes))];
    if channel {
        changes.push(("channel_axis", AttrValue::int(find_axis(&layout, cx.int("channel_axis").unwrap_or(1)))));
    }
    let attrs = cx.with(&changes);
    let inputs = with_weights(cx, layout.clone(), inputs)?;
    Ok(Inferred { inputs, output: ValueLayout::Tensor(layout), attrs, args: Vec::new() })
}

/// Returns this layout for the data, and the old ones for the weights.
fn with_weights(cx: &Infer<'_>, layout: Layout, count: usize) -> Result<Vec<ValueLayout>, String> {
    let mut inputs = vec![ValueLayout::Tensor(layout)];
    for index in 1..count {
        inputs.push(ValueLayout::Tensor(initial(cx.rank(index)?)));
    }
    Ok(inputs)
}
