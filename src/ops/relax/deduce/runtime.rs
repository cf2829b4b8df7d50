//! Calls of external code, memory, closures (TVM: src/relax/op/op.cc, memory).

use super::{Deduce, Tensor, int};
use crate::ir::{AttrValue, DType, DTypeCode, Dim, Expr, Extents, PrimOp, Type, TypeId, show_dim, show_relax_type};

/// `call_tir` and related calls: the type that they name.
pub fn named(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    match cx.ty_args {
        [one] => Ok(*one),
        [] => Err(format!("{} names no output type", cx.op)),
        many => Ok(cx.tuple(many)),
    }
}

/// `call_tir_inplace`: the type that it names, whose parts are those of the inputs that are written over.
pub fn named_in_place(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let result = named(cx)?;
    let outputs = match cx.store.type_of_id(result) {
        Type::Tuple(fields) => fields.to_vec(),
        _ => vec![result],
    };
    let indices = cx.ints("inplace_indices").unwrap_or_default();
    if indices.len() != outputs.len() {
        return Err("There must be an in-place index specified for each output".to_owned());
    }
    let given = cx.ty(1);
    let Type::Tuple(inputs) = cx.store.type_of_id(given).clone() else { return Ok(result) };
    written_over(&indices, inputs.len(), "call_tir")?;
    for (at, (index, output)) in indices.iter().zip(&outputs).enumerate() {
        let Some(input) = usize::try_from(*index).ok().and_then(|index| inputs.get(index)) else { continue };
        let (old, new) = (cx.tensor_of(*input), cx.tensor_of(*output));
        let [input, output] = [*input, *output].map(|ty| show_relax_type(cx.store, ty));
        let Some((shape, dtype)) = new.and_then(|new| Some((new.dims()?, new.dtype()?))) else {
            return Err(format!(
                "The output type for an in-place mutation must be a tensor with a defined shape and dtype, but output {at} has type \
                 {output}"
            ));
        };
        let fits = old.is_some_and(|old| {
            old.dtype() == Some(dtype)
                && old
                    .dims()
                    .is_some_and(|dims| dims.len() == shape.len() && dims.iter().zip(&shape).all(|(a, b)| cx.equal(*a, *b)))
        });
        if !fits {
            return Err(format!(
                "The input used for an in-place mutation must be a tensor with identical shape and dtype as the output. However, \
                 output {at} with type {output} is specified as an in-place mutation of input {index} with type {input}"
            ));
        }
    }
    Ok(result)
}

/// Checks the places of inputs that are written over. `other`: the operator that writes over none.
fn written_over(indices: &[i64], count: usize, other: &str) -> Result<(), String> {
    let last = count as i64 - 1;
    for (at, &index) in indices.iter().enumerate() {
        if index < -1 || index > last {
            return Err(format!(
                "In-place index {at} is out of range (must be between -1 and {last}, inclusive, but is {index})"
            ));
        }
        if index != -1 && indices[..at].contains(&index) {
            return Err(format!("All in-place indices must be unique, but index {index} appears more than once."));
        }
    }
    if indices.iter().all(|index| *index == -1) {
        return Err(format!("At least one index must have a value other than -1 (or else simply use {other})"));
    }
    Ok(())
}

/// `call_inplace_packed`: the type that it names, whose parts those of the inputs fit that are written over.
pub fn named_over_inputs(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let result = if cx.ty_args.is_empty() { cx.any() } else { named(cx)? };
    let indices = cx.ints("inplace_indices").unwrap_or_default();
    if cx.args.len() < 2 {
        return Err(
            "call_inplace_packed must be called with at least two arguments: a function and what it writes over".to_owned()
        );
    }
    written_over(&indices, cx.args.len() - 1, "call_pure_packed")?;
    let outputs = match cx.store.type_of_id(result) {
        _ if indices.len() == 1 => vec![result],
        Type::Tuple(fields) => fields.to_vec(),
        _ => return Err("Multiple outputs given via the inplace indices but the derived Type is not a tuple".to_owned()),
    };
    for (&index, output) in indices.iter().zip(outputs).filter(|(index, _)| **index >= 0) {
        let input = cx.ty(index as usize + 1);
        let fits = match (cx.tensor_of(output), cx.tensor_of(input)) {
            (Some(new), Some(old)) => {
                let same = |cx: &mut Deduce<'_>, new: Vec<Dim>, old: Vec<Dim>| {
                    new.len() == old.len() && new.iter().zip(&old).all(|(a, b)| cx.equal(*a, *b))
                };
                new.dtype().is_none_or(|dtype| old.dtype() == Some(dtype))
                    && new.dims().is_none_or(|new| old.dims().is_some_and(|old| same(cx, new, old)))
            }
            _ => output == input || matches!(cx.store.type_of_id(output), Type::Any),
        };
        if !fits {
            let [input, output] = [input, output].map(|ty| show_relax_type(cx.store, ty));
            return Err(format!(
                "The derived return Type does not match that for the in-place argument at index {index}: {output} vs {input}"
            ));
        }
    }
    Ok(result)
}

/// `assert_op`: no value, behind a condition.
pub fn asserted(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let ty = cx.ty(0);
    let fits = match (cx.store.type_of_id(ty), cx.tensor_of(ty)) {
        (_, Some(tensor)) => {
            tensor.dtype().is_none_or(|dtype| dtype == DType::BOOL)
                && cx.store.rank(&tensor.info.extents).is_none_or(|rank| rank == 0)
        }
        (Type::Prim(dtype), _) => *dtype == DType::BOOL,
        _ => false,
    };
    if fits {
        Ok(cx.void())
    } else {
        Err(format!("The argument to assert must be a boolean scalar, but received {}", show_relax_type(cx.store, ty)))
    }
}

/// `call_pure_packed`, closures: the type that they name, else any.
pub fn named_or_any(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if cx.ty_args.is_empty() { Ok(cx.any()) } else { named(cx) }
}

/// `call_builtin_with_ctx`: the type that it names, else no value.
pub fn named_or_void(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if cx.ty_args.is_empty() { Ok(cx.void()) } else { named(cx) }
}

/// `size`: a scalar tensor.
pub fn size(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0).map_err(|message| format!("Check failed: {message}"))?;
    Ok(cx.out(&[], Some(DType::I64), None))
}

/// `builtin.alloc_tensor`: a shape and an element type first.
pub fn alloc_tensor(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    allocated(cx, 0)
}

/// `vm.alloc_tensor`: the same, but of a shape in a variable only the type is known.
pub fn tensor_of_machine(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let dtype = match cx.args.get(3).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::DataType(dtype)) => Some(dtype),
        _ => None,
    };
    let ty = cx.ty(2);
    let extents = match cx.store.type_of_id(ty) {
        Type::Shape(extents) => extents.clone(),
        _ => Extents::Unknown,
    };
    Ok(cx.shaped(extents, dtype, None))
}

/// `memory.alloc_tensor`: a shape and an element type behind storage and offset.
pub fn tensor_in_storage(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    allocated(cx, 2)
}

fn allocated(cx: &mut Deduce<'_>, first: usize) -> Result<TypeId, String> {
    let shape = cx.shape_arg(first)?;
    let dtype = match cx.args.get(first + 1).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::DataType(dtype)) => Some(dtype),
        _ => return Err(format!("{} takes an element type behind the shape", cx.op)),
    };
    Ok(cx.shaped(shape, dtype, None))
}

/// `memory.view`: a part of a tensor's memory as another tensor; operands that are not given are the tensor's. The part has to
/// lie within the memory, as far as that is known.
pub fn view(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let op = cx.op;
    let ty = cx.ty(0);
    let Some(data) = cx.tensor_of(ty) else {
        return Err(format!(
            "Operator {op} expects first argument to be a tensor, but received {}",
            show_relax_type(cx.store, ty)
        ));
    };
    let shape = view_shape(cx)?;
    let dtype = view_dtype(cx)?;
    let offset = view_offset(cx)?;
    let element = match dtype {
        Some(dtype) => dtype,
        None => data.dtype(),
    };
    let extents = shape.clone().unwrap_or_else(|| data.values.clone().map_or_else(|| data.info.extents.clone(), Extents::Known));
    let (old, new) = (count(cx, &data.info.extents), count(cx, &extents));
    let bytes = |dtype: Option<DType>| dtype.filter(|dtype| *dtype != DType::VOID).map(|dtype| dtype.bytes() as i64);
    let beyond = "Views into an array must not exceed the bounds of the array being viewed.";
    if let (Some(old), Some(new), Some(old_size), Some(new_size)) = (old, new, bytes(data.dtype()), bytes(element)) {
        let (has, wants) = (cx.arith(PrimOp::Mul, old, int(old_size)), cx.arith(PrimOp::Mul, new, int(new_size)));
        let end = cx.arith(PrimOp::Add, wants, offset.unwrap_or(int(0)));
        if is_more(cx, end, has) {
            let [end, has] = [end, has].map(|dim| shown(cx, dim));
            return Err(format!("{beyond} However, the view would end at byte {end}, but the array is only {has} long."));
        }
    } else if let (Some(old_size), Some(new_size), None) = (bytes(data.dtype()), bytes(element), &shape) {
        if new_size > old_size {
            return Err(format!(
                "Operator {op} may not produce a view that exceeds the bounds of the original array. The size per element increases \
                 from {old_size} bytes to {new_size} bytes. Consider providing a new shape for the R.view."
            ));
        }
    } else if let (Some(old), Some(new), None) = (old, new, dtype) {
        if is_more(cx, new, old) {
            let [old, new] = [old, new].map(|dim| shown(cx, dim));
            return Err(format!("{beyond} However, {old} elements would be viewed as {new} elements."));
        }
    } else if let (Some(offset), None, None | Some(None)) = (offset, &shape, dtype)
        && is_more(cx, offset, int(0))
    {
        return Err(format!(
            "{beyond} However, the view is offset by {} bytes, without reducing either the number of elements in the view or the size of \
             each element.",
            shown(cx, offset)
        ));
    }
    Ok(match &shape {
        Some(Extents::Known(_) | Extents::Var(_)) => cx.shaped(extents, element, data.vdevice()),
        None if matches!(extents, Extents::Known(_)) => cx.shaped(extents, element, data.vdevice()),
        _ => {
            let rank = cx.store.rank(&extents);
            cx.vague(rank, element, data.vdevice())
        }
    })
}

/// The extents that a view asks for.
fn view_shape(cx: &mut Deduce<'_>) -> Result<Option<Extents>, String> {
    let ty = cx.ty(1);
    match cx.store.type_of_id(ty) {
        Type::Tuple(fields) if fields.is_empty() => Ok(None),
        Type::Shape(_) => cx.shape_arg(1).map(Some),
        _ => Err(format!(
            "Operator {} expects second argument to be a ShapeExpr, or a void-type (empty relax tuple), but received {}",
            cx.op,
            show_relax_type(cx.store, ty)
        )),
    }
}

/// The element type that a view asks for; inside of it `None` for one that only the run knows.
fn view_dtype(cx: &mut Deduce<'_>) -> Result<Option<Option<DType>>, String> {
    let ty = cx.ty(2);
    if matches!(cx.store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty()) {
        return Ok(None);
    }
    let Some(&(mut arg)) = cx.args.get(2) else { return Ok(None) };
    // The type of an element type says nothing of it, so TVM looks at the value behind a variable.
    while let Expr::Var(var) = cx.store.expr(arg)
        && let Some(value) = (cx.bound)(var)
    {
        arg = value;
    }
    match cx.store.expr(arg) {
        Expr::DataType(dtype) if dtype == DType::VOID => Err(format!(
            "Operator {} expects the dtype argument to be a concrete tensor datatype, but received void. Use relax.null_value() if no \
             dtype change is requested.",
            cx.op
        )),
        Expr::DataType(dtype) => Ok(Some(Some(dtype))),
        Expr::Call { .. }
            if cx
                .store
                .called_op(arg)
                .is_some_and(|op| crate::ops::info(op).relax.as_ref().is_some_and(|row| row.name == "null_value")) =>
        {
            Ok(None)
        }
        _ if matches!(cx.store.type_of_id(ty), Type::Any) => Ok(Some(None)),
        _ => Err(format!(
            "Operator {} expects the dtype argument to be a relax::DataTypeImm, but received {}",
            cx.op,
            show_relax_type(cx.store, ty)
        )),
    }
}

/// The offset of a view in bytes, as far as it is known.
fn view_offset(cx: &mut Deduce<'_>) -> Result<Option<Dim>, String> {
    let ty = cx.ty(3);
    match cx.store.type_of_id(ty) {
        Type::Tuple(fields) if fields.is_empty() => Ok(Some(int(0))),
        Type::Prim(dtype) if *dtype == DType::I64 => {
            let Some(arg) = cx.args.get(3) else { return Ok(Some(int(0))) };
            match cx.store.expr(*arg) {
                Expr::Var(var) if cx.store.var_data(var).dataflow => Ok(None),
                _ => Ok(cx.scalar_of(*arg)),
            }
        }
        Type::Prim(_) => Err(format!(
            "Operator {} expects the relative_byte_offset to be a 64-bit integer, but received {}",
            cx.op,
            show_relax_type(cx.store, ty)
        )),
        _ => Err(format!(
            "Operator {} expects the relative_byte_offset argument to be a Relax PrimExpr, but received {}",
            cx.op,
            show_relax_type(cx.store, ty)
        )),
    }
}

/// The number of elements of known extents.
fn count(cx: &mut Deduce<'_>, extents: &Extents) -> Option<Dim> {
    let dims = cx.known(extents)?;
    Some(dims.iter().fold(int(1), |product, dim| cx.arith(PrimOp::Mul, product, *dim)))
}

/// A number as a message has it: without its bits.
fn shown(cx: &Deduce<'_>, dim: Dim) -> String {
    dim.known().map_or_else(|| show_dim(cx.store, dim), |value| value.to_string())
}

/// True if one extent is larger than another for all values of their symbols.
fn is_more(cx: &mut Deduce<'_>, a: Dim, b: Dim) -> bool {
    let difference = cx.arith(PrimOp::Sub, a, b);
    let prim = cx.store.prim_of_dim(difference);
    let mut analyzer = cx.over_extents(prim);
    let simple = analyzer.simplify(cx.store, prim);
    analyzer.can_prove_greater_equal(cx.store, simple, 1)
}

/// `to_vdevice`: the tensor on another device.
pub fn to_vdevice(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let vdevice = match cx.store.attr(cx.attrs, "dst_vdevice") {
        Some(AttrValue::Object(device)) => Some(*device),
        _ => None,
    };
    Ok(cx.shaped(data.info.extents.clone(), data.dtype(), vdevice))
}

/// `ccl.allgather`: `num_workers` of the first axis.
pub fn all_gather(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    match data.dims() {
        Some(shape) => along(cx, &data, shape, 0, PrimOp::Mul),
        None if matches!(data.info.extents, Extents::Var(_)) => Ok(cx.ty(0)),
        None => Ok(cx.vague(data.rank, data.dtype(), data.vdevice())),
    }
}

/// `ccl.scatter_from_worker0`: splits one axis over all workers. All parts must be known to be equal.
pub fn scatter(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    parts(cx, "scatter_from_worker0")
}

/// `dist.redistribute_replica_to_shard`: the same of a tensor that each worker has.
pub fn shard(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    parts(cx, "redistribute_replica_to_shard")
}

fn parts(cx: &mut Deduce<'_>, op: &str) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let shape = match data.dims() {
        Some(shape) => shape,
        None => return Err(format!("Check failed: input tensor of {op} should have defined shape.")),
    };
    let (axis, workers) = (cx.int("axis").unwrap_or(0), cx.int("num_workers").unwrap_or(1).max(1));
    let Some(extent) = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)) else {
        return Err(format!("Index {axis} out of bounds {}", shape.len()));
    };
    if let Dim::Int { value, .. } = extent
        && value % workers != 0
    {
        return Err(format!(
            "{op} expects the size of axis {axis} of input tensor to be divisible by the num_workers. However, the axis {axis} of \
             input tensor is {value} while num_workers is {workers}"
        ));
    }
    along(cx, &data, shape, axis as usize, PrimOp::Div)
}

fn along(cx: &mut Deduce<'_>, data: &Tensor, mut shape: Vec<Dim>, axis: usize, op: PrimOp) -> Result<TypeId, String> {
    let workers = int(cx.int("num_workers").unwrap_or(1).max(1));
    if let Some(extent) = shape.get(axis).copied() {
        shape[axis] = cx.arith(op, extent, workers);
    }
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `inspect.tensor_...`: a number of the structure that describes a tensor.
pub fn inspected(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    let uint = |bits| DType::new(DTypeCode::UInt, bits);
    let dtype = match cx.op {
        "inspect.tensor_dtype_code" | "inspect.tensor_dtype_bits" => uint(8),
        "inspect.tensor_dtype_lanes" => uint(16),
        "inspect.tensor_ndim" => DType::I32,
        "inspect.tensor_byte_offset" | "inspect.tensor_elem_offset" => uint(64),
        _ => DType::I64,
    };
    Ok(cx.store.ty(Type::Prim(dtype)))
}
