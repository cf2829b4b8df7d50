//! Rules of element-wise operators.

use super::rules::{attr, attrs, cast, over, tensor};
use super::{Affine, Region, Rewritten};
use crate::ir::{AttrValue, DType, Double, ExprId};
use crate::ops::build::{constant, elements, ints, op_name, scalar};
use crate::passes::relay::support::normalise_axis;

pub(super) fn clip(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let ty = region.tensor(data)?;
    let bound = |name| region.store.attr_float(attrs(region, call), name).ok_or("`clip` has no bounds");
    let (least, most) = (bound("a_min")?, bound("a_max")?);
    let (scale, zero_point) = (region.fold(ty.scale), region.fold(ty.zero_point));
    let single = |id| constant(region.store, id).and_then(elements).filter(|all| all.len() == 1).map(|all| all[0]);
    if let (Some(scale), Some(zero_point)) = (single(scale), single(zero_point)) {
        let [new_min, new_max] = [least, most].map(|bound| (bound / scale + zero_point).trunc());
        if !new_min.is_finite() || !new_max.is_finite() {
            return Err("a bound of `clip` is no integer on this scale".to_owned());
        }
        let written = [("a_min", AttrValue::Float(Double(new_min))), ("a_max", AttrValue::Float(Double(new_max)))];
        let new = region.call_with("clip", &[data], &written);
        return tensor(new, ty);
    }
    let on_scale = Affine { scale, zero_point, ..ty };
    let mut bounds = [least, most].map(|bound| scalar(region.store, DType::F32, bound));
    let scale_shape = region.shape(scale)?;
    for bound in &mut bounds {
        if scale_shape.first().is_some_and(|n| *n > 1) {
            *bound = per_channel(region, *bound, &scale_shape, data, ty.axis)?;
        }
        let quantized = region.quantize(*bound, on_scale, ty.axis);
        *bound = region.fold(quantized);
    }
    let [least, most] = bounds;
    let above = region.call("maximum", &[data, least], None);
    let new = region.call("minimum", &[above, most], None);
    tensor(new, ty)
}

/// Makes a tensor of one number per channel of `data`, shaped so that it broadcasts along the other axes.
fn per_channel(region: &mut Region<'_>, value: ExprId, shape: &[i64], data: ExprId, axis: i64) -> Result<ExprId, String> {
    let rank = region.shape(data)?.len();
    let axis = normalise_axis(axis, rank).ok_or("the axis of the channels is not there")?;
    let mut new_shape = vec![1; rank];
    new_shape[axis] = -1;
    let wide = region.call_with("broadcast_to", &[value], &[("shape", ints(shape))]);
    Ok(region.call_with("reshape", &[wide], &[("newshape", ints(&new_shape))]))
}

pub(super) fn relu(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let ty = region.tensor(data)?;
    let shape = region.shape(ty.scale)?;
    let mut zero = ty.zero_point;
    match shape.as_slice() {
        [] => {}
        [channels] if *channels > 1 => zero = per_channel(region, zero, &shape, data, ty.axis)?,
        [_] => {}
        _ => return Err("a scale has more than one axis".to_owned()),
    }
    let zero = cast(region, zero, ty.dtype);
    let zero = region.fold(zero);
    let new = region.call("maximum", &[data, zero], None);
    tensor(new, ty)
}

/// TVM puts the quantised operator on top of the one on real numbers, instead of replacing it.
pub(super) fn leaky_relu(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let (from, out) = (region.tensor(data)?, region.tensor(call)?);
    let alpha = attr(region, call, "alpha");
    let args = [call, from.scale, from.zero_point, out.scale, out.zero_point];
    let new = region.call_with("qnn.leaky_relu", &args, &[alpha]);
    tensor(new, from)
}

/// Both operands of a binary operator, of which one may be a constant of real numbers, and its result type.
struct Sides {
    args: [ExprId; 2],
    types: [Affine; 2],
    out: Affine,
}

fn sides(region: &mut Region<'_>, call: ExprId) -> Result<Sides, String> {
    let mut args: [ExprId; 2] = region.args(call)?;
    let known = args.map(|arg| region.types.contains_key(&arg));
    let mut out = region.tensor(call)?;
    let types = match known {
        [true, true] => [region.tensor(args[0])?, region.tensor(args[1])?],
        [false, false] => return Err("neither input is quantized!".to_owned()),
        [first, _] => {
            let (at, other) = if first { (1, 0) } else { (0, 1) };
            let ty = region.tensor(args[other])?;
            constant(region.store, args[at]).ok_or("an argument is neither quantised nor a constant")?;
            args[at] = region.quantize(args[at], ty, -1);
            [ty, ty]
        }
    };
    if types[0].dtype != out.dtype {
        out = types[0];
    }
    Ok(Sides { args, types, out })
}

pub(super) fn binary(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let Sides { args: [left, right], types: [x, y], out } = sides(region, call)?;
    let name = op_name(region.store, call);
    // A sum behind a matrix product often adds a bias, whose scale may be one per channel.
    if name == "add"
        && region.alike(x, y)?
        && x.dtype == DType::I32
        && region.close(x.scale, out.scale)?
        && region.close(x.zero_point, out.zero_point)?
    {
        let zeros = constant(region.store, out.zero_point).and_then(elements).ok_or("a zero point is no constant")?;
        if zeros.iter().all(|zero| *zero == 0.0) {
            let new = region.call("add", &[left, right], None);
            return tensor(new, x);
        }
    }
    for (part, what) in [(out.scale, "scale"), (out.zero_point, "zero point")] {
        let value = constant(region.store, part).ok_or_else(|| format!("the output {what} is no constant"))?;
        if !value.shape.is_empty() {
            return Err(format!("The output {what} needs to be a scalar, but got a tensor of shape {:?}", value.shape));
        }
    }
    let name = match name {
        "add" => "qnn.add",
        "subtract" => "qnn.subtract",
        _ => "qnn.mul",
    };
    let written = [("lhs_axis", AttrValue::int(x.axis)), ("rhs_axis", AttrValue::int(y.axis))];
    let args = [left, right, x.scale, x.zero_point, y.scale, y.zero_point, out.scale, out.zero_point];
    let new = region.call_with(name, &args, &written);
    tensor(new, out)
}

pub(super) fn extreme(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let Sides { mut args, types, out } = sides(region, call)?;
    for (arg, ty) in args.iter_mut().zip(types) {
        if !region.equal(ty, out) {
            *arg = region.requantize(*arg, ty, out, out.dtype, ty.axis);
        }
    }
    let new = over(region, call, &args);
    tensor(new, out)
}

pub(super) fn unary(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let (from, out) = (region.tensor(data)?, region.tensor(call)?);
    let name = format!("qnn.{}", op_name(region.store, call));
    let new = region.call(&name, &[data, from.scale, from.zero_point, out.scale, out.zero_point], None);
    tensor(new, out)
}

pub(super) fn softmax(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let (from, out) = (region.tensor(data)?, region.tensor(call)?);
    let axis = attr(region, call, "axis");
    let args = [data, from.scale, from.zero_point, out.scale, out.zero_point];
    let new = region.call_with("qnn.softmax", &args, &[axis]);
    tensor(new, out)
}
