//! Expressions, a lane at a time.

use super::{Compiler, Done, unsupported};
use crate::eval::tir::memory::Kind;
use crate::eval::tir::step::{Reg, Step};
use crate::ir::{PrimExpr, PrimId, PrimOp};

/// The depth of expressions that are compiled by recursion.
const DEEP: u16 = 150;

impl Compiler<'_> {
    /// Returns the value of a scalar.
    pub(super) fn scalar(&mut self, root: PrimId) -> Done<Reg> {
        if Self::lanes(self.store.prim_dtype(root)) != 1 {
            return unsupported("a vector where a number is asked for");
        }
        self.whole(root, 1).map(|lanes| lanes[0])
    }

    /// Returns the value of each lane.
    pub(super) fn vector(&mut self, root: PrimId) -> Done<Vec<Reg>> {
        self.whole(root, Self::lanes(self.store.prim_dtype(root)))
    }

    fn whole(&mut self, root: PrimId, lanes: u16) -> Done<Vec<Reg>> {
        if self.store.prim_depth(root) > DEEP {
            // The deepest parts are first, so that no part is far above a compiled one.
            let (store, mut deep) = (self.store, Vec::new());
            store.for_each_prim(root, &mut |id, _| {
                let depth = store.prim_depth(id);
                if depth > 0 && (depth % DEEP == 0 || depth == u16::MAX) {
                    deep.push(id);
                }
            });
            for id in deep {
                for lane in 0..Self::lanes(store.prim_dtype(id)) {
                    self.lane(id, lane)?;
                }
            }
        }
        (0..lanes).map(|lane| self.lane(root, lane)).collect()
    }

    /// Returns the value of one lane of an expression; a scalar has its value in every lane.
    pub(super) fn lane(&mut self, id: PrimId, lane: u16) -> Done<Reg> {
        let lane = if Self::lanes(self.store.prim_dtype(id)) == 1 { 0 } else { lane };
        for scope in self.scopes[self.stmt_depth..].iter().rev() {
            if let Some(known) = scope.values.get(&(id, lane)) {
                return Ok(*known);
            }
        }
        let reg = self.compute(id, lane)?;
        let level = self.stmt_depth.max(self.scopes.len() - 1);
        self.scopes[level].values.insert((id, lane), reg);
        Ok(reg)
    }

    /// Counts an operation on values or, inside of indices, on indices.
    pub(super) fn count_operation(&mut self) {
        let in_index = self.in_index > 0;
        if let Some(region) = self.region() {
            *(if in_index { &mut region.index_arithmetic } else { &mut region.arithmetic }) += 1;
        }
    }

    fn compute(&mut self, id: PrimId, lane: u16) -> Done<Reg> {
        let store = self.store;
        let dtype = store.prim_dtype(id);
        // Nested calls and vectors may give very many lanes.
        if self.code.registers.len() > super::MAX_STEPS {
            return unsupported("a program that is as long as this");
        }
        match store.prim_of_id(id) {
            PrimExpr::Int { value, dtype } => Ok(self.int(Kind::of(*dtype).wrap(*value))),
            PrimExpr::Float { value, dtype } => Ok(self.constant(Kind::of(*dtype).round(value.0).to_bits())),
            PrimExpr::Var(symbol) => self.symbol(*symbol, lane),
            PrimExpr::Binary { op: op @ (PrimOp::And | PrimOp::Or), a, b } if !self.is_safe(*b) => {
                // The second is evaluated only where the first does not decide.
                let (truth, other) = (self.int(i64::from(*op == PrimOp::Or)), *b);
                let cond = self.lane(*a, lane)?;
                match op {
                    PrimOp::And => self.choose(cond, &mut |c| c.lane(other, lane), &mut |_| Ok(truth)),
                    _ => self.choose(cond, &mut |_| Ok(truth), &mut |c| c.lane(other, lane)),
                }
            }
            PrimExpr::Binary { op, a, b } => {
                let (x, y) = (store.prim_dtype(*a), store.prim_dtype(*b));
                let kind = Kind::of(if y.bits > x.bits { y } else { x });
                let (op, a, b) = (*op, self.lane(*a, lane)?, self.lane(*b, lane)?);
                self.count_operation();
                if !kind.is_float() {
                    return Ok(self.int_op(op, kind, a, b));
                }
                Ok(self.pure(2, op as u8, (kind, kind), [a, b, 0], |to| Step::Float { op, kind, to, a, b }))
            }
            PrimExpr::Not(value) => {
                let from = self.lane(*value, lane)?;
                self.count_operation();
                Ok(self.pure(3, 0, (Kind::Bool, Kind::Bool), [from, 0, 0], |to| Step::Not { to, from }))
            }
            PrimExpr::Cast { value, .. } => {
                let from_kind = Kind::of(store.prim_dtype(*value));
                let from = self.lane(*value, lane)?;
                self.count_operation();
                Ok(self.cast(from, from_kind, Kind::of(dtype)))
            }
            PrimExpr::Select { cond, then, other } => self.select(*cond, *then, *other, lane),
            PrimExpr::Load { buffer, indices } => {
                let (base, place, kind) = self.element(*buffer, indices, lane)?;
                self.count_access(*buffer, false);
                let to = self.register(self.depth());
                self.emit(Step::Load { kind, to, base, place });
                Ok(to)
            }
            PrimExpr::Ramp { base, stride, .. } => {
                let lanes = Self::lanes(store.prim_dtype(*base));
                let (which, within) = (lane / lanes, lane % lanes);
                let kind = Kind::of(dtype);
                let (base, stride, which) = (self.lane(*base, within)?, self.lane(*stride, within)?, self.int(i64::from(which)));
                let product = self.int_op(PrimOp::Mul, kind, stride, which);
                Ok(self.int_op(PrimOp::Add, kind, base, product))
            }
            PrimExpr::Broadcast { value, .. } => {
                let lanes = Self::lanes(store.prim_dtype(*value));
                self.lane(*value, lane % lanes)
            }
            PrimExpr::Shuffle { vectors, indices } => {
                let wanted = indices.get(usize::from(lane)).and_then(|index| store.as_prim_int(*index));
                let Some(mut wanted) = wanted else { return unsupported("a shuffle whose lanes are computed") };
                for vector in vectors {
                    let lanes = i64::from(Self::lanes(store.prim_dtype(*vector)));
                    if (0..lanes).contains(&wanted) {
                        return self.lane(*vector, wanted as u16);
                    }
                    wanted -= lanes;
                }
                self.fail("a shuffle takes a lane that its vectors do not have")
            }
            PrimExpr::Let { var, value, body } => {
                let lanes =
                    (0..Self::lanes(store.prim_dtype(*value))).map(|lane| self.lane(*value, lane)).collect::<Done<_>>()?;
                self.bind(*var, lanes);
                self.lane(*body, lane)
            }
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => match self.buffers.get(buffer) {
                Some(place) => Ok(place.base),
                None => {
                    let name = store.str(store.buffer(*buffer).name);
                    self.fail(format!("buffer `{name}` is used where it has no memory"))
                }
            },
            PrimExpr::Call { op, args, .. } => {
                let name = store.str(*op);
                if let Some(callee) = name.strip_prefix('@') {
                    return self.call_function(callee, args);
                }
                self.call(name, args, dtype, lane)
            }
            PrimExpr::Any => unsupported("an extent that is not known"),
            PrimExpr::Str(_) | PrimExpr::Reducer(_) | PrimExpr::Attrs(_) => unsupported("an expression about text or attributes"),
        }
    }

    pub(super) fn cast(&mut self, from: Reg, from_kind: Kind, kind: Kind) -> Reg {
        if from_kind == kind {
            return from;
        }
        if let Some(value) = self.known.get(&from) {
            let value = from_kind.convert(kind, *value);
            return self.constant(value);
        }
        self.pure(4, 0, (from_kind, kind), [from, 0, 0], |to| Step::Cast { from_kind, kind, to, from })
    }

    pub(super) fn select(&mut self, cond: PrimId, then: PrimId, other: PrimId, lane: u16) -> Done<Reg> {
        let cond = self.lane(cond, lane)?;
        self.count_operation();
        if self.is_safe(then) && self.is_safe(other) {
            let (then, other) = (self.lane(then, lane)?, self.lane(other, lane)?);
            return Ok(self.pure(5, 0, (Kind::Bool, Kind::Bool), [cond, then, other], |to| Step::Select {
                to,
                cond,
                then,
                other,
            }));
        }
        self.choose(cond, &mut |c| c.lane(then, lane), &mut |c| c.lane(other, lane))
    }

    /// Chooses one of two values; the other is not computed.
    pub(super) fn choose(
        &mut self,
        cond: Reg,
        then: &mut dyn FnMut(&mut Self) -> Done<Reg>,
        other: &mut dyn FnMut(&mut Self) -> Done<Reg>,
    ) -> Done<Reg> {
        match self.known(cond) {
            Some(0) => return other(self),
            Some(_) => return then(self),
            None => {}
        }
        let to = self.register(self.depth());
        let (no, end) = (self.label(), self.label());
        let branch = |c: &mut Self, value: &mut dyn FnMut(&mut Self) -> Done<Reg>| {
            c.open();
            let from = value(c)?;
            c.emit(Step::Copy { to, from });
            Ok(c.close())
        };
        let then = branch(self, then)?;
        let other = branch(self, other)?;
        self.emit(Step::Unless(cond, no));
        self.append(then);
        self.emit(Step::Jump(end));
        self.emit(Step::Mark(no));
        self.append(other);
        self.emit(Step::Mark(end));
        Ok(to)
    }
}
