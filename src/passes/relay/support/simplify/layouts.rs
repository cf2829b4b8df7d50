//! Rules that merge consecutive reshapes and transpositions.

use super::super::pattern::{Match, Rule};
use super::super::tensor_type;
use super::dims_attr;
use crate::ir::{AttrValue, ExprId, Module, Store};
use crate::ops::build::{arg, call_with, ints, op_name};
use crate::ops::layout::Layout;

/// Merges a reshape with an inner one, if the result has a known shape.
pub static RESHAPE: Rule = Rule::new(
    "reshape of a reshape",
    "(is_op(\"reshape\") | is_op(\"contrib_reverse_reshape\"))((is_op(\"reshape\") | is_op(\"contrib_reverse_reshape\"))(x))",
    |store, _, m| {
        let shape = dims_attr(&tensor_type(store, m.pre)?.0)?;
        Some(call_with(store, "reshape", &[m.get("x")], &[("newshape", shape)]))
    },
);

/// Merges a transposition with an inner one.
pub static TRANSPOSE: Rule = Rule::new(
    "transpose of a transpose",
    "(is_op(\"transpose\") | is_op(\"layout_transform\"))((is_op(\"transpose\") | is_op(\"layout_transform\"))(x))",
    transpose,
);

/// Removes a transposition that leaves every axis where it is.
pub static NO_OP_TRANSPOSE: Rule =
    Rule::when("transpose that moves nothing", "(is_op(\"transpose\") | is_op(\"layout_transform\"))(x) => x", |store, m| {
        let moves = layouts(store, m.post).is_some_and(|(from, to)| from != to);
        let axes = tensor_type(store, m.pre).and_then(|(shape, _)| axis_order(store, m.post, shape.len()));
        !moves && axes.is_some_and(|axes| axes.iter().enumerate().all(|(i, axis)| i == *axis))
    });

/// Returns the layouts of a `layout_transform`, as written.
fn layouts(store: &Store, call: ExprId) -> Option<(String, String)> {
    if op_name(store, call) != "layout_transform" {
        return None;
    }
    let attrs = store.call(call)?.attrs;
    let text = |name| store.attr_str(attrs, name).map(str::to_owned);
    Some((text("src_layout")?, text("dst_layout")?))
}

/// Returns for each axis of the output the axis of the input.
fn axis_order(store: &Store, call: ExprId, rank: usize) -> Option<Vec<usize>> {
    if let Some((from, to)) = layouts(store, call) {
        let (from, to) = (Layout::parse(&from).ok()?, Layout::parse(&to).ok()?);
        let axes = to.axes().iter().take(rank).map(|axis| from.index_of(axis.name));
        return axes.collect::<Option<Vec<_>>>().filter(|axes| axes.len() == rank);
    }
    let attrs = store.call(call)?.attrs;
    match store.attr_ints(attrs, "axes") {
        None => Some((0..rank).rev().collect()),
        Some(axes) => {
            let axes = axes.iter().map(|axis| super::super::normalise_axis(*axis, rank));
            axes.collect::<Option<Vec<_>>>().filter(|axes| axes.len() == rank)
        }
    }
}

fn transpose(store: &mut Store, _: &Module, m: &Match) -> Option<ExprId> {
    let x = m.get("x");
    let (outer, inner) = (m.post, arg(store, m.post, 0));
    if let Some((from, to)) = rank_change(store, outer, inner)? {
        if from == to {
            return Some(x);
        }
        let (from, to) = (AttrValue::Str(store.name(&from)), AttrValue::Str(store.name(&to)));
        return Some(call_with(store, "layout_transform", &[x], &[("src_layout", from), ("dst_layout", to)]));
    }
    let rank = tensor_type(store, m.pre)?.0.len();
    let (first, second) = (axis_order(store, inner, rank)?, axis_order(store, outer, rank)?);
    let axes: Vec<i64> = second.iter().map(|axis| first[*axis] as i64).collect();
    Some(call_with(store, "transpose", &[x], &[("axes", ints(&axes))]))
}

/// Merges two calls, of which at least one splits or joins axes, into one `layout_transform`, and
/// returns its two layouts. `Some(None)` when neither does; `None` when they cannot be merged.
fn rank_change(store: &Store, outer: ExprId, inner: ExprId) -> Option<Option<(String, String)>> {
    let changes = |call| layouts(store, call).filter(|(from, to)| from.len() != to.len());
    let (from, to, other) = match (changes(outer), changes(inner)) {
        (None, None) => return Some(None),
        (Some((middle, to)), Some((from, middle_too))) => {
            if middle != middle_too {
                return None;
            }
            (from, to, inner)
        }
        (Some((from, to)), None) => (from, to, inner),
        (None, Some((from, to))) => (from, to, outer),
    };
    let (n_from, n_to) = (Layout::parse(&from).ok()?.rank(), Layout::parse(&to).ok()?.rank());
    if n_from < n_to {
        let order = axis_order(store, other, n_from)?;
        let mut inverse = vec![0; order.len()];
        for (i, axis) in order.iter().enumerate() {
            *inverse.get_mut(*axis)? = i;
        }
        return Some(Some((permute(&from, &inverse)?, to)));
    }
    if n_from > n_to {
        let order = axis_order(store, other, n_to)?;
        return Some(Some((from, permute(&to, &order)?)));
    }
    layouts(store, other).map(|_| Some((from, to)))
}

/// Permutes the letters of a layout; only for layouts of whole axes.
fn permute(layout: &str, order: &[usize]) -> Option<String> {
    let letters: Vec<char> = layout.chars().collect();
    if letters.len() != order.len() {
        return None;
    }
    order.iter().map(|axis| letters.get(*axis)).collect()
}
