//! Checks the requirements on a tensor argument.

use super::binder::{Binder, EXPECTED, field, part};
use super::shown::device_name;
use super::{Nest, variable};
use crate::ir::{AttrNode, Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Stmt, Store, Symbol};
use crate::tir::{binary, cast, math};

const U64: DType = DType::new(DTypeCode::UInt, 64);
const U16: DType = DType::new(DTypeCode::UInt, 16);

impl Binder {
    /// Checks a tensor argument, and makes the buffer over its pointer.
    pub(super) fn tensor(&mut self, store: &mut Store, i: usize, buffer: Id<Buffer>, handle: Id<Symbol>) {
        let data = store.buffer(buffer).clone();
        let name = store.str(data.name).to_owned();
        let handle = store.prim(PrimExpr::Var(handle));
        let number = i.to_string();
        let null = store.prim_call("isnullptr", &[handle], DType::BOOL);
        let there = math::not(store, null);
        self.check_type(store, i, there, "Tensor");

        let axes = data.shape.len();
        let (given, wanted) = (part(store, handle, 0, field::NDIM, DType::I32), store.prim_int(axes as i64, DType::I32));
        let cond = binary(store, PrimOp::Eq, wanted, given);
        let before = ["Mismatched ", &name, ".ndim on argument #", &number];
        self.check(store, cond, "ValueError", &before, EXPECTED, &[&axes.to_string()]);

        // Elements of less than a byte are not checked.
        let small = data.dtype.lanes == 1 && data.dtype.bits == 4 || data.dtype == DType::new(DTypeCode::Int, 1);
        if !small {
            let truth = data.dtype.element() == DType::BOOL;
            let (code, bits) = if truth { (6, 8) } else { (i64::from(data.dtype.code.dlpack()), i64::from(data.dtype.bits)) };
            let wanted = [
                (field::TYPE_CODE, code, DType::U8),
                (field::TYPE_BITS, bits, DType::U8),
                (field::TYPE_LANES, i64::from(data.dtype.lanes), U16),
            ];
            let conds = wanted.map(|(which, value, dtype)| {
                let (given, value) = (part(store, handle, 0, which, dtype), store.prim_int(value, dtype));
                binary(store, PrimOp::Eq, given, value)
            });
            let [a, b, c] = conds;
            let cond = binary(store, PrimOp::And, a, b);
            let cond = binary(store, PrimOp::And, cond, c);
            let before = ["Mismatched ", &name, ".dtype on argument #", &number];
            self.check(store, cond, "TypeError", &before, EXPECTED, &[&data.dtype.to_string()]);
        }

        let param = format!("{}.{name}", self.symbol);
        let shape = self.field_pointer(store, handle, field::SHAPE, &format!("{param}_shape"));
        for (k, extent) in data.shape.iter().enumerate().filter(|_| !small) {
            let value = part(store, shape, k as i64, field::ELEMENT, DType::I64);
            let value = cast(store, store.prim_dtype(*extent), value);
            self.bind(store, *extent, value, format!("{name}.shape[{k}]"), i);
        }
        let strides = self.field_pointer(store, handle, field::STRIDES, &format!("{param}_strides"));
        let packed = store.prim_call("isnullptr", &[strides], DType::BOOL);
        match data.strides.is_empty() {
            true => self.compact(store, i, &data, strides, packed),
            false => self.strides(store, i, &data, (strides, shape), packed),
        }
        self.offset(store, i, &data, handle);

        let kind = part(store, handle, 0, field::DEVICE_TYPE, DType::I32);
        let wanted = store.prim_int(self.device, DType::I32);
        let cond = binary(store, PrimOp::Eq, wanted, kind);
        let cond = self.analyzer.simplify(store, cond);
        let before = ["Mismatched ", &name, ".device_type on argument #", &number];
        self.check(store, cond, "ValueError", &before, EXPECTED, &[device_name(self.device)]);
        let id = part(store, handle, 0, field::DEVICE_ID, DType::I32);
        let wanted = store.prim(PrimExpr::Var(self.device_id));
        self.bind(store, wanted, id, format!("{name}.device_id"), i);

        let raw = part(store, handle, 0, field::DATA, DType::HANDLE);
        let pointer = store.pointer(data.dtype, data.scope);
        let typed = store.prim_call("reinterpret", &[raw], pointer);
        let index = index_type(store, &data);
        let one = store.prim_int(1, index);
        let size = data.shape.iter().fold(one, |size, extent| binary(store, PrimOp::Mul, size, *extent));
        let zero = store.prim_int(0, DType::I32);
        let empty = binary(store, PrimOp::Eq, size, zero);
        let null = store.prim_call("isnullptr", &[typed], DType::BOOL);
        let there = math::not(store, null);
        let cond = binary(store, PrimOp::Or, empty, there);
        let before = [&name, " data pointer is NULL on argument #", &number];
        let assert = self.assert(store, cond, "ValueError", &before, "`,\n  expected non-NULL data pointer", &[]);
        self.asserts.push(Nest::Before(assert));
        let new = store.add_buffer(Buffer { data: Some(typed), ..data.clone() });
        self.buffers.push((buffer, new));
        let about = AttrNode::Prim(store.prim(PrimExpr::Buffer(new)));
        let align = store.prim_int(i64::from(data.align), DType::I32);
        self.init.push(Nest::Attr(about, store.name("storage_alignment"), align));
        let declared = store.add_stmt(Stmt::Declare(new));
        self.declared.push(Nest::Before(declared));
    }

    /// Returns a pointer to sizes in a tensor's description.
    fn field_pointer(&mut self, store: &mut Store, handle: PrimId, which: i64, name: &str) -> PrimId {
        let global = store.name("global");
        let dtype = store.pointer(DType::I64, global);
        let var = variable(store, name, dtype);
        let value = part(store, handle, 0, which, dtype);
        self.bind_var(store, var, value);
        store.prim(PrimExpr::Var(var))
    }

    /// Checks that a tensor without declared strides is compact.
    fn compact(&mut self, store: &mut Store, i: usize, data: &Buffer, strides: PrimId, packed: PrimId) {
        let index = index_type(store, data);
        let mut expected = store.prim_int(1, index);
        let mut conds = Vec::new();
        for (k, extent) in data.shape.iter().enumerate().rev() {
            let value = part(store, strides, k as i64, field::ELEMENT, DType::I64);
            let value = cast(store, index, value);
            let one = store.prim_int(1, DType::I32);
            let single = binary(store, PrimOp::Eq, *extent, one);
            let same = binary(store, PrimOp::Eq, expected, value);
            conds.push(binary(store, PrimOp::Or, single, same));
            expected = binary(store, PrimOp::Mul, expected, *extent);
        }
        if conds.is_empty() {
            return;
        }
        let all = store.prim_int(1, DType::BOOL);
        let cond = conds.into_iter().fold(all, |a, b| binary(store, PrimOp::And, a, b));
        let name = store.str(data.name).to_owned();
        let before = ["Mismatched ", &name, ".strides on argument #", &i.to_string()];
        let then = self.assert(store, cond, "ValueError", &before, "`,\n  expected to be compact array", &[]);
        let cond = store.prim(PrimExpr::Not(packed));
        let check = store.add_stmt(Stmt::If { cond, then, other: None });
        self.asserts.push(Nest::Before(check));
    }

    fn strides(&mut self, store: &mut Store, i: usize, data: &Buffer, (strides, shape): (PrimId, PrimId), packed: PrimId) {
        let name = store.str(data.name).to_owned();
        let mut from_shape = store.prim_int(1, DType::I32);
        for k in (0..data.strides.len()).rev() {
            let dtype = data.shape.get(k).map_or(DType::I64, |extent| store.prim_dtype(*extent));
            let said = part(store, strides, k as i64, field::ELEMENT, DType::I64);
            let said = cast(store, dtype, said);
            let value = math::if_then_else(store, packed, from_shape, said);
            self.bind(store, data.strides[k], value, format!("{name}.strides[{k}]"), i);
            let extent = part(store, shape, k as i64, field::ELEMENT, DType::I64);
            let extent = cast(store, dtype, extent);
            from_shape = binary(store, PrimOp::Mul, from_shape, extent);
        }
    }

    fn offset(&mut self, store: &mut Store, i: usize, data: &Buffer, handle: PrimId) {
        let bits = u64::from(if data.dtype.bits == 1 { 8 } else { data.dtype.bits }) * u64::from(data.dtype.lanes);
        let bytes = bits.div_ceil(8) as i64;
        let path = format!("{}.byte_offset", store.str(data.name));
        let given = part(store, handle, 0, field::BYTE_OFFSET, U64);
        let known = data.elem_offset.map_or(Some(0), |offset| store.as_prim_int(offset));
        if let Some(known) = known {
            let wanted = store.prim_int(known.wrapping_mul(bytes), U64);
            self.bind(store, wanted, given, path, i);
            return;
        }
        let Some(offset) = data.elem_offset else { return };
        let unit = store.prim_int(bytes, U64);
        let value = binary(store, PrimOp::Div, given, unit);
        let value = cast(store, store.prim_dtype(offset), value);
        if self.bind(store, offset, value, path, i) && data.offset_factor > 1 {
            let dtype = store.prim_dtype(offset);
            let (factor, zero) = (store.prim_int(i64::from(data.offset_factor), dtype), store.prim_int(0, dtype));
            let rest = binary(store, PrimOp::Mod, offset, factor);
            let cond = binary(store, PrimOp::Eq, rest, zero);
            let cond = self.analyzer.simplify(store, cond);
            if store.as_prim_int(cond).is_none() {
                let wanted = (i64::from(data.offset_factor) * bytes).to_string();
                let before = ["Misaligned Tensor data on argument #", &i.to_string()];
                self.check(store, cond, "ValueError", &before, "`,\n  expected data alignment=", &[&wanted, " bytes"]);
            }
        }
    }
}

fn index_type(store: &Store, data: &Buffer) -> DType {
    data.shape.first().map_or(DType::I64, |extent| store.prim_dtype(*extent))
}
