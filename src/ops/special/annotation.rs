//! Markers that passes leave in a program.

use crate::ir::{DType, Tensor};
use crate::ops::kernel::{read, read_scalar, write};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern, identity};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.SimulatedQuantizeAttrs`.
pub static SIMULATED_QUANTIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SimulatedQuantizeAttrs",
    fields: &[
        AttrField::required("kind", AttrKind::Int),
        AttrField::new("sign", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("rounding", AttrKind::Str, AttrDefault::Str("round")),
    ],
};

/// Attributes `relay.attrs.OnDeviceAttrs`.
pub static ON_DEVICE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.OnDeviceAttrs",
    fields: &[
        AttrField::new("virtual_device", AttrKind::Any, AttrDefault::Null),
        AttrField::new("constrain_result", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("constrain_body", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.DeviceCopyAttrs`.
pub static DEVICE_COPY: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DeviceCopyAttrs",
    fields: &[AttrField::required("src_virtual_device", AttrKind::Any), AttrField::required("dst_virtual_device", AttrKind::Any)],
};

/// Attributes `relay.attrs.DebugAttrs`.
pub static DEBUG: AttrsSchema =
    AttrsSchema { key: "relay.attrs.DebugAttrs", fields: &[AttrField::required("debug_func", AttrKind::Any)] };

/// Attributes `relay.attrs.CastHintAttrs`.
pub static CAST_HINT: AttrsSchema =
    AttrsSchema { key: "relay.attrs.CastHintAttrs", fields: &[AttrField::required("dtype", AttrKind::DType)] };

/// Attributes `relay.attrs.CompilerAttrs`.
pub static COMPILER: AttrsSchema =
    AttrsSchema { key: "relay.attrs.CompilerAttrs", fields: &[AttrField::required("compiler", AttrKind::Str)] };

/// Attributes `relay.attrs.WithFuncIdAttrs`.
pub static WITH_FUNC_ID: AttrsSchema =
    AttrsSchema { key: "relay.attrs.WithFuncIdAttrs", fields: &[AttrField::new("fid", AttrKind::Int, AttrDefault::Int(-1))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "annotation.stop_fusion",
        doc: "The input itself; what follows is not fused with what comes before.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.cast_hint",
        doc: "The input itself, marked with the element type that quantisation should give it.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.bitpack_start",
        doc: "The input itself; marks where bit packing starts.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.bitpack_end",
        doc: "The input itself; marks where bit packing ends.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.checkpoint",
        doc: "The input itself; gradients recompute it instead of keeping it.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.compiler_begin",
        doc: "The input itself; marks where the region of an external compiler starts.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.compiler_end",
        doc: "The input itself; marks where the region of an external compiler ends.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "annotation.with_funcid",
        doc: "A function marked with a number, used inside PartialEvaluate.",
        args: &["func"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "relay.op.annotation.simulated_quantize",
        doc: "Rounds to the grid of a quantised type and stays in floating point.",
        args: &["data", "dom_scale", "clip_min", "clip_max"],
        attrs: Some(&SIMULATED_QUANTIZE),
        rule: Some(simulated_quantize_rule),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(simulated_quantize_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "on_device",
        doc: "The input itself; says on which device it is computed.",
        args: &["body"],
        attrs: Some(&ON_DEVICE),
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "device_copy",
        doc: "Copies the input to another device.",
        args: &["data"],
        attrs: Some(&DEVICE_COPY),
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "debug",
        doc: "The input itself; calls back into the host when it is reached.",
        args: &["program"],
        attrs: Some(&DEBUG),
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(|_, x| Ok(x.to_vec())),
        ..OpInfo::BASE
    },
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
