//! The rules of operators over quantised tensors (TVM's `FTVMFakeQuantizationToInteger`,
//! `python/tvm/relay/transform/fake_quantization_to_integer.py`).

use super::elementwise::{binary, clip, extreme, leaky_relu, relu, softmax, unary};
use super::products::{batch_matmul, bias_add, convolution, dense};
use super::{Affine, AffineType, Region, Rewritten};
use crate::ir::{AttrValue, AttrsId, DType, ExprId};
use crate::ops::build::{self, constant, op_name};
use crate::passes::relay::support::local_type::typed_tuple;

/// Rewrites a call whose arguments are done.
pub type Rule = fn(&mut Region<'_>, ExprId) -> Rewritten;

/// Returns the rule of an operator. `nn.softmax` has one only if `optional` names it.
pub fn of(name: &str, optional: &[String]) -> Option<Rule> {
    Some(match name {
        "qnn.dequantize" => dequantize,
        "qnn.quantize" => quantize,
        "reshape" | "squeeze" | "strided_slice" | "transpose" | "expand_dims" | "nn.max_pool2d" | "nn.batch_flatten"
        | "nn.depth_to_space" | "max" | "min" | "image.resize2d" => identity,
        "nn.avg_pool2d" => avg_pool2d,
        "nn.adaptive_avg_pool1d" | "nn.global_avg_pool2d" => mean_over_all,
        "broadcast_to" | "take" => again,
        "nn.bias_add" => bias_add,
        "nn.conv2d" | "nn.conv2d_transpose" => convolution,
        "nn.dense" => dense,
        "nn.batch_matmul" => batch_matmul,
        "concatenate" => concatenate,
        "topk" => topk,
        "split" => split,
        "clip" => clip,
        "nn.relu" => relu,
        "nn.leaky_relu" => leaky_relu,
        "nn.pad" => pad,
        "mean" => mean,
        "add" | "multiply" | "subtract" => binary,
        "minimum" | "maximum" => extreme,
        "sqrt" | "rsqrt" | "exp" | "erf" | "sigmoid" | "hardswish" | "tanh" | "abs" | "log" => unary,
        "nn.softmax" if optional.iter().any(|wanted| wanted == name) => softmax,
        _ => return None,
    })
}

/// True if an operator is rewritten by itself, because its inputs determine the type of its result.
pub fn stands_alone(name: &str) -> bool {
    matches!(
        name,
        "broadcast_to"
            | "clip"
            | "expand_dims"
            | "max"
            | "maximum"
            | "min"
            | "minimum"
            | "nn.avg_pool2d"
            | "nn.batch_flatten"
            | "nn.batch_matmul"
            | "nn.bias_add"
            | "nn.conv2d"
            | "nn.conv2d_transpose"
            | "nn.dense"
            | "nn.depth_to_space"
            | "nn.global_avg_pool2d"
            | "nn.max_pool2d"
            | "nn.pad"
            | "nn.relu"
            | "reshape"
            | "split"
            | "squeeze"
            | "strided_slice"
            | "transpose"
    )
}

pub(super) fn tensor(id: ExprId, ty: Affine) -> Rewritten {
    Ok((id, AffineType::Tensor(ty)))
}

pub(super) fn attrs(region: &Region<'_>, call: ExprId) -> Option<AttrsId> {
    region.store.call(call).and_then(|call| call.attrs)
}

pub(super) fn attr(region: &Region<'_>, call: ExprId, name: &'static str) -> (&'static str, AttrValue) {
    (name, region.store.attr(attrs(region, call), name).cloned().unwrap_or(AttrValue::Null))
}

/// Calls the same operator with the same attributes on other arguments.
pub(super) fn over(region: &mut Region<'_>, call: ExprId, args: &[ExprId]) -> ExprId {
    let (name, attrs) = (op_name(region.store, call), attrs(region, call));
    region.call(name, args, attrs)
}

fn dequantize(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let ty = region.tensor(call)?;
    tensor(region.args::<3>(call)?[0], ty)
}

fn quantize(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data, scale, zero_point] = region.args(call)?;
    let from = region.tensor(data)?;
    let from = Affine { scale: region.fold(from.scale), zero_point: region.fold(from.zero_point), ..from };
    let dtype = region.store.attr_dtype(attrs(region, call), "out_dtype").ok_or("`qnn.quantize` has no `out_dtype`")?;
    let axis = region.store.attr_int(attrs(region, call), "axis").unwrap_or(-1);
    let to = Affine { scale, zero_point, dtype, axis };
    let done = if region.alike(from, to)? { data } else { region.requantize(data, from, to, dtype, from.axis) };
    tensor(done, to)
}

fn identity(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let ty = region.tensor(data)?;
    tensor(call, ty)
}

/// Rebuilds the call; its result has the type of the first argument.
fn again(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let args = build::args(region.store, call);
    let ty = region.tensor(*args.first().ok_or("no argument")?)?;
    let new = over(region, call, &args);
    tensor(new, ty)
}

fn avg_pool2d(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let (from, mut out) = (region.tensor(data)?, region.tensor(call)?);
    // The result type is known only right before the quantisation.
    let pool = attrs(region, call);
    let (mut before, mut at) = (region.root, region.root);
    while let Some(inner) = region.store.call(at) {
        if at != region.root && op_name(region.store, at) == "nn.avg_pool2d" && inner.attrs == pool {
            if op_name(region.store, before) != "qnn.quantize" {
                out = from;
            }
            break;
        }
        let Some(first) = region.store.items(inner.args).next() else { break };
        (before, at) = (at, first);
    }
    let names = ["pool_size", "strides", "dilation", "padding", "layout", "ceil_mode", "count_include_pad"];
    let written = names.map(|name| attr(region, call, name));
    let args = [data, from.scale, from.zero_point, out.scale, out.zero_point];
    let new = region.call_with("qnn.avg_pool2d", &args, &written);
    tensor(new, out)
}

/// Averages over whole axes, in 32 bits on the scale of the output.
fn mean_over_all(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let (from, out) = (region.tensor(data)?, region.tensor(call)?);
    let data = if region.alike(from, out)? {
        cast(region, data, DType::I32)
    } else {
        region.requantize(data, from, out, DType::I32, from.axis)
    };
    // TVM leaves out the layout attribute.
    let new = match op_name(region.store, call) {
        "nn.adaptive_avg_pool1d" => {
            let size = attr(region, call, "output_size");
            region.call_with("nn.adaptive_avg_pool1d", &[data], &[size])
        }
        name => region.call_with(name, &[data], &[]),
    };
    tensor(new, Affine { dtype: DType::I32, ..out })
}

pub(super) fn cast(region: &mut Region<'_>, data: ExprId, dtype: DType) -> ExprId {
    region.call_with("cast", &[data], &[("dtype", AttrValue::DType(Some(dtype)))])
}

/// Quantises a constant of real numbers.
pub(super) fn quantized_constant(region: &mut Region<'_>, id: ExprId, to: Affine, axis: i64) -> Result<ExprId, String> {
    let value = constant(region.store, id).ok_or("an argument is neither quantised nor a constant")?;
    if !value.dtype.is_float() {
        return Err("a constant is no real number".to_owned());
    }
    Ok(region.quantize(id, to, axis))
}

fn concatenate(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let Some(AffineType::Tuple(types)) = region.types.get(&data).cloned() else {
        return Err("what is concatenated is no tuple of quantised tensors".to_owned());
    };
    let out = region.tensor(call)?;
    let tuple = |region: &mut Region<'_>, of: fn(&Affine) -> ExprId| {
        let fields: Vec<ExprId> = types.iter().map(of).map(|field| region.typed(field)).collect();
        typed_tuple(region.store, &fields)
    };
    let scales = tuple(region, |ty| ty.scale);
    let zero_points = tuple(region, |ty| ty.zero_point);
    let axis = attr(region, call, "axis");
    let new = region.call_with("qnn.concatenate", &[data, scales, zero_points, out.scale, out.zero_point], &[axis]);
    tensor(new, out)
}

fn topk(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    if region.store.attr_str(attrs(region, call), "ret_type") != Some("values") {
        return Err("`topk` must yield values".to_owned());
    }
    let data = *build::args(region.store, call).first().ok_or("no argument")?;
    let ty = region.tensor(data)?;
    tensor(call, ty)
}

fn split(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let ty = region.tensor(data)?;
    let (attrs, name) = (attrs(region, call), "indices_or_sections");
    let parts = match (region.store.attr_ints(attrs, name), region.store.attr_int(attrs, name)) {
        (Some(indices), _) => indices.len() + 1,
        (None, Some(sections)) => usize::try_from(sections).unwrap_or(0),
        (None, None) => return Err("`split` does not say where".to_owned()),
    };
    // The number of fields comes from the type of the call, not from its attributes.
    let fields = match region.store.checked_type(call).map(|ty| region.store.type_of_id(ty)) {
        Some(crate::ir::Type::Tuple(fields)) => fields.len(),
        _ => parts,
    };
    Ok((call, AffineType::Tuple(vec![ty; parts.min(fields)])))
}

fn pad(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data, mut value] = region.args(call)?;
    let ty = region.tensor(data)?;
    if region.types.contains_key(&value) {
        let from = region.tensor(value)?;
        if !region.equal(ty, from) {
            value = region.requantize(value, from, ty, ty.dtype, from.axis);
        }
    } else {
        value = quantized_constant(region, value, ty, -1)?;
    }
    let new = over(region, call, &[data, value]);
    tensor(new, ty)
}

fn mean(region: &mut Region<'_>, call: ExprId) -> Rewritten {
    let [data] = region.args(call)?;
    let ty = region.tensor(data)?;
    let wide = cast(region, data, DType::I32);
    let mean = over(region, call, &[wide]);
    let new = cast(region, mean, ty.dtype);
    tensor(new, ty)
}
