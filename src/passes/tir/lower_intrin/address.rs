//! Pointers into buffers.

use super::Lower;
use crate::ir::{Buffer, DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::{binary, cast};

impl Lower {
    /// Lowers `T.tvm_access_ptr(type, data, offset, extent, mask)` to an address.
    pub(super) fn address(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let PrimExpr::Call { args, dtype: result, .. } = &*store.prim_rc(id) else { return id };
        let (dtype, mut data, mut offset) = (store.prim_dtype(args[0]), args[1], args[2]);
        while let PrimExpr::Call { op, args, .. } = &*store.prim_rc(data)
            && args.len() == 5
            && store.str(*op) == "tvm_access_ptr"
        {
            if store.prim_dtype(args[0]) != dtype {
                self.error.get_or_insert_with(|| "Nested tvm_access_ptr calls must use the same element type".to_owned());
                return id;
            }
            let inner = cast(store, store.prim_dtype(offset), args[2]);
            (offset, data) = (binary(store, PrimOp::Add, inner, offset), args[1]);
        }
        let index = store.prim_dtype(offset);
        let one = store.prim_int(1, index);
        let mut extent = binary(store, PrimOp::Add, offset, one);
        if dtype.lanes != 1 {
            let lanes = store.prim_int(i64::from(dtype.lanes), index);
            let base = binary(store, PrimOp::Mul, offset, lanes);
            extent = binary(store, PrimOp::Add, base, lanes);
            offset = store.prim(PrimExpr::Ramp { base, stride: one, lanes: dtype.lanes });
        }
        let scalar = dtype.element();
        let (name, scope, pointer) = match *store.prim_of_id(data) {
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => {
                let of = store.buffer(buffer);
                if of.dtype == scalar && of.shape.len() == 1 {
                    let load = store.prim(PrimExpr::Load { buffer, indices: [offset].into() });
                    return store.prim_call("address_of", &[load], *result);
                }
                if of.dtype.element() != scalar {
                    let message = "tvm_access_ptr element type must match the source buffer";
                    self.error.get_or_insert_with(|| message.to_owned());
                    return id;
                }
                (of.name, of.scope, store.prim(PrimExpr::Data(buffer)))
            }
            PrimExpr::Var(symbol) => {
                let of = store.symbol(symbol).clone();
                let scope = store.pointee(of.dtype).map(|pointer| pointer.scope);
                (of.name, scope.unwrap_or_else(|| store.name("global")), data)
            }
            _ => {
                let message = "tvm_access_ptr expects a buffer Var or nested tvm_access_ptr as args[1]";
                self.error.get_or_insert_with(|| message.to_owned());
                return id;
            }
        };
        let name = store.name(&format!("{}_access", store.str(name)));
        let elem_offset = (index != DType::I32).then(|| store.prim_int(0, DType::I32));
        let view = Buffer { data: Some(pointer), elem_offset, ..Buffer::new(name, scalar, [extent].into(), scope) };
        let view = store.add_buffer(view);
        self.views.push(view);
        let load = store.prim(PrimExpr::Load { buffer: view, indices: [offset].into() });
        store.prim_call("address_of", &[load], *result)
    }
}
