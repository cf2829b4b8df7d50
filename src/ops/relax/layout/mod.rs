//! Infers the layouts of Relax's operators when layouts change around them (TVM's `FRelaxInferLayout`, src/relax/op,
//! and src/relax/transform/infer_layout_utils.cc).
//!
//! A tensor starts in the layout `ABCD` of its rank; `ACDB` means that its second axis was moved to the end, `ABCD4b`
//! that parts of four were split off it. A rule gets the current layouts of the arguments and returns the layouts that
//! it wants, the layout of the result, and the changed attributes.

pub(in crate::ops) mod conv;
pub(in crate::ops) mod element;
pub(in crate::ops) mod manipulate;
pub(in crate::ops) mod nn;
pub(in crate::ops) mod pool;
pub(in crate::ops) mod select;

use crate::ir::{AttrValue, AttrsId, Dim, ExprId, Extents, Store, TypeId};
use crate::ops::build::with_attrs;
use crate::ops::layout::{Layout, LayoutAxis};

/// The layout of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueLayout {
    /// The layout of a tensor.
    Tensor(Layout),
    /// The layout of a value that is no tensor, or of a tensor of unknown rank.
    Unknown,
    /// The layouts of a tuple's fields.
    Tuple(Vec<ValueLayout>),
}

/// A rule. The error is the reason why the call cannot be converted, which ends the pass as in TVM.
pub type LayoutRule = fn(&mut Infer<'_>) -> Result<Inferred, String>;

/// The context of a rule.
pub struct Infer<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// The name of the operator as it stands after `R.`.
    pub op: &'static str,
    /// The arguments of the call, before conversion.
    pub args: &'a [ExprId],
    /// Their types, before conversion.
    pub types: &'a [TypeId],
    /// The type of the call, before conversion.
    pub ty: TypeId,
    /// The attributes of the call.
    pub attrs: Option<AttrsId>,
    /// The layouts that the arguments have now.
    pub layouts: &'a [ValueLayout],
    /// The layouts that the user wants for this operator.
    pub desired: Option<&'a [String]>,
}

/// The result of a rule.
pub struct Inferred {
    /// The layouts of the first arguments; the others stay as they are.
    pub inputs: Vec<ValueLayout>,
    /// The layout of the result.
    pub output: ValueLayout,
    /// The attributes for these layouts.
    pub attrs: Option<AttrsId>,
    /// Arguments that change with the layout, by their positions.
    pub args: Vec<(usize, ExprId)>,
}

impl Infer<'_> {
    /// Fails when the user wants a layout for an operator whose layout follows from its arguments.
    fn follows(&self) -> Result<(), String> {
        match self.desired {
            Some(_) => Err(format!("{} follows the layouts of its arguments and takes no desired layout", self.op)),
            None => Ok(()),
        }
    }

    /// Returns the layout of argument `index`, which is a tensor.
    fn layout(&self, index: usize) -> Result<Layout, String> {
        match self.layouts.get(index) {
            Some(ValueLayout::Tensor(layout)) => Ok(layout.clone()),
            _ => Err(format!("Cannot get layout for argument {index} of {}", self.op)),
        }
    }

    /// Does the same, but returns the initial layout if an axis was split.
    fn whole_layout(&self, index: usize) -> Result<Layout, String> {
        let layout = self.layout(index)?;
        Ok(if is_split(&layout) { initial(self.rank(index)?) } else { layout })
    }

    /// Returns the rank of argument `index`.
    fn rank(&self, index: usize) -> Result<usize, String> {
        let info = self.types.get(index).and_then(|ty| self.store.tensor_info(*ty));
        info.and_then(|info| self.store.rank(&info.extents)).ok_or_else(|| format!("{}: Only support known ndim", self.op))
    }

    /// Returns the extents of argument `index`, if they are known.
    fn shape(&self, index: usize) -> Option<Vec<Dim>> {
        shape_of(self.store, *self.types.get(index)?)
    }

    /// Returns an integer attribute.
    fn int(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    /// Returns a list of integers; `None` when it is not set.
    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name)
    }

    /// Returns a layout attribute; `otherwise` where it is not set.
    fn layout_attr(&self, name: &str, otherwise: &str) -> Result<Layout, String> {
        let text = self.store.attr_str(self.attrs, name).filter(|text| !text.is_empty());
        let text = text.or_else(|| self.store.attr_str(self.attrs, otherwise));
        Layout::parse(text.unwrap_or_default())
    }

    /// Replaces some of the attributes.
    fn with(&mut self, changes: &[(&str, AttrValue)]) -> Option<AttrsId> {
        self.attrs.map(|attrs| with_attrs(self.store, attrs, changes))
    }

    /// Makes a string attribute.
    fn text(&mut self, layout: &Layout) -> AttrValue {
        let text = layout.to_string();
        AttrValue::Str(self.store.name(&text))
    }

    /// Gives inputs and result the same layout.
    fn all_in(&self, layout: Layout, inputs: usize) -> Inferred {
        let layout = ValueLayout::Tensor(layout);
        Inferred { inputs: vec![layout.clone(); inputs], output: layout, attrs: self.attrs, args: Vec::new() }
    }
}

/// Returns the extents of a tensor type, if they are written.
pub(super) fn shape_of(store: &Store, ty: TypeId) -> Option<Vec<Dim>> {
    match store.tensor_info(ty)?.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}

/// Returns the initial layout of a tensor of this rank: `ABCD`.
pub fn initial(rank: usize) -> Layout {
    if rank == 0 {
        return Layout::of_scalar();
    }
    Layout::from_axes((0..rank.min(26)).map(|at| LayoutAxis { name: letter(at), extent: 0 }).collect())
}

/// Returns the letter of axis `at`.
fn letter(at: usize) -> char {
    char::from(b'A' + (at % 26) as u8)
}

/// True if axes were split.
pub fn is_split(layout: &Layout) -> bool {
    layout.axes().iter().any(|axis| !axis.is_primal())
}

/// Reorders the axes of `input`, which correspond to those of `source`, as in `target`.
pub fn transpose_like(input: &Layout, source: &Layout, target: &Layout) -> Result<Layout, String> {
    let axes = reorder(input.axes(), source, target)?;
    Ok(Layout::from_axes(axes))
}

/// Reorders items, one for each axis of `source`, as in `target`.
fn reorder<T: Copy>(items: &[T], source: &Layout, target: &Layout) -> Result<Vec<T>, String> {
    if source.rank() != target.rank() || items.len() != source.rank() {
        return Err("Layouts must have the same size".to_owned());
    }
    let at = |axis: &LayoutAxis| source.index_of(axis.name).map(|at| items[at]);
    target.axes().iter().map(at).collect::<Option<_>>().ok_or_else(|| format!("{target} has an axis that {source} has not"))
}

/// Maps the axes of `desired`, which may be split off from those of `source`, to the letters of `items`.
fn transpose_split(items: &Layout, source: &Layout, desired: &Layout) -> Result<Layout, String> {
    let rename = |axis: &LayoutAxis| {
        let name = items.axes().get(source.index_of(axis.primal())?)?.name;
        Some(LayoutAxis { name: if axis.is_primal() { name } else { name.to_ascii_lowercase() }, extent: axis.extent })
    };
    let axes: Option<Vec<LayoutAxis>> = desired.axes().iter().map(rename).collect();
    axes.map(Layout::from_axes).ok_or_else(|| format!("Invalid Layout: {desired} has an axis that {source} has not"))
}

/// Returns the current position of axis `axis` of the initial layout.
fn find_axis(layout: &Layout, axis: i64) -> i64 {
    let rank = layout.rank().max(1) as i64;
    let name = letter(((axis + rank) % rank).max(0) as usize);
    layout.index_of(name).map_or(-1, |at| at as i64)
}

/// True if a tensor of these extents survives the conversion to the layout `to` and back (TVM's `CanProveLayoutTransform`).
fn comes_back(store: &mut Store, from: &Layout, to: &Layout, shape: &[Dim]) -> bool {
    if !from.converts_to(to) {
        return false;
    }
    let Ok(there) = from.convert_extents(store, to, shape, 64) else { return false };
    let Ok(back) = to.convert_extents(store, from, &there, 64) else { return false };
    shape.iter().zip(&back).all(|(extent, back)| extent.known().is_none() || extent.known() == back.known())
}

/// Returns the layout of a tensor of a higher rank that this one is broadcast to.
fn broadcast(layout: &Layout, rank: usize) -> Result<Layout, String> {
    let more = rank.checked_sub(layout.rank()).ok_or_else(|| format!("Cannot broadcast from {} to {rank}", layout.rank()))?;
    let mut axes = initial(more).axes().to_vec();
    let shifted = |axis: &LayoutAxis| LayoutAxis { name: char::from((axis.name as u8).wrapping_add(more as u8)), ..*axis };
    axes.extend(layout.axes().iter().map(shifted));
    Ok(Layout::from_axes(axes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::parse(text).expect("a layout")
    }

    #[test]
    fn an_axis_is_found_where_its_letter_stands() {
        assert_eq!(find_axis(&layout("ACDB"), 1), 3);
        assert_eq!(find_axis(&layout("ACDB"), -1), 2);
    }

    #[test]
    fn layouts_are_carried_over_by_their_order() {
        let axes = transpose_like(&initial(4), &layout("NCHW"), &layout("NHWC")).expect("the same axes");
        assert_eq!(axes.to_string(), "ACDB");
        let split = transpose_split(&initial(4), &layout("NCHW"), &layout("NCHW4c")).expect("the same axes");
        assert_eq!(split.to_string(), "ABCD4b");
        assert_eq!(broadcast(&layout("BA"), 4).expect("more axes").to_string(), "ABDC");
        assert!(transpose_like(&initial(3), &layout("NCHW"), &layout("NHWC")).is_err());
    }

    #[test]
    fn what_does_not_divide_does_not_come_back() {
        let store = &mut Store::new();
        let dims = [2, 6].map(|value| Dim::Int { value, bits: 64 });
        assert!(comes_back(store, &initial(2), &layout("AB3b"), &dims));
        assert!(!comes_back(store, &initial(2), &layout("AB4b"), &dims));
    }
}
