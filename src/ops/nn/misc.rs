//! Correlation and the FIFO buffer.

use super::compute::{input, paddings, values};
use crate::ir::Dim;
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, axis_index, count, each_index, pick, write};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.correlation", "Compares patches of two images at every displacement up to `max_displacement`.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(correlation_kernel)
        .relay(relay(&["data1", "data2"], correlation).attrs(&schema(
            "relay.attrs.CorrelationAttrs",
            &[
                field::int("kernel_size", 1),
                field::int("max_displacement", 1),
                field::int("stride1", 1),
                field::int("stride2", 1),
                field::ints("padding", &[0, 0]),
                field::flag("is_multiply", true),
                field::text("layout", "NCHW"),
            ],
        ))),
    op("nn.fifo_buffer", "Appends `data` to `buffer` along `axis` and drops as many of the oldest elements.")
        .pattern(OpPattern::Opaque)
        .kernel(fifo_buffer_kernel)
        .relay(relay(&["data", "buffer"], fifo_buffer).attrs(&schema("relay.attrs.FIFOBufferAttrs", &[field::int("axis", 0)]))),
];

/// TVM's `CorrelationRel`.
fn correlation(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((a, dtype)), Some((b, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if cx.attr_text("layout") != "NCHW" || a.len() != 4 || b.len() != 4 {
        return Err("layout not supported.".into());
    }
    let Some(padding) = cx.total_padding(2) else {
        return Err("Padding size should be 1, 2 or 4".into());
    };
    let [stride1, stride2, displacement] = ["stride1", "stride2", "max_displacement"].map(|name| cx.attr_int(name));
    if stride1 < 1 || stride2 < 1 {
        return Err("the strides of a correlation must be positive".into());
    }
    let border = displacement.saturating_add((cx.attr_int("kernel_size").saturating_sub(1)) / 2);
    let channels = (displacement / stride2).saturating_mul(2).saturating_add(1).saturating_pow(2);
    let mut out = vec![a[0], Dim::int(channels)];
    for (extent, pad) in [(a[2], padding[0]), (b[3], padding[1])] {
        let room = cx.add(extent, pad);
        let room = cx.sub(room, Dim::int(border.saturating_mul(2)));
        let room = cx.add(room, Dim::int(stride1));
        let room = cx.sub(room, Dim::int(1));
        out.push(cx.div(room, Dim::int(stride1)));
    }
    cx.output_tensor(&out, dtype)
}

/// TVM's `FIFOBufferRel`.
fn fifo_buffer(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((data, _)), Some((buffer, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if data.len() != buffer.len() || cx.attr_axis(buffer.len()).is_none() {
        return Err("nn.fifo_buffer needs data and buffer of one rank and an axis within it".into());
    }
    cx.output(cx.types[1])
}

/// TVM: `correlation_nchw` in `topi/nn/correlation.py`.
fn correlation_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let &[batch, channels, height, width] = &*data.shape else {
        return Err(EvalError::new("nn.correlation compares tensors of 4 axes"));
    };
    let (before, after) = paddings(cx, 2)?;
    let [kernel, reach, stride1, stride2] =
        [cx.int("kernel_size")?, cx.int("max_displacement")?, cx.int("stride1")?, cx.int("stride2")?];
    let small = |x: i64| (0..1 << 15).contains(&x);
    if input(inputs, 1)?.shape != data.shape || !small(kernel) || !small(reach) || stride1 < 1 || stride2 < 1 {
        return Err(EvalError::new("both inputs need one shape, and sizes and strides must be positive"));
    }
    let border = reach + (kernel - 1) / 2;
    let radius = reach / stride2;
    let side = 2 * radius + 1;
    let extent = |size: i64, i: usize| (size + before[i] + after[i] - 2 * border + stride1 - 1).div_euclid(stride1).max(0);
    let shape = [batch, side * side, extent(height, 0), extent(width, 1)];
    let (a, b): (Vec<f64>, Vec<f64>) = (values(inputs, 0)?, values(inputs, 1)?);
    let multiply = cx.flag("is_multiply");
    let element = |data: &[f64], n: i64, c: i64, y: i64, x: i64| {
        let (y, x) = (y - before[0], x - before[1]);
        let inside = (0..height).contains(&y) && (0..width).contains(&x);
        if inside { data[(((n * channels + c) * height + y) * width + x) as usize] } else { 0.0 }
    };
    let mut out = Vec::with_capacity(count(&shape, data.dtype)?);
    each_index(&shape, |at| {
        let (y1, x1) = (at[2] * stride1 + reach, at[3] * stride1 + reach);
        let (y2, x2) = (y1 + (at[1] / side - radius) * stride2, x1 + (at[1] % side - radius) * stride2);
        let mut sum = 0.0;
        for c in 0..channels {
            for y in 0..kernel {
                for x in 0..kernel {
                    let (p, q) = (element(&a, at[0], c, y1 + y, x1 + x), element(&b, at[0], c, y2 + y, x2 + x));
                    sum += if multiply { p * q } else { (p - q).abs() };
                }
            }
        }
        out.push(sum / (kernel * kernel * channels) as f64);
        Ok(())
    })?;
    Ok(vec![write(data.dtype, &shape, &out)?])
}

/// The last elements of buffer and data joined along the axis, as many as the buffer has.
fn fifo_buffer_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (data, buffer) = (input(inputs, 0)?, input(inputs, 1)?);
    let axis = axis_index(cx.int("axis")?, buffer.shape.len())?;
    let fits = data.shape.len() == buffer.shape.len()
        && (0..buffer.shape.len()).all(|i| i == axis || data.shape[i] == buffer.shape[i])
        && data.dtype == buffer.dtype;
    if !fits {
        return Err(EvalError::new(format!("shapes {:?} and {:?} do not fit", data.shape, buffer.shape)));
    }
    let (outer, kept, after) = super::compute::around(&buffer.shape, axis);
    let fresh = data.shape[axis] as usize;
    // Both behind each other, so that places in either can be picked.
    let joined: Vec<u8> =
        [crate::ops::kernel::bytes(buffer)?, crate::ops::kernel::bytes(data)?].iter().flat_map(|b| b.iter().copied()).collect();
    let all = Tensor::new(buffer.dtype, [(buffer.len() + data.len()) as i64], joined);
    let split = buffer.len();
    let places = (0..outer).flat_map(move |o| {
        (0..kept).flat_map(move |k| {
            let at = k + fresh;
            let start = if at < kept { (o * kept + at) * after } else { split + (o * fresh + at - kept) * after };
            start..start + after
        })
    });
    Ok(vec![pick(&all, &buffer.shape, places)?])
}
