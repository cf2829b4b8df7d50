//! Layouts of tensors, `NCHW` and `NCHW16c`, and conversion between them (TVM: `tir/ir/data_layout.cc`).
//!
//! An upper-case letter is an axis of its own (primal); a lower-case letter with a number in front is
//! the inner part that was split off that axis (subordinate), with the number as its extent.

use crate::ir::{DType, Dim, PrimExpr, PrimOp, Store, Tensor};
use crate::ops::kernel::{bytes, count, each_index, strides};
use crate::ops::{EvalError, dim_arith, dim_bits};
use std::fmt;

/// One axis of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutAxis {
    /// Its letter: upper case when primal, lower case when subordinate.
    pub name: char,
    /// The extent of a subordinate axis; 0 for a primal one, which has none of its own.
    pub extent: i64,
}

impl LayoutAxis {
    /// True if it is an axis of its own and not a part that was split off.
    pub fn is_primal(self) -> bool {
        self.name.is_ascii_uppercase()
    }

    /// Returns the letter of the axis that it is or was split from.
    pub fn primal(self) -> char {
        self.name.to_ascii_uppercase()
    }
}

/// The order of the axes of a tensor. A layout without axes is TVM's undefined layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    axes: Vec<LayoutAxis>,
    /// True for the layout of a scalar, which has no axes but is not the undefined one.
    scalar: bool,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for axis in &self.axes {
            if axis.is_primal() {
                write!(f, "{}", axis.name)?;
            } else {
                write!(f, "{}{}", axis.extent, axis.name)?;
            }
        }
        Ok(())
    }
}

impl Layout {
    /// Parses TVM's notation. The error is TVM's message.
    pub fn parse(name: &str) -> Result<Layout, String> {
        if name == "__undef__" {
            return Ok(Layout::default());
        }
        let mut axes = Vec::new();
        let mut factor = 0i64;
        for c in name.chars() {
            match c {
                'A'..='Z' if factor != 0 => {
                    return Err(format!("Invalid layout {name}: invalid factor size {factor} before dimension {c}"));
                }
                'A'..='Z' => axes.push(LayoutAxis { name: c, extent: 0 }),
                'a'..='z' if factor == 0 => {
                    return Err(format!("Invalid layout {name}: invalid factor size {factor} for dimension {c}"));
                }
                'a'..='z' => {
                    axes.push(LayoutAxis { name: c, extent: factor });
                    factor = 0;
                }
                // Extents are 32 bits wide in TVM; anything longer is no layout.
                '0'..='9' if factor < 100_000_000 => factor = factor * 10 + i64::from(c as u8 - b'0'),
                _ => return Err(format!("Invalid layout {name}")),
            }
        }
        let layout = Layout { axes, scalar: false };
        match layout.axes.iter().find(|a| !layout.contains(a.primal())) {
            Some(axis) => Err(format!("Invalid layout {name}: missing axis {}", axis.primal())),
            None => Ok(layout),
        }
    }

    /// Makes a layout of these axes.
    pub fn from_axes(axes: Vec<LayoutAxis>) -> Layout {
        Layout { axes, scalar: false }
    }

    /// Returns the initial layout of a scalar, which is not the undefined one.
    pub fn of_scalar() -> Layout {
        Layout { axes: Vec::new(), scalar: true }
    }

    /// True if it is the initial layout of a scalar.
    pub fn is_scalar(&self) -> bool {
        self.scalar
    }

    /// The axes in order.
    pub fn axes(&self) -> &[LayoutAxis] {
        &self.axes
    }

    /// Returns the number of axes, split-off ones included.
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// True if it has no axes (TVM's undefined layout).
    pub fn is_undefined(&self) -> bool {
        self.axes.is_empty()
    }

    /// Returns the position of the axis of that letter. The case of the letter counts.
    pub fn index_of(&self, name: char) -> Option<usize> {
        self.axes.iter().position(|a| a.name == name)
    }

    /// True if there is an axis of that letter. The case of the letter counts.
    pub fn contains(&self, name: char) -> bool {
        self.index_of(name).is_some()
    }

    /// Returns the product of the extents split off the axis `name`; `None` when it is not split.
    pub fn factor_of(&self, name: char) -> Option<i64> {
        let sub = name.to_ascii_lowercase();
        let extents = self.axes.iter().filter(|a| a.name == sub).map(|a| a.extent);
        extents.fold(None, |product, extent| Some(product.unwrap_or(1i64).saturating_mul(extent)))
    }

    /// The axes from `start`, at most `len` of them (TVM's `SubLayout`).
    pub fn sub_layout(&self, start: usize, len: usize) -> Layout {
        let start = start.min(self.axes.len());
        let end = (start + len).min(self.axes.len());
        Layout::from_axes(self.axes[start..end].to_vec())
    }

    /// Splits `extent` elements off the axis `name` and puts them before axis `position`.
    pub fn split(&self, name: char, position: usize, extent: i64) -> Layout {
        let mut axes = self.axes.clone();
        axes.insert(position.min(axes.len()), LayoutAxis { name: name.to_ascii_lowercase(), extent });
        Layout::from_axes(axes)
    }

    /// True if tensors can be converted from this layout to the other and back: both have the same axes,
    /// however they are split.
    pub fn converts_to(&self, other: &Layout) -> bool {
        let covered = |a: &Layout, b: &Layout| a.axes.iter().all(|x| b.axes.iter().any(|y| x.primal() == y.primal()));
        !self.is_undefined() && !other.is_undefined() && covered(self, other) && covered(other, self)
    }

    /// Computes the index in `self` of the element at `index` in `from`. An index beyond the extent of a
    /// split axis carries over into its outer part, as in TVM.
    fn index_from(&self, from: &Layout, index: &[i64], out: &mut Vec<i64>) {
        out.clear();
        for (i, axis) in self.axes.iter().enumerate() {
            let mut place = 0;
            for (j, part) in from.axes.iter().enumerate() {
                if part.primal() != axis.primal() {
                    continue;
                }
                let inner = from.axes[j + 1..].iter().filter(|a| a.name == part.name).map(|a| a.extent).product::<i64>();
                let factor = if part.is_primal() { from.factor_of(part.name).unwrap_or(1) } else { inner };
                place += index[j] * factor;
            }
            out.push(match axis.is_primal() {
                true => place / self.factor_of(axis.name).unwrap_or(1),
                false => {
                    let inner = self.axes[i + 1..].iter().filter(|a| a.name == axis.name).map(|a| a.extent).product::<i64>();
                    place % (inner * axis.extent) / inner
                }
            });
        }
    }

    /// The shape in layout `to` of a tensor that has this shape in this layout (TVM's
    /// `BijectiveLayout::ForwardShape`). Err when the shape does not fit the layout.
    ///
    /// As in TVM the extents come out as 32 bit integers.
    pub fn convert_shape(&self, store: &mut Store, to: &Layout, shape: &[Dim]) -> Result<Vec<Dim>, String> {
        let narrowed: Vec<Dim> = shape.iter().map(|dim| narrow(store, *dim)).collect();
        self.convert_extents(store, to, &narrowed, 32)
    }

    /// Does the same with extents that keep their integer type; extents that the layouts add have this many bits.
    pub fn convert_extents(&self, store: &mut Store, to: &Layout, shape: &[Dim], bits: u8) -> Result<Vec<Dim>, String> {
        let int = |value| Dim::Int { value, bits };
        if shape.len() != self.rank() {
            return Err(format!("Input shape size {} mismatch with the expected shape size {}", shape.len(), self.rank()));
        }
        for (i, (axis, extent)) in self.axes.iter().zip(shape).enumerate() {
            if let Some(extent) = extent.known().filter(|e| !axis.is_primal() && *e != axis.extent) {
                return Err(format!("Input shape mismatch at index {i}. Expected {}, get {extent}", axis.extent));
            }
        }
        let mut out = Vec::with_capacity(to.rank());
        for axis in &to.axes {
            if !axis.is_primal() {
                out.push(int(axis.extent));
                continue;
            }
            let Some(place) = self.index_of(axis.name) else {
                return Err(format!("layout '{self}'-->'{to}' is not convertible."));
            };
            let mut extent = shape[place];
            if let Some(factor) = self.factor_of(axis.name) {
                extent = dim_arith(store, PrimOp::Mul, extent, int(factor));
            }
            if let Some(factor) = to.factor_of(axis.name) {
                // Rounded up, so that padding to the next multiple is counted.
                let up = dim_arith(store, PrimOp::Add, extent, int(factor - 1));
                extent = dim_arith(store, PrimOp::FloorDiv, up, int(factor));
            }
            out.push(extent);
        }
        Ok(out)
    }

    /// Converts a tensor to layout `to`. Elements that splitting adds are zero.
    pub fn convert_tensor(&self, to: &Layout, tensor: &Tensor) -> Result<Tensor, EvalError> {
        let rank = tensor.shape.len();
        if rank != self.rank() || (self != to && !self.converts_to(to)) {
            return Err(EvalError::new(format!("a tensor of rank {rank} cannot be brought from layout {self} to {to}")));
        }
        if self == to {
            return Ok(tensor.clone());
        }
        // Extents that are not those of the layout would be read across its axes.
        if let Some((axis, extent)) = self.axes.iter().zip(tensor.shape.iter()).find(|(a, e)| !a.is_primal() && a.extent != **e) {
            return Err(EvalError::new(format!("an axis {}{} has the extent {extent}", axis.extent, axis.name)));
        }
        let data = bytes(tensor)?;
        let shape: Vec<i64> = (to.axes.iter())
            .map(|axis| match self.index_of(axis.name) {
                _ if !axis.is_primal() => axis.extent,
                Some(place) => {
                    let whole = tensor.shape[place].saturating_mul(self.factor_of(axis.name).unwrap_or(1));
                    let factor = to.factor_of(axis.name).unwrap_or(1);
                    whole.saturating_add(factor - 1) / factor
                }
                None => 1,
            })
            .collect();
        let size = tensor.dtype.bytes();
        let mut out = Vec::with_capacity(count(&shape, tensor.dtype)? * size);
        let steps = strides(&tensor.shape);
        let mut source = Vec::with_capacity(self.rank());
        each_index(&shape, |index| {
            self.index_from(to, index, &mut source);
            let exists = source.iter().zip(tensor.shape.iter()).all(|(i, extent)| i < extent);
            let from = source.iter().zip(&steps).map(|(i, s)| *i as usize * s).sum::<usize>() * size;
            match exists {
                true => out.extend_from_slice(&data[from..from + size]),
                false => out.resize(out.len() + size, 0),
            }
            Ok(())
        })?;
        Ok(Tensor::new(tensor.dtype, shape, out))
    }
}

/// Returns the extent as a 32 bit integer.
fn narrow(store: &mut Store, dim: Dim) -> Dim {
    match dim {
        Dim::Int { value, .. } => Dim::int(value),
        Dim::Symbol(_) | Dim::Expr(_) if dim_bits(store, dim) != 32 => {
            let value = store.prim_of_dim(dim);
            Dim::Expr(store.prim(PrimExpr::Cast { dtype: DType::I32, value }))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(name: &str) -> Layout {
        Layout::parse(name).unwrap()
    }

    #[test]
    fn layouts_print_what_they_read_and_name_what_is_wrong() {
        for name in ["NCHW", "NCHW16c", "OIHW4i8o4i", ""] {
            assert_eq!(layout(name).to_string(), name);
        }
        assert_eq!(Layout::parse("NCHWc").unwrap_err(), "Invalid layout NCHWc: invalid factor size 0 for dimension c");
        assert_eq!(Layout::parse("NHW4c").unwrap_err(), "Invalid layout NHW4c: missing axis C");
        assert!(Layout::parse("N_C").is_err());
    }

    #[test]
    fn shapes_split_rounding_up_and_join_again() {
        let store = &mut Store::new();
        let d = Dim::int;
        let (plain, packed) = (layout("NCHW"), layout("NCHW16c"));
        let out = plain.convert_shape(store, &packed, &[d(1), d(33), Dim::Any, d(5)]).unwrap();
        assert_eq!(out, [d(1), d(3), Dim::Any, d(5), d(16)]);
        let back = packed.convert_shape(store, &layout("NHWC"), &out).unwrap();
        assert_eq!(back, [d(1), Dim::Any, d(5), d(48)]);
        assert!(plain.convert_shape(store, &packed, &[d(1)]).is_err());
        assert!(!plain.converts_to(&layout("NCDHW")));
    }

    #[test]
    fn tensors_move_between_layouts_and_splitting_pads_with_zeros() {
        let tensor = Tensor::new(DType::U8, [1, 3, 1, 2], [1u8, 2, 3, 4, 5, 6]);
        let packed = layout("NCHW").convert_tensor(&layout("NCHW2c"), &tensor).unwrap();
        assert_eq!(&*packed.shape, [1, 2, 1, 2, 2]);
        assert_eq!(packed.data.as_deref(), Some([1u8, 3, 2, 4, 5, 0, 6, 0].as_slice()));
        let last = packed_to(&packed, "NCHW2c", "NHWC");
        assert_eq!(last.data.as_deref(), Some([1u8, 3, 5, 0, 2, 4, 6, 0].as_slice()));
    }

    #[test]
    fn a_layout_with_huge_parts_is_an_error() {
        let tensor = Tensor::new(DType::U8, [1], [1u8]);
        let huge = layout("N99999999n99999999n99999999n");
        assert!(layout("N").convert_tensor(&huge, &tensor).is_err());
        assert!(huge.convert_tensor(&layout("N"), &Tensor::new(DType::U8, [1, 1, 1, 1], [1u8])).is_err());
    }

    fn packed_to(tensor: &Tensor, from: &str, to: &str) -> Tensor {
        layout(from).convert_tensor(&layout(to), tensor).unwrap()
    }
}
