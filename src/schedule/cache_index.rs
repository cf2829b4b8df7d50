//! Indices that a block computes, computed before and looked up (`cache_index` of TVM's `primitive/cache_index.cc`, and the
//! search for common parts in `primitive/cache_index_helpers.cc`).

use super::analysis::{scope_root, vars_of};
use super::buffers::check_scope;
use super::loops::serial;
use super::state::{BlockRef, State};
use super::tree::{Tree, What};
use super::{Outcome, refuse};
use crate::ir::sort::sort_by;
use crate::ir::{
    Block, Buffer, DType, For, Id, IdMap, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store, Symbol,
};
use crate::tir::arith::{Analyzer, domains_of, eval_set};
use crate::tir::effect::is_pure;
use crate::tir::{Rewriting, StmtMutator, binary, substitute};

/// The size of an expression written out, in nodes.
fn size(store: &Store, root: PrimId) -> u64 {
    let mut sizes: IdMap<PrimExpr, u64> = IdMap::new();
    store.for_each_prim(root, &mut |id, expr| {
        let mut size: u64 = 1;
        expr.for_each_child(&mut |child| size = size.saturating_add(sizes.get(child).copied().unwrap_or(1)));
        sizes.insert(id, size);
    });
    sizes.get(root).copied().unwrap_or(1)
}

/// True if computing an expression before may be of use.
fn is_eligible(store: &Store, id: PrimId) -> bool {
    let expr = store.prim_of_id(id);
    !matches!(expr, PrimExpr::Ramp { .. } | PrimExpr::Broadcast { .. }) && size(store, id) > 1 && is_pure(store, id)
}

/// Expressions with the number of times that they are computed.
type Counts = Vec<(PrimId, usize)>;

/// The largest eligible parts of an expression.
fn largest_parts(store: &Store, root: PrimId) -> Counts {
    let mut tables: IdMap<PrimExpr, Counts> = IdMap::new();
    store.for_each_prim(root, &mut |id, expr| {
        let mut table = Counts::new();
        if is_eligible(store, id) {
            table.push((id, 1));
        } else {
            expr.for_each_child(&mut |child| {
                for &(part, count) in tables.get(child).into_iter().flatten() {
                    match table.iter_mut().find(|(known, _)| *known == part) {
                        Some((_, known)) => *known = known.saturating_add(count),
                        None => table.push((part, count)),
                    }
                }
            });
        }
        tables.insert(id, table);
    });
    tables.get(root).cloned().unwrap_or_default()
}

/// The largest eligible parts inside of an expression.
fn direct_parts(store: &Store, root: PrimId) -> Vec<PrimId> {
    let mut found = Vec::new();
    let mut todo = Vec::new();
    let open = |id: PrimId, todo: &mut Vec<PrimId>| {
        let from = todo.len();
        store.prim_of_id(id).for_each_child(&mut |child| todo.push(child));
        todo[from..].reverse();
    };
    open(root, &mut todo);
    while let Some(id) = todo.pop() {
        match is_eligible(store, id) {
            true => found.push(id),
            false => open(id, &mut todo),
        }
    }
    found
}

/// The place in front of which TVM inserts an expression into a list that begins with the largest; its search is binary
/// also where the list is not in order.
fn place_of(store: &Store, list: &Counts, part: PrimId) -> usize {
    let own = size(store, part);
    let (mut first, mut count) = (0, list.len());
    while count > 0 {
        let half = count / 2;
        if size(store, list[first + half].0) >= own {
            (first, count) = (first + half + 1, count - half - 1);
        } else {
            count = half;
        }
    }
    first
}

/// The most expressions of one store that are looked at.
const MOST_PARTS: usize = 1000;

/// Parts of a stored value that occur at least `least` times, in the order of the value.
fn worth_it(store: &mut Store, value: PrimId, indices: &[PrimId], least: usize, found: &mut Vec<PrimId>) {
    let normal = |store: &mut Store, part: PrimId| Analyzer::new().simplify(store, part);
    let mut counts = Counts::new();
    for root in [value].iter().chain(indices) {
        for (part, count) in largest_parts(store, *root) {
            let own = normal(store, part);
            let same = (0..counts.len()).find(|at| normal(store, counts[*at].0) == own);
            match same {
                Some(at) => counts[at].1 = counts[at].1.saturating_add(count),
                None => counts.push((part, count)),
            }
        }
    }
    let mut at = 0;
    while at < counts.len().min(MOST_PARTS) {
        let (part, count) = counts[at];
        if count < least {
            for inner in direct_parts(store, part) {
                let own = normal(store, inner);
                match (0..counts.len()).find(|at| normal(store, counts[*at].0) == own) {
                    Some(at) => counts[at].1 = counts[at].1.saturating_add(count),
                    None => {
                        let place = place_of(store, &counts, inner);
                        counts.insert(place, (inner, count));
                    }
                }
            }
        }
        at += 1;
    }
    let mut nodes = Vec::new();
    store.for_each_prim(value, &mut |id, _| nodes.push(id));
    for node in nodes {
        let own = normal(store, node);
        for &(part, _) in counts.iter().filter(|(_, count)| *count >= least) {
            if normal(store, part) == own && !found.contains(&part) {
                found.push(part);
            }
        }
    }
    sort_by(found, |a, b| size(store, *b).cmp(&size(store, *a)));
}

/// Puts a look-up in the place of an expression.
struct Lookup {
    block: Id<Block>,
    /// Simplified.
    wanted: PrimId,
    load: PrimId,
    inside: bool,
}

impl StmtMutator for Lookup {
    fn rule(&self) -> &'static str {
        "index looked up"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::Block(block) => {
                let is_it = block == self.block;
                let before = std::mem::replace(&mut self.inside, is_it);
                cx.forget();
                // Regions stay what they are.
                let data = cx.store.prim_block(block).clone();
                let (init, body) = (data.init.map(|init| cx.visit(self, init)), cx.visit(self, data.body));
                self.inside = before;
                cx.forget();
                if (init, body) == (data.init, data.body) {
                    return Some(id);
                }
                let new = cx.store.add_prim_block(Block { init, body, ..data });
                Some(cx.store.rebuild_stmt(id, Stmt::Block(new)))
            }
            Stmt::Store { .. } if self.inside => None,
            Stmt::Store { .. } | Stmt::Evaluate(_) | Stmt::Bind { .. } => Some(id),
            _ => None,
        }
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let same = self.inside && Analyzer::new().simplify(cx.store, id) == self.wanted;
        same.then_some(self.load)
    }
}

impl State<'_> {
    /// Computes parts of indices and values of a block before, each in a block of its own; those blocks.
    pub(super) fn cache_index(&mut self, of: BlockRef, scope: &str, least: i64) -> Outcome<Vec<BlockRef>> {
        let Ok(least) = usize::try_from(least) else {
            return refuse("InternalError: Check failed: cse_thresh should not be negative number");
        };
        check_scope(scope)?;
        let (tree, at) = self.find_block(of)?;
        let root = scope_root(self, &tree, at, false)?;
        let data = self.block_at(&tree, at)?;
        let (Some(own), Some(scope_block)) = (tree.as_block(at), tree.as_block(root)) else {
            return refuse("InternalError: a block is no block");
        };
        let mut stores = Vec::new();
        own_stores(self.store, data.body, &mut stores);
        if let Some(init) = data.init {
            own_stores(self.store, init, &mut stores);
        }
        let mut parts = Vec::new();
        for (value, indices) in stores {
            worth_it(self.store, value, &indices, least, &mut parts);
        }
        match parts.len() {
            0 => return refuse("InternalError: Check failed: An empty SeqStmt is prohibited"),
            1 => return refuse("InternalError: Check failed: A SeqStmt of length 1 is prohibited"),
            _ => {}
        }
        let mut heads: Vec<For> = Vec::new();
        for node in 0..tree.nodes.len() {
            if matches!(tree.nodes[node].what, What::Loop(_)) {
                heads.push(self.head(&tree, node)?.0);
            }
        }
        let scope_name = self.store.name(scope);
        let (mut stages, mut made, mut copies, mut lookups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, part) in parts.into_iter().enumerate() {
            let (stage, block, copy, load) = self.index_stage(&data, &heads, part, number, scope_name)?;
            stages.push(stage);
            made.push(block);
            copies.push(copy);
            lookups.push((Analyzer::new().simplify(self.store, part), load));
        }
        let stages_before = self.flags_of(&tree, at)?.stages;
        let scope_stmt = tree.nodes[root].stmt;
        let outer_stmts = self.store.stmts_of(self.store.prim_block(scope_block).body);
        let position = outer_stmts.iter().position(|stmt| Tree::new(self.store, *stmt).block(own).is_some()).unwrap_or(0);
        let mut stmt = scope_stmt;
        for (wanted, load) in lookups {
            // The block has become another one by the look-up before.
            let current = Tree::new(self.store, stmt).as_block(at - root);
            let Some(block) = current else { return refuse("InternalError: a block got lost") };
            stmt = Rewriting::new(self.store).visit(&mut Lookup { block, wanted, load, inside: false }, stmt);
        }
        let Stmt::Block(outer) = *self.store.stmt(stmt) else { return refuse("InternalError: the scope is no block") };
        let mut outer = self.store.prim_block(outer).clone();
        let mut stmts = self.store.stmts_of(outer.body);
        stmts.splice(position..position, stages);
        outer.body = self.store.add_stmts(&stmts);
        outer.allocs = outer.allocs.iter().copied().chain(copies).collect();
        let outer = self.rebuilt_block(scope_stmt, outer);
        self.replace(scope_stmt, outer, &[], &made)?;
        let tree = self.tree()?;
        let mut found = Vec::new();
        for block in made {
            if let Some(at) = tree.block(block) {
                let flags = super::state::Flags { stages: stages_before, ..self.flags_of(&tree, at)? };
                self.set_flags(block, flags);
            }
            found.push(self.block_ref(block));
        }
        Ok(found)
    }

    /// The loops that compute a part of an index; their block, the buffer and the look-up.
    fn index_stage(
        &mut self,
        data: &Block,
        heads: &[For],
        part: PrimId,
        number: usize,
        scope: Id<crate::ir::Name>,
    ) -> Outcome<(StmtId, Id<Block>, Id<Buffer>, PrimId)> {
        let ranges: Vec<_> = heads.iter().map(|head| (head.var, (head.min, head.extent))).collect();
        let domains = domains_of(self.store, &ranges);
        let vars = vars_of(self.store, part);
        let (mut bindings, mut around) = (Vec::new(), Vec::new());
        let mut shape = Vec::new();
        for var in &vars {
            let Some(value) = data.iters.iter().find(|iter| iter.var == *var).and_then(|iter| iter.value) else {
                return refuse("IndexError: a part of the index depends on a variable that is none of the block");
            };
            for inner in vars_of(self.store, value) {
                if !around.contains(&inner) {
                    around.push(inner);
                }
            }
            let Some(last) = eval_set(self.store, value, &domains).upper() else {
                return refuse("InternalError: Check failed: the values of an index are not known");
            };
            let one = self.store.prim_int(1, self.store.prim_dtype(last));
            shape.push(binary(self.store, PrimOp::Add, last, one));
            bindings.push(value);
        }
        let mut loops = Vec::new();
        let mut moved: Vec<(Id<Symbol>, PrimId)> = Vec::new();
        for (place, var) in around.iter().enumerate() {
            let Some(head) = heads.iter().find(|head| head.var == *var) else {
                return refuse("IndexError: a binding of the block depends on a variable that is no loop");
            };
            let ends = [head.min, head.extent].map(|end| self.store.as_prim_int(end));
            let wide = !matches!(ends, [Some(min), Some(extent)] if i32::try_from(min.saturating_add(extent)).is_ok());
            let (own, prim) = self.var(&format!("ax{place}"), if wide { DType::I64 } else { DType::I32 });
            moved.push((*var, prim));
            loops.push((own, head.extent));
        }
        if loops.len() < vars.len() {
            return refuse("InternalError: Check failed: there are fewer loops than variables in the index");
        }
        let (mut iters, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (var, binding)) in vars.iter().zip(&bindings).enumerate() {
            let dtype = self.store.symbol(*var).dtype;
            let (own, prim) = self.var(&format!("v{place}"), dtype);
            let value = substitute(self.store, *binding, &mut |_, symbol| {
                moved.iter().find(|(known, _)| *known == symbol).map(|(_, prim)| *prim)
            });
            let min = self.store.prim_int(0, dtype);
            iters.push(IterVar { var: own, kind: IterKind::Spatial, min, extent: loops[place].1, value: Some(value) });
            places.push(prim);
            values.push((*var, prim));
        }
        let value = substitute(self.store, part, &mut |_, symbol| {
            values.iter().find(|(known, _)| *known == symbol).map(|(_, prim)| *prim)
        });
        let dtype = self.store.prim_dtype(part);
        let name = self.store.name(&format!("index_var_{number}"));
        let one = self.store.prim_int(1, DType::I32);
        let copy = Buffer { strides: [one].into(), ..Buffer::new(name, dtype, shape.into(), scope) };
        let copy = self.store.add_buffer(copy);
        let body = self.store.add_stmt(Stmt::Store { buffer: copy, indices: places.clone().into(), value });
        let name = self.store.name(&format!("index_{number}"));
        let part = Region { buffer: copy, ranges: places.iter().map(|place| (*place, None)).collect() };
        let block = Block { iters: iters.into(), writes: [part].into(), ..Block::around(name, body) };
        let made = self.store.add_prim_block(block);
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for (var, extent) in loops.into_iter().rev() {
            stmt = serial(self.store, var, extent, stmt);
        }
        let indices = vars.iter().map(|var| self.store.prim(PrimExpr::Var(*var))).collect();
        let load = self.store.prim(PrimExpr::Load { buffer: copy, indices });
        Ok((stmt, made, copy, load))
    }
}

/// Values and indices of the stores of a block, without those of blocks in it.
fn own_stores(store: &Store, root: StmtId, found: &mut Vec<(PrimId, Box<[PrimId]>)>) {
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        match store.stmt(id) {
            Stmt::Block(_) => {}
            Stmt::Store { value, indices, .. } => found.push((*value, indices.clone())),
            _ => {
                let from = todo.len();
                store.for_each_inner_stmt(id, |inner| todo.push(inner));
                todo[from..].reverse();
            }
        }
    }
}
