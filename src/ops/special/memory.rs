//! Explicit memory and calls of lowered functions, as the virtual machine's compiler makes them.

use crate::ir::{AttrValue, DType, Dim, Expr, Tensor, Type, TypeId, show_type};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{read, reshaped, write};
use crate::ops::tensor::shape::SHAPE_OF;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.AllocStorageAttrs`.
pub static ALLOC_STORAGE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AllocStorageAttrs",
    fields: &[
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32")),
        AttrField::required("virtual_device", AttrKind::Any),
    ],
};

/// Attributes `relay.attrs.AllocTensorAttrs`.
pub static ALLOC_TENSOR: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AllocTensorAttrs",
    fields: &[
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32")),
        AttrField::required("const_shape", AttrKind::Any),
        AttrField::required("assert_shape", AttrKind::Ints),
    ],
};

/// Attributes `relay.attrs.ReshapeTensorAttrs`.
pub static RESHAPE_TENSOR: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ReshapeTensorAttrs", fields: &[AttrField::required("newshape", AttrKind::Ints)] };

/// Attributes `relay.attrs.CallLoweredAttrs`.
pub static CALL_LOWERED: AttrsSchema =
    AttrsSchema { key: "relay.attrs.CallLoweredAttrs", fields: &[AttrField::new("metadata", AttrKind::Any, AttrDefault::Null)] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "memory.alloc_storage",
        doc: "Allocates a region of memory.",
        args: &["size", "shape", "alignment"],
        attrs: Some(&ALLOC_STORAGE),
        rule: Some(alloc_storage_rule),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "memory.alloc_tensor",
        doc: "Makes a tensor at an offset of a region of memory.",
        args: &["storage", "offset", "shape"],
        attrs: Some(&ALLOC_TENSOR),
        rule: Some(alloc_tensor_rule),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "memory.kill",
        doc: "Ends the life of a tensor.",
        args: &["to_free"],
        rule: Some(kill_rule),
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.shape_of",
        doc: "The shape of a tensor whose rank may be unknown.",
        args: &["tensor"],
        attrs: Some(&SHAPE_OF),
        rule: Some(shape_of_rule),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        kernel: Some(shape_of_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.invoke_tvm_op",
        doc: "Runs a lowered function on inputs and outputs.",
        args: &["op", "ins", "outs"],
        rule: Some(invoke_tvm_op_rule),
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.reshape_tensor",
        doc: "The same memory under another shape.",
        args: &["data", "shape"],
        attrs: Some(&RESHAPE_TENSOR),
        rule: Some(reshape_tensor_rule),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        kernel: Some(reshape_tensor_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "call_lowered",
        doc: "Calls a lowered function.",
        args: &["func", "call_args"],
        attrs: Some(&CALL_LOWERED),
        rule: Some(call_lowered_rule),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "parser.MetaRef",
        doc: "Stands for an entry of the metadata section while a program is read.",
        args: &[],
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo { name: "torch_op", doc: "Calls a serialised Torch function.", args: &[], ..OpInfo::BASE },
];

/// `Storage[]`, the type of a region of memory.
fn storage(cx: &mut RuleCx<'_>) -> TypeId {
    let name = cx.store.name("Storage");
    let head = cx.store.ty(Type::Global(name));
    cx.store.ty(Type::Apply { head, args: [].into() })
}

fn alloc_storage_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let size = input!(cx, 0);
    input!(cx, 1);
    let alignment = input!(cx, 2);
    for (shape, dtype) in [size, alignment] {
        ensure!(shape.is_empty() && dtype == DType::I64, "sizes and alignments of memory must be int64 scalars");
    }
    let storage = storage(cx);
    cx.output(storage)
}

fn alloc_tensor_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let storage = storage(cx);
    cx.assign(0, storage)?;
    input!(cx, 1);
    let (shape, _) = input!(cx, 2);
    let rank = shape.first().map_or(Some(0), |d| d.known()).ok_or("the rank of an allocated tensor must be known")?;
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(DType::F32);
    let Some(AttrValue::Expr(constant)) = cx.store.attr(cx.attrs, "const_shape") else {
        // TVM leaves the type open then, whatever `assert_shape` says.
        ensure!(cx.attr_dims("assert_shape").is_some(), "the assert_shape must be set when const_shape is not");
        return Ok(true);
    };
    let Expr::Constant(constant) = cx.store.expr(*constant) else { return Err("`const_shape` must be a constant".into()) };
    let extents: Vec<i64> = read(cx.store.tensor(constant)).map_err(|e| e.0)?;
    ensure!(extents.len() as i64 == rank, "`const_shape` has {} extents for a tensor of rank {rank}", extents.len());
    let shape: Vec<Dim> = extents.into_iter().map(Dim::int).collect();
    cx.output_tensor(&shape, dtype)
}

fn kill_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let unit = cx.store.tuple_type(&[]);
    cx.output(unit)
}

fn shape_of_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    let out: &[Dim] = if shape.is_empty() { &[] } else { &[Dim::int(shape.len() as i64)] };
    cx.output_tensor(out, dtype)
}

/// Parameters and result of the function at `index`, once they are known.
fn function(cx: &RuleCx<'_>, index: usize) -> Result<Option<(Vec<TypeId>, TypeId)>, String> {
    match cx.store.type_of_id(cx.types[index]) {
        Type::Func { params, ret, .. } => Ok(Some((params.to_vec(), *ret))),
        Type::Hole(_) => Ok(None),
        _ => Err(format!("input must be a function, found {}", show_type(cx.store, cx.types[index]))),
    }
}

fn invoke_tvm_op_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((params, ret)) = function(cx, 0)? else { return Ok(false) };
    let is_tuple = matches!(cx.store.type_of_id(ret), Type::Tuple(_));
    let inputs = cx.store.tuple_type(&params);
    let outputs = if is_tuple { ret } else { cx.store.tuple_type(&[ret]) };
    cx.assign(1, inputs)?;
    cx.assign(2, outputs)?;
    kill_rule(cx)
}

fn reshape_tensor_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let shape = cx.attr_dims("newshape").ok_or("`newshape` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn call_lowered_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    ensure!(cx.types.len() == 3, "call_lowered takes a function and a tuple of arguments");
    let Some((params, ret)) = function(cx, 0)? else { return Ok(false) };
    let arguments = cx.store.tuple_type(&params);
    cx.assign(1, arguments)?;
    cx.output(ret)
}

fn shape_of_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, shape_of_rule, x)?;
    let extents: &[i64] = if shape.is_empty() { &[1] } else { &x[0].shape };
    Ok(vec![write(dtype, &shape, extents)?])
}

fn reshape_tensor_kernel(_: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    Ok(vec![reshaped(&x[0], &read::<i64>(&x[1])?)?])
}
