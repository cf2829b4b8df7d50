//! Markers that passes leave in a program.

use crate::ir::{DType, Tensor};
use crate::ops::identity;
use crate::ops::kernel::{read, read_scalar, write};
use crate::ops::row::{op, relay, relay_untyped};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern, RelayOp};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.CastHintAttrs`.
pub static CAST_HINT: AttrsSchema = schema("relay.attrs.CastHintAttrs", &[field::required("dtype", AttrKind::DType)]);

/// Attributes `relay.attrs.CompilerAttrs`.
pub static COMPILER: AttrsSchema = schema("relay.attrs.CompilerAttrs", &[field::required("compiler", AttrKind::Str)]);

/// Attributes `relay.attrs.WithFuncIdAttrs`.
pub static WITH_FUNC_ID: AttrsSchema = schema("relay.attrs.WithFuncIdAttrs", &[field::int("fid", -1)]);

/// An operator whose result is its input.
#[track_caller]
const fn marker(name: &'static str, doc: &'static str, in_relay: RelayOp) -> OpInfo {
    op(name, doc).pattern(OpPattern::Opaque).kernel(|_, x| Ok(x.to_vec())).relay(in_relay)
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    marker(
        "annotation.stop_fusion",
        "The input itself; what follows is not fused with what comes before.",
        relay(&["data"], identity),
    ),
    marker(
        "annotation.cast_hint",
        "The input itself, marked with the element type that quantisation should give it.",
        relay(&["data"], identity),
    ),
    marker("annotation.bitpack_start", "The input itself; marks where bit packing starts.", relay(&["data"], identity)),
    marker("annotation.bitpack_end", "The input itself; marks where bit packing ends.", relay(&["data"], identity)),
    marker(
        "annotation.checkpoint",
        "The input itself; gradients recompute it instead of keeping it.",
        relay(&["data"], identity),
    ),
    marker(
        "annotation.compiler_begin",
        "The input itself; marks where the region of an external compiler starts.",
        relay(&["data"], identity),
    ),
    marker(
        "annotation.compiler_end",
        "The input itself; marks where the region of an external compiler ends.",
        relay(&["data"], identity),
    ),
    op("annotation.with_funcid", "A function marked with a number, used inside PartialEvaluate.").relay(relay_untyped(&["func"])),
    op("relay.op.annotation.simulated_quantize", "Rounds to the grid of a quantised type and stays in floating point.")
        .pattern(OpPattern::ElemWise)
        .kernel(simulated_quantize_kernel)
        .relay(relay(&["data", "dom_scale", "clip_min", "clip_max"], simulated_quantize_rule).attrs(&schema(
            "relay.attrs.SimulatedQuantizeAttrs",
            &[field::required("kind", AttrKind::Int), field::flag("sign", true), field::text("rounding", "round")],
        ))),
    marker(
        "on_device",
        "The input itself; says on which device it is computed.",
        relay(&["body"], identity).attrs(&schema(
            "relay.attrs.OnDeviceAttrs",
            &[
                field::or_none("virtual_device", AttrKind::Any),
                field::flag("constrain_result", false),
                field::flag("constrain_body", true),
            ],
        )),
    )
    .non_computational(),
    marker(
        "device_copy",
        "Copies the input to another device.",
        relay(&["data"], identity).attrs(&schema(
            "relay.attrs.DeviceCopyAttrs",
            &[field::required("src_virtual_device", AttrKind::Any), field::required("dst_virtual_device", AttrKind::Any)],
        )),
    ),
    marker(
        "debug",
        "The input itself; calls back into the host when it is reached.",
        relay(&["program"], identity).attrs(&schema("relay.attrs.DebugAttrs", &[field::required("debug_func", AttrKind::Any)])),
    ),
];

fn simulated_quantize_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    ensure!(!shape.is_empty(), "Input shape cannot be empty");
    for parameter in 1..4 {
        cx.assign_tensor(parameter, &[], DType::F32)?;
    }
    let same = cx.types[0];
    cx.output(same)
}

/// Divides by the scale, limits, rounds and multiplies again; kind 0 leaves the data as it is.
fn simulated_quantize_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    if cx.int("kind")? == 0 {
        return Ok(vec![x[0].clone()]);
    }
    let [scale, low, high] = [read_scalar::<f32>(&x[1])?, read_scalar::<f32>(&x[2])?, read_scalar::<f32>(&x[3])?];
    let rounded = |v: f32| (v / scale).min(high).max(low).round() * scale;
    let values: Vec<f32> = read::<f32>(&x[0])?.into_iter().map(rounded).collect();
    Ok(vec![write(x[0].dtype, &x[0].shape, &values)?])
}
