//! Operators that take or set a regular part of a tensor.

use super::{ensure, input};
use crate::ir::{AttrValue, AttrsId, Dim, PrimOp, Store, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{axis_index, bytes, each_index, offsets, pick, read, strides};
use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, relax, relay, tuple, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult, dim_bits};

/// Attributes `relay.attrs.StridedSliceAttrs`.
pub static STRIDED_SLICE: AttrsSchema = schema(
    "relay.attrs.StridedSliceAttrs",
    &[
        field::required("begin", AttrKind::Ints),
        field::required("end", AttrKind::Ints),
        field::required("strides", AttrKind::Ints),
        field::text("slice_mode", "end"),
        field::required("axes", AttrKind::Ints),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "strided_slice",
        "The part of a tensor from `begin` to `end` in steps of `strides`. With Relay's \
         `slice_mode=\"size\"`, `end` holds sizes and the steps are 1.",
    )
    .pattern(OpPattern::Injective)
    .kernel(strided_slice_kernel)
    .relay(relay(&["data"], strided_slice_rule).attrs(&STRIDED_SLICE))
    .relax(
        relax(
            &[value("x"), tuple("axes"), tuple("begin"), tuple("end"), tuple("strides").or_none()],
            deduce::index::strided_slice,
        )
        .attrs(&schema("relax.attrs.StridedSliceAttrs", &[field::flag("assume_inbound", false)]))
        .follows()
        .layout(layout::select::strided_slice),
    ),
    op("strided_set", "The first input with the part from `begin` to `end` in steps of `strides` replaced by `v`.")
        .pattern(OpPattern::Injective)
        .kernel(strided_set_kernel)
        .relay(relay(&["data", "v", "begin", "end", "strides"], strided_set_rule)),
    op("slice_like", "Cuts the first input to the extents of the second, on the given axes or on all of them.")
        .pattern(OpPattern::Injective)
        .kernel(slice_like_kernel)
        .relay(
            relay(&["data", "shape_like"], slice_like_rule)
                .attrs(&schema("relay.attrs.SliceLikeAttrs", &[field::required("axes", AttrKind::Ints)])),
        ),
    op(
        "sliding_window",
        "Windows of `window_shape` slid over the axes from `axis` on, in steps of `strides`, as new axes at \
         the end.",
    )
    .pattern(OpPattern::Opaque)
    .kernel(sliding_window_kernel)
    .relay(relay(&["data"], sliding_window_rule).attrs(&schema(
        "relay.attrs.SlidingWindowAttrs",
        &[
            field::required("axis", AttrKind::Int),
            field::required("window_shape", AttrKind::Ints),
            field::required("strides", AttrKind::Ints),
        ],
    ))),
    op("dynamic_strided_slice", "A part of a tensor, its bounds being tensors.").relax(
        relax(&[value("x"), value("begin"), value("end"), value("strides")], deduce::index::dynamic_strided_slice)
            .follows()
            .layout(layout::select::dynamic_strided_slice),
    ),
];

/// A list whose elements may be null.
fn optional_ints(store: &Store, attrs: Option<AttrsId>, name: &str) -> Result<Vec<Option<i64>>, String> {
    match store.attr(attrs, name) {
        Some(AttrValue::Array(items)) => Ok(items.iter().map(|item| store.value_int(item)).collect()),
        _ => Err(format!("strided_slice received invalid {name}")),
    }
}

/// A slice along one axis: begin, end and step, before they are clamped to the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// First element; may be negative, which counts from the end.
    pub begin: i64,
    /// The element it stops before.
    pub end: i64,
    /// Step, not zero.
    pub stride: i64,
}

impl Slice {
    /// Returns the clamped begin and the number of elements for an axis of that extent; an error
    /// when the slice runs against its step.
    pub fn on(self, extent: i64) -> Result<(i64, i64), String> {
        let inside = |index: i64| {
            let index = if index < 0 { index.saturating_add(extent) } else { index };
            let (low, high) = if self.stride < 0 { (-1, extent - 1) } else { (0, extent) };
            index.max(low).min(high)
        };
        let (begin, end) = (inside(self.begin), inside(self.end));
        let forward = if self.stride < 0 { end <= begin } else { begin <= end };
        ensure!(forward, "Input [Begin={}, End={}] is invalid", self.begin, self.end);
        let step = self.stride.unsigned_abs().min(i64::MAX as u64) as i64;
        Ok((begin, (end - begin).abs().saturating_add(step - 1) / step))
    }
}

/// Returns begin, end and step for each sliced axis, with the defaults of all that may be left out.
pub(crate) fn slices(
    begin: &[Option<i64>],
    end: &[Option<i64>],
    strides: &[Option<i64>],
    axes: Option<&[i64]>,
    mode: &str,
    rank: usize,
) -> Result<Vec<(usize, Slice)>, String> {
    let axes = match axes {
        Some(axes) => {
            ensure!(
                axes.len() == begin.len() && axes.len() == end.len() && axes.len() == strides.len(),
                "axes, begin, end, and strides must have the same length"
            );
            axes.to_vec()
        }
        None => (0..rank as i64).collect(),
    };
    ensure!(
        begin.len() <= axes.len() && end.len() <= axes.len() && strides.len() <= axes.len(),
        "strided_slice has more bounds than axes"
    );
    let mut out = Vec::with_capacity(axes.len());
    for (i, axis) in axes.into_iter().enumerate() {
        let place = if axis < 0 { axis + rank as i64 } else { axis };
        ensure!((0..rank as i64).contains(&place), "strided_slice: axis {axis} is out of range for rank {rank}");
        let stride = match strides.get(i) {
            Some(stride) if mode == "end" => stride.ok_or("strided_slice needs its strides")?,
            _ => 1,
        };
        ensure!(stride != 0, "strided_slice does not step by 0");
        let first = if stride > 0 { 0 } else { i64::MAX };
        let begin = begin.get(i).copied().flatten().unwrap_or(first);
        let last = if stride < 0 { 0 } else { i64::MAX };
        let end = match end.get(i).copied().flatten() {
            Some(size) if mode == "size" && size >= 0 => begin.saturating_add(size),
            Some(end) if mode != "size" => end,
            _ => last,
        };
        out.push((place as usize, Slice { begin, end, stride }));
    }
    Ok(out)
}

fn written_slices(store: &Store, attrs: Option<AttrsId>, rank: usize) -> Result<Vec<(usize, Slice)>, String> {
    let [begin, end, strides] = ["begin", "end", "strides"].map(|name| optional_ints(store, attrs, name));
    let (axes, mode) = (store.attr_ints(attrs, "axes"), store.attr_str(attrs, "slice_mode").unwrap_or("end"));
    slices(&begin?, &end?, &strides?, axes.as_deref(), mode, rank)
}

fn strided_slice_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let slices = written_slices(cx.store, cx.attrs, shape.len())?;
    let mut out = shape.clone();
    for (i, (axis, slice)) in slices.into_iter().enumerate() {
        out[axis] = match shape[axis].known() {
            Some(extent) => {
                let (_, value) = slice.on(extent).map_err(|e| format!("{e} for axis={i}"))?;
                // As in TVM, the width is that of the axis of this number, not of the sliced one.
                Dim::Int { value, bits: dim_bits(cx.store, out[i]) }
            }
            None => Dim::Any,
        };
    }
    cx.output_tensor(&out, dtype)
}

fn strided_set_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let same = cx.types[0];
    cx.output(same)
}

fn slice_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (target, _) = input!(cx, 1);
    let axes: Vec<usize> = match cx.store.attr_ints(cx.attrs, "axes") {
        None => (0..shape.len().min(target.len())).collect(),
        Some(axes) => {
            ensure!(!axes.is_empty(), "Axes cannot be empty.");
            let counted = axes.iter().map(|&axis| {
                let place = if axis < 0 { axis + shape.len() as i64 } else { axis };
                let inside = (0..shape.len().min(target.len()) as i64).contains(&place);
                ensure!(inside, "Axis {axis} exceeds dimension {} of target_shape.", target.len());
                Ok(place as usize)
            });
            counted.collect::<Result<_, String>>()?
        }
    };
    let mut out = shape.clone();
    for axis in axes {
        let room = cx.sub(shape[axis], target[axis]);
        let (to, from) = (cx.show(&target[axis..=axis]), cx.show(&shape[axis..=axis]));
        ensure!(room.known().is_none_or(|r| r >= 0), "End index of axis {axis} exceeds input shape: {to} vs {from}");
        out[axis] = target[axis];
    }
    cx.output_tensor(&out, dtype)
}

fn sliding_window_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let axis = cx.attr_axis(shape.len()).ok_or("sliding_window: `axis` is out of range")?;
    let window = cx.attr_dims("window_shape").unwrap_or_default();
    let strides = cx.attr_dims("strides").unwrap_or_default();
    ensure!(window.len() == strides.len(), "sliding_window needs a stride for each axis of the window");
    ensure!(axis + window.len() <= shape.len(), "sliding_window: the window has more axes than the data");
    let mut out = shape[..axis].to_vec();
    for ((extent, width), stride) in shape[axis..].iter().zip(&window).zip(&strides) {
        ensure!(stride.known().is_none_or(|s| s > 0), "sliding_window: strides must be positive");
        let reach = cx.sub(*width, Dim::int(1));
        let places = cx.sub(*extent, reach);
        let up = cx.add(places, *stride);
        let up = cx.sub(up, Dim::int(1));
        let count = cx.dim(PrimOp::FloorDiv, up, *stride);
        out.push(count);
    }
    out.extend(window);
    cx.output_tensor(&out, dtype)
}

fn strided_slice_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let slices = written_slices(cx.store, cx.attrs, x[0].shape.len())?;
    Ok(vec![sliced(&x[0], &slices)?])
}

/// Returns the part of a tensor within the slices.
pub(crate) fn sliced(x: &Tensor, slices: &[(usize, Slice)]) -> Result<Tensor, EvalError> {
    let mut shape = x.shape.to_vec();
    let mut moves = strides(&x.shape);
    let mut base = 0usize;
    for (axis, slice) in slices {
        let (begin, extent) = slice.on(x.shape[*axis])?;
        base = base.wrapping_add((begin as usize).wrapping_mul(moves[*axis]));
        moves[*axis] = moves[*axis].wrapping_mul(slice.stride as usize);
        shape[*axis] = extent;
    }
    pick(x, &shape, offsets(&shape, &moves).map(|place| place.wrapping_add(base)))
}

fn slice_like_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, _) = result_type(cx, slice_like_rule, x)?;
    Ok(vec![pick(&x[0], &shape, offsets(&shape, &strides(&x[0].shape)))?])
}

fn sliding_window_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, _) = result_type(cx, sliding_window_rule, x)?;
    let axis = axis_index(cx.int("axis")?, x[0].shape.len())?;
    let steps = cx.ints("strides")?;
    ensure!(axis + steps.len() == x[0].shape.len(), "There must be a window shape for every dimension from `axis` on");
    let within = strides(&x[0].shape);
    let mut moves = within.clone();
    for (stride, step) in moves[axis..].iter_mut().zip(steps) {
        *stride = stride.wrapping_mul(step as usize);
    }
    moves.extend(&within[axis..]);
    Ok(vec![pick(&x[0], &shape, offsets(&shape, &moves))?])
}

/// Writes the elements of `v` to the positions that a slice by begin, end and strides would read.
fn strided_set_kernel(_: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, update, begin, end, step] = x else { return Err(EvalError::new("strided_set takes five inputs")) };
    let (begin, end, step) = (read::<i64>(begin)?, read::<i64>(end)?, read::<i64>(step)?);
    let mut places = Vec::with_capacity(data.shape.len());
    for (axis, &extent) in data.shape.iter().enumerate() {
        let step = step.get(axis).copied().unwrap_or(1);
        ensure!(step != 0, "strided_set does not step by 0");
        let counted = |index: i64| if index < 0 { index.saturating_add(extent) } else { index };
        let first = begin.get(axis).copied().unwrap_or(if step > 0 { 0 } else { extent });
        let stop = end.get(axis).copied().unwrap_or(if step > 0 { extent + 1 } else { -(extent + 1) });
        let (first, stop) = (counted(first), counted(stop));
        let inside = |index: &i64| if step > 0 { *index < stop } else { *index > stop };
        let taken = std::iter::successors(Some(first), |index| index.checked_add(step)).take_while(inside);
        let within = (0..extent).contains(&first);
        ensure!(within || !inside(&first), "strided_set begins outside of axis {axis}");
        places.push(taken.take_while(|index| (0..extent).contains(index)).collect::<Vec<i64>>());
    }
    ensure!(update.shape.len() == places.len(), "strided_set: the values have {} axes", update.shape.len());
    let shape: Vec<i64> = places.iter().map(|taken| taken.len() as i64).collect();
    let size = data.dtype.bytes();
    ensure!(update.dtype == data.dtype, "strided_set: the values are {}", update.dtype);
    let mut out = bytes(data)?.to_vec();
    let source = bytes(update)?;
    let (to, from) = (strides(&data.shape), strides(&update.shape));
    each_index(&shape, |index| {
        let fits = index.iter().zip(update.shape.iter()).all(|(i, extent)| i < extent);
        ensure!(fits, "strided_set: the values do not fill the slice");
        let target: usize = (0..index.len()).map(|i| places[i][index[i] as usize] as usize * to[i]).sum();
        let place: usize = index.iter().zip(&from).map(|(i, stride)| *i as usize * stride).sum();
        out[target * size..(target + 1) * size].copy_from_slice(&source[place * size..(place + 1) * size]);
        Ok(())
    })?;
    Ok(vec![Tensor::new(data.dtype, data.shape.clone(), out)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;
    use crate::ops::kernel::write;

    #[test]
    fn a_slice_runs_backwards_to_before_the_first_element() {
        let whole = Slice { begin: i64::MAX, end: -100, stride: -1 };
        assert_eq!(whole.on(4), Ok((3, 4)));
        let x = write(DType::I32, &[4], &[1i64, 2, 3, 4]).unwrap();
        let out = sliced(&x, &[(0, Slice { stride: -2, ..whole })]).unwrap();
        assert_eq!(read::<i64>(&out).unwrap(), [4, 2]);
        assert!(Slice { begin: 3, end: 1, stride: 1 }.on(4).is_err());
    }
}
