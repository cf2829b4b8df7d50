//! Rewrites types of indices: for NarrowDataType, ForceNarrowIndexToInt32, and intrinsics that are put into a program.
//!
//! Source: `src/tirx/ir/data_type_rewriter.cc`. TVM decides by node: two places that share a node get one answer there.
//! Here each place of an expression is decided by itself.

mod calls;

use super::arith::DEEPEST;
use super::{Rewriting, StmtMutator, binary, cast, math};
use crate::ir::{AttrNode, Block, Buffer, DType, DTypeCode, For, Id, IterVar, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam};
use crate::ir::{Region, Stmt, StmtId, Store, Symbol};
use calls::called;
use rustc_hash::FxHashMap;

/// The place of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    /// True if it is an index, an extent or the like.
    pub(crate) is_index: bool,
    /// True if it is part of a condition.
    pub(crate) is_condition: bool,
    /// The number of bits that the expressions around it need.
    pub(crate) bits: u8,
}

/// The rules of a pass about types.
pub(crate) trait Policy {
    /// Returns the place of the operands of an expression.
    fn inside(&mut self, store: &mut Store, id: PrimId, at: Place) -> Place;
    /// Returns the place of the indices at a place.
    fn index(&self, at: Place) -> Place;
    /// Returns the type of a number; the error says why it has none.
    fn number(&mut self, value: i64, dtype: DType, at: Place) -> Result<DType, String>;
    /// Returns the type of a variable.
    fn variable(&mut self, store: &Store, symbol: Id<Symbol>, at: Place) -> DType;
    /// Returns the type that a conversion to `dtype` gets, if it differs.
    fn conversion(&self, dtype: DType, at: Place) -> Option<DType>;
    /// True if operands of two types are visited again as indices, and comparisons are not treated separately.
    fn looks_again(&self) -> bool;
}

/// The rewriting of a function.
pub(crate) struct Types<P> {
    pub(crate) policy: P,
    /// The place of statements.
    pub(crate) at: Place,
    /// The replacements of variables.
    pub(crate) vars: FxHashMap<Id<Symbol>, Id<Symbol>>,
    pub(crate) rule: &'static str,
    pub(crate) error: Option<String>,
}

type Done = FxHashMap<(PrimId, Place), PrimId>;

/// Makes an integer type of another width.
pub(crate) fn with_bits(dtype: DType, bits: u8) -> DType {
    DType { bits, ..dtype }
}

pub(crate) fn is_int(dtype: DType) -> bool {
    dtype.code == DTypeCode::Int
}

impl<P: Policy> Types<P> {
    fn index(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> PrimId {
        let at = self.policy.index(self.at);
        self.value(cx, id, at, &mut Done::default())
    }

    fn condition(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> PrimId {
        let at = Place { is_condition: true, ..self.at };
        self.value(cx, id, at, &mut Done::default())
    }

    /// Returns the new variable at a definition.
    pub(crate) fn defined(&mut self, cx: &mut Rewriting<'_>, symbol: Id<Symbol>) -> Id<Symbol> {
        let at = self.policy.index(self.at);
        self.renamed(cx.store, symbol, at)
    }

    fn renamed(&mut self, store: &mut Store, symbol: Id<Symbol>, at: Place) -> Id<Symbol> {
        if let Some(new) = self.vars.get(&symbol) {
            return *new;
        }
        let old = store.symbol(symbol).clone();
        let dtype = self.policy.variable(store, symbol, at);
        if dtype == old.dtype {
            return symbol;
        }
        let new = store.add_symbol(Symbol { dtype, ..old });
        self.vars.insert(symbol, new);
        new
    }

    /// Rewrites an expression.
    pub(crate) fn value(&mut self, cx: &mut Rewriting<'_>, id: PrimId, at: Place, done: &mut Done) -> PrimId {
        if let Some(new) = done.get(&(id, at)) {
            return *new;
        }
        if cx.store.prim_depth(id) > DEEPEST {
            self.error.get_or_insert_with(|| "an expression is too deep for its types to be changed".to_owned());
            return id;
        }
        let new = self.node(cx, id, at, done);
        done.insert((id, at), new);
        new
    }

    fn node(&mut self, cx: &mut Rewriting<'_>, id: PrimId, at: Place, done: &mut Done) -> PrimId {
        let inner = self.policy.inside(cx.store, id, at);
        let expr = cx.store.prim_rc(id);
        match &*expr {
            PrimExpr::Int { value, dtype } => match self.policy.number(*value, *dtype, inner) {
                Ok(new) => cx.store.prim_int(*value, new),
                Err(message) => {
                    self.error.get_or_insert(message);
                    id
                }
            },
            PrimExpr::Var(symbol) => {
                let new = self.renamed(cx.store, *symbol, inner);
                if new == *symbol { id } else { cx.store.prim(PrimExpr::Var(new)) }
            }
            PrimExpr::Cast { dtype, value } => {
                let new = self.value(cx, *value, inner, done);
                match self.policy.conversion(*dtype, inner) {
                    Some(to) if cx.store.prim_dtype(new) == to => new,
                    Some(to) => cx.store.prim(PrimExpr::Cast { dtype: to, value: new }),
                    None if new == *value => id,
                    None => cx.store.prim(PrimExpr::Cast { dtype: *dtype, value: new }),
                }
            }
            PrimExpr::Binary { op, a, b } => self.operation(cx, id, (*op, *a, *b), inner, done),
            PrimExpr::Select { cond, then, other } => {
                let new_cond = self.value(cx, *cond, Place { is_condition: true, ..inner }, done);
                let (new_then, new_other) = (self.value(cx, *then, inner, done), self.value(cx, *other, inner, done));
                let (s, t) = (cx.store.prim_dtype(new_then), cx.store.prim_dtype(new_other));
                if (new_cond, new_then, new_other) == (*cond, *then, *other) && s == t {
                    return id;
                }
                let wide = with_bits(s, s.bits.max(t.bits));
                let (then, other) = (cast(cx.store, wide, new_then), cast(cx.store, wide, new_other));
                cx.store.prim(PrimExpr::Select { cond: new_cond, then, other })
            }
            PrimExpr::Ramp { base, stride, lanes } => {
                let (new_base, new_stride) = (self.value(cx, *base, inner, done), self.value(cx, *stride, inner, done));
                let (s, t) = (cx.store.prim_dtype(new_base), cx.store.prim_dtype(new_stride));
                if (new_base, new_stride) == (*base, *stride) && s == t {
                    return id;
                }
                let wide = with_bits(s, s.bits.max(t.bits));
                let (base, stride) = (cast(cx.store, wide, new_base), cast(cx.store, wide, new_stride));
                cx.store.prim(PrimExpr::Ramp { base, stride, lanes: *lanes })
            }
            PrimExpr::Let { var, value, body } => {
                let new_value = self.value(cx, *value, inner, done);
                let mut new_var = *var;
                if cx.store.prim_dtype(new_value) != cx.store.symbol(*var).dtype {
                    new_var = self.retyped(cx.store, *var, new_value);
                }
                let new_body = self.value(cx, *body, inner, done);
                if (new_value, new_body) == (*value, *body) {
                    return id;
                }
                cx.store.prim(PrimExpr::Let { var: new_var, value: new_value, body: new_body })
            }
            PrimExpr::Load { buffer, indices } => {
                let place = self.policy.index(inner);
                let new: Box<[PrimId]> = indices.iter().map(|index| self.value(cx, *index, place, done)).collect();
                let new_buffer = cx.buffer(*buffer);
                if new == *indices && new_buffer == *buffer {
                    return id;
                }
                cx.store.prim(PrimExpr::Load { buffer: new_buffer, indices: new })
            }
            PrimExpr::Data(buffer) => {
                let buffer = cx.buffer(*buffer);
                cx.store.prim(PrimExpr::Data(buffer))
            }
            PrimExpr::Buffer(buffer) => {
                let buffer = cx.buffer(*buffer);
                cx.store.prim(PrimExpr::Buffer(buffer))
            }
            PrimExpr::Call { op, args, dtype } => {
                let name = cx.store.str(*op).to_owned();
                let is_branch = name == "if_then_else" && args.len() == 3;
                let condition = Place { is_condition: true, ..inner };
                let new: Box<[PrimId]> = (args.iter().enumerate())
                    .map(|(i, arg)| self.value(cx, *arg, if is_branch && i == 0 { condition } else { inner }, done))
                    .collect();
                called(cx.store, &name, args, new, *dtype, id)
            }
            other => {
                let mut same = true;
                let new = other.over(&mut |child| {
                    let new = self.value(cx, child, inner, done);
                    same &= new == child;
                    new
                });
                if same { id } else { cx.store.prim(new) }
            }
        }
    }

    fn operation(
        &mut self,
        cx: &mut Rewriting<'_>,
        id: PrimId,
        (op, a, b): (PrimOp, PrimId, PrimId),
        at: Place,
        done: &mut Done,
    ) -> PrimId {
        let mut place = at;
        if op.is_logic() && !matches!(op, PrimOp::And | PrimOp::Or) && !self.policy.looks_again() {
            let ints = is_int(cx.store.prim_dtype(a)) && is_int(cx.store.prim_dtype(b));
            place.is_index = at.is_condition && ints;
        }
        let mut new = (self.value(cx, a, place, done), self.value(cx, b, place, done));
        if matches!(op, PrimOp::And | PrimOp::Or) {
            return if new == (a, b) { id } else { cx.store.prim_binary(op, new.0, new.1) };
        }
        let differ = cx.store.prim_dtype(new.0) != cx.store.prim_dtype(new.1);
        if new == (a, b) && !differ {
            return id;
        }
        if differ && self.policy.looks_again() {
            let place = Place { is_index: true, ..at };
            new = (self.value(cx, a, place, done), self.value(cx, b, place, done));
        }
        match op {
            PrimOp::Min | PrimOp::Max => math::min_max(cx.store, op, new.0, new.1),
            _ => binary(cx.store, op, new.0, new.1),
        }
    }

    /// Makes another variable for a value whose type has changed.
    fn retyped(&mut self, store: &mut Store, var: Id<Symbol>, value: PrimId) -> Id<Symbol> {
        let new = Symbol { dtype: store.prim_dtype(value), ..store.symbol(var).clone() };
        let new = store.add_symbol(new);
        self.vars.insert(var, new);
        new
    }

    fn binding(&mut self, cx: &mut Rewriting<'_>, id: StmtId, var: Id<Symbol>, value: PrimId) -> StmtId {
        let mut new = self.value(cx, value, self.at, &mut Done::default());
        let mut becomes = var;
        let number = cx.store.prim_dtype(new).code != DTypeCode::Handle;
        if number && cx.store.prim_dtype(new) != cx.store.symbol(var).dtype {
            becomes = self.retyped(cx.store, var, new);
        } else if let Some(known) = self.vars.get(&var) {
            becomes = *known;
            new = self.index(cx, value);
        }
        if (becomes, new) == (var, value) {
            return id;
        }
        cx.store.rebuild_stmt(id, Stmt::Bind { var: becomes, value: new })
    }

    fn block(&mut self, cx: &mut Rewriting<'_>, id: StmtId, block: Id<Block>) -> StmtId {
        let old = cx.store.prim_block(block).clone();
        let predicate = old.predicate.map(|predicate| self.condition(cx, predicate));
        let values: Vec<Option<PrimId>> = old.iters.iter().map(|iter| iter.value.map(|value| self.index(cx, value))).collect();
        let allocs = old.allocs.iter().map(|buffer| cx.define_buffer(self, *buffer)).collect();
        let matches =
            (old.matches.iter()).map(|(buffer, source)| (cx.define_buffer(self, *buffer), self.part(cx, source))).collect();
        let reads = old.reads.iter().map(|region| self.part(cx, region)).collect();
        let writes = old.writes.iter().map(|region| self.part(cx, region)).collect();
        let iters = (old.iters.iter().zip(values))
            .map(|(iter, value)| {
                let var = self.defined(cx, iter.var);
                IterVar { var, min: self.index(cx, iter.min), extent: self.index(cx, iter.extent), value, ..iter.clone() }
            })
            .collect();
        let init = old.init.map(|init| cx.visit(self, init));
        let body = cx.visit(self, old.body);
        let new = Block { iters, predicate, allocs, reads, writes, matches, init, body, ..old };
        if new == *cx.store.prim_block(block) {
            return id;
        }
        let new = cx.store.add_prim_block(new);
        cx.store.rebuild_stmt(id, Stmt::Block(new))
    }

    fn part(&mut self, cx: &mut Rewriting<'_>, region: &Region) -> Region {
        let ranges = (region.ranges.iter())
            .map(|(min, extent)| (self.index(cx, *min), extent.map(|extent| self.index(cx, extent))))
            .collect();
        Region { buffer: cx.buffer(region.buffer), ranges }
    }

    fn statement(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, body) => {
                let var = self.defined(cx, head.var);
                let (min, extent) = (self.index(cx, head.min), self.index(cx, head.extent));
                let new = cx.visit(self, body);
                if (var, min, extent, new) == (head.var, head.min, head.extent, body) {
                    return Some(id);
                }
                let dtype = cx.store.symbol(var).dtype;
                let (min, extent) = (cast(cx.store, dtype, min), cast(cx.store, dtype, extent));
                Some(cx.store.rebuild_stmt(id, Stmt::For(For { var, min, extent, ..head }, new)))
            }
            Stmt::Attr { node: AttrNode::Thread { var, tag }, key, value, body } => {
                let inside = self.policy.index(self.at);
                let outer = std::mem::replace(&mut self.at, inside);
                let new_value = self.value(cx, value, self.at, &mut Done::default());
                let new_var = self.defined(cx, var);
                let new = cx.visit(self, body);
                self.at = outer;
                let dtype = cx.store.symbol(new_var).dtype;
                let new_value = cast(cx.store, dtype, new_value);
                if (new_var, new_value, new) == (var, value, body) {
                    return Some(id);
                }
                let node = AttrNode::Thread { var: new_var, tag };
                Some(cx.store.rebuild_stmt(id, Stmt::Attr { node, key, value: new_value, body: new }))
            }
            Stmt::Store { buffer, indices, value } => {
                let new_buffer = cx.buffer(buffer);
                let mut new = self.value(cx, value, self.at, &mut Done::default());
                let (dtype, element) = (cx.store.prim_dtype(new), cx.store.buffer(new_buffer).dtype);
                if dtype != element && dtype.lanes == 1 {
                    new = cast(cx.store, element, new);
                }
                let at: Box<[PrimId]> = indices.iter().map(|index| self.index(cx, *index)).collect();
                if (new_buffer, new) == (buffer, value) && at == indices {
                    return Some(id);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: new_buffer, indices: at, value: new }))
            }
            Stmt::If { cond, then, other } => {
                let new = (self.condition(cx, cond), cx.visit(self, then), other.map(|other| cx.visit(self, other)));
                if new == (cond, then, other) {
                    return Some(id);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::If { cond: new.0, then: new.1, other: new.2 }))
            }
            Stmt::Bind { var, value } => Some(self.binding(cx, id, var, value)),
            Stmt::Block(block) => Some(self.block(cx, id, block)),
            _ => None,
        }
    }
}

impl<P: Policy> StmtMutator for Types<P> {
    fn rule(&self) -> &'static str {
        self.rule
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        Some(self.value(cx, root, self.at, &mut Done::default()))
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let fine = self.error.is_none();
        let new = self.statement(cx, id);
        if let (true, Some(message)) = (fine, &self.error) {
            cx.fail("tir-index-type", message.clone());
        }
        new
    }

    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let old = cx.store.buffer(buffer).clone();
        // The default offset is 0, in the type of the extents.
        let unsaid = |store: &mut Store, shape: &[PrimId]| {
            let dtype = shape.first().map_or(DType::I64, |extent| store.prim_dtype(*extent));
            store.prim_int(0, dtype)
        };
        let offset = old.elem_offset.unwrap_or_else(|| unsaid(cx.store, &old.shape));
        let shape: Box<[PrimId]> = old.shape.iter().map(|extent| self.index(cx, *extent)).collect();
        let strides = old.strides.iter().map(|stride| self.index(cx, *stride)).collect();
        let new_offset = self.index(cx, offset);
        let elem_offset = match old.elem_offset {
            Some(old_offset) if old_offset == new_offset && shape == old.shape => old.elem_offset,
            _ => Some(new_offset).filter(|offset| *offset != unsaid(cx.store, &shape)),
        };
        let data = old.data.map(|data| self.value(cx, data, self.at, &mut Done::default()));
        let new = Buffer { shape, strides, elem_offset, data, ..old };
        Some(if new == *cx.store.buffer(buffer) { buffer } else { cx.store.add_buffer(new) })
    }
}

/// Rewrites a function with its parameters.
pub(crate) fn rewritten<P: Policy>(store: &mut Store, types: &mut Types<P>, old: PrimFunc) -> PrimFunc {
    let mut cx = Rewriting::new(store);
    for param in &old.params {
        if let PrimParam::Buffer(buffer) = *param {
            cx.define_buffer(types, buffer);
        }
    }
    let params = (old.params.iter())
        .map(|param| match *param {
            PrimParam::Buffer(buffer) => PrimParam::Buffer(cx.buffer(buffer)),
            PrimParam::Var(symbol) => PrimParam::Var(types.defined(&mut cx, symbol)),
        })
        .collect();
    let body = cx.visit(types, old.body);
    PrimFunc { params, body, ..old }
}

/// Gives all indices of a function the same number of bits (TVM's `IndexDataTypeNormalizer`).
pub(crate) fn normalized(store: &mut Store, func: PrimFunc, bits: u8) -> PrimFunc {
    let at = Place { is_index: false, is_condition: false, bits };
    let mut types = Types { policy: Normal { bits }, at, vars: FxHashMap::default(), rule: "indices of one width", error: None };
    rewritten(store, &mut types, func)
}

struct Normal {
    bits: u8,
}

impl Normal {
    fn of(&self, dtype: DType, at: Place) -> DType {
        if at.is_index && is_int(dtype) { with_bits(dtype, self.bits) } else { dtype }
    }
}

impl Policy for Normal {
    fn inside(&mut self, _: &mut Store, _: PrimId, at: Place) -> Place {
        at
    }

    fn index(&self, at: Place) -> Place {
        Place { is_index: true, ..at }
    }

    fn number(&mut self, _: i64, dtype: DType, at: Place) -> Result<DType, String> {
        Ok(self.of(dtype, at))
    }

    fn variable(&mut self, store: &Store, symbol: Id<Symbol>, at: Place) -> DType {
        self.of(store.symbol(symbol).dtype, at)
    }

    fn conversion(&self, dtype: DType, at: Place) -> Option<DType> {
        Some(self.of(dtype, at)).filter(|new| *new != dtype)
    }

    fn looks_again(&self) -> bool {
        false
    }
}
