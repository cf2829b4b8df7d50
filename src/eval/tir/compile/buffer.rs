//! Addresses of buffers.

use super::{Compiler, Done, unsupported};
use crate::eval::EvalFailure;
use crate::eval::tir::memory::Kind;
use crate::eval::tir::step::{Reg, Sharing, Site, Step};
use crate::ir::{Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Region, Symbol};

const I64: Kind = Kind::Int(64);

/// The address of a buffer's elements, counted in scalars of its type.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The register of the pointer to its memory.
    pub(super) base: Reg,
    pub(super) offset: Option<Reg>,
    pub(super) strides: Box<[Reg]>,
    pub(super) kind: Kind,
    /// Lanes of an element.
    pub(super) lanes: u16,
}

impl Compiler<'_> {
    /// Checks a parameter against its argument. Symbolic extents are those of the tensor.
    pub(super) fn fit(&mut self, id: Id<Buffer>, dtype: DType, shape: &[i64]) -> Done<()> {
        let store = self.store;
        let buffer = store.buffer(id);
        let name = store.str(buffer.name);
        let wrong = |what: String| Err(EvalFailure::new(format!("buffer `{name}` is given a tensor of another {what}")));
        // Vectors are passed as their scalars.
        let lanes = i64::from(Self::lanes(buffer.dtype));
        if buffer.dtype.element() != dtype.element() {
            return wrong(format!("type: {dtype}, not {}", buffer.dtype));
        }
        if lanes > 1 {
            return Ok(());
        }
        if buffer.shape.len() != shape.len() {
            return wrong(format!("rank: {}, not {}", shape.len(), buffer.shape.len()));
        }
        for (wanted, extent) in buffer.shape.iter().zip(shape) {
            if let PrimExpr::Var(symbol) = store.prim_of_id(*wanted)
                && !self.symbols.contains_key(symbol)
            {
                let reg = self.int(*extent);
                self.bind(*symbol, vec![reg]);
            }
        }
        for (axis, (wanted, extent)) in buffer.shape.iter().zip(shape).enumerate() {
            // An extent may depend on later parameters.
            let known = match store.prim_of_id(*wanted) {
                PrimExpr::Int { value, .. } => Some(*value),
                PrimExpr::Var(symbol) => match self.symbols.get(symbol).map(|regs| &regs[..]) {
                    Some([reg]) => self.known(*reg),
                    _ => None,
                },
                _ => None,
            };
            if known.is_some_and(|known| known != *extent) {
                return wrong(format!("shape: axis {axis} has {extent} elements, not {}", known.unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// Binds a buffer to the memory behind that pointer; its layout follows later.
    pub(super) fn place_at(&mut self, id: Id<Buffer>, base: Reg) {
        let buffer = self.store.buffer(id);
        let name = self.store.str(buffer.name).to_owned();
        self.code.bases.push((base, name));
        let place =
            Place { base, offset: None, strides: [].into(), kind: Kind::of(buffer.dtype), lanes: Self::lanes(buffer.dtype) };
        self.buffers.insert(id, place);
        if let Some(data) = buffer.data
            && let PrimExpr::Var(symbol) = *self.store.prim_of_id(data)
            && !self.symbols.contains_key(&symbol)
        {
            self.bind(symbol, vec![base]);
        }
    }

    /// Sets strides and offset of a buffer that has memory. Its own variables among them are those of a packed buffer.
    pub(super) fn lay_out(&mut self, id: Id<Buffer>) -> Done<()> {
        let buffer = self.store.buffer(id).clone();
        let mut packed = Vec::with_capacity(buffer.shape.len());
        let mut stride = self.int(1);
        for extent in buffer.shape.iter().rev() {
            packed.push(stride);
            let extent = self.scalar(*extent)?;
            stride = self.int_op(PrimOp::Mul, I64, stride, extent);
        }
        packed.reverse();
        let strides: Vec<Reg> = match buffer.strides.len() {
            0 => packed,
            _ => (buffer.strides.iter().zip(packed).map(|(stride, packed)| self.own(*stride, packed))).collect::<Done<_>>()?,
        };
        let zero = self.int(0);
        let offset = buffer.elem_offset.map(|offset| self.own(offset, zero)).transpose()?;
        if let Some(place) = self.buffers.get_mut(&id) {
            place.strides = strides.into();
            place.offset = offset;
        }
        Ok(())
    }

    /// Returns the value of an expression; a variable without one gets `otherwise`.
    fn own(&mut self, expr: PrimId, otherwise: Reg) -> Done<Reg> {
        match *self.store.prim_of_id(expr) {
            PrimExpr::Var(symbol) if !self.symbols.contains_key(&symbol) => {
                self.bind(symbol, vec![otherwise]);
                Ok(otherwise)
            }
            _ => self.scalar(expr),
        }
    }

    /// Allocates memory for a buffer.
    pub(super) fn alloc(&mut self, id: Id<Buffer>) -> Done<()> {
        let buffer = self.store.buffer(id).clone();
        let sharing = self.sharing(self.store.str(buffer.scope));
        let base = self.register(self.depth());
        self.place_at(id, base);
        self.lay_out(id)?;
        let place = self.buffers[&id].clone();
        let mut count = match (&*place.strides, &*buffer.shape) {
            ([first, ..], [extent, ..]) => {
                let extent = self.scalar(*extent)?;
                self.int_op(PrimOp::Mul, I64, *first, extent)
            }
            _ => self.int(1),
        };
        if let Some(offset) = place.offset {
            count = self.int_op(PrimOp::Add, I64, count, offset);
        }
        let lanes = self.int(i64::from(place.lanes));
        let count = self.int_op(PrimOp::Mul, I64, count, lanes);
        if sharing == Sharing::Block {
            self.wait();
        }
        self.code.sites.push(Site { base, count, kind: place.kind, sharing, buffer: id });
        let site = self.code.sites.len() as u32 - 1;
        self.emit(Step::Alloc(site));
        Ok(())
    }

    /// Declares a buffer in the memory of another.
    pub(super) fn declare(&mut self, id: Id<Buffer>) -> Done<()> {
        let Some(data) = self.store.buffer(id).data else { return self.alloc(id) };
        let base = self.scalar(data)?;
        // A name of its own for messages.
        let named = self.register(self.levels[base as usize].max(self.depth()));
        self.emit(Step::Copy { to: named, from: base });
        self.place_at(id, named);
        self.lay_out(id)
    }

    /// Declares a buffer that is a part of another.
    pub(super) fn match_buffer(&mut self, id: Id<Buffer>, region: &Region) -> Done<()> {
        let Some(source) = self.buffers.get(&region.buffer).cloned() else { return unsupported("a buffer from elsewhere") };
        let mut offset = source.offset.unwrap_or(self.int(0));
        for ((min, _), stride) in region.ranges.iter().zip(&*source.strides) {
            let min = self.scalar(*min)?;
            offset = self.multiply_add(offset, min, *stride);
        }
        let buffer = self.store.buffer(id).clone();
        let skipped = region.ranges.len().saturating_sub(buffer.shape.len());
        for (extent, (_, given)) in buffer.shape.iter().zip(region.ranges.iter().skip(skipped)) {
            let given = match given {
                Some(given) => self.scalar(*given)?,
                None => self.int(1),
            };
            self.own(*extent, given)?;
        }
        let outer = source.strides.iter().skip(source.strides.len().saturating_sub(buffer.strides.len()));
        for (stride, outer) in buffer.strides.iter().zip(outer.copied().collect::<Vec<_>>()) {
            self.own(*stride, outer)?;
        }
        self.place_at(id, source.base);
        self.lay_out_matched(id, offset, &source, skipped)
    }

    /// A part without strides has the layout of the whole.
    fn lay_out_matched(&mut self, id: Id<Buffer>, offset: Reg, source: &Place, skipped: usize) -> Done<()> {
        let buffer = self.store.buffer(id).clone();
        let strides: Vec<Reg> = match buffer.strides.len() {
            0 => source.strides.iter().skip(skipped).copied().collect(),
            _ => buffer.strides.iter().map(|stride| self.scalar(*stride)).collect::<Done<_>>()?,
        };
        if let Some(own) = buffer.elem_offset {
            self.own(own, offset)?;
        }
        if let Some(place) = self.buffers.get_mut(&id) {
            place.strides = strides.into();
            place.offset = Some(offset);
        }
        Ok(())
    }

    /// Returns the address of the scalar that is one lane of the element at these indices; each has one register per lane.
    pub(super) fn element(&mut self, id: Id<Buffer>, indices: &[PrimId], lane: u16) -> Done<(Reg, Reg, Kind)> {
        let Some(place) = self.buffers.get(&id).cloned() else {
            let name = self.store.str(self.store.buffer(id).name);
            return self.fail(format!("buffer `{name}` is used where it has no memory"));
        };
        if place.strides.len() != indices.len() {
            let name = self.store.str(self.store.buffer(id).name);
            let (given, rank) = (indices.len(), place.strides.len());
            return self.fail(format!("buffer `{name}` has {rank} axes and is read or written at {given} indices"));
        }
        let (which, within) = (lane / place.lanes, lane % place.lanes);
        let mut at = place.offset.unwrap_or(self.int(0));
        self.in_index += 1;
        for (index, stride) in indices.iter().zip(&*place.strides) {
            let lanes = Self::lanes(self.store.prim_dtype(*index));
            let index = self.lane(*index, if lanes == 1 { 0 } else { which % lanes })?;
            at = self.multiply_add(at, index, *stride);
        }
        self.in_index -= 1;
        if place.lanes > 1 {
            let (lanes, within) = (self.int(i64::from(place.lanes)), self.int(i64::from(within)));
            at = self.multiply_add(within, at, lanes);
        }
        Ok((place.base, at, place.kind))
    }

    /// Counts an access to a buffer.
    pub(super) fn count_access(&mut self, id: Id<Buffer>, is_store: bool) {
        let bytes = Kind::of(self.store.buffer(id).dtype).bytes() as u64;
        let Some(region) = self.region() else { return };
        let (loads, stores) = (u64::from(!is_store), u64::from(is_store));
        match region.accesses.iter_mut().find(|access| access.0 == id) {
            Some(access) => {
                access.1 += loads;
                access.2 += stores;
            }
            None => region.accesses.push((id, loads, stores, bytes)),
        }
    }

    /// Returns the value of a variable.
    pub(super) fn symbol(&self, symbol: Id<Symbol>, lane: u16) -> Done<Reg> {
        match self.symbols.get(&symbol).map(|regs| &regs[..]) {
            Some([only]) => Ok(*only),
            Some(regs) if regs.len() > usize::from(lane) => Ok(regs[usize::from(lane)]),
            _ => {
                let name = self.store.str(self.store.symbol(symbol).name);
                self.fail(format!("variable `{name}` has no value here"))
            }
        }
    }
}
