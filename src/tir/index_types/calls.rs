//! Calls over arguments of other types.

use crate::ir::{DType, PrimId, PrimOp, Store};
use crate::tir::{binary, math};

/// Makes a call over other arguments: operators are made anew.
pub(super) fn called(store: &mut Store, name: &str, old: &[PrimId], new: Box<[PrimId]>, dtype: DType, id: PrimId) -> PrimId {
    match (name, &new[..]) {
        ("shift_right" | "shift_left" | "bitwise_and" | "bitwise_or" | "bitwise_xor" | "pow", [a, b]) => {
            math::matched(store, name, *a, *b)
        }
        ("clz", [x]) if new[..] != *old => {
            let (before, after) = (store.prim_dtype(old[0]).bits, store.prim_dtype(*x).bits);
            let call = store.prim_call(name, &new, dtype);
            let after = store.prim_int(i64::from(after), dtype);
            let less = binary(store, PrimOp::Sub, call, after);
            let before = store.prim_int(i64::from(before), dtype);
            binary(store, PrimOp::Add, less, before)
        }
        _ if new[..] == *old => id,
        _ => store.prim_call(name, &new, dtype),
    }
}
