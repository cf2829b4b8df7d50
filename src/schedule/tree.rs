//! The tree of loops and blocks: each with its parent and its children.

use crate::ir::{Block, Id, Stmt, StmtId, Store, Symbol};

/// A loop or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The loop of a variable.
    Loop(Id<Symbol>),
    /// A block.
    Block(Id<Block>),
}

/// A loop or block in its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// The statement.
    pub stmt: StmtId,
    /// The kind of the node.
    pub what: What,
    /// The parent; nothing for the outermost block.
    pub parent: Option<usize>,
    /// The direct children, apart from a block's `init`.
    pub children: Vec<usize>,
    /// The index behind the last node in it.
    pub end: usize,
}

/// The loops and blocks of a statement, each before those in it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// In the order of the text.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Makes the tree of a statement.
    pub fn new(store: &Store, root: StmtId) -> Tree {
        let mut tree = Tree::default();
        tree.collect(store, root, None);
        tree
    }

    fn collect(&mut self, store: &Store, id: StmtId, parent: Option<usize>) {
        let (what, body) = match store.stmt(id) {
            Stmt::For(head, body) => (What::Loop(head.var), *body),
            Stmt::Block(block) => (What::Block(*block), store.prim_block(*block).body),
            _ => return store.for_each_inner_stmt(id, |inner| self.collect(store, inner, parent)),
        };
        let at = self.nodes.len();
        self.nodes.push(Node { stmt: id, what, parent, children: Vec::new(), end: 0 });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(at);
        }
        self.collect(store, body, Some(at));
        self.nodes[at].end = self.nodes.len();
    }

    /// Returns the place of a block.
    pub fn block(&self, block: Id<Block>) -> Option<usize> {
        self.nodes.iter().position(|node| node.what == What::Block(block))
    }

    /// Returns the place of a loop.
    pub fn loop_of(&self, var: Id<Symbol>) -> Option<usize> {
        self.nodes.iter().position(|node| node.what == What::Loop(var))
    }

    /// Returns the ancestors of a node, the innermost first.
    pub fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.nodes[at].parent, |at| self.nodes[*at].parent)
    }

    /// Returns the loops around a node up to the block that they stand in, the outermost first.
    pub fn loops_above(&self, at: usize) -> Vec<usize> {
        let mut loops: Vec<usize> = self.ancestors(at).take_while(|at| self.is_loop(*at)).collect();
        loops.reverse();
        loops
    }

    /// True if a node is a loop.
    pub fn is_loop(&self, at: usize) -> bool {
        matches!(self.nodes[at].what, What::Loop(_))
    }

    /// Returns the block of a node, if it is one.
    pub fn as_block(&self, at: usize) -> Option<Id<Block>> {
        match self.nodes[at].what {
            What::Block(block) => Some(block),
            What::Loop(_) => None,
        }
    }

    /// Returns the innermost block that a node stands in.
    pub fn scope(&self, at: usize) -> Option<usize> {
        self.ancestors(at).find(|at| !self.is_loop(*at))
    }

    /// True if a node is another one or stands in it.
    pub fn is_under(&self, at: usize, above: usize) -> bool {
        (above..self.nodes[above].end).contains(&at)
    }

    /// Returns the blocks under a node that stand in no other block under it, in order.
    pub fn child_blocks(&self, at: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut todo: Vec<usize> = self.nodes[at].children.iter().rev().copied().collect();
        while let Some(at) = todo.pop() {
            match self.is_loop(at) {
                true => todo.extend(self.nodes[at].children.iter().rev()),
                false => found.push(at),
            }
        }
        found
    }
}

/// Returns all blocks of a statement, each before those in it.
pub fn blocks_in(store: &Store, root: StmtId) -> Vec<Id<Block>> {
    Tree::new(store, root)
        .nodes
        .iter()
        .filter_map(|node| if let What::Block(block) = node.what { Some(block) } else { None })
        .collect()
}
