//! Values for the elements that a buffer gets by another layout (the planner of TVM's `primitive/layout_transformation.cc`).
//! A buffer that is only read is assumed to have them; a block that writes the buffer row by row writes them too; behind any
//! other writer a block of its own does.

use super::state::{State, put};
use super::{Outcome, refuse};
use crate::ir::{
    Block, Buffer, DType, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store, Symbol,
};
use crate::tir::arith::Analyzer;
use crate::tir::index_map::IndexMap;
use crate::tir::{Rewriting, StmtMutator, binary, math, substitute};

/// Makes the map from new indices to the value of padding there, given the types of elements and of indices.
pub(super) type PadValue<'a> = dyn Fn(&mut State<'_>, DType, DType) -> Outcome<IndexMap> + 'a;

/// A layout with padding: the old buffer and the new one, where its elements came from, and which have none.
pub(super) struct Padded {
    pub old: Id<Buffer>,
    pub new: Id<Buffer>,
    pub inverse: IndexMap,
    pub predicate: PrimId,
    pub value: IndexMap,
}

/// A store to the old buffer, and what stands around it.
struct Write {
    indices: Box<[PrimId]>,
    /// The loops that its indices depend on, from the outermost to the innermost.
    loops: Vec<(StmtId, For)>,
    block: Option<StmtId>,
    row_major: bool,
}

/// Finds the stores to the old buffer.
struct Writes<'a> {
    store: &'a mut Store,
    old: Id<Buffer>,
    loops: Vec<(StmtId, For)>,
    depths: Vec<(Id<Symbol>, (usize, usize))>,
    bound: Vec<(Id<Symbol>, PrimId)>,
    block: Option<StmtId>,
    found: Vec<Write>,
}

impl Writes<'_> {
    fn depth(&self, expr: PrimId) -> Option<(usize, usize)> {
        let mut found: Option<(usize, usize)> = None;
        self.store.for_each_prim(expr, &mut |_, node| {
            if let PrimExpr::Var(var) = node
                && let Some((_, (from, to))) = self.depths.iter().find(|(known, _)| known == var)
            {
                found = Some(found.map_or((*from, *to), |(a, b)| (a.min(*from), b.max(*to))));
            }
        });
        found
    }

    fn through(&mut self, expr: PrimId) -> PrimId {
        let bound = &self.bound;
        substitute(self.store, expr, &mut |_, symbol| bound.iter().find(|(var, _)| *var == symbol).map(|(_, value)| *value))
    }

    fn bind(&mut self, var: Id<Symbol>, value: PrimId) {
        if let Some(depth) = self.depth(value) {
            self.depths.push((var, depth));
            let value = self.through(value);
            self.bound.push((var, value));
        }
    }

    /// Statements nest at most as deep as the parser lets them.
    fn visit(&mut self, id: StmtId) {
        match self.store.stmt(id).clone() {
            Stmt::For(head, body) => {
                let depth = self.loops.len();
                self.depths.push((head.var, (depth, depth)));
                self.loops.push((id, head));
                self.visit(body);
                self.loops.pop();
            }
            Stmt::Block(block) => {
                let data = self.store.prim_block(block).clone();
                for iter in &data.iters {
                    if let Some(value) = iter.value {
                        self.bind(iter.var, value);
                    }
                }
                let before = self.block.replace(id);
                data.init.into_iter().chain([data.body]).for_each(|inner| self.visit(inner));
                self.block = before;
            }
            Stmt::Bind { var, value } => self.bind(var, value),
            Stmt::Store { buffer, indices, .. } if buffer == self.old => self.write(indices),
            _ => {
                let mut inner = Vec::new();
                self.store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
                inner.into_iter().for_each(|stmt| self.visit(stmt));
            }
        }
    }

    fn write(&mut self, indices: Box<[PrimId]>) {
        let ranges = indices.iter().filter_map(|index| self.depth(*index));
        let range = ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
        let loops = range.map_or(Vec::new(), |(from, to)| self.loops[from..=to].to_vec());
        let shape = self.store.buffer(self.old).shape.clone();
        let mut row_major = !loops.is_empty() && loops.len() == shape.len() && loops.len() == indices.len();
        for (((_, head), index), extent) in loops.iter().zip(&indices).zip(&shape) {
            let index = self.through(*index);
            let same = matches!(*self.store.prim_of_id(index), PrimExpr::Var(var) if var == head.var);
            let whole = self.store.as_prim_int(head.min) == Some(0) && head.extent == *extent;
            row_major &= same && whole && head.kind == ForKind::Serial;
        }
        self.found.push(Write { indices, loops, block: self.block, row_major });
    }
}

/// Writes all elements of the new layout where some of the old one were written.
struct Filled<'a> {
    padded: &'a Padded,
    indices: &'a [PrimId],
    /// The places of the new elements, and the condition and value of padding there.
    places: Box<[PrimId]>,
    predicate: PrimId,
    value: PrimId,
    block: Option<StmtId>,
    iters: Option<Box<[IterVar]>>,
    all: bool,
}

impl StmtMutator for Filled<'_> {
    fn rule(&self) -> &'static str {
        "padding written"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Store { buffer, indices, value } => {
                if buffer != self.padded.old || *indices != *self.indices {
                    self.all = false;
                    return None;
                }
                let value = cx.root(self, value);
                let value = math::if_then_else(cx.store, self.predicate, self.value, value);
                let store = Stmt::Store { buffer: self.padded.new, indices: self.places.clone(), value };
                Some(cx.store.rebuild_stmt(id, store))
            }
            Stmt::Block(_) if self.block == Some(id) => {
                let inner = cx.descend(self, id);
                let Stmt::Block(block) = *cx.store.stmt(inner) else { return Some(inner) };
                let mut data = cx.store.prim_block(block).clone();
                if let Some(iters) = self.iters.take() {
                    data.iters = iters;
                }
                let block = cx.store.add_prim_block(data);
                Some(cx.store.rebuild_stmt(inner, Stmt::Block(block)))
            }
            _ => None,
        }
    }
}

impl State<'_> {
    /// Makes the padding of a layout in a scope, whose accesses to the old buffer are still there; the scope, and the block that
    /// was made.
    pub(super) fn pad_layout(&mut self, scope: StmtId, padded: &Padded) -> Outcome<(StmtId, Option<Id<Block>>)> {
        let mut writes = Writes {
            store: self.store,
            old: padded.old,
            loops: Vec::new(),
            depths: Vec::new(),
            bound: Vec::new(),
            block: None,
            found: Vec::new(),
        };
        writes.visit(scope);
        let found = writes.found;
        let Some(last) = found.last() else {
            let (stage, made) = self.padding_block(padded, true);
            let Stmt::Block(block) = *self.store.stmt(scope) else { return refuse("InternalError: the scope is no block") };
            let mut data = self.store.prim_block(block).clone();
            let mut stmts = self.store.stmts_of(data.body);
            stmts.insert(0, stage);
            data.body = self.store.add_stmts(&stmts);
            return Ok((self.rebuilt_block(scope, data), Some(made)));
        };
        let mut replaced: Vec<(StmtId, StmtId)> = Vec::new();
        for write in found.iter().filter(|write| write.row_major) {
            if let Some(new) = self.filled(write, padded)? {
                let first = write.loops[0].0;
                replaced.retain(|(old, _)| *old != first);
                replaced.push((first, new));
            }
        }
        let mut made = None;
        if replaced.is_empty() {
            let Some(after) = last.loops.first().map(|(stmt, _)| *stmt).or(last.block) else {
                return refuse("InternalError: Write occured outside of any block/loop");
            };
            let (stage, block) = self.padding_block(padded, false);
            made = Some(block);
            replaced.push((after, self.store.add_stmts(&[after, stage])));
        }
        let mut scope = scope;
        for (old, new) in replaced {
            scope = match put(self.store, scope, old, new) {
                Some(scope) => scope,
                None => return refuse("InternalError: a loop is not where it was"),
            };
        }
        Ok((scope, made))
    }

    /// The loops over the new layout in the place of those of a write; nothing if they write anything else.
    fn filled(&mut self, write: &Write, padded: &Padded) -> Outcome<Option<StmtId>> {
        let places: Vec<PrimId> = padded.inverse.params.iter().map(|var| self.store.prim(PrimExpr::Var(*var))).collect();
        let mut moved: Vec<(Id<Symbol>, PrimId)> =
            write.loops.iter().map(|(_, head)| head.var).zip(padded.inverse.indices.iter().copied()).collect();
        let (mut own, mut predicate, mut iters) = (places.clone(), padded.predicate, None);
        let data = write.block.and_then(|block| match self.store.stmt(block) {
            Stmt::Block(block) => Some(self.store.prim_block(*block).clone()),
            _ => None,
        });
        if let Some(data) = &data {
            let vars: Vec<Option<Id<Symbol>>> = write
                .indices
                .iter()
                .map(|index| match *self.store.prim_of_id(*index) {
                    PrimExpr::Var(var) => Some(var),
                    _ => None,
                })
                .collect();
            let n = vars.len();
            let runs = |start: &usize| {
                data.iters[*start..*start + n]
                    .iter()
                    .zip(&vars)
                    .all(|(iter, var)| Some(iter.var) == *var && iter.kind == IterKind::Spatial)
            };
            // A block may have fewer iterators than the buffer has axes, or none.
            let last = data.iters.len().checked_sub(n).filter(|_| n > 0);
            let starts = last.map_or(0..0, |last| 0..last + 1);
            let start = starts.into_iter().find(|start| vars[0] == Some(data.iters[*start].var));
            if let Some(start) = start.filter(|start| runs(start)) {
                let shape = self.store.buffer(padded.new).shape.clone();
                let mut all = data.iters[..start].to_vec();
                let mut virtuals: Vec<(Id<Symbol>, PrimId)> = Vec::new();
                for (var, extent) in padded.inverse.params.iter().zip(&shape) {
                    let (iter, prim) = self.virtual_axis(*var, *extent);
                    virtuals.push((*var, prim));
                    all.push(iter);
                }
                all.extend_from_slice(&data.iters[start + n..]);
                let through = |state: &mut Self, expr: PrimId| {
                    substitute(state.store, expr, &mut |_, symbol| {
                        virtuals.iter().find(|(known, _)| *known == symbol).map(|(_, prim)| *prim)
                    })
                };
                for (var, index) in vars.iter().flatten().zip(&padded.inverse.indices) {
                    let index = through(self, *index);
                    moved.push((*var, index));
                }
                predicate = through(self, predicate);
                own = virtuals.iter().map(|(_, prim)| *prim).collect();
                iters = Some(all.into_boxed_slice());
            }
        }
        let value = padded.value.map(self.store, &mut Analyzer::new(), &own)[0];
        let innermost = write.loops.last().map(|(stmt, _)| self.store.stmt(*stmt));
        let Some(&Stmt::For(_, body)) = innermost else { return Ok(None) };
        let mut filled = Filled {
            padded,
            indices: &write.indices,
            places: own.into(),
            predicate,
            value,
            block: write.block.filter(|_| iters.is_some()),
            iters,
            all: true,
        };
        let mut cx = Rewriting::new(self.store);
        for (var, value) in &moved {
            cx.set_symbol(*var, *value);
        }
        let mut stmt = cx.visit(&mut filled, body);
        if !filled.all {
            return Ok(None);
        }
        stmt = self.loops_over(padded, stmt);
        Ok(Some(stmt))
    }

    fn virtual_axis(&mut self, var: Id<Symbol>, extent: PrimId) -> (IterVar, PrimId) {
        let (name, dtype) = (format!("v_{}", self.name_of(var)), self.store.symbol(var).dtype);
        let (own, prim) = self.var(&name, dtype);
        let min = self.store.prim_int(0, self.store.prim_dtype(extent));
        let value = Some(self.store.prim(PrimExpr::Var(var)));
        (IterVar { var: own, kind: IterKind::Spatial, min, extent, value }, prim)
    }

    fn loops_over(&mut self, padded: &Padded, mut stmt: StmtId) -> StmtId {
        let shape = self.store.buffer(padded.new).shape.clone();
        for (var, extent) in padded.inverse.params.iter().zip(&shape).rev() {
            stmt = super::loops::serial(self.store, *var, *extent, stmt);
        }
        stmt
    }

    /// A block of its own that fills the padding, or says what it is assumed to be.
    fn padding_block(&mut self, padded: &Padded, assumes: bool) -> (StmtId, Id<Block>) {
        let shape = self.store.buffer(padded.new).shape.clone();
        let (mut iters, mut own, mut virtuals) = (Vec::new(), Vec::new(), Vec::new());
        for (var, extent) in padded.inverse.params.iter().zip(&shape) {
            let (iter, prim) = self.virtual_axis(*var, *extent);
            iters.push(iter);
            own.push(prim);
            virtuals.push((*var, prim));
        }
        let value = padded.value.map(self.store, &mut Analyzer::new(), &own)[0];
        let part = Region { buffer: padded.new, ranges: own.iter().map(|place| (*place, None)).collect() };
        let name = self.store.str(self.store.buffer(padded.new).name).to_owned();
        let block = if assumes {
            let predicate = substitute(self.store, padded.predicate, &mut |_, symbol| {
                virtuals.iter().find(|(known, _)| *known == symbol).map(|(_, prim)| *prim)
            });
            let load = self.store.prim(PrimExpr::Load { buffer: padded.new, indices: own.into() });
            let (inside, same) = (math::not(self.store, predicate), binary(self.store, PrimOp::Eq, load, value));
            let holds = binary(self.store, PrimOp::Or, inside, same);
            let call = self.store.prim_call("assume", &[holds], DType::BOOL);
            let body = self.store.add_stmt(Stmt::Evaluate(call));
            let name = self.store.name(&format!("buffer_{name}_assumptions"));
            Block { iters: iters.into(), reads: [part].into(), ..Block::around(name, body) }
        } else {
            let body = self.store.add_stmt(Stmt::Store { buffer: padded.new, indices: own.into(), value });
            let name = self.store.name(&format!("buffer_{name}_padding"));
            let predicate = Some(padded.predicate);
            Block { iters: iters.into(), predicate, writes: [part].into(), ..Block::around(name, body) }
        };
        let made = self.store.add_prim_block(block);
        let stmt = self.store.add_stmt(Stmt::Block(made));
        (self.loops_over(padded, stmt), made)
    }
}
