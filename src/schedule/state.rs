//! A module under transformation, and how parts of it are replaced.

use super::analysis::is_affine_now;
use super::scope::{dependencies, stages_in};
use super::tree::{Tree, What, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, Expr, ExprId, For, Id, IdMap, Module, Name, PrimFunc, PrimId, Rewrite, Stmt, StmtId, Store, Symbol};
use crate::parse::trace::Instruction;
use crate::tir::rebuild_func;
use rustc_hash::FxHashMap;

/// The instructions that change a program, by their names in a trace.
pub(super) const PRIMITIVES: &[&str] = &[
    "add_unit_loop",
    "annotate",
    "annotate_buffer_access",
    "bind",
    "blockize",
    "cache_index",
    "cache_inplace",
    "cache_read",
    "cache_write",
    "compute_at",
    "compute_inline",
    "decompose_padding",
    "decompose_reduction",
    "fuse",
    "fuse_reduction_epilogue",
    "loop_partition",
    "merge",
    "pad_einsum",
    "parallel",
    "read_at",
    "reindex",
    "reindex_cache_read",
    "reindex_cache_write",
    "reorder",
    "reorder_block_iter_var",
    "reverse_compute_at",
    "reverse_compute_inline",
    "rfactor",
    "rolling_buffer",
    "set_scope",
    "split",
    "storage_align",
    "tensorize",
    "transform_block_layout",
    "transform_layout",
    "unannotate",
    "unroll",
    "unsafe_hide_buffer_access",
    "unsafe_set_dtype",
    "vectorize",
    "write_at",
];

/// Instructions that change nothing, besides those that look something up or decide on a number.
pub(super) const QUIET: &[&str] =
    &["work_on", "enter_postproc", "remove_rv", "can_decompose_padding", "copy", "get", "seed", "fork_seed", "register"];

/// Instructions that look something up or decide on a number.
pub(super) const LOOK_UPS: [&str; 11] = [
    "get_sblock",
    "get_block",
    "get_loops",
    "get_child_blocks",
    "get_producers",
    "get_consumers",
    "get_output_blocks",
    "sample_perfect_tile",
    "sample_partitioned_tile",
    "sample_categorical",
    "sample_compute_location",
];

/// The primitive by which an instruction may change a program, itself or one among its arguments; the others look for blocks
/// and loops, or decide on numbers.
pub fn changes(instruction: &Instruction) -> Option<&str> {
    let all = [instruction].into_iter().chain(instruction.nested.iter().rev());
    all.map(|one| one.name.as_str()).find(|name| !(name.is_empty() || LOOK_UPS.contains(name) || QUIET.contains(name)))
}

/// Facts about a block (TVM's `SBlockInfo`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    /// True if its bindings are digits of the loops around it.
    pub affine: bool,
    /// True if what it reads of other blocks in its scope is written before, all of it.
    pub covered: bool,
    /// True if the blocks right in it are stages.
    pub stages: bool,
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

/// An instruction that changed a function: its name, the function as it is then, and its rewrites in the log.
pub struct Step {
    /// `split`
    pub name: &'static str,
    /// The name of the function, and what it became.
    pub func: (Id<Name>, ExprId),
    /// Its rewrites: a range of the store's log.
    pub rewrites: std::ops::Range<usize>,
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
    /// The facts about blocks that TVM keeps from instruction to instruction, for the functions in `learned`. It looks again
    /// only where an instruction says so.
    flags: FxHashMap<(usize, Id<Block>), Flags>,
    learned: Vec<usize>,
    /// Each block that a handle was given for: its function, and what it is now.
    blocks: Vec<(usize, Id<Block>)>,
    /// Intrinsics by their names: those that were asked for, and those of the trace.
    pub(super) intrinsics: Vec<(String, super::tensorize::Intrinsic)>,
    /// The instructions that changed a function so far.
    pub(super) steps: Vec<Step>,
}

/// A copy of a [`State`] at some time.
#[derive(Clone)]
pub struct Saved {
    funcs: Vec<(Id<Name>, ExprId)>,
    at: usize,
    working_on: Option<usize>,
    flags: FxHashMap<(usize, Id<Block>), Flags>,
    learned: Vec<usize>,
    blocks: Vec<(usize, Id<Block>)>,
    intrinsics: Vec<(String, super::tensorize::Intrinsic)>,
}

impl<'s> State<'s> {
    /// The tensor programs of a module as they are.
    pub fn new(store: &'s mut Store, module: &Module) -> State<'s> {
        let funcs = module.functions().iter().copied().filter(|(_, func)| matches!(store.expr(*func), Expr::PrimFunc(_)));
        let funcs: Vec<_> = funcs.collect();
        State {
            store,
            module: module.clone(),
            funcs,
            at: 0,
            working_on: None,
            flags: FxHashMap::default(),
            learned: Vec::new(),
            blocks: Vec::new(),
            intrinsics: Vec::new(),
            steps: Vec::new(),
        }
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

    /// True if a function is marked as the entry of its module.
    pub(super) fn is_entry(&self, at: usize) -> bool {
        match self.funcs.get(at).map(|(_, func)| self.store.expr(*func)) {
            Some(Expr::PrimFunc(func)) => {
                let mark = self.store.attr_int(self.store.prim_func(func).attrs, "tirx.is_entry_func");
                mark.is_some_and(|mark| mark != 0)
            }
            _ => false,
        }
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
        let (mark, from, before) = (self.store.mark(), self.store.log.done.len(), self.funcs.clone());
        let result = f(self);
        for ((_, pre), func) in before.into_iter().zip(self.funcs.clone()) {
            if pre != func.1 {
                self.store.record_nested(mark, Rewrite { rule, pre, post: func.1 });
                self.steps.push(Step { name: rule, func, rewrites: from..self.store.log.done.len() });
            }
        }
        result
    }

    /// Returns a copy of the present state, to come back to.
    pub fn saved(&self) -> Saved {
        Saved {
            funcs: self.funcs.clone(),
            at: self.at,
            working_on: self.working_on,
            flags: self.flags.clone(),
            learned: self.learned.clone(),
            blocks: self.blocks.clone(),
            intrinsics: self.intrinsics.clone(),
        }
    }

    /// Goes back to what was there.
    pub fn go_back(&mut self, saved: &Saved) {
        let Saved { funcs, at, working_on, flags, learned, blocks, intrinsics } = saved.clone();
        self.intrinsics = intrinsics;
        (self.funcs, self.at, self.working_on, self.blocks) = (funcs, at, working_on, blocks);
        (self.flags, self.learned) = (flags, learned);
    }

    /// The handle of a block of the function under way.
    pub(super) fn block_ref(&mut self, block: Id<Block>) -> BlockRef {
        let known = self.blocks.iter().position(|known| *known == (self.at, block));
        BlockRef(known.unwrap_or_else(|| {
            self.blocks.push((self.at, block));
            self.blocks.len() - 1
        }))
    }

    /// Finds out about the blocks of the function under way, if that has not been done.
    fn learn(&mut self) -> Outcome<()> {
        if self.learned.contains(&self.at) {
            return Ok(());
        }
        self.learned.push(self.at);
        let tree = self.tree()?;
        if tree.nodes.is_empty() { Ok(()) } else { self.renew(&tree, 0) }
    }

    /// Looks again at a scope and all blocks in it.
    pub(super) fn renew(&mut self, tree: &Tree, root: usize) -> Outcome<()> {
        let blocks: Vec<usize> = (root..tree.nodes[root].end).filter(|at| !tree.is_loop(*at)).collect();
        for at in &blocks {
            let Some(block) = tree.as_block(*at) else { continue };
            // A look at a scope sees nothing of what stands around it.
            let affine = match *at == root {
                true => self.store.prim_block(block).iters.is_empty(),
                false => is_affine_now(self, tree, *at)?,
            };
            self.flags.insert((self.at, block), Flags { affine, covered: true, stages: true });
        }
        for at in blocks {
            let (stages, covered) = stages_in(self, tree, at)?;
            for (child, covered) in covered {
                if let Some(flags) = tree.as_block(child).and_then(|block| self.flags.get_mut(&(self.at, block))) {
                    flags.covered = covered;
                }
            }
            if let Some(flags) = tree.as_block(at).and_then(|block| self.flags.get_mut(&(self.at, block))) {
                flags.stages = stages;
            }
        }
        Ok(())
    }

    /// Looks again at the scope of a block; `keeps` says that what is known of its bindings stays.
    pub(super) fn renew_scope_of(&mut self, block: Id<Block>, keeps: bool) -> Outcome<()> {
        let tree = self.tree()?;
        let Some(root) = tree.block(block).and_then(|at| tree.scope(at)) else { return Ok(()) };
        let before = self.flags_of(&tree, root)?.affine;
        self.renew(&tree, root)?;
        if keeps && let Some(flags) = tree.as_block(root).and_then(|block| self.flags.get_mut(&(self.at, block))) {
            flags.affine = before;
        }
        Ok(())
    }

    /// Looks again at all blocks in the scope of a block, but not at the scope.
    pub(super) fn renew_inside_of_scope(&mut self, block: Id<Block>) -> Outcome<()> {
        let tree = self.tree()?;
        let Some(root) = tree.block(block).and_then(|at| tree.scope(at)) else { return Ok(()) };
        let before = self.flags_of(&tree, root)?;
        self.renew(&tree, root)?;
        if let Some(block) = tree.as_block(root) {
            self.set_flags(block, before);
        }
        Ok(())
    }

    /// Looks again at the bindings of a block.
    pub(super) fn renew_bindings(&mut self, block: Id<Block>) -> Outcome<()> {
        let tree = self.tree()?;
        let Some(at) = tree.block(block) else { return Ok(()) };
        let affine = is_affine_now(self, &tree, at)?;
        let flags = Flags { affine, ..self.flags_of(&tree, at)? };
        self.flags.insert((self.at, block), flags);
        Ok(())
    }

    /// Says what is known of a block.
    pub(super) fn set_flags(&mut self, block: Id<Block>, flags: Flags) {
        self.flags.insert((self.at, block), flags);
    }

    /// Returns the facts about a block.
    pub(super) fn flags_of(&mut self, tree: &Tree, at: usize) -> Outcome<Flags> {
        self.learn()?;
        let known = tree.as_block(at).and_then(|block| self.flags.get(&(self.at, block)));
        match known {
            Some(flags) => Ok(*flags),
            None => Ok(Flags { affine: is_affine_now(self, tree, at)?, covered: true, stages: true }),
        }
    }

    /// Returns each block statement of a function with the facts about it as bits (1 affine binding, 2 region cover, 4 stage
    /// pipeline), and the blocks in it that depend on each other: source, target, and kind as TVM's `DepKind` numbers it.
    pub fn facts(&mut self, function: usize) -> Outcome<Vec<(StmtId, u32, Vec<[u32; 3]>)>> {
        self.at = function;
        let tree = self.tree()?;
        let mut found = Vec::new();
        for at in (0..tree.nodes.len()).filter(|at| !tree.is_loop(*at)) {
            let Flags { affine, covered, stages } = self.flags_of(&tree, at)?;
            let bits = u32::from(affine) | u32::from(covered) << 1 | u32::from(stages) << 2;
            let number = |at: usize| tree.nodes[at].stmt.index() as u32;
            let edges =
                dependencies(self, &tree, at)?.into_iter().map(|(from, to, kind)| [number(from), number(to), kind as u32]);
            found.push((tree.nodes[at].stmt, bits, edges.collect()));
        }
        Ok(found)
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

    /// Derives the facts about a block from the program.
    pub(super) fn block_id(&self, block: BlockRef) -> Id<Block> {
        self.blocks[block.0].1
    }

    pub(super) fn head(&self, tree: &Tree, at: usize) -> Outcome<(For, StmtId)> {
        match self.store.stmt(tree.nodes[at].stmt) {
            Stmt::For(head, body) => Ok((*head, *body)),
            _ => refuse("TypeError: a loop is needed here, not a block"),
        }
    }

    pub(super) fn block_at(&self, tree: &Tree, at: usize) -> Outcome<Block> {
        match tree.nodes[at].what {
            What::Block(block) => Ok(self.store.prim_block(block).clone()),
            What::Loop(_) => refuse("TypeError: a block is needed here, not a loop"),
        }
    }

    /// Puts `new` in the place of the statement `old`. The blocks in both are the same ones in the same order, apart from
    /// those that are `gone` in the old and `made` in the new one.
    pub(super) fn replace(&mut self, old: StmtId, new: StmtId, gone: &[Id<Block>], made: &[Id<Block>]) -> Outcome<()> {
        self.learn()?;
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
        made.iter().try_for_each(|block| self.renew_bindings(*block))
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
        let moved: Vec<_> = old.iter().zip(new).filter(|(old, new)| old != new).collect();
        let known: Vec<_> = moved.into_iter().map(|(old, new)| (*new, self.flags.remove(&(at, *old)))).collect();
        for (new, flags) in known {
            let Some(flags) = flags else { continue };
            // One that was made is bound otherwise, and is the same besides.
            let affine = self.flags.get(&(at, new)).map_or(flags.affine, |made| made.affine);
            self.flags.insert((at, new), Flags { affine, ..flags });
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
