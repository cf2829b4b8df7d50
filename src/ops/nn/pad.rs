//! Padding and dilation.

use super::compute::{Source, input, pick_or_fill};
use crate::ir::Tensor;
use crate::ir::{AttrValue, Dim};
use crate::ops::kernel::{EvalError, KernelCx, Lane, by_lane, bytes, count, each_index, read_scalar, strides};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.PadAttrs`.
pub static PAD: AttrsSchema =
    schema("relay.attrs.PadAttrs", &[field::required("pad_width", AttrKind::Any), field::text("pad_mode", "constant")]);

/// Attributes `relay.attrs.DilateAttrs`.
pub static DILATE: AttrsSchema =
    schema("relay.attrs.DilateAttrs", &[field::ints("strides", &[1, 1]), field::float("dilation_value", 0.0)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "nn.pad",
        "Adds elements before and after along each axis: one value, the edge repeated, or the image mirrored, \
         by `pad_mode`.",
    )
    .pattern(OpPattern::Injective)
    .kernel(pad_kernel)
    .relay(relay(&["data", "pad_val"], pad).attrs(&PAD))
    .relax(
        relax(&[value("data")], deduce::nn::pad)
            .attrs(&schema(
                "relax.attrs.PadAttrs",
                &[
                    field::required("pad_width", AttrKind::Ints),
                    field::float("pad_value", 0.0),
                    field::text("pad_mode", "constant"),
                ],
            ))
            .order(&["data", "pad_width", "pad_mode", "pad_value"]),
    ),
    op("nn.mirror_pad", "Pads with the mirror image of the data; `SYMMETRIC` repeats the edge itself, `REFLECT` does not.")
        .pattern(OpPattern::Injective)
        .kernel(mirror_pad_kernel)
        .relay(relay(&["data"], mirror_pad).attrs(&schema(
            "relay.attrs.MirrorPadAttrs",
            &[field::text("mode", "SYMMETRIC"), field::required("pad_width", AttrKind::Any)],
        ))),
    op("nn.dilate", "Spreads elements `strides` apart along each axis, with `dilation_value` between them.")
        .pattern(OpPattern::Injective)
        .kernel(dilate_kernel)
        .relay(relay(&["x"], dilate)),
];

/// The widths before and after each axis.
fn pad_width(cx: &RuleCx<'_>, rank: usize) -> Result<Vec<Vec<i64>>, String> {
    let width = cx.attr_pairs("pad_width").unwrap_or_default();
    if width.len() != rank {
        return Err(format!(
            "There should be as many pad width pairs as shape dimensions but the shape has {rank} dimensions and there \
             are {} pad width pairs.",
            width.len()
        ));
    }
    match width.iter().position(|pair| pair.len() != 2) {
        Some(i) => {
            Err(format!("Each pad width element should be a pair but at index {i} there are {} elements.", width[i].len()))
        }
        None => Ok(width),
    }
}

/// TVM's `PadRel`. Widths may be negative, which crops.
fn pad(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let width = pad_width(cx, shape.len())?;
    for (extent, pair) in shape.iter_mut().zip(&width) {
        *extent = cx.add(*extent, Dim::int(pair[0].saturating_add(pair[1])));
        if extent.known().is_some_and(|e| e < 0) {
            let extent = extent.known().unwrap_or_default();
            return Err(format!("Output shape post padding should be positive but got {extent}"));
        }
    }
    cx.output_tensor(&shape, dtype)
}

/// TVM's `MirrorPadRel`.
fn mirror_pad(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let width = pad_width(cx, shape.len())?;
    for (i, (extent, pair)) in shape.iter_mut().zip(&width).enumerate() {
        if let Some(negative) = pair.iter().find(|w| **w < 0) {
            return Err(format!("Param width elements should be positive but first pad width at index {i} is {negative}."));
        }
        *extent = cx.add(*extent, Dim::int(pair[0].saturating_add(pair[1])));
    }
    cx.output_tensor(&shape, dtype)
}

/// TVM's `DilateRel`.
fn dilate(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let strides = cx.attr_dims_of("strides", shape.len())?;
    for (extent, stride) in shape.iter_mut().zip(strides) {
        if *extent == Dim::Any {
            continue;
        }
        let steps = cx.sub(*extent, Dim::int(1));
        let reach = cx.mul(steps, stride);
        *extent = cx.add(reach, Dim::int(1));
    }
    cx.output_tensor(&shape, dtype)
}

/// The pairs of `pad_width`, one for each axis.
fn widths(cx: &KernelCx<'_>, rank: usize) -> Result<Vec<[i64; 2]>, EvalError> {
    let wrong = || EvalError::new("`pad_width` must be a pair for each axis");
    let Some(AttrValue::Array(rows)) = cx.store.attr(cx.attrs, "pad_width") else { return Err(wrong()) };
    let pairs: Option<Vec<[i64; 2]>> = rows
        .iter()
        .map(|row| match row {
            AttrValue::Array(pair) if pair.len() == 2 => {
                let numbers = [cx.store.value_int(&pair[0])?, cx.store.value_int(&pair[1])?];
                numbers.iter().all(|n| n.unsigned_abs() < 1 << 31).then_some(numbers)
            }
            _ => None,
        })
        .collect();
    pairs.filter(|pairs| pairs.len() == rank).ok_or_else(wrong)
}

/// Pads a tensor. `place` maps a padded index along an axis to one of the data, or to `None` for the fill value.
fn padded(
    data: &Tensor,
    widths: &[[i64; 2]],
    fill: &[u8],
    place: impl Fn(i64, i64) -> Option<i64>,
) -> Result<Vec<Tensor>, EvalError> {
    let shape: Vec<i64> = data.shape.iter().zip(widths).map(|(e, [before, after])| e + before + after).collect();
    count(&shape, data.dtype)?;
    let steps = strides(&data.shape);
    let mut places = Vec::new();
    each_index(&shape, |index| {
        let mut from = Some(0);
        for axis in 0..index.len() {
            let at = place(index[axis] - widths[axis][0], data.shape[axis]).filter(|p| (0..data.shape[axis]).contains(p));
            from = from.and_then(|sum| Some(sum + at? as usize * steps[axis]));
        }
        places.push(from.map_or(Source::Fill, Source::At));
        Ok(())
    })?;
    Ok(vec![pick_or_fill(data, fill, &shape, places.into_iter())?])
}

/// One element of the data's type, in bytes.
fn one_element(data: &Tensor, value: &Tensor) -> Result<Vec<u8>, EvalError> {
    match value.dtype == data.dtype {
        true => Ok(bytes(value)?.get(..data.dtype.bytes()).unwrap_or_default().to_vec()),
        false => by_lane!(value.dtype, T => T::encode(data.dtype, &[read_scalar::<T>(value)?])),
    }
}

fn pad_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let widths = widths(cx, data.shape.len())?;
    pad_by(data, &widths, input(inputs, 1)?, cx.text("pad_mode"))
}

/// Pads each axis by the amounts before and after.
pub(crate) fn pad_by(data: &Tensor, widths: &[[i64; 2]], value: &Tensor, mode: &str) -> Result<Vec<Tensor>, EvalError> {
    let fill = one_element(data, value)?;
    match mode {
        "constant" => padded(data, widths, &fill, |place, _| Some(place)),
        "edge" => padded(data, widths, &fill, |place, extent| Some(place.clamp(0, (extent - 1).max(0)))),
        "reflect" => padded(data, widths, &fill, |place, extent| Some(mirrored(place, extent, 0))),
        other => Err(EvalError::new(format!("nn.pad does not know the mode {other}"))),
    }
}

/// Mirrors an index outside of the data once. The edge is repeated with `again` 1, not with 0.
fn mirrored(place: i64, extent: i64, again: i64) -> i64 {
    if place < 0 {
        -place - again
    } else if place >= extent {
        2 * extent - 2 - place + again
    } else {
        place
    }
}

fn mirror_pad_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let widths = widths(cx, data.shape.len())?;
    let again = i64::from(cx.text("mode") == "SYMMETRIC");
    let fill = vec![0; data.dtype.bytes()];
    padded(data, &widths, &fill, |place, extent| Some(mirrored(place, extent, again)))
}

fn dilate_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let by = cx.ints("strides")?;
    if by.len() != data.shape.len() || by.iter().any(|s| !(1..1 << 31).contains(s)) {
        return Err(EvalError::new("`strides` must be positive, one for each axis"));
    }
    let shape: Vec<i64> = data.shape.iter().zip(&by).map(|(e, s)| ((e - 1) * s + 1).max(0)).collect();
    count(&shape, data.dtype)?;
    let value = cx.float("dilation_value").unwrap_or(0.0);
    let fill = by_lane!(data.dtype, T => T::encode(data.dtype, &[T::from_f64(value)]))?;
    let steps = strides(&data.shape);
    let mut places = Vec::new();
    each_index(&shape, |index| {
        let inside = index.iter().zip(&by).all(|(i, s)| i % s == 0);
        let place = index.iter().zip(&by).zip(&steps).map(|((i, s), step)| (i / s) as usize * step).sum();
        places.push(if inside { Source::At(place) } else { Source::Fill });
        Ok(())
    })?;
    Ok(vec![pick_or_fill(data, &fill, &shape, places.into_iter())?])
}
