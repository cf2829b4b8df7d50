//! Copies of buffers in other memory (`cache_read` and `cache_write` of TVM's `primitive/cache_read_write.cc`).

use super::analysis::{domains, nth_buffer, scope_root};
use super::buffers::{check_scope, named};
use super::loops::{also, serial};
use super::scope::{Dependency, buffer_writers, dependencies, unbound};
use super::state::{BlockRef, State};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store};
use crate::tir::access::extent_of;
use crate::tir::arith::{Analyzer, covering_region};
use crate::tir::{Rewriting, StmtMutator, binary, substitute};

/// The place of a copy: the loop or block, and the place among what stands in it.
struct Place {
    writer: Option<Id<Block>>,
    scope: Id<Block>,
    related: Vec<Id<Block>>,
    seen_writer: bool,
    seen_related: bool,
    at: Option<StmtId>,
    position: Option<usize>,
}

impl Place {
    fn find(&mut self, store: &Store, id: StmtId) {
        match store.stmt(id) {
            Stmt::Seq(list) => {
                let before = std::mem::replace(&mut self.seen_writer, false);
                for (place, stmt) in store.items(*list).enumerate() {
                    if self.position.is_some() {
                        break;
                    }
                    self.find(store, stmt);
                    if self.seen_related {
                        if self.seen_writer && self.position.is_none() {
                            self.position = Some(place);
                        }
                        break;
                    }
                }
                self.seen_writer |= before;
            }
            Stmt::Block(block) if *block == self.scope => {
                self.find(store, store.prim_block(*block).body);
                if self.seen_related && self.at.is_none() {
                    self.at = Some(id);
                    if !self.seen_writer && self.position.is_none() {
                        self.position = Some(0);
                    }
                }
            }
            Stmt::Block(block) => {
                if self.writer == Some(*block) {
                    self.seen_writer = true;
                } else if self.related.contains(block) {
                    self.seen_related = true;
                }
            }
            Stmt::For(_, body) => {
                self.find(store, *body);
                if self.seen_writer && self.seen_related && self.at.is_none() && self.position.is_some() {
                    self.at = Some(id);
                }
            }
            _ => store.for_each_inner_stmt(id, |inner| self.find(store, inner)),
        }
    }
}

/// Puts a copy into its place, and makes those read or write it that shall.
pub(super) struct Insert {
    pub old: Id<Buffer>,
    pub new: Id<Buffer>,
    /// The begin of each axis of the copy, if it is smaller than the buffer.
    pub offset: Option<Vec<PrimId>>,
    /// The indices by which all blocks access the copy, if they are given.
    pub points: Option<Box<[PrimId]>>,
    pub analyzer: Analyzer,
    pub scope: Id<Block>,
    pub at: StmtId,
    pub position: usize,
    pub stage: StmtId,
    pub consumers: Vec<Id<Block>>,
    /// The block that writes the copy, for a copy of what is written.
    pub writer: Option<Id<Block>>,
    /// True if what is under way accesses the copy.
    pub active: bool,
    pub under_writer: bool,
}

impl Insert {
    fn moved(&mut self, cx: &mut Rewriting<'_>, indices: &[PrimId]) -> Box<[PrimId]> {
        match (&self.points, &self.offset) {
            (Some(points), _) => points.clone(),
            (None, None) => indices.into(),
            (None, Some(offset)) => (indices.iter().zip(offset))
                .map(|(index, offset)| {
                    let less = binary(cx.store, PrimOp::Sub, *index, *offset);
                    self.analyzer.simplify(cx.store, less)
                })
                .collect(),
        }
    }

    fn region(&mut self, cx: &mut Rewriting<'_>, region: &Region) -> Region {
        if region.buffer != self.old {
            return region.clone();
        }
        let mins: Vec<PrimId> = region.ranges.iter().map(|(min, _)| *min).collect();
        let mins = self.moved(cx, &mins);
        let extents = region.ranges.iter().map(|(_, extent)| extent.filter(|_| self.points.is_none()));
        let ranges = mins.iter().copied().zip(extents.chain(std::iter::repeat(None))).collect();
        Region { buffer: self.new, ranges }
    }

    fn regions(&mut self, cx: &mut Rewriting<'_>, regions: &[Region]) -> Box<[Region]> {
        regions.iter().map(|region| self.region(cx, region)).collect()
    }

    fn inserted(&self, store: &mut Store, body: StmtId) -> StmtId {
        let mut stmts = store.stmts_of(body);
        stmts.insert(self.position.min(stmts.len()), self.stage);
        store.add_stmts(&stmts)
    }

    fn block(&mut self, cx: &mut Rewriting<'_>, id: StmtId, block: Id<Block>) -> StmtId {
        let data = cx.store.prim_block(block).clone();
        let is_scope = block == self.scope;
        let is_consumer = self.consumers.contains(&block);
        let outer = (self.active, self.under_writer);
        match self.writer {
            None => {
                self.active = self.consumers.is_empty() || is_consumer;
                if !is_scope && data.writes.iter().any(|region| region.buffer == self.old) {
                    self.active = outer.0;
                    return id;
                }
            }
            Some(writer) => {
                if !is_consumer && block != writer && !is_scope && !self.under_writer {
                    return id;
                }
                self.under_writer |= block == writer;
            }
        }
        cx.forget();
        let inner = cx.descend(self, id);
        let updates = !is_scope && (self.writer.is_some() || self.active);
        (self.active, self.under_writer) = outer;
        cx.forget();
        let Stmt::Block(changed) = *cx.store.stmt(inner) else { return inner };
        let mut new = cx.store.prim_block(changed).clone();
        if self.at == id {
            new.body = self.inserted(cx.store, new.body);
        }
        if is_scope {
            if !new.allocs.contains(&self.new) {
                new.allocs = new.allocs.iter().copied().chain([self.new]).collect();
            }
        } else if updates {
            new.reads = self.regions(cx, &new.reads);
            if self.writer.is_some() {
                new.writes = self.regions(cx, &new.writes);
            }
            new.matches = new.matches.iter().map(|(target, source)| (*target, self.region(cx, source))).collect();
        }
        if new == *cx.store.prim_block(changed) {
            return inner;
        }
        let new = cx.store.add_prim_block(new);
        cx.store.rebuild_stmt(id, Stmt::Block(new))
    }
}

impl StmtMutator for Insert {
    fn rule(&self) -> &'static str {
        "copy inserted"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Block(block) => Some(self.block(cx, id, block)),
            Stmt::For(..) if id == self.at => {
                let inner = cx.descend(self, id);
                let Stmt::For(head, body) = cx.store.stmt(inner).clone() else { return Some(inner) };
                let body = self.inserted(cx.store, body);
                Some(cx.store.rebuild_stmt(id, Stmt::For(head, body)))
            }
            Stmt::Store { buffer, indices, value } if self.writer.is_some() && buffer == self.old => {
                let value = cx.root(self, value);
                let indices = cx.roots(self, &indices);
                let indices = self.moved(cx, &indices);
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: self.new, indices, value }))
            }
            _ => None,
        }
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match cx.store.prim_of_id(post).clone() {
            PrimExpr::Load { buffer, indices } if buffer == self.old && (self.writer.is_some() || self.active) => {
                let indices = self.moved(cx, &indices);
                cx.store.prim(PrimExpr::Load { buffer: self.new, indices })
            }
            PrimExpr::Data(buffer) if buffer == self.old => cx.store.prim(PrimExpr::Data(self.new)),
            PrimExpr::Buffer(buffer) if buffer == self.old => cx.store.prim(PrimExpr::Buffer(self.new)),
            _ => post,
        }
    }
}

type Ranges = Vec<(PrimId, PrimId)>;

impl State<'_> {
    /// A copy of a buffer that a block reads, in other memory, which it and others (or only some) read from then on.
    pub(super) fn cache_read(&mut self, of: BlockRef, index: i64, scope: &str, consumers: &[BlockRef]) -> Outcome<BlockRef> {
        check_scope(scope)?;
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, false)?;
        let root = scope_root(self, &tree, at, false)?;
        let all = dependencies(self, &tree, root)?;
        self.check_covered(&tree, root, buffer)?;
        let chosen = self.with_children(&tree, consumers);
        let (place, region) = match self.only_writer(&tree, root, buffer)? {
            Some(writer) => {
                let related = match chosen.is_empty() {
                    false => chosen.clone(),
                    true => {
                        let after = all.iter().filter(|(from, _, kind)| *from == writer && *kind == Dependency::ReadAfterWrite);
                        after.filter_map(|(_, to, _)| tree.as_block(*to)).collect()
                    }
                };
                let place = self.place(&tree, root, tree.as_block(writer), related)?;
                let made = self.block_at(&tree, writer)?;
                let region = self.relaxed(&tree, writer, &made, buffer, true, place.0, None)?;
                (place, region)
            }
            None => {
                let nested = match data.reads.iter().any(|region| region.buffer == buffer) {
                    true => self.nested_predicates(data.body, buffer, false),
                    false => None,
                };
                let scope_data = self.block_at(&tree, root)?;
                let of_scope = scope_data.reads.iter().find(|region| region.buffer == buffer).cloned();
                let region = match (nested, of_scope) {
                    (Some(nested), _) => self.relaxed(&tree, at, &data, buffer, false, tree.nodes[root].stmt, Some(nested))?,
                    (None, Some(region)) => region.ranges.iter().map(|range| (range.0, extent_of(self.store, *range))).collect(),
                    (None, None) => {
                        let shape = self.store.buffer(buffer).shape.clone();
                        shape.iter().map(|extent| (self.store.prim_int(0, self.store.prim_dtype(*extent)), *extent)).collect()
                    }
                };
                ((tree.nodes[root].stmt, 0), region)
            }
        };
        self.cache(&tree, root, buffer, scope, place, region, chosen, None)
    }

    /// A copy of a buffer that a block writes, in other memory: it writes that, from which the buffer is made.
    pub(super) fn cache_write(&mut self, of: BlockRef, index: i64, scope: &str, consumers: &[BlockRef]) -> Outcome<BlockRef> {
        check_scope(scope)?;
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, true)?;
        let root = scope_root(self, &tree, at, false)?;
        let chosen = self.with_children(&tree, consumers);
        if self.only_writer(&tree, root, buffer)? != Some(at) {
            return refuse("InternalError: Check failed: the block is not the only one that writes the buffer");
        }
        let all = dependencies(self, &tree, root)?;
        let after = all.iter().filter(|(from, _, kind)| *from == at && *kind == Dependency::ReadAfterWrite);
        let related: Vec<Id<Block>> =
            after.filter_map(|(_, to, _)| tree.as_block(*to)).filter(|block| !chosen.contains(block)).collect();
        let place = self.place(&tree, root, tree.as_block(at), related)?;
        let nested = self.nested_predicates(data.body, buffer, true);
        let region = self.relaxed(&tree, at, &data, buffer, true, place.0, nested)?;
        self.cache(&tree, root, buffer, scope, place, region, chosen, tree.as_block(at))
    }

    /// Refuses a scope in which a block reads elements of a buffer that are not written before.
    pub(super) fn check_covered(&mut self, tree: &Tree, root: usize, buffer: Id<Buffer>) -> Outcome<()> {
        for child in tree.child_blocks(root) {
            let reads = self.block_at(tree, child)?.reads.iter().any(|region| region.buffer == buffer);
            if reads && !self.flags_of(tree, child)?.covered {
                return refuse("ScheduleError: The scope root's region cover is not complete.");
            }
        }
        Ok(())
    }

    /// Puts a copy into its scope; returns its block.
    pub(super) fn insert_copy(&mut self, tree: &Tree, root: usize, mut insert: Insert, made: Id<Block>) -> Outcome<BlockRef> {
        let stmt = tree.nodes[root].stmt;
        let rewritten = Rewriting::new(self.store).visit(&mut insert, stmt);
        self.replace(stmt, rewritten, &[], &[made])?;
        Ok(self.block_ref(made))
    }

    /// Blocks with those right in them.
    fn with_children(&mut self, tree: &Tree, blocks: &[BlockRef]) -> Vec<Id<Block>> {
        let mut found = Vec::new();
        for block in blocks {
            let id = self.block_id(*block);
            found.push(id);
            let children = tree.block(id).map(|at| tree.child_blocks(at)).unwrap_or_default();
            found.extend(children.into_iter().filter_map(|at| tree.as_block(at)));
        }
        found
    }

    pub(super) fn only_writer(&self, tree: &Tree, root: usize, buffer: Id<Buffer>) -> Outcome<Option<usize>> {
        let count = buffer_writers(self, tree, root)?.into_iter().find(|(known, _)| *known == buffer).map_or(0, |(_, n)| n);
        if count > 1 {
            return refuse("ScheduleError: The buffer is allowed to be written by single block.");
        }
        for at in tree.child_blocks(root) {
            if self.block_at(tree, at)?.writes.iter().any(|region| region.buffer == buffer) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    pub(super) fn place(
        &self,
        tree: &Tree,
        root: usize,
        writer: Option<Id<Block>>,
        related: Vec<Id<Block>>,
    ) -> Outcome<(StmtId, usize)> {
        let stmt = tree.nodes[root].stmt;
        let Some(scope) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        if related.is_empty() {
            let count = self.store.stmts_of(self.store.prim_block(scope).body).len();
            return Ok((stmt, count));
        }
        let mut place = Place { writer, scope, related, seen_writer: false, seen_related: false, at: None, position: None };
        place.find(self.store, stmt);
        match (place.at, place.position) {
            (Some(at), Some(position)) => Ok((at, position)),
            // Behind the block that writes, which stands alone.
            (at, _) => Ok((at.unwrap_or(stmt), 1)),
        }
    }

    /// The condition under which blocks inside access a buffer; nothing where one does without condition.
    fn nested_predicates(&mut self, body: StmtId, buffer: Id<Buffer>, writes: bool) -> Option<PrimId> {
        let mut all: Option<PrimId> = None;
        for block in blocks_in(self.store, body) {
            let data = self.store.prim_block(block).clone();
            let regions = if writes { &data.writes } else { &data.reads };
            if !regions.iter().any(|region| region.buffer == buffer) {
                continue;
            }
            let predicate = data.predicate?;
            let value = |symbol| data.iters.iter().find(|iter| iter.var == symbol).and_then(|iter| iter.value);
            let predicate = substitute(self.store, predicate, &mut |_, symbol| value(symbol));
            all = Some(all.map_or(predicate, |all| binary(self.store, PrimOp::Or, all, predicate)));
        }
        all
    }

    /// The part of a buffer that a block accesses while the loops below `high` run.
    #[expect(clippy::too_many_arguments, reason = "as many as the question has")]
    fn relaxed(
        &mut self,
        tree: &Tree,
        at: usize,
        data: &Block,
        buffer: Id<Buffer>,
        writes: bool,
        high: StmtId,
        extra: Option<PrimId>,
    ) -> Outcome<Ranges> {
        let regions = if writes { &data.writes } else { &data.reads };
        let Some(region) = regions.iter().find(|region| region.buffer == buffer) else {
            return refuse("InternalError: the block does not access the buffer");
        };
        let ranges = unbound(self, data, region);
        let high = tree.nodes.iter().position(|node| node.stmt == high);
        let memory = self.store.str(self.store.buffer(buffer).scope).to_owned();
        let iters = domains(self, tree, tree.nodes[at].parent, high, Some(&memory))?;
        let mut predicate = data.predicate;
        if let Some(extra) = extra {
            predicate = also(self.store, predicate, extra);
        }
        let value = |symbol| data.iters.iter().find(|iter| iter.var == symbol).and_then(|iter| iter.value);
        let predicate = predicate.map(|cond| substitute(self.store, cond, &mut |_, symbol| value(symbol)));
        let analyzer = &mut Analyzer::new();
        let sets = covering_region(self.store, analyzer, &ranges, &iters, predicate);
        let shape = self.store.buffer(buffer).shape.clone();
        let mut found = Vec::new();
        for (set, extent) in sets.iter().zip(&shape) {
            let zero = self.store.prim_int(0, self.store.prim_dtype(*extent));
            found.push(set.cover(self.store, (zero, *extent)));
        }
        Ok(found)
    }

    /// True if all blocks of a scope that read a buffer stand right under a statement.
    fn all_under(&self, tree: &Tree, root: usize, buffer: Id<Buffer>, at: StmtId) -> Outcome<bool> {
        let under = tree.nodes.iter().position(|node| node.stmt == at).map(|at| tree.child_blocks(at)).unwrap_or_default();
        for child in tree.child_blocks(root) {
            let reads = self.block_at(tree, child)?.reads;
            if reads.iter().any(|region| region.buffer == buffer) && !under.contains(&child) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "what both directions have in common")]
    fn cache(
        &mut self,
        tree: &Tree,
        root: usize,
        buffer: Id<Buffer>,
        scope: &str,
        place: (StmtId, usize),
        region: Ranges,
        consumers: Vec<Id<Block>>,
        writer: Option<Id<Block>>,
    ) -> Outcome<BlockRef> {
        let is_loop = matches!(self.store.stmt(place.0), Stmt::For(..));
        let full = is_loop || !self.all_under(tree, root, buffer, place.0)?;
        let old = self.store.buffer(buffer).clone();
        let scope = self.store.name(scope);
        let name = named(self.store, old.name, scope);
        let shape = if full { old.shape.clone() } else { region.iter().map(|(_, extent)| *extent).collect() };
        let new = self.store.add_buffer(Buffer { name, scope, shape, ..old.clone() });
        let (source, target) = if writer.is_some() { (new, buffer) } else { (buffer, new) };
        let (stage, made) = self.stage(name, &region, &old.shape, (source, target), buffer, full)?;
        let Some(scope_block) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        let insert = Insert {
            old: buffer,
            new,
            offset: (!full).then(|| region.iter().map(|(min, _)| *min).collect()),
            points: None,
            analyzer: Analyzer::new(),
            scope: scope_block,
            at: place.0,
            position: place.1,
            stage,
            consumers,
            writer,
            active: true,
            under_writer: false,
        };
        self.insert_copy(tree, root, insert, made)
    }

    /// The loops that copy a part of a buffer; and their block.
    pub(super) fn stage(
        &mut self,
        name: Id<crate::ir::Name>,
        region: &[(PrimId, PrimId)],
        shape: &[PrimId],
        (source, target): (Id<Buffer>, Id<Buffer>),
        whole: Id<Buffer>,
        full: bool,
    ) -> Outcome<(StmtId, Id<Block>)> {
        let mut loops = Vec::new();
        let mut iters = Vec::new();
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (place, ((min, extent), dim)) in region.iter().zip(shape).enumerate() {
            let dtype = self.store.prim_dtype(*extent);
            let (loop_var, loop_prim) = self.var(&format!("ax{place}"), dtype);
            let (var, prim) = self.var(&format!("v{place}"), dtype);
            loops.push((loop_var, *extent));
            let size = if full { *dim } else { *extent };
            let value = if full { binary(self.store, PrimOp::Add, *min, loop_prim) } else { loop_prim };
            let zero = self.store.prim_int(0, self.store.prim_dtype(size));
            iters.push(IterVar { var, kind: IterKind::Spatial, min: zero, extent: size, value: Some(value) });
            near.push(prim);
            far.push(if full { prim } else { binary(self.store, PrimOp::Add, *min, prim) });
        }
        let of = |buffer: Id<Buffer>| if buffer == whole { far.clone() } else { near.clone() };
        let (from, to) = (of(source), of(target));
        let value = self.store.prim(PrimExpr::Load { buffer: source, indices: from.clone().into() });
        let body = self.store.add_stmt(Stmt::Store { buffer: target, indices: to.clone().into(), value });
        let part =
            |buffer, indices: Vec<PrimId>| Region { buffer, ranges: indices.into_iter().map(|index| (index, None)).collect() };
        let made = self.store.add_prim_block(Block {
            name,
            iters: iters.into(),
            predicate: None,
            reads: [part(source, from)].into(),
            writes: [part(target, to)].into(),
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        });
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for (var, extent) in loops.into_iter().rev() {
            stmt = serial(self.store, var, extent, stmt);
        }
        Ok((stmt, made))
    }
}
