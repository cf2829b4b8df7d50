//! Arguments of the packed convention of tvm-ffi, as functions take them after MakePackedAPI: an array of typed values,
//! where those of tensors point to a `DLTensor`.
//!
//! Programs access these structures only through `T.tvm_struct_get` and `T.tvm_struct_set`, so their layout is internal: a value
//! takes 16 bytes as in tvm-ffi, a tensor [`TENSOR`], its field number `n` (TVM's `TVMStructFieldKind`) at `8 * n`.

use super::memory::{Kind, Memory};
use crate::eval::{EvalFailure, Value};
use crate::ir::{AttrsId, DType, PrimFunc, PrimParam, Store, Tensor};
use crate::ops::kernel::{bytes, read_scalar};

/// The size of a value in bytes.
const ANY: usize = 16;
/// The size of a tensor's description in bytes.
const TENSOR: usize = 96;
/// `kTVMFFIInt`, `kTVMFFIBool`, `kTVMFFIFloat`, `kTVMFFIDLTensorPtr`
const TYPE_INDICES: [i32; 4] = [1, 2, 3, 7];

/// Returns the bytes of the indexed structure and the offset of a field in it. Field 0 of a tensor is the tensor itself.
pub(super) fn field(number: i64) -> Option<(i64, i64)> {
    match number {
        13 => Some((ANY as i64, 0)),
        14 => Some((ANY as i64, 4)),
        15 => Some((ANY as i64, 8)),
        // `kInt64ArrayElem`
        17 => Some((8, 0)),
        0..=10 => Some((TENSOR as i64, number * 8)),
        _ => None,
    }
}

/// True if a function takes its arguments in this convention.
pub(super) fn is_packed(store: &Store, function: &PrimFunc) -> bool {
    let convention = |attrs: Option<AttrsId>| store.attr_int(attrs, "calling_conv");
    function.params.len() == 4
        && function.params.iter().all(|param| matches!(param, PrimParam::Var(_)))
        && convention(function.attrs) == Some(1)
}

/// Returns the memory of a call: first that of the array of values, then that of its result and of the descriptions of
/// tensors, and for each tensor its elements and its extents.
pub(super) fn memory(args: &[Value]) -> Result<Vec<Memory>, EvalFailure> {
    let piece = |bytes: Vec<u8>| Memory { bytes, flags: Vec::new(), stored: false, buffer: u32::MAX };
    let pointer = |piece: usize| (piece as u64) << 40;
    let mut values = vec![0; ANY * args.len()];
    let mut told = Vec::new();
    let mut tensors = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        let value = &mut values[index * ANY..(index + 1) * ANY];
        let mut put = |which: usize, union: u64| {
            value[..4].copy_from_slice(&TYPE_INDICES[which].to_le_bytes());
            value[8..].copy_from_slice(&union.to_le_bytes());
        };
        match arg {
            Value::Prim(number) => put_number(number, &mut put)?,
            Value::Tensor(tensor) => {
                // Memory is numbered from 1, and three pieces come before those of tensors.
                let first = 4 + tensors.len();
                put(3, pointer(3) + told.len() as u64);
                let mut fields = vec![0u8; TENSOR];
                let mut set = |field: usize, number: u64| fields[field * 8..field * 8 + 8].copy_from_slice(&number.to_le_bytes());
                set(1, pointer(first));
                set(2, pointer(first + 1));
                set(4, tensor.shape.len() as u64);
                let (code, bits) =
                    if tensor.dtype == DType::BOOL { (6, 8) } else { (tensor.dtype.code.dlpack(), tensor.dtype.bits) };
                set(5, code.into());
                set(6, bits.into());
                set(7, tensor.dtype.lanes.into());
                // `kDLCPU`
                set(10, 1);
                told.extend(fields);
                tensors.push(piece(bytes(tensor).map_err(|error| EvalFailure::new(error.0))?.to_vec()));
                tensors.push(piece(tensor.shape.iter().flat_map(|extent| extent.to_le_bytes()).collect()));
            }
            other => return Err(EvalFailure::new(format!("a tensor program is given {}", other.kind()))),
        }
    }
    let mut all = vec![piece(values), piece(vec![0; ANY]), piece(told)];
    all.extend(tensors);
    Ok(all)
}

fn put_number(number: &Tensor, put: &mut dyn FnMut(usize, u64)) -> Result<(), EvalFailure> {
    let failed = |error: crate::ops::EvalError| EvalFailure::new(error.0);
    match Kind::of(number.dtype) {
        Kind::Bool => put(1, read_scalar::<i64>(number).map_err(failed)? as u64),
        kind if kind.is_float() => put(2, read_scalar::<f64>(number).map_err(failed)?.to_bits()),
        _ => put(0, read_scalar::<i64>(number).map_err(failed)? as u64),
    }
    Ok(())
}
