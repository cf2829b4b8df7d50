//! Operators on packed bits.

use super::compute::{input, values};
use super::conv::window_extents;
use crate::ir::Dim;
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, axis_index, count, each_index, strides, write};
use crate::ops::layout::Layout;
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.bitpack", "Packs the bits of integers along `pack_axis`, bit planes along a new `bit_axis`.")
        .pattern(OpPattern::Injective)
        .kernel(bitpack_kernel)
        .relay(relay(&["data"], bitpack).attrs(&schema(
            "relay.attrs.BitPackAttrs",
            &[
                field::int("bits", 1),
                field::int("pack_axis", 1),
                field::int("bit_axis", -1),
                field::dtype("pack_type", ""),
                field::text("name", "BitPack"),
            ],
        ))),
    op("nn.bitserial_conv2d", "A 2-D convolution over integers of few bits, computed bit by bit.")
        .pattern(OpPattern::OutEWiseFusable)
        .relay(relay(&["data", "weight"], bitserial_conv2d).attrs(&schema(
            "relay.attrs.BinaryConv2DAttrs",
            &[
                field::ints("strides", &[1, 1]),
                field::ints("padding", &[0, 0]),
                field::ints("kernel_size", &[3, 3]),
                field::or_none("channels", AttrKind::Integer),
                field::int("activation_bits", 1),
                field::int("weight_bits", 1),
                field::text("data_layout", "NCHW"),
                field::text("kernel_layout", "OIHW"),
                field::dtype("pack_dtype", ""),
                field::dtype("out_dtype", ""),
                field::flag("unipolar", true),
            ],
        ))),
    op("nn.bitserial_dense", "A matrix product over integers of few bits, computed bit by bit.")
        .pattern(OpPattern::OutEWiseFusable)
        .relay(relay(&["data", "weight"], bitserial_dense).attrs(&schema(
            "relay.attrs.BinaryDenseAttrs",
            &[
                field::required("units", AttrKind::Integer),
                field::int("data_bits", 1),
                field::int("weight_bits", 1),
                field::dtype("pack_dtype", ""),
                field::dtype("out_dtype", ""),
                field::flag("unipolar", true),
            ],
        ))),
];

/// TVM's `BitPackRel`.
fn bitpack(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, _)) = cx.tensor(0) else { return Ok(false) };
    let Some(dtype) = cx.store.attr_dtype(cx.attrs, "pack_type") else {
        return Err("pack_type must be set".into());
    };
    let (pack_axis, bit_axis) = (cx.attr_int("pack_axis"), cx.attr_int("bit_axis"));
    let bits = Dim::int(cx.attr_int("bits"));
    let mut out = Vec::with_capacity(shape.len() + 1);
    for (i, &extent) in shape.iter().enumerate() {
        if i as i64 == bit_axis {
            out.push(bits);
        }
        let packed = i as i64 == pack_axis;
        out.push(if packed { cx.div(extent, Dim::int(i64::from(dtype.bits))) } else { extent });
    }
    if bit_axis == shape.len() as i64 {
        out.push(bits);
    }
    cx.output_tensor(&out, dtype)
}

/// TVM's `BinaryConv2DRel`.
fn bitserial_conv2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let (layout, plain) = (cx.attr_layout("data_layout")?, Layout::parse("NCHW")?);
    if !layout.converts_to(&plain) {
        return Err(format!("Conv only support input layouts that are convertible from NCHW. But got {layout}"));
    }
    let shape = layout.convert_shape(cx.store, &plain, &shape)?;
    let channels = cx.attr_dim("channels").ok_or("channels must be set")?;
    let kernel = cx.attr_dims_of("kernel_size", 2)?;
    let extents = window_extents(cx, &shape[2..], &kernel, &[Dim::int(1), Dim::int(1)])?;
    let out = [shape[0], channels, extents[0], extents[1]];
    let out = plain.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// TVM's `BinaryDenseRel`.
fn bitserial_dense(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let units = cx.attr_dim("units").ok_or("units must be set")?;
    let Some(last) = shape.last_mut() else {
        return Err("the data of a dense layer needs an axis".into());
    };
    *last = units;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&shape, dtype)
}

/// TVM: `bitpack` in `topi/nn/bitserial_util.py`. The first element packed is the highest bit.
fn bitpack_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let rank = data.shape.len();
    let Some(dtype) = cx.store.attr_dtype(cx.attrs, "pack_type") else {
        return Err(EvalError::new("`pack_type` is not given"));
    };
    let width = i64::from(dtype.bits);
    let pack_axis = axis_index(cx.int("pack_axis")?, rank)?;
    let bit_axis = usize::try_from(cx.int("bit_axis")?).ok().filter(|a| *a <= rank);
    let (Some(bit_axis), bits @ 1..=8) = (bit_axis, cx.int("bits")?) else {
        return Err(EvalError::new("bit_axis and bits are out of range"));
    };
    if data.shape[pack_axis] % width != 0 {
        return Err(EvalError::new(format!("the packed extent is not a multiple of {width}")));
    }
    let x: Vec<i64> = values(inputs, 0)?;
    let steps = strides(&data.shape);
    let mut shape = data.shape.to_vec();
    shape[pack_axis] /= width;
    shape.insert(bit_axis, bits);
    let mut out: Vec<u64> = Vec::with_capacity(count(&shape, dtype)?);
    each_index(&shape, |index| {
        let mut from = index.to_vec();
        let bit = from.remove(bit_axis);
        from[pack_axis] *= width;
        let start: usize = from.iter().zip(&steps).map(|(i, s)| *i as usize * s).sum();
        let elements = (0..width as usize).map(|k| (x[start + k * steps[pack_axis]] >> bit) as u64 & 1);
        out.push(elements.fold(0, |word, bit| word << 1 | bit));
        Ok(())
    })?;
    Ok(vec![write(dtype, &shape, &out)?])
}
