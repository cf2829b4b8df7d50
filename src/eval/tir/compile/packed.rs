//! `T.tvm_struct_get` and `T.tvm_struct_set`.

use super::{Compiler, Done, unsupported};
use crate::eval::tir::memory::Kind;
use crate::eval::tir::packed::field;
use crate::eval::tir::step::{Reg, Step};
use crate::ir::{DType, PrimId, PrimOp};

const I64: Kind = Kind::Int(64);

impl Compiler<'_> {
    /// Returns the value of a field.
    pub(super) fn struct_get(&mut self, structure: PrimId, index: PrimId, number: PrimId, dtype: DType) -> Done<Reg> {
        let place = self.field_of(structure, index, number)?;
        if self.store.as_prim_int(number) == Some(0) {
            return Ok(place);
        }
        let (zero, to, kind) = (self.int(0), self.register(self.depth()), Kind::of(dtype));
        self.emit(Step::Load { kind, to, base: place, place: zero });
        Ok(to)
    }

    /// Sets a field.
    pub(super) fn struct_set(&mut self, structure: PrimId, index: PrimId, number: PrimId, value: PrimId) -> Done<()> {
        let base = self.field_of(structure, index, number)?;
        let from = Kind::of(self.store.prim_dtype(value));
        let value = self.scalar(value)?;
        // A value is kept in eight bytes, its type in four.
        let kind = match (self.store.as_prim_int(number), from.is_float()) {
            (Some(13 | 14), _) => Kind::Int(32),
            (_, true) => Kind::F64,
            _ => I64,
        };
        let place = self.int(0);
        self.emit(Step::Store { kind, base, place, value });
        Ok(())
    }

    fn field_of(&mut self, structure: PrimId, index: PrimId, number: PrimId) -> Done<Reg> {
        let Some((size, start)) = self.store.as_prim_int(number).and_then(field) else {
            return unsupported("a structure's field of another kind");
        };
        let (base, index) = (self.scalar(structure)?, self.scalar(index)?);
        let (size, start) = (self.int(size), self.int(start));
        let at = self.multiply_add(base, index, size);
        Ok(self.int_op(PrimOp::Add, I64, at, start))
    }
}
