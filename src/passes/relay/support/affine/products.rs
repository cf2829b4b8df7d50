//! Rules of operators that multiply: the scale of the result is the product of both scales.

use super::rules::{attr, attrs, cast, over, quantized_constant, tensor};
use super::{Affine, Region, Rewritten};
use crate::ir::{AttrValue, DType, ExprId};
use crate::ops::build::{ints, op_name, scalar, with_attrs};

/// Returns the scale and zero point of a product; the zero point is 0.
fn product(region: &mut Region<'_>, a: Affine, b: Affine) -> Result<(ExprId, ExprId), String> {
    let scale = region.call("multiply", &[a.scale, b.scale], None);
    let scale = region.fold(scale);
    let zeros = region.call("zeros_like", &[scale], None);
    let zeros = cast(region, zeros, DType::I32);
    Ok((scale, region.fold(zeros)))
}

/// Returns the axis of an image in this layout that TVM takes for the channels: the position of the layout's second
/// axis among N, C, H, W, which is right for layouts that begin with NC.
fn channel_axis(layout: &str) -> Option<i64> {
    let mut axes: Vec<(char, i64)> = Vec::new();
    let mut factor = 0;
    for letter in layout.chars() {
        match letter.to_digit(10) {
            Some(digit) => factor = factor * 10 + i64::from(digit),
            None => axes.push((letter, std::mem::take(&mut factor))),
        }
    }
    if !"NCHW".chars().all(|axis| axes.iter().any(|(name, _)| *name == axis)) {
        return None;
    }
    let (name, factor) = *axes.get(1)?;
    let index = "NCHW".find(name.to_ascii_uppercase())? as i64;
    if name.is_lowercase() {
        return index.checked_rem(factor);
    }
    let inner = axes.iter().find(|(other, _)| *other == name.to_ascii_lowercase());
    inner.map_or(Some(index), |(_, factor)| index.checked_div(*factor))
}

pub(super) fn convolution(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data, weight] = region.args(call)?;
    let (x, w) = (region.tensor(data)?, region.tensor(weight)?);
    let (scale, zero_point) = product(region, x, w)?;
    let old = attrs(region, call).ok_or("a convolution without attributes")?;
    let padding = match region.store.attr_ints(Some(old), "padding").as_deref() {
        Some([height, width]) => [*height, *width, *height, *width],
        Some([top, left, bottom, right]) => [*top, *left, *bottom, *right],
        _ => return Err("Size of padding can only be 2 or 4".to_owned()),
    };
    let changes = [("padding", ints(&padding)), ("out_dtype", AttrValue::DType(Some(DType::I32)))];
    let new_attrs = with_attrs(region.store, old, &changes);
    let text = |name| region.store.attr_str(Some(old), name).unwrap_or_default().to_owned();
    let layout = Some(text("out_layout")).filter(|layout| !layout.is_empty()).unwrap_or_else(|| text("data_layout"));
    let axis = channel_axis(&layout).ok_or_else(|| format!("the layout {layout} is not one of images"))?;
    let name = if op_name(region.store, call) == "nn.conv2d" { "qnn.conv2d" } else { "qnn.conv2d_transpose" };
    let args = [data, weight, x.zero_point, w.zero_point, x.scale, w.scale];
    let new = region.call(name, &args, Some(new_attrs));
    tensor(new, Affine { scale, zero_point, dtype: DType::I32, axis })
}

pub(super) fn dense(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data, weight] = region.args(call)?;
    let (x, w) = (region.tensor(data)?, region.tensor(weight)?);
    let (scale, zero_point) = product(region, x, w)?;
    let written = [attr(region, call, "units"), ("out_dtype", AttrValue::DType(Some(DType::I32)))];
    let new = region.call_with("qnn.dense", &[data, weight, x.zero_point, w.zero_point, x.scale, w.scale], &written);
    tensor(new, Affine { scale, zero_point, dtype: DType::I32, axis: 1 })
}

pub(super) fn batch_matmul(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [left, right] = region.args(call)?;
    let (x, y) = (region.tensor(left)?, region.tensor(right)?);
    let scale = region.call("multiply", &[x.scale, y.scale], None);
    let scale = region.fold(scale);
    let zero_point = scalar(region.store, DType::I32, 0.0);
    // TVM transposes the second operand, whatever the call says.
    let written = [("transpose_b", AttrValue::Bool(true)), ("out_dtype", AttrValue::DType(Some(DType::I32)))];
    let args = [left, right, x.zero_point, y.zero_point, x.scale, y.scale];
    let new = region.call_with("qnn.batch_matmul", &args, &written);
    tensor(new, Affine { scale, zero_point, dtype: DType::I32, axis: x.axis })
}

pub(super) fn bias_add(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data, mut bias] = region.args(call)?;
    let ty = region.tensor(data)?;
    if region.types.contains_key(&bias) {
        let from = region.tensor(bias)?;
        let to = Affine { scale: region.fold(ty.scale), zero_point: region.fold(ty.zero_point), ..ty };
        if !region.alike(ty, from)? {
            bias = region.requantize(bias, from, to, ty.dtype, 0);
        }
    } else {
        bias = quantized_constant(region, bias, ty, 0)?;
    }
    let new = over(region, call, &[data, bias]);
    tensor(new, ty)
}

#[cfg(test)]
mod tests {
    use super::channel_axis;

    #[test]
    fn the_channels_are_where_tvm_looks_for_them() {
        assert_eq!(channel_axis("NCHW"), Some(1));
        // TVM takes the third axis, not the fourth.
        assert_eq!(channel_axis("NHWC"), Some(2));
        assert_eq!(channel_axis("NCHW4c"), Some(0));
        assert_eq!(channel_axis("NCW"), None);
    }
}
