//! A module under transformation, and how parts of it are replaced.

use super::tree::{Tree, What, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, Expr, ExprId, For, Id, IdMap, Module, Name, PrimFunc, PrimId, Rewrite, Stmt, StmtId, Store, Symbol};
use crate::tir::rebuild_func;

/// The instructions that change a program, by their names in a trace.
const PRIMITIVES: &[&str] = &[
    "add_unit_loop",
    "annotate",
    "annotate_buffer_access",
    "bind",
    "blockize",
    "cache_read",
    "cache_write",
    "compute_at",
    "compute_inline",
    "decompose_reduction",
    "fuse",
    "loop_partition",
    "merge",
    "parallel",
    "reindex",
    "reindex_cache_read",
    "reindex_cache_write",
    "reorder",
    "reorder_block_iter_var",
    "reverse_compute_at",
    "reverse_compute_inline",
    "rfactor",
    "set_scope",
    "split",
    "storage_align",
    "transform_block_layout",
    "transform_layout",
    "unannotate",
    "unroll",
    "unsafe_set_dtype",
    "vectorize",
];

/// Whether an instruction may change a program; the others look for blocks and loops, or decide on numbers.
pub fn changes(name: &str) -> bool {
    !(name.starts_with("get_") || name.starts_with("sample_") || ["work_on", "enter_postproc", "remove_rv"].contains(&name))
}

/// A block, whatever becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRef(pub(super) usize);

/// A loop, whatever becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopRef {
    pub(super) func: usize,
    pub(super) var: Id<Symbol>,
}

/// A module under transformation.
pub struct State<'s> {
    /// The session's memory.
    pub store: &'s mut Store,
    module: Module,
    funcs: Vec<(Id<Name>, ExprId)>,
    /// The function under way.
    pub(super) at: usize,
    /// The function of `work_on`.
    working_on: Option<usize>,
    /// Blocks that TVM takes for affine and covered because it has made them so, whatever a look at them would say.
    trusted: Vec<BlockRef>,
    /// Each block that a handle was given for: its function, and what it is now.
    blocks: Vec<(usize, Id<Block>)>,
}

/// What a [`State`] was at some time.
#[derive(Clone)]
pub struct Saved {
    funcs: Vec<(Id<Name>, ExprId)>,
    at: usize,
    working_on: Option<usize>,
    trusted: Vec<BlockRef>,
    blocks: Vec<(usize, Id<Block>)>,
}

impl<'s> State<'s> {
    /// The tensor programs of a module as they are.
    pub fn new(store: &'s mut Store, module: &Module) -> State<'s> {
        let funcs = module.functions().iter().copied().filter(|(_, func)| matches!(store.expr(*func), Expr::PrimFunc(_)));
        let funcs: Vec<_> = funcs.collect();
        State { store, module: module.clone(), funcs, at: 0, working_on: None, trusted: Vec::new(), blocks: Vec::new() }
    }

    /// The module as it is now.
    pub fn module(&self) -> Module {
        let mut module = self.module.clone();
        for (name, func) in &self.funcs {
            module.set_function(*name, *func);
        }
        module
    }

    /// The functions by name.
    pub(super) fn function_named(&self, name: &str) -> Option<usize> {
        self.funcs.iter().position(|(id, _)| self.store.str(*id) == name)
    }

    /// The function that instructions are about that name none.
    pub(super) fn worked_on(&self) -> Option<usize> {
        self.working_on
    }

    /// Says so.
    pub(super) fn work_on(&mut self, at: usize) {
        (self.at, self.working_on) = (at, Some(at));
    }

    pub(super) fn n_functions(&self) -> usize {
        self.funcs.len()
    }

    /// The function under way.
    pub(super) fn func(&self) -> Outcome<PrimFunc> {
        match self.funcs.get(self.at).map(|(_, func)| self.store.expr(*func)) {
            Some(Expr::PrimFunc(id)) => Ok(self.store.prim_func(id).clone()),
            _ => refuse("the module has no tensor program"),
        }
    }

    /// The function under way becomes another one.
    pub(super) fn set_func(&mut self, func: PrimFunc) {
        let Some((_, old)) = self.funcs.get(self.at).copied() else { return };
        self.funcs[self.at].1 = rebuild_func(self.store, old, func);
    }

    pub(super) fn tree(&self) -> Outcome<Tree> {
        Ok(Tree::new(self.store, self.func()?.body))
    }

    /// Does an instruction and records it as a rewrite of the functions that it changes.
    pub(super) fn recorded<T>(&mut self, name: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        let rule = PRIMITIVES.iter().find(|known| **known == name).copied().unwrap_or("instruction");
        let (mark, before) = (self.store.mark(), self.funcs.clone());
        let result = f(self);
        for ((_, pre), (_, post)) in before.into_iter().zip(self.funcs.clone()) {
            if pre != post {
                self.store.record_nested(mark, Rewrite { rule, pre, post });
            }
        }
        result
    }

    /// What is there now, to come back to.
    pub fn saved(&self) -> Saved {
        let State { funcs, at, working_on, trusted, blocks, .. } = self;
        Saved { funcs: funcs.clone(), at: *at, working_on: *working_on, trusted: trusted.clone(), blocks: blocks.clone() }
    }

    /// Goes back to what was there.
    pub fn go_back(&mut self, saved: &Saved) {
        let Saved { funcs, at, working_on, trusted, blocks } = saved.clone();
        (self.funcs, self.at, self.working_on, self.trusted, self.blocks) = (funcs, at, working_on, trusted, blocks);
    }

    // ---- handles ----

    /// The handle of a block of the function under way.
    pub(super) fn block_ref(&mut self, block: Id<Block>) -> BlockRef {
        let known = self.blocks.iter().position(|known| *known == (self.at, block));
        BlockRef(known.unwrap_or_else(|| {
            self.blocks.push((self.at, block));
            self.blocks.len() - 1
        }))
    }

    /// Says that a block is affine and covered.
    pub(super) fn trust(&mut self, block: Id<Block>) {
        let block = self.block_ref(block);
        self.trusted.push(block);
    }

    /// Every block is looked at again, as TVM does after some instructions.
    pub(super) fn trust_none(&mut self) {
        self.trusted.clear();
    }

    /// Whether a block is affine and covered without a look.
    pub(super) fn is_trusted(&self, block: Id<Block>) -> bool {
        self.trusted.iter().any(|known| self.blocks[known.0] == (self.at, block))
    }

    pub(super) fn loop_ref(&self, var: Id<Symbol>) -> LoopRef {
        LoopRef { func: self.at, var }
    }

    /// Goes to the function of a block; its place in the tree.
    pub(super) fn find_block(&mut self, block: BlockRef) -> Outcome<(Tree, usize)> {
        let (func, id) = self.blocks[block.0];
        self.at = func;
        let tree = self.tree()?;
        match tree.block(id) {
            Some(at) => Ok((tree, at)),
            None => refuse("ValueError: the block does not exist any more"),
        }
    }

    /// Goes to the function of a loop; its place in the tree.
    pub(super) fn find_loop(&mut self, of: LoopRef) -> Outcome<(Tree, usize)> {
        self.at = of.func;
        let tree = self.tree()?;
        match tree.loop_of(of.var) {
            Some(at) => Ok((tree, at)),
            None => refuse("ValueError: the loop does not exist any more"),
        }
    }

    /// What a block is now.
    pub(super) fn block_id(&self, block: BlockRef) -> Id<Block> {
        self.blocks[block.0].1
    }

    pub(super) fn head(&self, tree: &Tree, at: usize) -> Outcome<(For, StmtId)> {
        match self.store.stmt(tree.nodes[at].stmt) {
            Stmt::For(head, body) => Ok(((**head).clone(), *body)),
            _ => refuse("TypeError: a loop is needed here, not a block"),
        }
    }

    pub(super) fn block_at(&self, tree: &Tree, at: usize) -> Outcome<Block> {
        match tree.nodes[at].what {
            What::Block(block) => Ok(self.store.prim_block(block).clone()),
            What::Loop(_) => refuse("TypeError: a block is needed here, not a loop"),
        }
    }

    // ---- replacing ----

    /// Puts `new` in the place of the statement `old`. The blocks in both are the same ones in the same order, apart from
    /// those that are `gone` in the old and `made` in the new one.
    pub(super) fn replace(&mut self, old: StmtId, new: StmtId, gone: &[Id<Block>], made: &[Id<Block>]) -> Outcome<()> {
        let mut func = self.func()?;
        let before = blocks_in(self.store, func.body);
        let Some(body) = put(self.store, func.body, old, new) else {
            return refuse("InternalError: the statement to replace is not in the program");
        };
        func.body = body;
        let after = blocks_in(self.store, body);
        let kept: Vec<_> = before.into_iter().filter(|block| !gone.contains(block)).collect();
        let there: Vec<_> = after.into_iter().filter(|block| !made.contains(block)).collect();
        if kept.len() != there.len() {
            return refuse("InternalError: blocks got lost in a replacement");
        }
        self.rename(&kept, &there);
        self.set_func(func);
        Ok(())
    }

    /// Blocks of the function under way become others.
    pub(super) fn rename(&mut self, old: &[Id<Block>], new: &[Id<Block>]) {
        let at = self.at;
        let mut map: IdMap<Block, Id<Block>> = IdMap::new();
        for (old, new) in old.iter().zip(new) {
            map.insert(*old, *new);
        }
        for (func, block) in &mut self.blocks {
            if *func == at
                && let Some(new) = map.get(*block)
            {
                *block = *new;
            }
        }
    }

    /// A block statement over another block, in the place of `pre`.
    pub(super) fn rebuilt_block(&mut self, pre: StmtId, block: Block) -> StmtId {
        let block = self.store.add_prim_block(block);
        self.store.rebuild_stmt(pre, Stmt::Block(block))
    }

    /// A variable of a name.
    pub(super) fn var(&mut self, name: &str, dtype: crate::ir::DType) -> (Id<Symbol>, PrimId) {
        let name = self.store.name(name);
        let symbol = self.store.add_symbol(Symbol { name, dtype, size: false });
        (symbol, self.store.prim(crate::ir::PrimExpr::Var(symbol)))
    }

    /// The name of a variable.
    pub(super) fn name_of(&self, symbol: Id<Symbol>) -> String {
        self.store.str(self.store.symbol(symbol).name).to_owned()
    }
}

/// `root` with `new` in the place of `old`; nothing where `old` does not stand in it.
pub(super) fn put(store: &mut Store, root: StmtId, old: StmtId, new: StmtId) -> Option<StmtId> {
    if root == old {
        return Some(new);
    }
    let stmt = match store.stmt(root).clone() {
        Stmt::Seq(list) => {
            let mut stmts: Vec<StmtId> = store.items(list).collect();
            let (at, inner) = stmts.iter().enumerate().find_map(|(at, stmt)| Some((at, put(store, *stmt, old, new)?)))?;
            stmts[at] = inner;
            return Some(store.flat_seq(Some(root), &stmts));
        }
        Stmt::For(head, body) => Stmt::For(head, put(store, body, old, new)?),
        Stmt::Block(block) => {
            let data = store.prim_block(block).clone();
            let body = put(store, data.body, old, new)?;
            Stmt::Block(store.add_prim_block(Block { body, ..data }))
        }
        Stmt::If { cond, then, other } => match put(store, then, old, new) {
            Some(then) => Stmt::If { cond, then, other },
            None => Stmt::If { cond, then, other: Some(put(store, other?, old, new)?) },
        },
        Stmt::While { cond, body } => Stmt::While { cond, body: put(store, body, old, new)? },
        Stmt::Attr { node, key, value, body } => Stmt::Attr { node, key, value, body: put(store, body, old, new)? },
        _ => return None,
    };
    Some(store.rebuild_stmt(root, stmt))
}
