//! Convolutions, for which the user names layouts (TVM: src/relax/op/nn/convolution.cc).

use super::{Infer, Inferred, ValueLayout, comes_back, initial, is_split, transpose_like, transpose_split};
use crate::ops::layout::Layout;

/// The treatment of a desired layout that splits axes.
#[derive(Clone, Copy, PartialEq)]
enum Splits {
    /// It is an error.
    Never,
    /// It is taken if the extents divide.
    WhereTheyDivide,
}

/// `nn.conv1d`, `nn.conv1d_transpose`
pub fn conv1d(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    conv(cx, 3, Splits::Never)
}

/// `nn.conv2d`
pub fn conv2d(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    conv(cx, 4, Splits::WhereTheyDivide)
}

/// `nn.conv2d_transpose`, which as in TVM takes layouts for splits only when they have other axes.
pub fn conv2d_transpose(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    conv(cx, 4, Splits::Never)
}

/// `nn.conv3d`, `nn.conv3d_transpose`
pub fn conv3d(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    conv(cx, 5, Splits::Never)
}

fn conv(cx: &mut Infer<'_>, rank: usize, splits: Splits) -> Result<Inferred, String> {
    let (data, kernel) = (cx.layout_attr("data_layout", "")?, cx.layout_attr("kernel_layout", "")?);
    let out = cx.layout_attr("out_layout", "data_layout")?;
    let start = initial(rank);
    let Some(desired) = cx.desired else {
        return propagated(cx, cx.layout(0)?, cx.layout(1)?, [&data, &kernel, &out]);
    };
    let read = |at: usize| desired.get(at).map(|text| Layout::parse(text)).transpose();
    let (Some(new_data), Some(new_kernel)) = (read(0)?, read(1)?) else {
        return Err(format!("a desired layout of {} names those of data and weight", cx.op));
    };
    let new_out = read(2)?.unwrap_or_else(|| new_data.clone());
    let wanted = [&new_data, &new_kernel, &new_out];
    let plain = !wanted.iter().any(|layout| is_split(layout));
    let now = [&data, &kernel, &out];
    if plain || splits == Splits::Never {
        if !plain {
            return Err("Axis swap only".to_owned());
        }
        let mut layouts = Vec::with_capacity(3);
        for (now, wanted) in now.into_iter().zip(wanted) {
            layouts.push(transpose_like(&start, now, wanted)?);
        }
        return Ok(chosen(cx, layouts, wanted));
    }
    let divides = |cx: &mut Infer<'_>, index: usize| {
        let shape = cx.shape(index);
        shape.is_some_and(|shape| comes_back(cx.store, now[index], wanted[index], &shape))
    };
    if divides(cx, 0) && divides(cx, 1) {
        let mut layouts = Vec::with_capacity(3);
        for (now, wanted) in now.into_iter().zip(wanted) {
            layouts.push(transpose_split(&start, now, wanted)?);
        }
        return Ok(chosen(cx, layouts, wanted));
    }
    propagated(cx, start.clone(), start.clone(), now)
}

/// Takes the layouts that the user wants.
fn chosen(cx: &mut Infer<'_>, layouts: Vec<Layout>, wanted: [&Layout; 3]) -> Inferred {
    let [data, kernel, out] = wanted.map(|layout| cx.text(layout));
    let attrs = cx.with(&[("data_layout", data), ("kernel_layout", kernel), ("out_layout", out)]);
    let mut inputs: Vec<ValueLayout> = layouts.into_iter().map(ValueLayout::Tensor).collect();
    let output = inputs.pop().unwrap_or(ValueLayout::Unknown);
    Inferred { inputs, output, attrs, args: Vec::new() }
}

/// Takes the layouts that the arguments have, and sets the attributes.
fn propagated(cx: &mut Infer<'_>, data: Layout, kernel: Layout, now: [&Layout; 3]) -> Result<Inferred, String> {
    let start = initial(now[0].rank());
    let mut names = Vec::with_capacity(3);
    for (now, layout) in now.into_iter().zip([&data, &kernel, &data]) {
        let layout = transpose_like(now, &start, layout)?;
        names.push(cx.text(&layout));
    }
    let fields = ["data_layout", "kernel_layout", "out_layout"];
    let changes: Vec<_> = fields.into_iter().zip(names).collect();
    let attrs = cx.with(&changes);
    let output = ValueLayout::Tensor(data.clone());
    Ok(Inferred { inputs: [data, kernel].map(ValueLayout::Tensor).into(), output, attrs, args: Vec::new() })
}
