//! Helpers of the two passes that fold scales into weights (TVM's `fold_scale_axis.cc`).

use super::{expand_to_axes, static_shape, tensor_type};
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{DType, DTypeCode, Dim, Expr, ExprId, IdMap, Store};
use crate::ops::build::{arg, call_with, constant, elements, ints, op_name};
use crate::ops::layout::Layout;

/// The axes along which a tensor may be scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The axes, ascending.
    pub axes: Vec<usize>,
    /// True if the factors must not be negative, because of a relu on the way.
    pub require_positive: bool,
}

impl Message {
    /// Returns the axes that both allow.
    pub fn intersect(self, other: &Message) -> Message {
        Message {
            axes: self.axes.into_iter().filter(|axis| other.axes.contains(axis)).collect(),
            require_positive: self.require_positive || other.require_positive,
        }
    }
}

/// True if `rhs` has extents only at the given axes of `lhs`, so that broadcasting applies it along
/// those (TVM's `MatchBroadcastToLeftAxes`).
pub fn broadcasts_along(lhs: &[Dim], rhs: &[Dim], axes: &[usize]) -> bool {
    squeezed_axes(lhs, rhs, axes).is_some()
}

/// Returns the axes of `rhs` that are 1 and not among `axes`.
fn squeezed_axes(lhs: &[Dim], rhs: &[Dim], axes: &[usize]) -> Option<Vec<i64>> {
    let base = lhs.len().checked_sub(rhs.len())?;
    let mut squeezed = Vec::new();
    for (i, extent) in lhs.iter().enumerate() {
        if axes.contains(&i) {
            if i < base || *extent != rhs[i - base] {
                return None;
            }
        } else if i >= base {
            if rhs[i - base].known() != Some(1) {
                return None;
            }
            squeezed.push((i - base) as i64);
        }
    }
    Some(squeezed)
}

/// Returns the factors in `rhs`, one axis for each of `axes` of `lhs`, if `rhs` is applied along those.
pub fn factors_along(store: &mut Store, lhs: &[Dim], rhs: &[Dim], axes: &[usize], factors: ExprId) -> Option<ExprId> {
    use crate::ir::AttrValue;
    if lhs.len() < rhs.len() {
        return None;
    }
    if rhs.is_empty() && !axes.is_empty() {
        let written = [("axis", AttrValue::int(0)), ("num_newaxis", AttrValue::int(axes.len() as i64))];
        // TVM repeats along every axis as often as the first one is long.
        let extent = lhs[axes[0]].known()?;
        let mut factors = call_with(store, "expand_dims", &[factors], &written);
        for i in 0..axes.len() {
            let written = [("repeats", AttrValue::int(extent)), ("axis", AttrValue::int(i as i64))];
            factors = call_with(store, "repeat", &[factors], &written);
        }
        return Some(factors);
    }
    let squeezed = squeezed_axes(lhs, rhs, axes)?;
    if squeezed.is_empty() {
        return Some(factors);
    }
    Some(call_with(store, "squeeze", &[factors], &[("axis", ints(&squeezed))]))
}

/// True if factors can be brought to a tensor of this shape along `axes`; see [`along_axes`].
pub fn can_go_along(shape: &[Dim], axes: &[usize]) -> bool {
    axes.len() <= 1 || axes.iter().all(|axis| shape.get(*axis).is_some_and(|extent| extent.known().is_some()))
}

/// Gives factors the axes that a tensor of this shape has besides `axes`.
pub fn along_axes(store: &mut Store, factors: ExprId, shape: &[Dim], axes: &[usize]) -> ExprId {
    if axes.len() <= 1 {
        return expand_to_axes(store, factors, shape.len(), axes);
    }
    let extents: Vec<i64> =
        shape.iter().enumerate().map(|(i, e)| if axes.contains(&i) { e.known().unwrap_or(1) } else { 1 }).collect();
    call_with(store, "reshape", &[factors], &[("newshape", ints(&extents))])
}

/// True if an expression is a constant without negative elements, perhaps reshaped (TVM's
/// `IsAllPositiveConstant`, which lets zeros pass).
pub fn is_positive(store: &Store, id: ExprId) -> bool {
    let mut id = id;
    while matches!(op_name(store, id), "expand_dims" | "reshape" | "transpose" | "squeeze" | "repeat") {
        id = arg(store, id, 0);
    }
    let known = |dtype: DType| match dtype.code {
        DTypeCode::Float => matches!(dtype.bits, 32 | 64),
        DTypeCode::Int | DTypeCode::UInt => matches!(dtype.bits, 8 | 32),
        _ => false,
    };
    match constant(store, id) {
        Some(tensor) if known(tensor.dtype) && tensor.dtype.lanes == 1 => {
            elements(tensor).is_some_and(|values| values.iter().all(|value| *value >= 0.0))
        }
        _ => false,
    }
}

/// The channel axes of a convolution, along which it can take up factors.
pub struct ConvAxes {
    /// The channel axes of the data, or of the result.
    pub channels: Vec<usize>,
    /// True if each channel has filters of its own.
    pub depthwise: bool,
    /// The layout of the weight.
    pub kernel: Layout,
}

impl ConvAxes {
    /// Returns the axes of the weight for these letters, with their split-off parts if the layout is
    /// blocked.
    pub fn weight_axes(&self, name: char) -> Vec<usize> {
        [name, name.to_ascii_lowercase()].iter().filter_map(|letter| self.kernel.index_of(*letter)).collect()
    }
}

/// Returns the axes of a two- or three-dimensional convolution, for its data or its result. `None`
/// for groups other than one or one per channel, and for layouts split only in part.
pub fn conv_axes(store: &mut Store, conv: ExprId, of_result: bool) -> Option<ConvAxes> {
    let plain = match op_name(store, conv) {
        "nn.conv2d" => "OIHW",
        "nn.conv3d" => "OIDHW",
        _ => return None,
    };
    let attrs = store.call(conv)?.attrs;
    let out_layout = store.attr_str(attrs, "out_layout").filter(|layout| of_result && !layout.is_empty());
    let data = Layout::parse(out_layout.or(store.attr_str(attrs, "data_layout"))?).ok()?;
    let kernel = Layout::parse(store.attr_str(attrs, "kernel_layout")?).ok()?;
    let weight = tensor_type(store, arg(store, conv, 1))?.0;
    let groups = store.attr_int(attrs, "groups")?;
    let plain = Layout::parse(plain).ok()?;
    let shape = kernel.convert_shape(store, &plain, &weight).ok()?;
    let depthwise = shape[0].known() == Some(groups) && shape[1].known() == Some(1);
    if groups != 1 && !depthwise {
        return None;
    }
    let split = [kernel.contains('o'), kernel.contains('i'), data.contains('c')];
    if !(split == [false; 3] || split == [true; 3]) || !kernel.contains('I') || !kernel.contains('O') {
        return None;
    }
    let channels: Vec<usize> = ['C', 'c'].iter().filter_map(|letter| data.index_of(*letter)).collect();
    // A layout may be split in a weight with an unknown extent; then nothing is folded.
    let weight_is_known = split == [false; 3] || static_shape(store, arg(store, conv, 1)).is_some();
    (data.contains('C') && weight_is_known).then_some(ConvAxes { channels, depthwise, kernel })
}

/// True if the program has a call of one of these operators.
pub fn has_call(store: &Store, root: ExprId, names: &[&str]) -> bool {
    post_order(store, root).into_iter().any(|id| names.contains(&op_name(store, id)))
}

/// The messages on the arguments of nodes. A node with several users gets the axes that all allow.
#[derive(Default)]
pub struct Messages {
    known: IdMap<Expr, Option<Message>>,
}

impl Messages {
    /// Returns the message of a node, if it may be scaled.
    pub fn get(&self, id: ExprId) -> Option<&Message> {
        self.known.get(id)?.as_ref().filter(|message| !message.axes.is_empty())
    }

    /// Restricts a node to the axes that one more use allows.
    pub fn meet(&mut self, id: ExprId, message: Option<Message>) {
        let both = match (self.known.remove(id), message) {
            (None, message) => message,
            (Some(Some(known)), Some(message)) => Some(known.intersect(&message)),
            _ => None,
        };
        self.known.insert(id, both);
    }

    /// Forbids to scale any child of this node.
    pub fn forbid_children(&mut self, store: &Store, id: ExprId) {
        for_each_child(store, id, |child| self.meet(child, None));
    }
}
