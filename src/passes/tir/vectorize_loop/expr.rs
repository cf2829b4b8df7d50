//! Expressions on vectors.

use super::body::{Vectors, is_vector};
use crate::ir::{Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::{Analyzer, DEEPEST};
use crate::tir::{binary, math, substitute};

/// Intrinsics that TVM lets work on vectors (`TVectorizable`), between spaces.
const VECTORIZABLE: &str = " likely bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right q_multiply_shift \
    q_multiply_shift_per_axis popcount fma call_llvm_pure_intrin pow fabs floor ceil round trunc exp exp2 exp10 tanh sigmoid \
    sqrt log log2 log10 tan cos cosh sin sinh ";

fn is_vectorizable(name: &str) -> bool {
    VECTORIZABLE.split(' ').any(|known| known == name)
}

/// Returns the lanes of an expression; 1 for pointers.
pub(super) fn lanes(store: &Store, id: PrimId) -> u16 {
    let dtype = store.prim_dtype(id);
    if dtype.code == DTypeCode::Handle { 1 } else { dtype.lanes }
}

/// Returns the number of lanes without the scalable factor.
fn count(lanes: u16) -> u16 {
    lanes & !DType::SCALABLE
}

impl Vectors {
    /// Rewrites an expression with the variable of the loop as a vector.
    pub(super) fn value(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        if store.prim_depth(id) > DEEPEST {
            self.fail("an expression is too deep to be vectorized");
            return id;
        }
        let expr = store.prim_rc(id);
        match &*expr {
            PrimExpr::Var(symbol) if *symbol == self.var => self.ramp,
            PrimExpr::Var(symbol) => self.bound.get(symbol).copied().unwrap_or(id),
            PrimExpr::Binary { op, a, b } => {
                let new = (self.value(store, *a), self.value(store, *b));
                if new == (*a, *b) { id } else { self.operation(store, *op, new.0, new.1) }
            }
            PrimExpr::Not(value) => {
                let new = self.value(store, *value);
                if new == *value { id } else { math::not(store, new) }
            }
            PrimExpr::Ramp { base, stride, lanes } => self.ramp(store, (*base, *stride, *lanes)),
            PrimExpr::Broadcast { value, .. } => {
                self.scalarize |= {
                    let new = self.value(store, *value);
                    is_vector(store, new)
                };
                id
            }
            PrimExpr::Select { cond, then, other } => {
                let new = [*cond, *then, *other].map(|part| self.value(store, part));
                if new == [*cond, *then, *other] {
                    return id;
                }
                let most = most_lanes(store, &new);
                let [cond, then, other] = new.map(|part| self.broadcast(store, part, most));
                store.prim(PrimExpr::Select { cond, then, other })
            }
            PrimExpr::Cast { dtype, value } => {
                let new = self.value(store, *value);
                if new == *value {
                    return id;
                }
                let dtype = DType { lanes: lanes(store, new), ..*dtype };
                store.prim(PrimExpr::Cast { dtype, value: new })
            }
            PrimExpr::Call { op, args, dtype } => {
                let name = store.str(*op).to_owned();
                self.call(store, id, &name, args, *dtype)
            }
            PrimExpr::Load { buffer, indices } => {
                let new: Vec<PrimId> = indices.iter().map(|index| self.value(store, *index)).collect();
                if new[..] == indices[..] {
                    return id;
                }
                self.only_the_last(store, &new[..new.len() - 1]);
                store.prim(PrimExpr::Load { buffer: *buffer, indices: new.into() })
            }
            PrimExpr::Let { var, value, body } => {
                let new = self.value(store, *value);
                let becomes = self.bind(store, *var, *value, new);
                let new_body = self.value(store, *body);
                if (becomes, new, new_body) == (*var, *value, *body) {
                    return id;
                }
                store.prim(PrimExpr::Let { var: becomes, value: new, body: new_body })
            }
            PrimExpr::Shuffle { vectors, indices } => self.shuffle(store, id, vectors, indices),
            _ => id,
        }
    }

    /// Returns the variable for a rewritten value: another one if the value has become a vector.
    pub(super) fn bind(&mut self, store: &mut Store, var: Id<Symbol>, old: PrimId, new: PrimId) -> Id<Symbol> {
        let mut becomes = var;
        if count(lanes(store, new)) != count(lanes(store, old)) {
            let symbol = store.symbol(var).clone();
            becomes = store.add_symbol(Symbol { dtype: store.prim_dtype(new), ..symbol });
        }
        let value = store.prim(PrimExpr::Var(becomes));
        self.bound.insert(var, value);
        becomes
    }

    /// Makes `a op b`, of which at least one has changed.
    fn operation(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        let ramp = |store: &Store, id| match *store.prim_of_id(id) {
            PrimExpr::Ramp { base, stride, lanes } => Some((base, stride, lanes)),
            _ => None,
        };
        let (a_ramp, b_ramp) = (ramp(store, a), ramp(store, b));
        let (a_scalar, b_scalar) = (!is_vector(store, a), !is_vector(store, b));
        match op {
            PrimOp::Add | PrimOp::Sub => {
                if let (true, Some((base, stride, lanes))) = (a_scalar, b_ramp) {
                    let zero = store.prim_int(0, store.prim_dtype(stride));
                    let (base, stride) = (binary(store, op, a, base), binary(store, op, zero, stride));
                    return store.prim(PrimExpr::Ramp { base, stride, lanes });
                }
                if let (true, Some((base, stride, lanes))) = (b_scalar, a_ramp) {
                    let base = binary(store, op, base, b);
                    return store.prim(PrimExpr::Ramp { base, stride, lanes });
                }
            }
            PrimOp::Mul => {
                for (ramp, factor, scalar) in [(a_ramp, b, b_scalar), (b_ramp, a, a_scalar)] {
                    let (Some((base, stride, lanes)), true) = (ramp, scalar) else { continue };
                    let zero = store.prim_int(0, store.prim_dtype(factor));
                    let positive = binary(store, PrimOp::Gt, factor, zero);
                    if Analyzer::new().can_prove(store, positive) {
                        let (base, stride) = (binary(store, op, base, factor), binary(store, op, stride, factor));
                        return store.prim(PrimExpr::Ramp { base, stride, lanes });
                    }
                }
            }
            _ => {}
        }
        let most = most_lanes(store, &[a, b]);
        let (a, b) = (self.broadcast(store, a, most), self.broadcast(store, b, most));
        match op {
            PrimOp::Add | PrimOp::Sub => binary(store, op, a, b),
            _ => store.prim_binary(op, a, b),
        }
    }

    /// Broadcasts an expression to so many lanes.
    fn broadcast(&mut self, store: &mut Store, id: PrimId, to: u16) -> PrimId {
        let own = lanes(store, id);
        if own == to || !is_number(store, id) {
            return id;
        }
        let same_kind = (own & DType::SCALABLE) == (to & DType::SCALABLE);
        match *store.prim_of_id(id) {
            PrimExpr::Broadcast { value, .. } if same_kind && count(to).is_multiple_of(count(own).max(1)) => {
                store.prim(PrimExpr::Broadcast { value, lanes: to })
            }
            _ if own == 1 => store.prim(PrimExpr::Broadcast { value: id, lanes: to }),
            _ if !same_kind => {
                self.fail("Can't broadcast between scalable and fixed length vectors.");
                id
            }
            _ => {
                self.fail(&format!("Cannot broadcast lanes={} to {}", count(own), count(to)));
                id
            }
        }
    }

    fn ramp(&mut self, store: &mut Store, (base, stride, lanes): (PrimId, PrimId, u16)) -> PrimId {
        let (base, stride) = (self.value(store, base), self.value(store, stride));
        let (base_lanes, stride_lanes) = (self::lanes(store, base), self::lanes(store, stride));
        if (base_lanes | stride_lanes) & DType::SCALABLE != 0 {
            self.fail("Creating scalable vectors from existing vectors is not supported.");
            return base;
        }
        if base_lanes > 1 && stride_lanes == 1 && lanes & DType::SCALABLE != 0 {
            self.fail("Vectorizing over existing scalable vectors is not supported.");
            return base;
        }
        if base_lanes > 1
            && stride_lanes == 1
            && let PrimExpr::Ramp { base: first, stride: step, .. } = *store.prim_of_id(base)
            && let Some(total) = lanes.checked_mul(base_lanes).filter(|n| *n < DType::SCALABLE)
        {
            let factor = store.prim_int(i64::from(base_lanes), store.prim_dtype(stride));
            let along = binary(store, PrimOp::Mul, stride, factor);
            let same = binary(store, PrimOp::Eq, step, along);
            if Analyzer::new().can_prove(store, same) {
                return store.prim(PrimExpr::Ramp { base: first, stride, lanes: total });
            }
        }
        let most = base_lanes.max(stride_lanes);
        let (base, stride) = (self.broadcast(store, base, most), self.broadcast(store, stride, most));
        let element = |store: &mut Store, vector, at: u16| {
            let at = store.prim_int(i64::from(at), DType::I32);
            store.prim(PrimExpr::Shuffle { vectors: [vector].into(), indices: [at].into() })
        };
        let rows: Box<[PrimId]> = (0..most)
            .map(|at| {
                let (base, stride) = (element(store, base, at), element(store, stride, at));
                store.prim(PrimExpr::Ramp { base, stride, lanes })
            })
            .collect();
        if let [only] = rows[..] {
            return only;
        }
        let indices = (0..i64::from(lanes) * i64::from(most)).map(|at| store.prim_int(at, DType::I32)).collect();
        store.prim(PrimExpr::Shuffle { vectors: rows, indices })
    }

    fn call(&mut self, store: &mut Store, id: PrimId, name: &str, args: &[PrimId], dtype: DType) -> PrimId {
        match name {
            "if_then_else" if args.len() == 3 => {
                let cond = self.value(store, args[0]);
                if is_vector(store, cond) {
                    self.scalarize = true;
                    return id;
                }
                let (then, other) = (self.value(store, args[1]), self.value(store, args[2]));
                if [cond, then, other] == *args {
                    return id;
                }
                let most = most_lanes(store, &[then, other]);
                let (then, other) = (self.broadcast(store, then, most), self.broadcast(store, other, most));
                return store.prim_call(name, &[cond, then, other], DType { lanes: most, ..dtype });
            }
            "reinterpret" if args.len() == 1 => {
                let value = self.value(store, args[0]);
                if value == args[0] {
                    return id;
                }
                let from = store.prim_dtype(value);
                let four = |dtype: DType| dtype.code == DTypeCode::E2M1Float;
                let lanes = match from.is_scalable() || four(dtype) || four(from) || dtype.bits == 0 {
                    true => from.lanes,
                    false => (u32::from(from.bits) * u32::from(from.lanes) / u32::from(dtype.bits)) as u16,
                };
                return store.prim_call(name, &[value], DType { lanes, ..dtype });
            }
            "texture2d_load" | "texture2d_store" if !args.is_empty() => {
                let mut new = args.to_vec();
                let last = args.len() - 1;
                new[last] = self.value(store, args[last]);
                let result = if name == "texture2d_load" { DType { lanes: lanes(store, new[last]), ..dtype } } else { dtype };
                return if new == args { id } else { store.prim_call(name, &new, result) };
            }
            _ => {}
        }
        let new: Vec<PrimId> = args.iter().map(|arg| self.value(store, *arg)).collect();
        let most = most_lanes(store, &new);
        if !is_vectorizable(name) || dtype.is_scalable() || dtype.code == DTypeCode::Handle {
            self.scalarize |= most != 1;
            return if new == args || most != 1 { id } else { store.prim_call(name, &new, dtype) };
        }
        let new: Vec<PrimId> = new.into_iter().map(|arg| self.broadcast(store, arg, most)).collect();
        if new == args { id } else { store.prim_call(name, &new, DType { lanes: most, ..dtype }) }
    }

    /// Chooses a lane of a vector by the variable of the loop.
    fn shuffle(&mut self, store: &mut Store, id: PrimId, vectors: &[PrimId], indices: &[PrimId]) -> PrimId {
        let ([vector], [index]) = (vectors, indices) else {
            self.fail("Cannot vectorize ShuffleNode with multiple vectors or indices");
            return id;
        };
        let new = (self.value(store, *vector), self.value(store, *index));
        if new == (*vector, *index) {
            return id;
        }
        let own = lanes(store, *vector);
        let row = |store: &Store, id| match *store.prim_of_id(id) {
            PrimExpr::Ramp { base, stride, lanes } => {
                store.as_prim_int(base) == Some(0) && store.as_prim_int(stride) == Some(1) && lanes == self.lanes
            }
            _ => false,
        };
        let fits = match *store.prim_of_id(new.1) {
            PrimExpr::Binary { op: PrimOp::FloorMod, a, b } => match *store.prim_of_id(b) {
                PrimExpr::Broadcast { value, .. } => row(store, a) && store.as_prim_int(value) == Some(i64::from(own)),
                _ => false,
            },
            _ => row(store, new.1),
        };
        if !fits || own == 0 {
            self.fail("Cannot vectorize ShuffleNode: the lane is not that of the loop");
            return id;
        }
        let dtype = store.symbol(self.var).dtype;
        let rest = self.lanes / own;
        if rest == 1 {
            let (var, zero) = (self.var, store.prim_int(0, dtype));
            return substitute(store, *vector, &mut |_, symbol| (symbol == var).then_some(zero));
        }
        let (base, stride) = (store.prim_int(0, dtype), store.prim_int(2, dtype));
        let ramp = store.prim(PrimExpr::Ramp { base, stride, lanes: rest.max(1) });
        let outer = (std::mem::replace(&mut self.ramp, ramp), std::mem::replace(&mut self.lanes, rest.max(1)));
        let new = self.value(store, *vector);
        (self.ramp, self.lanes) = outer;
        new
    }

    /// Rewrites a store whose value or index has become a vector.
    pub(super) fn store(
        &mut self,
        store: &mut Store,
        id: StmtId,
        buffer: Id<Buffer>,
        mut at: Vec<PrimId>,
        value: PrimId,
    ) -> StmtId {
        let element = store.buffer(buffer).dtype;
        let Some(last) = at.pop() else { return id };
        let others =
            at.iter().fold(u32::from(element.lanes), |n, index| n.saturating_mul(u32::from(count(lanes(store, *index)))));
        if element.is_scalable() {
            self.fail("Vectorizing over scalable buffer elements is not supported in vectorizer.");
            return id;
        }
        if at.iter().any(|index| lanes(store, *index) & DType::SCALABLE != 0) {
            self.fail("Only the last index can be scalable.");
            return id;
        }
        let scalable = lanes(store, last) & DType::SCALABLE;
        let total = (others.saturating_mul(u32::from(count(lanes(store, last))))).max(u32::from(count(lanes(store, value))));
        let rows = total / others.max(1);
        let (Ok(total_lanes), Ok(last_lanes)) = (u16::try_from(total), u16::try_from(rows)) else { return id };
        if rows * others != total || total_lanes & DType::SCALABLE != 0 {
            self.fail(&format!("cannot produce {total} lanes of storage location by changing the last index"));
            return id;
        }
        at.push(self.broadcast(store, last, last_lanes | scalable));
        let value = self.broadcast(store, value, total_lanes | scalable);
        store.rebuild_stmt(id, Stmt::Store { buffer, indices: at.into(), value })
    }
}

impl Vectors {
    /// Refuses vectors among the indices before the last, as TVM does when it makes a load.
    fn only_the_last(&mut self, store: &Store, others: &[PrimId]) {
        if others.iter().any(|index| lanes(store, *index) != 1) {
            self.fail("Only the last index of a buffer access may be a vector type.");
        }
    }
}

/// Returns the most lanes of several expressions.
fn most_lanes(store: &Store, ids: &[PrimId]) -> u16 {
    let numbers = ids.iter().filter(|id| is_number(store, **id)).map(|id| lanes(store, *id));
    let (mut most, mut scalable) = (1, 0);
    for lanes in numbers {
        most = most.max(count(lanes));
        scalable |= lanes & DType::SCALABLE;
    }
    most | scalable
}

fn is_number(store: &Store, id: PrimId) -> bool {
    store.prim_dtype(id).code != DTypeCode::Handle
}
