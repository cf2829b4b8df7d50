//! The innermost loop or block around all accesses of a buffer (TVM's
//! `src/s_tir/analysis/sblock_buffer_access_lca_detector.cc`).
//!
//! Memory that all blocks of threads share lives outside of every loop over `blockIdx`. A buffer that a reduction writes
//! lives outside of the loops of the reduction.

use crate::ir::{
    AttrNode, Block, Buffer, For, ForKind, Id, IterKind, Mentions, PrimExpr, PrimFunc, PrimId, PrimParam, Region, Stmt, StmtId,
    Store, Symbol,
};
use rustc_hash::FxHashMap;

/// A loop or block, and its parent; the first one is the function.
struct Scope {
    parent: usize,
    stmt: Option<StmtId>,
    depth: usize,
}

struct Detector {
    scopes: Vec<Scope>,
    at: usize,
    /// Each buffer with the scope of its accesses so far, in the order in which they come up.
    found: Vec<(Id<Buffer>, usize)>,
    places: FxHashMap<Id<Buffer>, usize>,
    known: FxHashMap<Id<Buffer>, ()>,
    matched: FxHashMap<Id<Buffer>, ()>,
    loops: FxHashMap<Id<Symbol>, usize>,
    launches: Vec<usize>,
}

/// Returns for each buffer that is accessed, in the order in which they come up, the innermost loop or block around all
/// accesses of it; none is the function itself.
pub fn buffer_access_lca(store: &Store, func: &PrimFunc) -> Vec<(Id<Buffer>, Option<StmtId>)> {
    let mut detector = Detector {
        scopes: vec![Scope { parent: 0, stmt: None, depth: 0 }],
        at: 0,
        found: Vec::new(),
        places: FxHashMap::default(),
        known: FxHashMap::default(),
        matched: FxHashMap::default(),
        loops: FxHashMap::default(),
        launches: Vec::new(),
    };
    for param in &func.params {
        if let PrimParam::Buffer(buffer) = *param {
            detector.known.insert(buffer, ());
        }
    }
    detector.stmt(store, func.body);
    for at in 0..detector.found.len() {
        let (buffer, mut scope) = detector.found[at];
        if store.str(store.buffer(buffer).scope).starts_with("global") {
            for launch in detector.launches.clone() {
                scope = detector.common(scope, launch);
            }
        }
        detector.found[at].1 = scope;
    }
    detector.found.iter().map(|(buffer, scope)| (*buffer, detector.scopes[*scope].stmt)).collect()
}

fn is_block_index(tag: &str) -> bool {
    tag.starts_with("blockIdx")
}

impl Detector {
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let (x, y) = (&self.scopes[a], &self.scopes[b]);
            if x.depth >= y.depth {
                a = x.parent;
            }
            if y.depth >= x.depth {
                b = y.parent;
            }
        }
        a
    }

    fn update(&mut self, buffer: Id<Buffer>, scope: usize) {
        self.known.insert(buffer, ());
        if self.matched.contains_key(&buffer) {
            return;
        }
        match self.places.get(&buffer) {
            Some(&place) => self.found[place].1 = self.common(self.found[place].1, scope),
            None => {
                self.places.insert(buffer, self.found.len());
                self.found.push((buffer, scope));
            }
        }
    }

    fn enter(&mut self, stmt: StmtId) -> usize {
        let outer = self.at;
        self.scopes.push(Scope { parent: outer, stmt: Some(stmt), depth: self.scopes[outer].depth + 1 });
        self.at = self.scopes.len() - 1;
        outer
    }

    fn stmt(&mut self, store: &Store, id: StmtId) {
        match store.stmt(id) {
            Stmt::For(head, body) => self.enter_loop(store, id, head, *body),
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                for iter in &block.iters {
                    iter.value.iter().for_each(|value| self.expr(store, *value));
                }
                block.predicate.iter().for_each(|predicate| self.expr(store, *predicate));
                let outer = self.enter(id);
                block.allocs.iter().for_each(|buffer| {
                    self.known.insert(*buffer, ());
                });
                self.carried(store, block);
                for (buffer, source) in &block.matches {
                    self.update(source.buffer, self.at);
                    self.matched.insert(*buffer, ());
                }
                let regions = block.reads.iter().chain(&block.writes);
                regions.flat_map(|region| &region.ranges).for_each(|range| self.range(store, *range));
                block.init.into_iter().chain([block.body]).for_each(|stmt| self.stmt(store, stmt));
                self.at = outer;
            }
            Stmt::Store { buffer, .. } => self.update(*buffer, self.at),
            Stmt::Attr { node: AttrNode::Thread { tag, .. }, .. } if is_block_index(store.str(*tag)) => {
                self.launches.push(self.at);
            }
            _ => {}
        }
        match store.stmt(id) {
            Stmt::For(..) | Stmt::Block(_) => {}
            stmt => {
                store.for_each_prim_of(stmt, |prim| self.expr(store, prim));
                store.for_each_inner_stmt(id, |inner| self.stmt(store, inner));
            }
        }
    }

    fn enter_loop(&mut self, store: &Store, id: StmtId, head: &For, body: StmtId) {
        let outer = self.enter(id);
        if let ForKind::Thread(tag) = head.kind
            && is_block_index(store.str(tag))
        {
            self.launches.push(self.at);
        }
        self.loops.insert(head.var, self.at);
        [head.min, head.extent].into_iter().for_each(|end| self.expr(store, end));
        self.stmt(store, body);
        self.at = outer;
        self.loops.remove(&head.var);
    }

    fn range(&mut self, store: &Store, range: (PrimId, Option<PrimId>)) {
        self.expr(store, range.0);
        range.1.iter().for_each(|extent| self.expr(store, *extent));
    }

    fn expr(&mut self, store: &Store, root: PrimId) {
        if !store.prim_mentions(root).meets(Mentions::BUFFERS) {
            return;
        }
        let mut found = Vec::new();
        store.for_each_prim(root, &mut |_, node| match node {
            PrimExpr::Load { buffer, .. } => found.push((*buffer, true)),
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => found.push((*buffer, false)),
            _ => {}
        });
        for (buffer, loaded) in found {
            if loaded || self.known.contains_key(&buffer) {
                self.update(buffer, self.at);
            }
        }
    }

    /// Moves buffers that carry values from one iteration to the next out of the loops that do.
    fn carried(&mut self, store: &Store, block: &Block) {
        let mut opaque: Vec<(Id<Symbol>, usize)> = Vec::new();
        let mut reduces: Option<usize> = None;
        for iter in block.iters.iter().filter(|iter| iter.kind != IterKind::Spatial) {
            let mut outermost: Option<usize> = None;
            if let Some(value) = iter.value {
                store.for_each_prim(value, &mut |_, node| {
                    let PrimExpr::Var(symbol) = node else { return };
                    let Some(at) = self.loops.get(symbol) else { return };
                    let outer = self.scopes[*at].parent;
                    if outermost.is_none_or(|known| self.scopes[outer].depth < self.scopes[known].depth) {
                        outermost = Some(outer);
                    }
                });
            }
            let Some(scope) = outermost else { continue };
            if iter.kind == IterKind::Reduce {
                if reduces.is_none_or(|known| self.scopes[scope].depth < self.scopes[known].depth) {
                    reduces = Some(scope);
                }
            } else {
                opaque.push((iter.var, scope));
                block.writes.iter().for_each(|write| self.update(write.buffer, scope));
            }
        }
        if !opaque.is_empty() {
            block.reads.iter().for_each(|region| self.carry(store, region, &opaque, None));
        }
        if !opaque.is_empty() || reduces.is_some() {
            block.writes.iter().for_each(|region| self.carry(store, region, &opaque, reduces));
        }
    }

    fn carry(&mut self, store: &Store, region: &Region, opaque: &[(Id<Symbol>, usize)], reduces: Option<usize>) {
        let mut scope = self.at;
        for end in region.ranges.iter().flat_map(|(min, extent)| [Some(*min), *extent]).flatten() {
            store.for_each_prim(end, &mut |_, node| {
                let PrimExpr::Var(symbol) = node else { return };
                if let Some((_, outer)) = opaque.iter().find(|(var, _)| var == symbol)
                    && self.scopes[*outer].depth < self.scopes[scope].depth
                {
                    scope = *outer;
                }
            });
        }
        if let Some(outer) = reduces.filter(|outer| self.scopes[scope].depth > self.scopes[*outer].depth) {
            scope = outer;
        }
        self.update(region.buffer, scope);
    }
}
