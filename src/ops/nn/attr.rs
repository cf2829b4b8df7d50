//! Helpers of the relations in this directory: attributes as extents, layouts, paddings, and the
//! messages of failed checks.

use crate::ir::{AttrValue, DType, Dim, PrimOp};
use crate::ops::RuleCx;
use crate::ops::layout::Layout;

impl RuleCx<'_> {
    /// Returns an attribute as an extent; `None` when it is null.
    pub(crate) fn attr_dim(&self, name: &str) -> Option<Dim> {
        self.value_dim(self.store.attr(self.attrs, name)?)
    }

    /// Returns an attribute as a list of extents; `None` when it is null.
    pub(crate) fn attr_dims(&self, name: &str) -> Option<Vec<Dim>> {
        match self.store.attr(self.attrs, name)? {
            AttrValue::Array(items) => items.iter().map(|item| self.value_dim(item)).collect(),
            _ => None,
        }
    }

    /// Returns an attribute as a list of `count` extents, or TVM's message about their number.
    pub(crate) fn attr_dims_of(&self, name: &str, count: usize) -> Result<Vec<Dim>, String> {
        let dims = self.attr_dims(name).unwrap_or_default();
        match dims.len() == count {
            true => Ok(dims),
            false => Err(format!("`{name}` has {} elements, expected {count}", dims.len())),
        }
    }

    /// Returns an attribute as a list of lists of numbers; `None` when it has another form.
    pub(crate) fn attr_pairs(&self, name: &str) -> Option<Vec<Vec<i64>>> {
        match self.store.attr(self.attrs, name)? {
            AttrValue::Array(rows) => rows
                .iter()
                .map(|row| match row {
                    AttrValue::Array(items) => items.iter().map(|item| self.store.value_int(item)).collect(),
                    _ => None,
                })
                .collect(),
            _ => None,
        }
    }

    /// An integer attribute, 0 when it is missing.
    pub(crate) fn attr_int(&self, name: &str) -> i64 {
        self.store.attr_int(self.attrs, name).unwrap_or(0)
    }

    /// A truth value, false when it is missing.
    pub(crate) fn attr_flag(&self, name: &str) -> bool {
        self.attr_int(name) != 0
    }

    /// A string attribute, empty when it is missing.
    pub(crate) fn attr_text(&self, name: &str) -> &str {
        self.store.attr_str(self.attrs, name).unwrap_or("")
    }

    /// `out_dtype` where it is set, else `fallback`.
    pub(crate) fn out_dtype(&self, fallback: DType) -> DType {
        self.store.attr_dtype(self.attrs, "out_dtype").unwrap_or(fallback)
    }

    /// A layout attribute.
    pub(crate) fn attr_layout(&self, name: &str) -> Result<Layout, String> {
        Layout::parse(self.attr_text(name))
    }

    /// Returns `axis` counted from the front, if it lies within `rank`.
    pub(crate) fn attr_axis(&self, rank: usize) -> Option<usize> {
        let axis = self.attr_int("axis");
        let place = if axis < 0 { axis + rank as i64 } else { axis };
        (0..rank as i64).contains(&place).then_some(place as usize)
    }

    fn value_dim(&self, value: &AttrValue) -> Option<Dim> {
        match value {
            AttrValue::Int { value, bits } => Some(Dim::Int { value: *value, bits: *bits }),
            AttrValue::Dim(dim) => Some(*dim),
            other => self.store.value_int(other).map(Dim::int),
        }
    }

    /// `a + b`
    pub(crate) fn add(&mut self, a: Dim, b: Dim) -> Dim {
        self.dim(PrimOp::Add, a, b)
    }

    /// `a - b`
    pub(crate) fn sub(&mut self, a: Dim, b: Dim) -> Dim {
        self.dim(PrimOp::Sub, a, b)
    }

    /// `a * b`
    pub(crate) fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        self.dim(PrimOp::Mul, a, b)
    }

    /// `a / b` rounded down (TVM's `indexdiv`).
    pub(crate) fn div(&mut self, a: Dim, b: Dim) -> Dim {
        self.dim(PrimOp::FloorDiv, a, b)
    }

    /// Returns the total padding that the attribute `padding` adds along each of `rank` spatial axes:
    /// one number for all sides, one for each axis, or one for each side, the leading sides first.
    ///
    /// In one dimension two numbers are the two sides.
    pub(crate) fn total_padding(&mut self, rank: usize) -> Option<Vec<Dim>> {
        let padding = self.attr_dims("padding")?;
        let sides: Vec<(Dim, Dim)> = match padding.len() {
            1 => vec![(padding[0], padding[0]); rank],
            n if n == 2 * rank => (0..rank).map(|i| (padding[i], padding[i + rank])).collect(),
            n if n == rank => padding.iter().map(|p| (*p, *p)).collect(),
            _ => return None,
        };
        Some(sides.into_iter().map(|(before, after)| self.add(before, after)).collect())
    }

    /// Returns the extent of a dilated kernel: `1 + (extent - 1) * dilation`.
    pub(crate) fn dilated(&mut self, extent: Dim, dilation: Dim) -> Dim {
        let gaps = self.sub(extent, Dim::int(1));
        let gaps = self.mul(gaps, dilation);
        self.add(Dim::int(1), gaps)
    }

    /// Prints the shape as TVM does in messages: `[1, 3, ?]`.
    pub(crate) fn show(&self, shape: &[Dim]) -> String {
        let extents: Vec<String> = shape.iter().map(|d| crate::ir::show_dim(self.store, *d)).collect();
        format!("[{}]", extents.join(", "))
    }
}
