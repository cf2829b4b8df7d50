//! Computes the accessed region of each allocated buffer, as seen from its allocation.
//!
//! Conditions around an access narrow the ranges of variables if they are about single variables, and count as a whole
//! otherwise.

use super::narrow::Thread;
use crate::ir::{
    AttrNode, AttrValue, Block, Buffer, DType, For, ForKind, Id, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store, Symbol,
};
use crate::tir::access::{extent_of, whole_buffer};
use crate::tir::arith::{Analyzer, DEEPEST, Domains, IntSet, covering_region, ranges_of_condition};
use crate::tir::{binary, math};
use rustc_hash::FxHashMap;

/// A range: first value and number of values.
pub(super) type Range = (PrimId, PrimId);

/// A loop or thread around.
pub(super) struct Iter {
    pub(super) var: Id<Symbol>,
    /// The thread that it is, if it is one.
    thread: Option<Thread>,
}

pub(super) struct Collector {
    /// True if regions stay within the shape of their buffer.
    pub strict: bool,
    /// The accessed part of each buffer.
    pub found: FxHashMap<Id<Buffer>, Vec<Range>>,
    pub(super) iters: Vec<Iter>,
    /// The number of loops and threads around the allocation of a buffer.
    depths: FxHashMap<Id<Buffer>, usize>,
    /// The values of variables, in the order in which they came.
    domains: Vec<(Id<Symbol>, IntSet)>,
    /// Values that conditions give to other variables.
    hints: Domains,
    /// Conditions that say more than ranges of variables.
    pending: Vec<PrimId>,
    pub(super) analyzer: Analyzer,
    pub(super) relaxed: FxHashMap<Id<Buffer>, Vec<IntSet>>,
    /// The declared regions of the block around.
    said: FxHashMap<Id<Buffer>, Vec<Region>>,
    /// The explicit regions of a block, which override its accesses.
    explicit: FxHashMap<Id<Buffer>, Region>,
    /// Buffers that statements allocate, in the scopes that are open.
    pub(super) flat: Vec<Id<Buffer>>,
    /// The first thing that is wrong.
    pub error: Option<String>,
}

impl Collector {
    pub fn new(strict: bool) -> Collector {
        Collector {
            strict,
            found: FxHashMap::default(),
            iters: Vec::new(),
            depths: FxHashMap::default(),
            domains: Vec::new(),
            hints: Domains::default(),
            pending: Vec::new(),
            analyzer: Analyzer::new(),
            relaxed: FxHashMap::default(),
            said: FxHashMap::default(),
            explicit: FxHashMap::default(),
            flat: Vec::new(),
            error: None,
        }
    }

    pub fn body(&mut self, store: &mut Store, body: StmtId) {
        self.stmt(store, body);
        self.close_flat(store, 0);
    }

    fn fail(&mut self, message: impl Into<String>) {
        self.error.get_or_insert_with(|| message.into());
    }

    fn stmt(&mut self, store: &mut Store, id: StmtId) {
        match store.stmt(id).clone() {
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(list).collect();
                stmts.into_iter().for_each(|stmt| self.stmt(store, stmt));
            }
            Stmt::For(head, body) => self.loop_(store, &head, body),
            Stmt::Attr { node: AttrNode::Thread { var, tag }, value, body, .. } => {
                let thread = Thread::of(store.str(tag));
                let zero = store.prim_int(0, store.prim_dtype(value));
                self.iters.push(Iter { var, thread: Some(thread) });
                self.analyzer.bind_range(store, var, zero, value);
                let set = IntSet::from_range(store, zero, value);
                self.set_domain(var, set);
                let flat = self.flat.len();
                self.expr(store, value);
                self.stmt(store, body);
                self.close_flat(store, flat);
                self.domains.retain(|(known, _)| *known != var);
                self.iters.pop();
            }
            Stmt::Attr { value, body, .. } => {
                self.expr(store, value);
                self.stmt(store, body);
            }
            Stmt::Bind { var, value } => {
                self.expr(store, value);
                self.bind(store, var, value);
            }
            Stmt::If { cond, then, other } => {
                self.expr(store, cond);
                self.under(store, cond, |collector, store| collector.stmt(store, then));
                if let Some(other) = other {
                    let opposite = math::not(store, cond);
                    self.under(store, opposite, |collector, store| collector.stmt(store, other));
                }
            }
            Stmt::While { cond, body } => {
                self.expr(store, cond);
                self.stmt(store, body);
            }
            Stmt::Block(block) => {
                let block = store.prim_block(block).clone();
                match block.predicate {
                    Some(cond) => self.under(store, cond, |collector, store| {
                        collector.expr(store, cond);
                        collector.block(store, &block);
                    }),
                    None => self.block(store, &block),
                }
            }
            Stmt::Store { buffer, indices, value } => {
                self.access(store, &Region { buffer, ranges: indices.iter().map(|index| (*index, None)).collect() });
                self.expr(store, value);
            }
            Stmt::Alloc(buffer, _) => {
                self.define(store, buffer);
                self.flat.push(buffer);
            }
            Stmt::Assert { cond: value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => self.expr(store, value),
            Stmt::Declare(_) | Stmt::Break | Stmt::Continue => {}
        }
    }

    fn loop_(&mut self, store: &mut Store, head: &For, body: StmtId) {
        let thread = match head.kind {
            ForKind::Thread(tag) => Some(Thread::of(store.str(tag))),
            _ => None,
        };
        self.iters.push(Iter { var: head.var, thread });
        self.analyzer.bind_range(store, head.var, head.min, head.extent);
        let set = IntSet::from_range(store, head.min, head.extent);
        self.set_domain(head.var, set);
        let flat = self.flat.len();
        self.expr(store, head.min);
        self.expr(store, head.extent);
        self.stmt(store, body);
        self.close_flat(store, flat);
        self.domains.retain(|(known, _)| *known != head.var);
        self.iters.pop();
    }

    fn set_domain(&mut self, var: Id<Symbol>, set: IntSet) {
        if self.domains.iter().all(|(known, _)| *known != var) {
            self.domains.push((var, set));
        }
    }

    fn bind(&mut self, store: &mut Store, var: Id<Symbol>, value: PrimId) {
        if crate::tir::is_index(store.prim_dtype(value)) {
            self.analyzer.bind(store, var, value);
            self.set_domain(var, IntSet::single(value));
        }
    }

    fn block(&mut self, store: &mut Store, block: &Block) {
        if block.init.is_some() || !block.iters.is_empty() {
            return self.fail("CompactBufferRegion only works on opaque blocks");
        }
        let mut here: FxHashMap<Id<Buffer>, Vec<Region>> = FxHashMap::default();
        for region in block.reads.iter().chain(&block.writes) {
            here.entry(region.buffer).or_default().push(region.clone());
        }
        let outer: Vec<(Id<Buffer>, Option<Vec<Region>>)> =
            here.into_iter().map(|(buffer, regions)| (buffer, self.said.insert(buffer, regions))).collect();
        for (key, regions) in [("explicit_read_region", &block.reads), ("explicit_write_region", &block.writes)] {
            let Some(AttrValue::Array(indices)) = store.attr(block.annotations, key) else { continue };
            for index in indices.iter().filter_map(|index| store.value_int(index)) {
                if let Some(region) = usize::try_from(index).ok().and_then(|index| regions.get(index)) {
                    self.explicit.insert(region.buffer, region.clone());
                }
            }
        }
        for buffer in &block.allocs {
            self.define(store, *buffer);
        }
        for (_, source) in &block.matches {
            self.access(store, source);
        }
        let sources = block.matches.iter().map(|(_, source)| source);
        for region in block.reads.iter().chain(&block.writes).chain(sources) {
            for (min, extent) in &region.ranges {
                self.expr(store, *min);
                extent.iter().for_each(|extent| self.expr(store, *extent));
            }
        }
        self.stmt(store, block.body);
        for (buffer, regions) in outer {
            match regions {
                Some(regions) => self.said.insert(buffer, regions),
                None => self.said.remove(&buffer),
            };
        }
        self.explicit.clear();
        for buffer in &block.allocs {
            if !self.relaxed.contains_key(buffer) {
                let name = store.str(store.buffer(*buffer).name).to_owned();
                return self.fail(format!("{name} is allocated but not accessed within block scope"));
            }
            self.close(store, *buffer);
        }
    }

    fn expr(&mut self, store: &mut Store, root: PrimId) {
        let node = store.prim_rc(root);
        match *node {
            PrimExpr::Load { buffer, ref indices } => {
                let ranges = indices.iter().map(|index| (*index, None)).collect();
                let region = self.explicit.get(&buffer).cloned().unwrap_or(Region { buffer, ranges });
                self.access(store, &region);
                indices.iter().for_each(|index| self.expr(store, *index));
            }
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => match self.said.get(&buffer).cloned() {
                Some(regions) => regions.iter().for_each(|region| self.access(store, region)),
                None => {
                    let whole = whole_buffer(store, buffer);
                    self.access(store, &whole);
                }
            },
            PrimExpr::Let { var, value, body } => {
                self.expr(store, value);
                self.bind(store, var, value);
                self.expr(store, body);
                self.domains.retain(|(known, _)| *known != var);
            }
            PrimExpr::Call { op, ref args, .. } if store.str(op) == "if_then_else" && args.len() == 3 => {
                let (cond, then, other) = (args[0], args[1], args[2]);
                self.expr(store, cond);
                self.under(store, cond, |collector, store| collector.expr(store, then));
                let opposite = math::not(store, cond);
                self.under(store, opposite, |collector, store| collector.expr(store, other));
            }
            _ if store.prim_depth(root) > DEEPEST => {
                // Too deep for recursion: everything that is named may be accessed as a whole.
                let mut named = Vec::new();
                store.for_each_prim(root, &mut |_, part| match part {
                    PrimExpr::Load { buffer, .. } | PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => named.push(*buffer),
                    _ => {}
                });
                for buffer in named {
                    let whole = whole_buffer(store, buffer);
                    self.access(store, &whole);
                }
            }
            ref node => {
                let mut children = Vec::new();
                node.for_each_child(&mut |child| children.push(child));
                children.into_iter().for_each(|child| self.expr(store, child));
            }
        }
    }

    /// Runs `f` knowing that a condition holds.
    fn under(&mut self, store: &mut Store, cond: PrimId, f: impl FnOnce(&mut Self, &mut Store)) {
        let (domains, hints, pending) = (self.domains.clone(), self.hints.clone(), self.pending.len());
        let mut known: Domains = self.hints.clone();
        known.extend(self.domains.iter().copied());
        match ranges_of_condition(store, cond, &known) {
            None => self.pending.push(cond),
            Some(ranges) => {
                for (var, set) in ranges {
                    match self.domains.iter_mut().find(|(known, _)| *known == var) {
                        Some((_, known)) => *known = IntSet::intersect(store, &[*known, set]),
                        None => {
                            let both = self.hints.get(&var).map_or(set, |hint| IntSet::intersect(store, &[*hint, set]));
                            self.hints.insert(var, both);
                        }
                    }
                }
            }
        }
        f(self, store);
        (self.domains, self.hints) = (domains, hints);
        self.pending.truncate(pending);
    }

    fn define(&mut self, store: &Store, buffer: Id<Buffer>) {
        if self.depths.insert(buffer, self.iters.len()).is_some() {
            let name = store.str(store.buffer(buffer).name).to_owned();
            self.fail(format!("{name} has duplicate definitions"));
        }
    }

    fn access(&mut self, store: &mut Store, region: &Region) {
        let Some(&depth) = self.depths.get(&region.buffer) else { return };
        let scope = store.str(store.buffer(region.buffer).scope).to_owned();
        let fixed = |var: Id<Symbol>| {
            let around = self.iters[..depth.min(self.iters.len())].iter();
            around.filter(|iter| iter.var == var).any(|iter| !iter.thread.is_some_and(|thread| thread.shares(&scope)))
        };
        let moving: Vec<(Id<Symbol>, IntSet)> = self.domains.iter().filter(|(var, _)| !fixed(*var)).copied().collect();
        let zero = store.prim_int(0, DType::I32);
        let iters: Vec<(Id<Symbol>, Range)> =
            moving.into_iter().map(|(var, set)| (var, set.cover(store, (zero, zero)))).collect();
        let mut all = store.prim_int(1, DType::BOOL);
        for cond in self.pending.clone() {
            let cond = match store.prim_dtype(cond) {
                DType::BOOL => cond,
                dtype => {
                    let zero = store.prim_int(0, dtype);
                    binary(store, PrimOp::Ne, cond, zero)
                }
            };
            all = binary(store, PrimOp::And, all, cond);
        }
        let all = self.analyzer.simplify(store, all);
        let ranges: Vec<Range> = region.ranges.iter().map(|range| (range.0, extent_of(store, *range))).collect();
        let predicate = Some(all).filter(|all| store.as_prim_int(*all) != Some(1));
        let sets = covering_region(store, &mut self.analyzer, &ranges, &iters, predicate);
        match self.relaxed.get_mut(&region.buffer) {
            None => {
                self.relaxed.insert(region.buffer, sets);
            }
            Some(known) => {
                for (known, set) in known.iter_mut().zip(sets) {
                    *known = IntSet::union(store, &[*known, set]);
                }
            }
        }
    }
}
