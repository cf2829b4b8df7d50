//! Uses of the variables and buffers of a function: the innermost block around all uses of each.

use crate::ir::{AttrNode, Block, Buffer, Id, IdMap, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, StmtId, Store, Symbol};

/// A construct that opens a block of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Func,
    /// A loop, a branch, the body of an attribute, the init of a block.
    Stmt(StmtId),
    Block(Id<Block>),
}

/// A declared object.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Symbol(Id<Symbol>),
    Buffer(Id<Buffer>),
}

/// The blocks of a function as a tree, and for every variable and buffer the block around its uses.
pub(super) struct Uses {
    /// For each block its parent in the tree and its construct.
    spots: Vec<(u32, Spot)>,
    symbols: IdMap<Symbol, u32>,
    buffers: IdMap<Buffer, u32>,
}

impl Uses {
    pub(super) fn of(store: &Store, func: Id<PrimFunc>) -> Uses {
        let mut uses = Uses { spots: vec![(0, Spot::Func)], symbols: IdMap::new(), buffers: IdMap::new() };
        let func = store.prim_func(func);
        for param in &func.params {
            match *param {
                PrimParam::Var(symbol) => uses.symbol(symbol, 0),
                PrimParam::Buffer(buffer) => uses.buffer(store, buffer, 0),
            }
        }
        let mut todo = vec![(func.body, 0)];
        while let Some((id, at)) = todo.pop() {
            uses.stmt(store, id, at, &mut todo);
        }
        uses
    }

    /// Returns the frame of the innermost open block around all uses.
    pub(super) fn home(&self, named: Named, open: impl Fn(Spot) -> Option<usize>) -> Option<usize> {
        let mut at = match named {
            Named::Symbol(symbol) => *self.symbols.get(symbol)?,
            Named::Buffer(buffer) => *self.buffers.get(buffer)?,
        };
        loop {
            let (parent, spot) = self.spots[at as usize];
            if let Some(frame) = open(spot) {
                return Some(frame);
            }
            if parent == at {
                return None;
            }
            at = parent;
        }
    }

    /// True if all uses of a variable are in this block.
    pub(super) fn all_within(&self, symbol: Id<Symbol>, block: Spot) -> bool {
        let Some(mut at) = self.symbols.get(symbol).copied() else { return true };
        loop {
            let (parent, spot) = self.spots[at as usize];
            if spot == block || parent == at {
                return spot == block;
            }
            at = parent;
        }
    }

    fn inside(&mut self, at: u32, spot: Spot) -> u32 {
        self.spots.push((at, spot));
        self.spots.len() as u32 - 1
    }

    /// Returns the innermost block that contains two others; parents have smaller numbers than their children.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if a > b {
                a = self.spots[a as usize].0;
            } else {
                b = self.spots[b as usize].0;
            }
        }
        a
    }

    fn symbol(&mut self, symbol: Id<Symbol>, at: u32) {
        let common = self.symbols.get(symbol).map_or(at, |known| self.common(*known, at));
        self.symbols.insert(symbol, common);
    }

    fn buffer(&mut self, store: &Store, buffer: Id<Buffer>, at: u32) {
        if let Some(known) = self.buffers.get(buffer) {
            let common = self.common(*known, at);
            self.buffers.insert(buffer, common);
            return;
        }
        self.buffers.insert(buffer, at);
        let data = store.buffer(buffer);
        for &prim in data.shape.iter().chain(&data.strides).chain(&data.elem_offset).chain(&data.data) {
            self.prim(store, prim, at);
        }
    }

    fn prim(&mut self, store: &Store, root: PrimId, at: u32) {
        let mut buffers = Vec::new();
        store.for_each_prim(root, &mut |_, part| match part {
            PrimExpr::Var(symbol) | PrimExpr::Let { var: symbol, .. } => self.symbol(*symbol, at),
            PrimExpr::Load { buffer, .. } | PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => buffers.push(*buffer),
            _ => {}
        });
        for buffer in buffers {
            self.buffer(store, buffer, at);
        }
    }

    fn stmt(&mut self, store: &Store, id: StmtId, at: u32, todo: &mut Vec<(StmtId, u32)>) {
        match store.stmt(id) {
            Stmt::Seq(list) => todo.extend(store.items(*list).map(|id| (id, at))),
            Stmt::For(head, body) => {
                let at = self.inside(at, Spot::Stmt(id));
                self.symbol(head.var, at);
                for prim in [head.min, head.extent].into_iter().chain(head.step) {
                    self.prim(store, prim, at);
                }
                todo.push((*body, at));
            }
            Stmt::Block(block) => {
                let data = store.prim_block(*block);
                for prim in data.iters.iter().filter_map(|iter| iter.value).chain(data.predicate) {
                    self.prim(store, prim, at);
                }
                let at = self.inside(at, Spot::Block(*block));
                for iter in &data.iters {
                    self.symbol(iter.var, at);
                    self.prim(store, iter.min, at);
                    self.prim(store, iter.extent, at);
                }
                for region in data.reads.iter().chain(&data.writes).chain(data.matches.iter().map(|m| &m.1)) {
                    self.buffer(store, region.buffer, at);
                    for (min, extent) in &region.ranges {
                        self.prim(store, *min, at);
                        extent.iter().for_each(|extent| self.prim(store, *extent, at));
                    }
                }
                for &buffer in data.allocs.iter().chain(data.matches.iter().map(|m| &m.0)) {
                    self.buffer(store, buffer, at);
                }
                if let Some(init) = data.init {
                    let inner = self.inside(at, Spot::Stmt(init));
                    todo.push((init, inner));
                }
                todo.push((data.body, at));
            }
            Stmt::Store { buffer, indices, value } => {
                self.buffer(store, *buffer, at);
                indices.iter().for_each(|index| self.prim(store, *index, at));
                self.prim(store, *value, at);
            }
            Stmt::If { cond, then, other } => {
                self.prim(store, *cond, at);
                for branch in std::iter::once(*then).chain(*other) {
                    let inner = self.inside(at, Spot::Stmt(branch));
                    todo.push((branch, inner));
                }
            }
            Stmt::While { cond, body } => {
                let at = self.inside(at, Spot::Stmt(id));
                self.prim(store, *cond, at);
                todo.push((*body, at));
            }
            Stmt::Bind { var, value } => {
                self.symbol(*var, at);
                self.prim(store, *value, at);
            }
            Stmt::Attr { node, value, body, .. } => {
                let at = self.inside(at, Spot::Stmt(id));
                match node {
                    AttrNode::Prim(prim) => self.prim(store, *prim, at),
                    AttrNode::Thread { var, .. } => self.symbol(*var, at),
                    AttrNode::Nothing => {}
                }
                self.prim(store, *value, at);
                todo.push((*body, at));
            }
            Stmt::Alloc(buffer, _) | Stmt::Declare(buffer) => self.buffer(store, *buffer, at),
            Stmt::Assert { cond, .. } => self.prim(store, *cond, at),
            Stmt::Evaluate(value) | Stmt::Return(value) => self.prim(store, *value, at),
            Stmt::Break | Stmt::Continue => {}
        }
    }
}

/// True if a statement contains a block.
pub(super) fn contains_block(store: &Store, root: StmtId) -> bool {
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        match store.stmt(id) {
            Stmt::Block(block) if !store.prim_block(*block).bare => return true,
            Stmt::Block(block) => todo.push(store.prim_block(*block).body),
            Stmt::Seq(list) => todo.extend(store.items(*list)),
            other => todo.extend(other.nested().into_iter().flatten()),
        }
    }
    false
}
