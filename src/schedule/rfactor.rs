//! Reductions divided among the iterations of a loop (`rfactor` of TVM's `primitive/reduction.cc`).

use super::analysis::{check_reduction, scope_root, vars_of};
use super::state::{BlockRef, Flags, LoopRef, State, put};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, Region, Stmt, StmtId, Symbol};
use crate::tir::reducer::{Reduction, reduction_of};
use crate::tir::{Nothing, Rewriting, substitute, substitute_stmt};

/// Variables with what they become.
type Values = Vec<(Id<Symbol>, PrimId)>;

impl State<'_> {
    /// The reduction under a loop: its iterations reduce into places of their own, which are reduced then. `axis` says where
    /// in the new buffer these places are.
    pub(super) fn rfactor(&mut self, of: LoopRef, axis: i64) -> Outcome<BlockRef> {
        let (tree, place) = self.find_loop(of)?;
        let under = tree.child_blocks(place);
        let [at] = under[..] else {
            return refuse("ScheduleError: The loop is required to have only one child block");
        };
        let root = scope_root(self, &tree, at, true)?;
        check_reduction(self, &tree, at, root)?;
        let (rf_loop, _) = self.head(&tree, place)?;
        if rf_loop.kind != ForKind::Serial {
            return refuse("ScheduleError: The input loop of rfactor is required to be `kSerial`");
        }
        let data = self.block_at(&tree, at)?;
        let loops = tree.loops_above(at);
        let mut heads: Vec<For> = Vec::new();
        for at in &loops {
            heads.push(self.head(&tree, *at)?.0);
        }
        let (spatial, reduce) = self.touched(&data);
        self.check_loops(&tree, at, &loops, &heads, rf_loop.var, &spatial, &reduce)?;
        let reduction = match reduction_of(self.store, &data) {
            Ok(reduction) => reduction,
            Err(0) => return refuse("ScheduleError: No matched reducer for the identity and the combiner of the reduction"),
            Err(code) => {
                return refuse(format!(
                    "ScheduleError: RFactor cannot be applied to the block since the block does not meet the requirements: it \
                     violates condition #{code}"
                ));
            }
        };
        let rank = self.store.buffer(reduction.buffers[0]).shape.len() as i64;
        if axis < -(rank + 1) || axis > rank {
            return refuse(format!(
                "ScheduleError: The input `factor_axis` is out of range. It is required to be in range [-{}, {rank}]",
                rank + 1
            ));
        }
        let axis = if axis < 0 { axis + rank + 1 } else { axis } as usize;
        let mut buffers = Vec::new();
        for buffer in &reduction.buffers {
            let old = self.store.buffer(*buffer).clone();
            let mut shape = old.shape.to_vec();
            shape.insert(axis, rf_loop.extent);
            let name = format!("{}.rf", self.store.str(old.name));
            let name = self.store.name(&name);
            buffers.push(self.store.add_buffer(Buffer { name, shape: shape.into(), ..old }));
        }
        let (first, var, indices) = self.rf_block(&data, &rf_loop, &heads, &reduction, &buffers, axis)?;
        let second = self.write_back(&data, &rf_loop, &reduction, &buffers, var, &indices)?;

        // The first stage stands under loops of its own.
        let mut stmt = self.rebuilt_block(tree.nodes[at].stmt, first);
        for (place, head) in loops.iter().zip(&heads).rev() {
            stmt = self.store.rebuild_stmt(tree.nodes[*place].stmt, Stmt::For(*head, stmt));
        }
        let mut renamed = Values::new();
        for head in &heads {
            let (name, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
            renamed.push((head.var, self.var(&name, dtype).1));
        }
        let mut cx = Rewriting::new(self.store);
        for (var, value) in &renamed {
            cx.set_symbol(*var, *value);
        }
        let stage = cx.visit(&mut Nothing, stmt);

        let back = self.rebuilt_block(tree.nodes[at].stmt, second);
        let Stmt::Block(moved) = *self.store.stmt(back) else { return refuse("InternalError: a block is no block") };
        let outermost = tree.nodes[loops[0]].stmt;
        let Some(rest) = put(self.store, outermost, tree.nodes[at].stmt, back) else {
            return refuse("InternalError: the block is not under its loops");
        };
        let gone: Vec<Id<Symbol>> =
            heads.iter().map(|head| head.var).filter(|var| *var != rf_loop.var && reduce.contains(var)).collect();
        let rest = self.without_loops(rest, &gone);
        let made = blocks_in(self.store, stage);
        let both = self.store.add_stmts(&[stage, rest]);
        let scope_stmt = tree.nodes[root].stmt;
        let Some(scope) = put(self.store, scope_stmt, outermost, both) else {
            return refuse("InternalError: the loops are not in their scope");
        };
        let Stmt::Block(scope) = *self.store.stmt(scope) else { return refuse("InternalError: the scope is no block") };
        let mut scope = self.store.prim_block(scope).clone();
        scope.allocs = scope.allocs.iter().copied().chain(buffers).collect();
        let scope = self.rebuilt_block(scope_stmt, scope);
        let Some(old) = tree.as_block(at) else { return refuse("InternalError: the block is no block") };
        let all: Vec<Id<Block>> = made.iter().copied().chain([moved]).collect();
        self.replace(scope_stmt, scope, &[old], &all)?;
        self.rename(&[old], &[moved]);
        all.iter().for_each(|block| self.set_flags(*block, Flags { affine: true, covered: true, stages: true }));
        match made[..] {
            [only] => Ok(self.block_ref(only)),
            _ => refuse("InternalError: the first stage is one block"),
        }
    }

    /// The variables in bindings of spatial and of reduction variables.
    fn touched(&self, data: &Block) -> (Vec<Id<Symbol>>, Vec<Id<Symbol>>) {
        let of = |kind: IterKind| {
            let iters = data.iters.iter().filter(|iter| iter.kind == kind);
            iters.filter_map(|iter| iter.value).flat_map(|value| vars_of(self.store, value)).collect()
        };
        (of(IterKind::Spatial), of(IterKind::Reduce))
    }

    #[expect(clippy::too_many_arguments, reason = "as many as the question has")]
    fn check_loops(
        &self,
        tree: &Tree,
        at: usize,
        loops: &[usize],
        heads: &[For],
        rf_loop: Id<Symbol>,
        spatial: &[Id<Symbol>],
        reduce: &[Id<Symbol>],
    ) -> Outcome<()> {
        if tree.child_blocks(loops[0]).first() != Some(&at) {
            return refuse(
                "ScheduleError: The reduction block should be the first child block of the outermost loop outside of it",
            );
        }
        let mut met = false;
        for (place, head) in loops.iter().zip(heads) {
            match (spatial.contains(&head.var), reduce.contains(&head.var)) {
                (true, true) => {
                    return refuse(
                        "ScheduleError: It is not allowed that the loop is touched by both data parallel block iters and reduction \
                         block iters",
                    );
                }
                (true, false) if head.var == rf_loop => {
                    return refuse(
                        "ScheduleError: The loop to be applied rfactor is required not to be touched by any data parallel block \
                         iter",
                    );
                }
                (true, false) => {}
                (false, true) => {
                    if !met && tree.child_blocks(*place).len() != 1 {
                        return refuse("ScheduleError: The loop is required to have only one child block");
                    }
                    met = true;
                }
                (false, false) if met && self.store.as_prim_int(head.extent) != Some(1) => {
                    return refuse(
                        "ScheduleError: A loop who has extent greater than one and is not bound to any block iter should not \
                         appear under a reduction loop",
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn iter_of(&mut self, head: &For, kind: IterKind) -> (IterVar, PrimId) {
        let (name, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
        let (var, prim) = self.var(&format!("v{name}"), dtype);
        let value = self.store.prim(PrimExpr::Var(head.var));
        (IterVar { var, kind, min: head.min, extent: head.extent, value: Some(value) }, prim)
    }

    /// The first stage: its block, the variable for the places, and the indices of the new buffers.
    fn rf_block(
        &mut self,
        data: &Block,
        rf_loop: &For,
        heads: &[For],
        reduction: &Reduction,
        buffers: &[Id<Buffer>],
        axis: usize,
    ) -> Outcome<(Block, PrimId, Vec<PrimId>)> {
        let (own, place) = self.iter_of(rf_loop, IterKind::Spatial);
        let mut bound: Values = vec![(rf_loop.var, place)];
        let mut values = Values::new();
        let mut iters = vec![own];
        for iter in &data.iters {
            let Some(value) = iter.value else { continue };
            let vars = vars_of(self.store, value);
            if iter.kind == IterKind::Spatial || !vars.contains(&rf_loop.var) {
                iters.push(iter.clone());
                continue;
            }
            for var in vars {
                let Some(head) = heads.iter().find(|head| head.var == var) else { continue };
                if !bound.iter().any(|(known, _)| *known == var) {
                    let (new, prim) = self.iter_of(head, IterKind::Reduce);
                    bound.push((var, prim));
                    iters.push(new);
                }
            }
            let inner = substitute(self.store, value, &mut |_, symbol| {
                bound.iter().find(|(var, _)| *var == symbol).map(|(_, prim)| *prim)
            });
            values.push((iter.var, inner));
        }
        let mut indices = reduction.indices.clone();
        indices.insert(axis, place);
        let loads: Vec<PrimId> = buffers
            .iter()
            .map(|buffer| self.store.prim(PrimExpr::Load { buffer: *buffer, indices: indices.clone().into() }))
            .collect();
        let reduces = iters.iter().any(|iter| iter.kind == IterKind::Reduce);
        let targets: Vec<Id<Buffer>> = buffers.to_vec();
        let (body, init) = self.bodies(reduction, &targets, &indices, &loads, &reduction.rhs, reduces);
        let body = substitute_stmt(self.store, body, &values);
        let init = init.map(|init| substitute_stmt(self.store, init, &values));
        let (reads, writes) = {
            let mut cx = Rewriting::new(self.store);
            for (var, value) in &values {
                cx.set_symbol(*var, *value);
            }
            let reads = data.reads.iter().map(|region| cx.region(&mut Nothing, region)).collect();
            let mut writes: Vec<Region> = Vec::new();
            for region in &data.writes {
                let Some(at) = reduction.buffers.iter().position(|buffer| *buffer == region.buffer) else { continue };
                let mut ranges = region.ranges.to_vec();
                ranges.insert(axis, (place, None));
                let region = Region { buffer: buffers[at], ranges: ranges.into() };
                writes.push(cx.region(&mut Nothing, &region));
            }
            (reads, writes.into())
        };
        let name = format!("{}_rf", self.store.str(data.name));
        let name = self.store.name(&name);
        let block =
            Block { name, iters: iters.into(), reads, writes, allocs: [].into(), matches: [].into(), init, body, ..data.clone() };
        Ok((block, place, indices))
    }

    /// The body of a stage, and its init.
    fn bodies(
        &mut self,
        reduction: &Reduction,
        buffers: &[Id<Buffer>],
        indices: &[PrimId],
        lhs: &[PrimId],
        rhs: &[PrimId],
        reduces: bool,
    ) -> (StmtId, Option<StmtId>) {
        let indices: Box<[PrimId]> = indices.into();
        let stores = |state: &mut Self, values: &[PrimId]| -> Vec<StmtId> {
            let pairs = buffers.iter().zip(values);
            pairs
                .map(|(buffer, value)| {
                    state.store.add_stmt(Stmt::Store { buffer: *buffer, indices: indices.clone(), value: *value })
                })
                .collect()
        };
        if !reduces {
            let all = stores(self, rhs);
            return (self.store.add_stmts(&all), None);
        }
        let values = reduction.reducer.combine(self.store, lhs, rhs);
        let inits = stores(self, &reduction.reducer.identities);
        let init = Some(self.store.add_stmts(&inits));
        if buffers.len() == 1 {
            let all = stores(self, &values);
            return (self.store.add_stmts(&all), init);
        }
        let mut stmts = Vec::new();
        let mut bound = Vec::new();
        for (buffer, value) in buffers.iter().zip(&values) {
            let name = format!("v_{}", self.store.str(self.store.buffer(*buffer).name));
            let dtype = self.store.prim_dtype(*value);
            let (var, prim) = self.var(&name, dtype);
            stmts.push(self.store.add_stmt(Stmt::Bind { var, value: *value }));
            bound.push(prim);
        }
        stmts.extend(stores(self, &bound));
        (self.store.add_stmts(&stmts), init)
    }

    /// The second stage, which reduces what the first one has left.
    fn write_back(
        &mut self,
        data: &Block,
        rf_loop: &For,
        reduction: &Reduction,
        buffers: &[Id<Buffer>],
        place: PrimId,
        indices: &[PrimId],
    ) -> Outcome<Block> {
        let (own, prim) = self.iter_of(rf_loop, IterKind::Reduce);
        let PrimExpr::Var(old) = *self.store.prim_of_id(place) else {
            return refuse("InternalError: the place of a stage is no variable");
        };
        let mut values: Values = vec![(old, prim)];
        let mut iters = vec![own];
        for iter in data.iters.iter().filter(|iter| iter.kind == IterKind::Spatial) {
            let (name, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&name, dtype);
            values.push((iter.var, prim));
            iters.push(IterVar { var, ..iter.clone() });
        }
        let new = |state: &mut Self, of: PrimId| {
            substitute(state.store, of, &mut |_, symbol| values.iter().find(|(var, _)| *var == symbol).map(|(_, prim)| *prim))
        };
        let places: Vec<PrimId> = indices.iter().map(|index| new(self, *index)).collect();
        let targets: Vec<PrimId> = reduction.indices.iter().map(|index| new(self, *index)).collect();
        let load =
            |state: &mut Self, buffer: Id<Buffer>, at: &[PrimId]| state.store.prim(PrimExpr::Load { buffer, indices: at.into() });
        let rhs: Vec<PrimId> = buffers.iter().map(|buffer| load(self, *buffer, &places)).collect();
        let lhs: Vec<PrimId> = reduction.lhs.iter().map(|lhs| new(self, *lhs)).collect();
        let (body, init) = self.bodies(reduction, &reduction.buffers, &targets, &lhs, &rhs, true);
        let part = |buffer: &Id<Buffer>, at: &[PrimId]| Region {
            buffer: *buffer,
            ranges: at.iter().map(|index| (*index, None)).collect(),
        };
        Ok(Block {
            iters: iters.into(),
            predicate: None,
            reads: buffers.iter().map(|buffer| part(buffer, &places)).collect(),
            writes: reduction.buffers.iter().map(|buffer| part(buffer, &targets)).collect(),
            allocs: [].into(),
            matches: [].into(),
            init,
            body,
            ..data.clone()
        })
    }

    /// A statement without some loops, whose bodies stand in their places.
    fn without_loops(&mut self, root: StmtId, gone: &[Id<Symbol>]) -> StmtId {
        match self.store.stmt(root).clone() {
            Stmt::For(head, body) => {
                let body = self.without_loops(body, gone);
                if gone.contains(&head.var) { body } else { self.store.rebuild_stmt(root, Stmt::For(head, body)) }
            }
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = self.store.items(list).collect();
                let stmts: Vec<StmtId> = stmts.into_iter().map(|stmt| self.without_loops(stmt, gone)).collect();
                self.store.flat_seq(Some(root), &stmts)
            }
            _ => root,
        }
    }
}
