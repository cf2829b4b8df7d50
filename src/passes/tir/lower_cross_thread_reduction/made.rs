//! The blocks that a reduction over threads becomes.

use super::check::{blocks_in, vars_of};
use super::{Loop, Lower, tag_of};
use crate::ir::{
    AttrNode, Block, Buffer, DType, DTypeCode, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store,
};
use crate::passes::tir::emit::{load, put};
use crate::tir::{Rewriting, StmtMutator, binary, constant, substitute};

/// Buffers of one element.
fn scratch(store: &mut Store, buffers: &[Id<Buffer>], prefix: &str) -> Vec<Id<Buffer>> {
    let one = store.prim_int(1, DType::I32);
    let scope = store.name("local");
    let mut made = Vec::new();
    for buffer in buffers {
        let old = store.buffer(*buffer).clone();
        let name = format!("{prefix}_thread_{}", store.str(old.name));
        let name = store.name(&name);
        let new = Buffer { strides: [one].into(), ..Buffer::new(name, old.dtype, [one].into(), scope) };
        made.push(store.add_buffer(new));
    }
    made
}

fn regions(store: &mut Store, buffers: &[Id<Buffer>]) -> Box<[Region]> {
    let zero = store.prim_int(0, DType::I32);
    buffers.iter().map(|buffer| Region { buffer: *buffer, ranges: [(zero, None)].into() }).collect()
}

/// A block without variables.
fn plain(store: &mut Store, of: &Block, suffix: &str, body: StmtId) -> Block {
    let name = format!("{}{suffix}", store.str(of.name));
    Block::around(store.name(&name), body)
}

fn add(store: &mut Store, block: Block) -> StmtId {
    let block = store.add_prim_block(block);
    store.add_stmt(Stmt::Block(block))
}

impl Lower {
    /// Returns the replacement of the outermost loop of a reduction.
    pub(super) fn lower(&mut self, store: &mut Store, id: StmtId, block: &Block, loops: &[Loop]) -> Result<StmtId, String> {
        let reduction = self.checked(store, id, block, loops)?;
        let buffers = &reduction.buffers;
        let bound = loops.iter().filter(|(_, head)| tag_of(head).is_some()).count();
        let cross = scratch(store, buffers, "cross");
        let own = (bound < loops.len() || block.predicate.is_some()).then(|| scratch(store, buffers, "in"));
        if let Some((_, allocs)) = self.blocks.last_mut() {
            allocs.extend(cross.iter().chain(own.iter().flatten()).copied());
        }
        let zero = store.prim_int(0, DType::I32);
        let mut stmts = Vec::new();
        if let Some(own) = &own {
            let mut inits = Vec::new();
            for (buffer, identity) in own.iter().zip(&reduction.reducer.identities) {
                inits.push(put(store, *buffer, zero, *identity));
            }
            let body = store.add_stmts(&inits);
            let writes = regions(store, own);
            let init = Block { writes: writes.clone(), ..plain(store, block, "_in_thread_init", body) };
            stmts.push(add(store, init));
            let replaced = buffers.iter().copied().zip(own.iter().copied()).collect();
            let body = Rewriting::new(store).visit(&mut Replace { replaced, zero }, block.body);
            let name = format!("{}_in_thread", store.str(block.name));
            let inner = Block { name: store.name(&name), writes, init: None, body, ..block.clone() };
            let inner = store.add_prim_block(inner);
            let inner = store.rebuild_stmt(id, Stmt::Block(inner));
            stmts.extend(without_threads(store, loops[0].0, id, Some(inner)));
        } else {
            stmts.extend(without_threads(store, loops[0].0, id, None));
        }
        stmts.push(self.exchange(store, block, &reduction, loops, (&cross, own.as_deref())));
        stmts.push(write_back(store, block, &reduction, loops, &cross));
        let mut new = store.flat_seq(None, &stmts);
        for (loop_id, head) in loops.iter().rev().filter(|(_, head)| tag_of(head).is_some()) {
            new = store.rebuild_stmt(*loop_id, Stmt::For(*head, new));
        }
        let threads: Vec<super::Threads> =
            loops.iter().filter_map(|(_, head)| Some((tag_of(head)?, head.min, head.extent))).collect();
        for buffer in buffers {
            self.reduced.insert(*buffer, threads.clone());
        }
        Ok(new)
    }

    /// The block in which threads exchange what they have.
    fn exchange(
        &self,
        store: &mut Store,
        block: &Block,
        reduction: &crate::tir::reducer::Reduction,
        loops: &[Loop],
        (cross, own): (&[Id<Buffer>], Option<&[Id<Buffer>]>),
    ) -> StmtId {
        let zero = store.prim_int(0, DType::I32);
        let count = store.prim_int(cross.len() as i64, DType::new(DTypeCode::UInt, 32));
        let mut args = vec![count];
        match own {
            Some(own) => args.extend(own.iter().map(|buffer| load(store, *buffer, zero))),
            None => args.extend(&reduction.rhs),
        }
        args.push(store.prim_int(1, DType::BOOL));
        args.extend(cross.iter().map(|buffer| load(store, *buffer, zero)));
        for (_, head) in loops.iter().filter(|(_, head)| tag_of(head).is_some()) {
            args.push(store.prim(PrimExpr::Var(head.var)));
        }
        let call = store.prim_call("tvm_thread_allreduce", &args, DType::VOID);
        let body = store.add_stmt(Stmt::Evaluate(call));
        let reducer = store.prim(PrimExpr::Reducer(Box::new(reduction.reducer.reducer())));
        let key = store.name("reduce_scope");
        let body = store.add_stmt(Stmt::Attr { node: AttrNode::Prim(reducer), key, value: zero, body });
        let made = plain(store, block, "_cross_thread", body);
        let writes = regions(store, cross);
        let made = match own {
            Some(own) => Block { reads: regions(store, own), writes, ..made },
            None => Block { iters: block.iters.clone(), reads: block.reads.clone(), writes, ..made },
        };
        add(store, made)
    }
}

/// The block that writes results where they belong.
fn write_back(
    store: &mut Store,
    block: &Block,
    reduction: &crate::tir::reducer::Reduction,
    loops: &[Loop],
    cross: &[Id<Buffer>],
) -> StmtId {
    let mut values = Vec::new();
    let mut iters: Vec<IterVar> = Vec::new();
    for iter in block.iters.iter().filter(|iter| iter.kind != IterKind::Reduce) {
        let copy = store.symbol(iter.var).clone();
        let var = store.add_symbol(copy);
        values.push((iter.var, store.prim(PrimExpr::Var(var))));
        iters.push(IterVar { var, ..iter.clone() });
    }
    let over = |store: &mut Store, expr: PrimId| {
        substitute(store, expr, &mut |_, var| values.iter().find(|(old, _)| *old == var).map(|(_, new)| *new))
    };
    let ranges: Box<[(PrimId, Option<PrimId>)]> = match block.writes.first() {
        Some(region) => {
            let ranges = region.ranges.clone();
            ranges.iter().map(|(min, extent)| (over(store, *min), extent.map(|extent| over(store, extent)))).collect()
        }
        None => [].into(),
    };
    let indices: Box<[PrimId]> = reduction.indices.iter().map(|index| over(store, *index)).collect();
    let zero = store.prim_int(0, DType::I32);
    let mut stores = Vec::new();
    for (buffer, from) in reduction.buffers.iter().zip(cross) {
        let value = load(store, *from, zero);
        stores.push(store.add_stmt(Stmt::Store { buffer: *buffer, indices: indices.clone(), value }));
    }
    let mut predicate = store.prim_int(1, DType::BOOL);
    let mut clauses = Vec::new();
    if let Some(old) = block.predicate {
        conjuncts(store, old, &mut clauses);
    }
    let reduces = |store: &Store, clause: PrimId| {
        vars_of(store, &[clause]).iter().any(|var| loops.iter().any(|(_, head)| head.var == *var))
    };
    for clause in clauses {
        if !reduces(store, clause) {
            predicate = binary(store, PrimOp::And, predicate, clause);
        }
    }
    let first = reduction.buffers.first().map(|buffer| store.buffer(*buffer).scope);
    if first.is_some_and(|scope| store.str(scope) != "local") {
        for (_, head) in loops.iter().filter(|(_, head)| tag_of(head).is_some()) {
            let var = store.prim(PrimExpr::Var(head.var));
            let none = constant(store, 0, store.prim_dtype(var));
            let first = binary(store, PrimOp::Eq, var, none);
            predicate = binary(store, PrimOp::And, predicate, first);
        }
    }
    let predicate = Some(predicate).filter(|predicate| store.as_prim_int(*predicate) != Some(1));
    let writes = reduction.buffers.iter().map(|buffer| Region { buffer: *buffer, ranges: ranges.clone() }).collect();
    let body = store.add_stmts(&stores);
    let reads = regions(store, cross);
    let made = Block { iters: iters.into(), predicate, reads, writes, ..plain(store, block, "_write_back", body) };
    add(store, made)
}

/// The sides of conjunctions that are none themselves; of a condition that is no conjunction nothing, as in TVM.
fn conjuncts(store: &Store, root: PrimId, found: &mut Vec<PrimId>) {
    let mut stack = vec![(root, true)];
    while let Some((id, is_root)) = stack.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => stack.extend([(b, false), (a, false)]),
            _ if !is_root => found.push(id),
            _ => {}
        }
    }
}

/// A statement without loops over threads in which there are reductions, and with another block in the place of one, or none.
fn without_threads(store: &mut Store, id: StmtId, block: StmtId, by: Option<StmtId>) -> Option<StmtId> {
    match store.stmt(id).clone() {
        Stmt::Block(_) if id == block => by,
        Stmt::For(head, body) => {
            let new = without_threads(store, body, block, by)?;
            if tag_of(&head).is_some() && has_reductions(store, new) {
                return Some(new);
            }
            Some(if new == body { id } else { store.rebuild_stmt(id, Stmt::For(head, new)) })
        }
        Stmt::Seq(_) => {
            let old = store.stmts_of(id);
            let new: Vec<StmtId> = old.iter().filter_map(|stmt| without_threads(store, *stmt, block, by)).collect();
            if new.is_empty() { None } else { Some(store.flat_seq(Some(id), &new)) }
        }
        _ => Some(id),
    }
}

fn has_reductions(store: &Store, id: StmtId) -> bool {
    let mut blocks = Vec::new();
    blocks_in(store, id, &mut blocks);
    blocks.iter().any(|stmt| match store.stmt(*stmt) {
        Stmt::Block(block) => store.prim_block(*block).iters.iter().any(|iter| iter.kind == IterKind::Reduce),
        _ => false,
    })
}

/// Puts buffers of one element in the place of others.
struct Replace {
    replaced: Vec<(Id<Buffer>, Id<Buffer>)>,
    zero: PrimId,
}

impl StmtMutator for Replace {
    fn rule(&self) -> &'static str {
        ""
    }

    fn access(&mut self, _: &mut Rewriting<'_>, buffer: Id<Buffer>, _: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let (_, new) = self.replaced.iter().find(|(old, _)| *old == buffer)?;
        Some((*new, vec![self.zero]))
    }
}
