//! Queries of a tensor at run time: fields of the structure that describes it.
//!
//! Source: `src/relax/op/tensor/inspect.cc`, `legalize_ops/inspect_op.py`.

use super::create::dict;
use super::lower::{Lower, Lowered, Refused};
use super::{Known, Rule};
use crate::infer::relax::prim_func_type;
use crate::ir::{AttrValue, DType, DTypeCode, Expr, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Stmt, StmtId, Symbol, Type};
use crate::parse::parse;

const fn field(op: &'static str, hint: &'static str) -> Rule {
    Rule { op, hint, lower: getter, known: Known::Nothing }
}

pub(super) const RULES: &[Rule] = &[
    field("inspect.tensor_dtype_code", "_get_tensor_dtype_code"),
    field("inspect.tensor_dtype_bits", "_get_tensor_dtype_bits"),
    field("inspect.tensor_dtype_lanes", "_get_tensor_dtype_lanes"),
    field("inspect.tensor_ndim", "_get_tensor_ndim"),
    field("inspect.tensor_byte_offset", "_get_tensor_byte_offset"),
    field("inspect.tensor_elem_offset", "_get_tensor_elem_offset"),
    Rule { op: "inspect.tensor_shape_i", hint: "_get_tensor_shape_i", lower: of_axis, known: Known::Nothing },
    Rule { op: "inspect.tensor_stride_i", hint: "_get_tensor_stride_i", lower: of_axis, known: Known::Nothing },
];

/// The beginning of the programs for extents and strides of an axis.
const CHECKED: &str = "        T.func_attr({\"tirx.is_host_func\": True, \"tirx.is_scheduled\": True})
        assert T.int64(0) <= axis, (\"RuntimeError\", [\"Specified axis may not be negative\"])
        ndim: T.let[T.int32] = T.tvm_struct_get(dlpack_handle, 0, 4, \"int32\")
        assert axis < T.Cast(\"int64\", ndim), \
(\"RuntimeError\", [\"Specified axis may not be larger than the tensor's dimensionality\"])
";

const SHAPE: &str =
    "        shape = T.decl_buffer((ndim,), \"int64\", data=T.tvm_struct_get(dlpack_handle, 0, 2, T.handle(\"int64\").ty))
        extent: T.let[T.int64] = shape[axis]
        return extent
";

/// If a packed tensor has no strides, the stride is the product of the extents behind the axis.
const STRIDE: &str =
    "        stride_ptr: T.let[T.handle(\"int64\")] = T.tvm_struct_get(dlpack_handle, 0, 3, T.handle(\"int64\").ty)
        if T.isnullptr(stride_ptr):
            shape_ptr: T.let[T.handle(\"int64\")] = T.tvm_struct_get(dlpack_handle, 0, 2, T.handle(\"int64\").ty)
            shape = T.decl_buffer((ndim,), \"int64\", data=shape_ptr)
            product = T.alloc_buffer((), \"int64\")
            product[()] = T.int64(1)
            for dim_offset in range(T.Cast(\"int64\", ndim) - axis - T.int64(1)):
                dim: T.let[T.int64] = dim_offset + (axis + T.int64(1))
                product[()] = product[()] * shape[dim]
            return product[()]
        else:
            strides = T.decl_buffer((ndim,), \"int64\", data=stride_ptr)
            stride: T.let[T.int64] = strides[axis]
            return stride
";

/// Calls a function that reads the extent or stride of one axis. The functions follow pointers, and are parsed from text.
fn of_axis(cx: &mut Lower) -> Lowered {
    let (flags, rest) = match cx.op {
        "inspect.tensor_shape_i" => ("private=True", SHAPE),
        _ => ("private=True, s_tir=True", STRIDE),
    };
    let text = format!(
        "@I.ir_module\nclass Module:\n    @T.prim_func({flags})\n    def read(dlpack_handle: T.handle, axis: T.int64) -> \
         T.int64:\n{CHECKED}{rest}"
    );
    let read = parse(cx.te.store, &text);
    debug_assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let Some(&(_, program)) = read.program.module.functions().first() else { return Err(Refused::Leave) };
    let program = cx.te.store.expr(program);
    let Expr::PrimFunc(id) = program else { return Err(Refused::Leave) };
    let ty = prim_func_type(cx.te.store, id);
    let program = cx.te.store.add_typed(program, Some(ty));
    let hint = cx.hint;
    let program = cx.builder.add_function(cx.te.store, program, hint);
    let args = cx.args.clone();
    Ok(cx.te.store.add_call(program, &args, None))
}

const fn uint(bits: u8) -> DType {
    DType::new(DTypeCode::UInt, bits)
}

/// Numbers and types of the fields (`TVMStructFieldKind`).
const NDIM: (i64, DType) = (4, DType::I32);
const CODE: (i64, DType) = (5, uint(8));
const BITS: (i64, DType) = (6, uint(8));
const LANES: (i64, DType) = (7, uint(16));
const OFFSET: (i64, DType) = (8, uint(64));

/// `name: T.let[...] = value`
fn bound(cx: &mut Lower, name: &str, value: PrimId, stmts: &mut Vec<StmtId>) -> PrimId {
    let (name, dtype) = (cx.te.store.name(name), cx.te.type_of(value));
    let var = cx.te.store.add_symbol(Symbol { name, dtype, size: false });
    stmts.push(cx.te.store.add_stmt(Stmt::Bind { var, value }));
    cx.te.store.prim(PrimExpr::Var(var))
}

/// Calls a function that reads the field.
fn getter(cx: &mut Lower) -> Lowered {
    let name = cx.te.store.name("dlpack_handle");
    let handle = cx.te.store.add_symbol(Symbol { name, dtype: DType::new(DTypeCode::Handle, 64), size: false });
    let pointer = cx.te.store.prim(PrimExpr::Var(handle));
    let mut stmts = Vec::new();
    let read = |cx: &mut Lower, name: &str, (kind, dtype): (i64, DType), stmts: &mut Vec<StmtId>| {
        let [index, kind] = [0, kind].map(|value| cx.te.store.prim_int(value, DType::I32));
        let value = cx.te.store.prim_call("tvm_struct_get", &[pointer, index, kind], dtype);
        bound(cx, name, value, stmts)
    };
    let scripted = cx.op.ends_with("offset");
    let value = match cx.op {
        "inspect.tensor_dtype_code" => read(cx, "value", CODE, &mut stmts),
        "inspect.tensor_dtype_bits" => read(cx, "value", BITS, &mut stmts),
        "inspect.tensor_dtype_lanes" => read(cx, "value", LANES, &mut stmts),
        "inspect.tensor_ndim" => read(cx, "value", NDIM, &mut stmts),
        "inspect.tensor_byte_offset" => read(cx, "byte_offset", OFFSET, &mut stmts),
        _ => {
            let offset = read(cx, "byte_offset", OFFSET, &mut stmts);
            let (bits, lanes) = (read(cx, "scalar_bits", BITS, &mut stmts), read(cx, "lanes", LANES, &mut stmts));
            let te = &mut cx.te;
            let [bits, lanes] = [bits, lanes].map(|value| te.cast(uint(64), value));
            let [eight, one] = [8, 1].map(|value| te.store.prim_int(value, uint(64)));
            let size = te.times(bits, lanes);
            let size = te.plus(size, eight);
            let size = te.minus(size, one);
            let size = te.bin(PrimOp::FloorDiv, size, eight);
            let size = bound(cx, "bytes_per_element", size, &mut stmts);
            let offset = cx.te.floordiv(offset, size);
            bound(cx, "elem_offset", offset, &mut stmts)
        }
    };
    stmts.push(cx.te.store.add_stmt(Stmt::Return(value)));
    let body = cx.te.store.add_stmts(&stmts);
    // TVM gives an offset a signed type.
    let dtype = if scripted { DType::I64 } else { cx.te.type_of(value) };
    let mut fields = vec![("tirx.is_host_func", AttrValue::Bool(true)), ("tirx.is_scheduled", AttrValue::Bool(true))];
    if scripted {
        fields.insert(0, ("s_tir", AttrValue::Bool(true)));
    }
    let attrs = dict(&mut cx.te, &fields);
    let ret = Some(cx.te.store.ty(Type::Prim(dtype)));
    let program = cx.te.store.add_prim_func(PrimFunc { params: [PrimParam::Var(handle)].into(), ret, attrs, body });
    let ty = prim_func_type(cx.te.store, program);
    let program = cx.te.store.add_typed(Expr::PrimFunc(program), Some(ty));
    let hint = cx.hint;
    let program = cx.builder.add_function(cx.te.store, program, hint);
    let args = cx.args.clone();
    Ok(cx.te.store.add_call(program, &args, None))
}
