//! Convolutions (TVM: src/relax/op/nn/convolution.cc). One rule for all ranks, which the layouts determine.

use super::{Deduce, Tensor, int};
use crate::ir::{Dim, PrimOp, TypeId};
use crate::ops::layout::Layout;

/// Returns the layout in an attribute; `otherwise` when that is not set.
pub(super) fn layout(cx: &Deduce<'_>, attr: &str, otherwise: &str) -> Result<Layout, String> {
    Layout::parse(&cx.text(attr).unwrap_or_else(|| otherwise.to_owned()))
}

/// Returns the extents in the plain layout, if they are known. The rank has to be that of the layout.
pub(super) fn plain(cx: &mut Deduce<'_>, tensor: &Tensor, layout: &Layout, to: &Layout) -> Result<Option<Vec<Dim>>, String> {
    if let Some(rank) = tensor.rank
        && rank != layout.rank()
    {
        return Err(format!(
            "In {}, a tensor of {} dimensions is expected. However, the given one has ndim {rank}",
            cx.op,
            layout.rank()
        ));
    }
    match &tensor.shape {
        Some(shape) => layout.convert_extents(cx.store, to, shape, 64).map(Some),
        None => Ok(None),
    }
}

/// Returns the extent over which a window moves: padded, less the reach of the window.
pub(super) fn span(cx: &mut Deduce<'_>, extent: Dim, padding: i64, dilation: i64, kernel: Dim) -> Dim {
    let padded = cx.arith(PrimOp::Add, extent, int(padding));
    let steps = cx.arith(PrimOp::Sub, kernel, int(1));
    let covered = cx.arith(PrimOp::Mul, int(dilation), steps);
    let rest = cx.arith(PrimOp::Sub, padded, covered);
    cx.arith(PrimOp::Sub, rest, int(1))
}

/// Returns the number for a spatial axis: TVM completes lists, texts may have short ones.
pub(super) fn at(list: &[i64], axis: usize, otherwise: i64) -> i64 {
    list.get(axis).or(list.last()).copied().unwrap_or(otherwise)
}

/// Returns the sum of the padding before and after a spatial axis.
pub(super) fn both(padding: &[i64], axis: usize, axes: usize) -> i64 {
    if padding.len() == 2 * axes {
        padding[axis].saturating_add(padding[axis + axes])
    } else {
        at(padding, axis, 0).saturating_mul(2)
    }
}

struct Conv {
    data: Vec<Dim>,
    weight: Vec<Dim>,
    out_layout: Layout,
    plain: Layout,
}

/// Checks the operands of both kinds; the inner error means "not known", with the rank of the result.
fn operands(cx: &mut Deduce<'_>, spatial: &str, weight_first: &str) -> Result<Result<Conv, usize>, String> {
    cx.lengths(&["strides", "padding", "dilation", "output_padding"], spatial.len())?;
    cx.arity(2)?;
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    let plain_data = format!("NC{spatial}");
    let plain_weight = format!("{weight_first}{spatial}");
    let data_layout = layout(cx, "data_layout", &plain_data)?;
    let kernel_layout = layout(cx, "kernel_layout", &plain_weight)?;
    let out_layout = match cx.text("out_layout") {
        Some(name) => Layout::parse(&name)?,
        None => data_layout.clone(),
    };
    let (to, weight_to) = (Layout::parse(&plain_data)?, Layout::parse(&plain_weight)?);
    let data = plain(cx, &data, &data_layout, &to)?;
    let weight = plain(cx, &weight, &kernel_layout, &weight_to)?;
    let rank = out_layout.rank();
    Ok(match (data, weight) {
        (Some(data), Some(weight)) => Ok(Conv { data, weight, out_layout, plain: to }),
        _ => Err(rank),
    })
}

fn finish(cx: &mut Deduce<'_>, conv: &Conv, out: &[Dim]) -> Result<TypeId, String> {
    let (dtype, vdevice) = results(cx)?;
    let shape = conv.plain.convert_extents(cx.store, &conv.out_layout, out, 64)?;
    Ok(cx.out(&shape, dtype, vdevice))
}

type Results = (Option<crate::ir::DType>, Option<crate::ir::Id<crate::ir::Object>>);

fn results(cx: &mut Deduce<'_>) -> Result<Results, String> {
    let (data, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    let dtype = match cx.dtype("out_dtype") {
        Some(dtype) => Some(dtype),
        None => cx.arith_dtype(&data, &weight)?,
    };
    Ok((dtype, cx.common_vdevice(&[&data, &weight])?))
}

fn unknown(cx: &mut Deduce<'_>, rank: usize) -> Result<TypeId, String> {
    let (dtype, vdevice) = results(cx)?;
    Ok(cx.vague(Some(rank), dtype, vdevice))
}

fn conv(cx: &mut Deduce<'_>, spatial: &str) -> Result<TypeId, String> {
    let conv = match operands(cx, spatial, "OI")? {
        Ok(conv) => conv,
        Err(rank) => return unknown(cx, rank),
    };
    let groups = cx.int("groups").unwrap_or(1).max(1);
    let wanted = cx.arith(PrimOp::Mul, conv.weight[1], int(groups));
    if cx.differ(conv.data[1], wanted) {
        return Err("The channel size of the data should equal to the product of input channel size of the weight and the number of groups.".to_owned());
    }
    if cx.is_never_multiple(conv.weight[0], groups) {
        return Err(format!("{} expects the number of output channels to be divisible by the number of groups", cx.op));
    }
    let (strides, padding, dilation) = windows(cx);
    let axes = spatial.len();
    let mut out = vec![conv.data[0], conv.weight[0]];
    for axis in 0..axes {
        let rest = span(cx, conv.data[2 + axis], both(&padding, axis, axes), at(&dilation, axis, 1), conv.weight[2 + axis]);
        let steps = cx.arith(PrimOp::FloorDiv, rest, int(at(&strides, axis, 1).max(1)));
        let extent = cx.arith(PrimOp::Add, steps, int(1));
        out.push(cx.natural(extent));
    }
    finish(cx, &conv, &out)
}

fn windows(cx: &Deduce<'_>) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let list = |name: &str| cx.ints(name).unwrap_or_default();
    (list("strides"), list("padding"), list("dilation"))
}

fn transpose(cx: &mut Deduce<'_>, spatial: &str) -> Result<TypeId, String> {
    let conv = match operands(cx, spatial, "IO")? {
        Ok(conv) => conv,
        Err(rank) => return unknown(cx, rank),
    };
    let groups = cx.int("groups").unwrap_or(1).max(1);
    if cx.differ(conv.data[1], conv.weight[0]) {
        return Err(format!(
            "{} expects the channel size of the data should equal to the input channel size of the weight.",
            cx.op
        ));
    }
    if cx.is_never_multiple(conv.weight[0], groups) {
        return Err(format!("{} expects the number of input channels to be divisible by the number of groups", cx.op));
    }
    let (strides, padding, dilation) = windows(cx);
    let output_padding = cx.ints("output_padding").unwrap_or_default();
    let axes = spatial.len();
    let channels = cx.arith(PrimOp::Mul, conv.weight[1], int(groups));
    let mut out = vec![conv.data[0], channels];
    for axis in 0..axes {
        let stride = at(&strides, axis, 1);
        if at(&output_padding, axis, 0) >= stride {
            return Err(format!("{} expects the output padding less than the strides", cx.op));
        }
        let steps = cx.arith(PrimOp::Sub, conv.data[2 + axis], int(1));
        let moved = cx.arith(PrimOp::Mul, steps, int(stride));
        let inside = cx.arith(PrimOp::Sub, moved, int(both(&padding, axis, axes)));
        let reach = cx.arith(PrimOp::Sub, conv.weight[2 + axis], int(1));
        let reach = cx.arith(PrimOp::Mul, int(at(&dilation, axis, 1)), reach);
        let sum = cx.arith(PrimOp::Add, inside, reach);
        let extent = cx.arith(PrimOp::Add, sum, int(at(&output_padding, axis, 0).saturating_add(1)));
        out.push(cx.natural(extent));
    }
    finish(cx, &conv, &out)
}

/// `nn.conv1d`
pub fn conv1d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    conv(cx, "W")
}

/// `nn.conv2d`
pub fn conv2d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    conv(cx, "HW")
}

/// `nn.conv3d`
pub fn conv3d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    conv(cx, "DHW")
}

/// `nn.conv1d_transpose`
pub fn conv1d_transpose(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    transpose(cx, "W")
}

/// `nn.conv2d_transpose`
pub fn conv2d_transpose(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    transpose(cx, "HW")
}

/// `nn.conv3d_transpose`
pub fn conv3d_transpose(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    transpose(cx, "DHW")
}
