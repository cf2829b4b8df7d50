//! The kinds of nodes in a function of TIR: a pass that changes only some kinds leaves functions alone that have none of them.

use super::Store;
use crate::ir::id::Id;
use crate::ir::prim::{AttrNode, Block, Buffer, ForKind, PrimExpr, PrimFunc, PrimId, PrimParam, Region, Stmt, StmtId};
use crate::ir::ty::{DType, DTypeCode};
use std::ops::{BitOr, BitOrAssign};

/// A set of kinds of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// Loops that do not count from 0 by 1.
    pub const SHIFTED_LOOP: Kinds = Kinds(1);
    /// Loops bound to threads, and indices of threads.
    pub const THREADS: Kinds = Kinds(1 << 1);
    /// Loops with annotations.
    pub const LOOP_ANNOTATION: Kinds = Kinds(1 << 2);
    /// `T.vectorized`
    pub const VECTORIZED: Kinds = Kinds(1 << 3);
    /// `T.unroll`
    pub const UNROLLED: Kinds = Kinds(1 << 4);
    /// Loops in which nothing is stored or evaluated, and loops that may have no round.
    pub const IDLE_LOOP: Kinds = Kinds(1 << 5);
    /// Loops that are left early, or whose round is.
    pub const JUMP: Kinds = Kinds(1 << 6);
    /// Blocks.
    pub const BLOCK: Kinds = Kinds(1 << 7);
    /// Blocks with annotations.
    pub const BLOCK_ANNOTATION: Kinds = Kinds(1 << 8);
    /// Blocks with `T.init()`.
    pub const INIT: Kinds = Kinds(1 << 9);
    /// Buffers that are parts of others.
    pub const MATCH: Kinds = Kinds(1 << 10);
    /// `T.attr` and `T.launch_thread`
    pub const ATTR: Kinds = Kinds(1 << 11);
    /// `T.Select`
    pub const SELECT: Kinds = Kinds(1 << 12);
    /// `T.likely`
    pub const LIKELY: Kinds = Kinds(1 << 13);
    /// Elements of `bfloat16`.
    pub const BFLOAT16: Kinds = Kinds(1 << 14);
    /// Elements of eight bits or fewer with a fraction.
    pub const FLOAT8: Kinds = Kinds(1 << 15);
    /// Memory besides `global`, `shared` and `local`.
    pub const SPECIAL_MEMORY: Kinds = Kinds(1 << 16);
    /// Choices by a number: mutators that keep facts leave one side out.
    pub const DECIDED: Kinds = Kinds(1 << 17);

    /// True if the two sets have a kind in common.
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

impl BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Kinds) {
        self.0 |= other.0;
    }
}

impl Store {
    /// Returns the kinds of nodes in a function. Found once: a function never changes.
    pub fn kinds_in(&mut self, func: Id<PrimFunc>) -> Kinds {
        if let Some(&known) = self.kinds.get(func) {
            return known;
        }
        let data = self.prim_func(func).clone();
        let mut kinds = Kinds::default();
        for param in &data.params {
            kinds |= match *param {
                PrimParam::Buffer(buffer) => self.kinds_of_buffer(buffer),
                PrimParam::Var(symbol) => self.kinds_of_dtype(self.symbol(symbol).dtype),
            };
        }
        kinds |= self.kinds_of_stmt(data.body).0;
        self.kinds.insert(func, kinds);
        kinds
    }

    /// Returns the kinds of an element type, of a pointer those of what it leads to.
    fn kinds_of_dtype(&self, dtype: DType) -> Kinds {
        match self.pointee(dtype).map_or(dtype, |to| to.element).code {
            DTypeCode::BFloat => Kinds::BFLOAT16,
            DTypeCode::Int | DTypeCode::UInt | DTypeCode::Float | DTypeCode::Handle => Kinds::default(),
            _ => Kinds::FLOAT8,
        }
    }

    fn kinds_of_prims(&mut self, prims: impl IntoIterator<Item = PrimId>) -> Kinds {
        prims.into_iter().fold(Kinds::default(), |kinds, prim| kinds | self.kinds_of_prim(prim))
    }

    fn kinds_of_prim(&mut self, root: PrimId) -> Kinds {
        if let Some(&known) = self.prim_kinds.get(root) {
            return known;
        }
        let mut stack = vec![(root, false)];
        while let Some((id, open)) = stack.pop() {
            if self.prim_kinds.contains(id) {
                continue;
            }
            let expr = self.prim_rc(id);
            if !open {
                stack.push((id, true));
                expr.for_each_child(&mut |child| stack.push((child, false)));
                continue;
            }
            let mut kinds = self.kinds_of_dtype(self.prim_dtype(id));
            match &*expr {
                PrimExpr::Select { cond, .. } => kinds |= Kinds::SELECT | self.kinds_of_choice(*cond),
                PrimExpr::Call { op, .. } if self.str(*op) == "likely" => kinds |= Kinds::LIKELY,
                PrimExpr::Call { op, args, .. } if self.str(*op) == "if_then_else" => {
                    kinds |= args.first().map_or(Kinds::default(), |cond| self.kinds_of_choice(*cond));
                }
                _ => {}
            }
            expr.for_each_child(&mut |child| kinds |= self.prim_kinds.get(child).copied().unwrap_or_default());
            self.prim_kinds.insert(id, kinds);
        }
        self.prim_kinds.get(root).copied().unwrap_or_default()
    }

    fn kinds_of_choice(&self, cond: PrimId) -> Kinds {
        self.as_prim_int(cond).map_or(Kinds::default(), |_| Kinds::DECIDED)
    }

    fn kinds_of_buffer(&mut self, buffer: Id<Buffer>) -> Kinds {
        let data = self.buffer(buffer).clone();
        let mut kinds = self.kinds_of_dtype(data.dtype);
        if !matches!(self.str(data.scope), "" | "global" | "shared" | "shared.dyn" | "local") {
            kinds |= Kinds::SPECIAL_MEMORY;
        }
        let parts = data.shape.iter().chain(&data.strides).copied().chain(data.elem_offset).chain(data.data);
        kinds | self.kinds_of_prims(parts)
    }

    fn kinds_of_region(&mut self, region: &Region) -> Kinds {
        self.kinds_of_prims(region.ranges.iter().flat_map(|(min, extent)| std::iter::once(*min).chain(*extent)))
    }

    fn kinds_of_block(&mut self, block: &Block) -> Kinds {
        let mut kinds = Kinds::BLOCK;
        kinds |= if block.annotations.is_some() { Kinds::BLOCK_ANNOTATION } else { Kinds::default() };
        kinds |= if block.init.is_some() { Kinds::INIT } else { Kinds::default() };
        kinds |= if block.matches.is_empty() { Kinds::default() } else { Kinds::MATCH };
        for iter in &block.iters {
            kinds |= self.kinds_of_prims([iter.min, iter.extent].into_iter().chain(iter.value));
        }
        kinds |= self.kinds_of_prims(block.predicate);
        let regions = block.reads.iter().chain(&block.writes).chain(block.matches.iter().map(|(_, region)| region));
        for region in regions {
            kinds |= self.kinds_of_region(region);
        }
        let buffers = block.allocs.iter().copied().chain(block.matches.iter().map(|(buffer, _)| *buffer));
        buffers.fold(kinds, |kinds, buffer| kinds | self.kinds_of_buffer(buffer))
    }

    /// Returns the kinds in a statement, and true if something is stored or evaluated in it. Statements nest at most as deep
    /// as the parser lets them.
    fn kinds_of_stmt(&mut self, id: StmtId) -> (Kinds, bool) {
        let stmt = self.stmt_rc(id);
        let mut prims = Vec::new();
        self.for_each_prim_of(&stmt, |prim| prims.push(prim));
        let mut kinds = self.kinds_of_prims(prims);
        let mut works = matches!(*stmt, Stmt::Store { .. } | Stmt::Evaluate(_));
        let mut inner = Vec::new();
        self.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        for stmt in inner {
            let (more, works_there) = self.kinds_of_stmt(stmt);
            kinds |= more;
            works |= works_there;
        }
        let own = match &*stmt {
            Stmt::For(head, _) => {
                let mut own = match head.kind {
                    ForKind::Vectorized => Kinds::VECTORIZED,
                    ForKind::Unrolled => Kinds::UNROLLED,
                    ForKind::Thread(_) => Kinds::THREADS,
                    ForKind::Serial | ForKind::Parallel => Kinds::default(),
                };
                if head.step.is_some() || self.as_prim_int(head.min) != Some(0) {
                    own |= Kinds::SHIFTED_LOOP;
                }
                if !works || self.as_prim_int(head.extent).is_none_or(|extent| extent <= 0) {
                    own |= Kinds::IDLE_LOOP;
                }
                own | if head.annotations.is_some() { Kinds::LOOP_ANNOTATION } else { Kinds::default() }
            }
            Stmt::Block(block) => {
                let block = self.prim_block_rc(*block);
                self.kinds_of_block(&block)
            }
            Stmt::Attr { node, .. } => {
                let (thread, prim) = match *node {
                    AttrNode::Thread { .. } => (Kinds::THREADS, None),
                    AttrNode::Prim(prim) => (Kinds::default(), Some(prim)),
                    AttrNode::Nothing => (Kinds::default(), None),
                };
                Kinds::ATTR | thread | self.kinds_of_prims(prim)
            }
            Stmt::Store { buffer, .. } | Stmt::Alloc(buffer, _) | Stmt::Declare(buffer) => self.kinds_of_buffer(*buffer),
            Stmt::Bind { var, .. } => self.kinds_of_dtype(self.symbol(*var).dtype),
            Stmt::Break | Stmt::Continue => Kinds::JUMP,
            Stmt::Evaluate(value) => match self.prim_of_id(*value) {
                PrimExpr::Call { op, .. } if matches!(self.str(*op), "break_loop" | "continue_loop") => Kinds::JUMP,
                _ => Kinds::default(),
            },
            Stmt::If { cond, .. } => self.kinds_of_choice(*cond),
            Stmt::Seq(_) | Stmt::While { .. } | Stmt::Assert { .. } | Stmt::Return(_) => Kinds::default(),
        };
        (kinds | own, works)
    }
}
