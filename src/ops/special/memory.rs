//! Explicit memory and calls of lowered functions, as the virtual machine's compiler makes them.

use crate::ir::{AttrValue, DType, Dim, Expr, Tensor, Type, TypeId, show_type};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{read, reshaped, write};
use crate::ops::relax::deduce;
use crate::ops::row::{dtype, op, prim, relax, relay, relay_untyped, shape, string, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::shape::SHAPE_OF;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("memory.alloc_storage", "Allocates a region of memory.")
        .pattern(OpPattern::Opaque)
        .non_computational()
        .relay(relay(&["size", "shape", "alignment"], alloc_storage_rule).attrs(&schema(
            "relay.attrs.AllocStorageAttrs",
            &[field::dtype("dtype", "float32"), field::required("virtual_device", AttrKind::Any)],
        )))
        .relax(relax(&[value("size"), prim("virtual_device_index"), string("storage_scope"), dtype("dtype")], deduce::any)),
    op("memory.alloc_tensor", "Makes a tensor at an offset of a region of memory.")
        .pattern(OpPattern::Opaque)
        .non_computational()
        .relay(relay(&["storage", "offset", "shape"], alloc_tensor_rule).attrs(&schema(
            "relay.attrs.AllocTensorAttrs",
            &[
                field::dtype("dtype", "float32"),
                field::required("const_shape", AttrKind::Any),
                field::required("assert_shape", AttrKind::Ints),
            ],
        )))
        .relax(relax(
            &[value("storage"), prim("offset"), value("shape"), dtype("dtype"), prim("runtime_device_ind").or_none()],
            deduce::runtime::tensor_in_storage,
        )),
    op("memory.kill", "Ends the life of a tensor.")
        .pattern(OpPattern::Opaque)
        .stateful()
        .non_computational()
        .relay(relay(&["to_free"], kill_rule)),
    op("vm.shape_of", "The shape of a tensor whose rank may be unknown.")
        .pattern(OpPattern::Opaque)
        .non_computational()
        .kernel(shape_of_kernel)
        .relay(relay(&["tensor"], shape_of_rule).attrs(&SHAPE_OF)),
    op("vm.invoke_tvm_op", "Runs a lowered function on inputs and outputs.")
        .pattern(OpPattern::Opaque)
        .stateful()
        .non_computational()
        .relay(relay(&["op", "ins", "outs"], invoke_tvm_op_rule)),
    op("vm.reshape_tensor", "The same memory under another shape.")
        .pattern(OpPattern::Opaque)
        .non_computational()
        .kernel(reshape_tensor_kernel)
        .relay(
            relay(&["data", "shape"], reshape_tensor_rule)
                .attrs(&schema("relay.attrs.ReshapeTensorAttrs", &[field::required("newshape", AttrKind::Ints)])),
        ),
    op("call_lowered", "Calls a lowered function.").pattern(OpPattern::Opaque).non_computational().relay(
        relay(&["func", "call_args"], call_lowered_rule)
            .attrs(&schema("relay.attrs.CallLoweredAttrs", &[field::or_none("metadata", AttrKind::Any)])),
    ),
    op("parser.MetaRef", "Stands for an entry of the metadata section while a program is read.")
        .non_computational()
        .relay(relay_untyped(&[])),
    op("torch_op", "Calls a serialised Torch function.").relay(relay_untyped(&[])),
    op("memory.ensure_zero_offset", "The same tensor, its data at the begin of its memory.")
        .relax(relax(&[value("data")], deduce::same)),
    op("memory.kill_storage", "Gives memory back.").relax(relax(&[value("storage")], deduce::void).impure()),
    op("memory.kill_tensor", "Gives a tensor up.").relax(relax(&[value("tensor")], deduce::void).impure()),
    op("memory.view", "The same memory as a tensor of another shape or type.").relax(relax(
        &[value("data"), shape("shape").or_none(), dtype("dtype").or_none(), value("relative_byte_offset").or_none()],
        deduce::runtime::view,
    )),
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
