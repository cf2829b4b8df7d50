//! Pointers of older versions: `T.load`, `T.store` and flat indices of buffers with several axes become elements of the
//! buffer, `T.allocate_const` a buffer that is filled at the beginning.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Stmt};
use crate::parse::script::tree::Arg;
use crate::tir;

impl Reader<'_, '_, '_> {
    /// Returns the buffer behind an old pointer: `A.data`, or the result of `T.allocate`.
    fn pointer_buffer(&mut self, id: Id<Node>) -> Read<Id<Buffer>> {
        let buffer = match self.value(id)? {
            Value::Buffer(buffer) => buffer,
            Value::Prim(prim) if let PrimExpr::Data(buffer) = *self.store.prim_of_id(prim) => buffer,
            _ => return Err(self.error("tir-gone", "pointers are gone: declare a buffer and write `A[i]`", id)),
        };
        self.state.pointers.insert(buffer);
        Ok(buffer)
    }

    /// Returns the buffer of `A.data[i]`, whose index counts elements.
    pub(super) fn data_buffer(&mut self, prim: PrimId) -> Option<Id<Buffer>> {
        let PrimExpr::Data(buffer) = *self.store.prim_of_id(prim) else { return None };
        if self.state.strict {
            return None;
        }
        self.state.pointers.insert(buffer);
        Some(buffer)
    }

    /// Converts an index that counts the elements of a buffer to one for each axis.
    pub(super) fn unflattened(&mut self, buffer: Id<Buffer>, index: PrimId) -> Option<Vec<PrimId>> {
        let shape = self.store.buffer(buffer).shape.clone();
        if self.store.prim_dtype(index).lanes != 1 || !self.store.buffer(buffer).strides.is_empty() {
            return None;
        }
        let dtype = self.store.prim_dtype(index);
        let mut rest = index;
        let mut indices = Vec::with_capacity(shape.len());
        for (axis, extent) in shape.iter().enumerate().rev() {
            let extent = tir::cast(self.store, dtype, *extent);
            indices.push(match axis {
                0 => rest,
                _ => tir::binary(self.store, PrimOp::FloorMod, rest, extent),
            });
            rest = tir::binary(self.store, PrimOp::FloorDiv, rest, extent);
        }
        indices.reverse();
        Some(indices)
    }

    /// Reads `T.load("float32", A.data, i)`.
    pub(super) fn old_load(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        self.old("`T.load(\"float32\", A.data, i)` is the spelling of TVM 0.9; today `A[i]`", at);
        let [dtype, pointer, index] = args else {
            return Err(self.error("tir-syntax", "expected a type, a pointer and an index", at));
        };
        let dtype = self.dtype(dtype.value)?;
        let buffer = self.pointer_buffer(pointer.value)?;
        let indices = self.indices(buffer, &[index.value], at)?;
        let load = self.store.prim(PrimExpr::Load { buffer, indices: indices.into() });
        if self.store.prim_dtype(load) != dtype {
            return Err(self.error("tir-gone", "an element is read as what it is: declare a buffer of the other type", at));
        }
        Ok(Value::Prim(load))
    }

    /// Reads `T.store(A.data, i, value)`.
    pub(super) fn old_store(&mut self, args: &[Arg], at: Id<Node>) -> Read<()> {
        self.old("`T.store(A.data, i, value)` is the spelling of TVM 0.9; today `A[i] = value`", at);
        let ([pointer, index, value] | [pointer, index, value, _]) = args else {
            return Err(self.error("tir-syntax", "expected a pointer, an index and a value", at));
        };
        let buffer = self.pointer_buffer(pointer.value)?;
        let indices = self.indices(buffer, &[index.value], at)?;
        let value = self.prim(value.value)?;
        self.store_to(buffer, indices, value, at)
    }

    /// Reads `T.get_elem_offset(A[i, j])`.
    pub(super) fn elem_offset(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        self.old("`T.get_elem_offset(A[i])` is the spelling of 2021; today `A.elem_offset` and arithmetic", at);
        let Some(arg) = args.first() else { return Err(self.error("tir-syntax", "expected an element of a buffer", at)) };
        let element = self.prim(arg.value)?;
        let PrimExpr::Load { buffer, indices } = self.store.prim_of_id(element).clone() else {
            return Err(self.error("tir-type", "expected an element of a buffer", arg.value));
        };
        let data = self.store.buffer(buffer).clone();
        let mut offset: Option<PrimId> = None;
        for (index, extent) in indices.iter().zip(data.shape.iter()) {
            let scaled = offset.map(|offset| {
                let extent = tir::cast(self.store, self.store.prim_dtype(offset), *extent);
                tir::binary(self.store, PrimOp::Mul, offset, extent)
            });
            offset = Some(match scaled {
                Some(scaled) => tir::binary(self.store, PrimOp::Add, scaled, *index),
                None => *index,
            });
        }
        let offset = offset.unwrap_or_else(|| self.store.prim_int(0, DType::I32));
        Ok(Value::Prim(match data.elem_offset {
            Some(start) => tir::binary(self.store, PrimOp::Add, start, offset),
            None => offset,
        }))
    }

    /// Reads `T.allocate_const([1, 2, 3], "int32", [3])`.
    pub(super) fn allocate_const(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        const MOST: usize = 4_096;
        self.old("`T.allocate_const` is gone: here a buffer is filled at the beginning", at);
        let ([data, dtype, extents] | [data, dtype, extents, _]) = args else {
            return Err(self.error("tir-syntax", "expected the data, a type and a shape", at));
        };
        let dtype = self.dtype(dtype.value)?;
        let shape = self.extents(extents.value, false)?;
        let Some(items) = self.value(data.value)?.items().cloned().filter(|items| items.len() <= MOST) else {
            return Err(self.error("tir-gone", "the data of a constant are a list of at most 4,096 numbers here", data.value));
        };
        let (hint, scope) = (self.name_of(name), self.name_of("global"));
        let buffer = self.store.add_buffer(Buffer::new(hint, dtype, shape.into(), scope));
        self.state.pointers.insert(buffer);
        self.push(Stmt::Alloc(buffer, None));
        for (place, item) in items.iter().enumerate() {
            let value = self.prim_from(item, data.value)?;
            let index = self.store.prim_int(place as i64, DType::I32);
            let indices = match self.store.buffer(buffer).shape.len() {
                1 => vec![index],
                _ => self.unflattened(buffer, index).unwrap_or_default(),
            };
            self.store_to(buffer, indices, value, at)?;
        }
        Ok(Value::Buffer(buffer))
    }
}
