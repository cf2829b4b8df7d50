//! Buffers in other memory, of another type, aligned (TVM's `primitive/block_annotate.cc`).

use super::analysis::{allocated_in, nth_buffer};
use super::state::{BlockRef, State};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{AttrValue, Buffer, DType, Id, PrimExpr, PrimId, Stmt, StmtId};
use crate::tir::{Rewriting, StmtMutator};

/// Puts buffers in the place of others, within the block that allocates them.
pub(super) struct Replace {
    /// Each buffer with the one in its place.
    pub map: Vec<(Id<Buffer>, Id<Buffer>)>,
    /// The change of matched parts, too: the kind of memory, or a type with conversions.
    pub dtype: Option<(DType, DType)>,
    /// True if parts of such buffers become like them.
    pub matched: bool,
}

impl Replace {
    fn of(&self, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        self.map.iter().find(|(old, _)| *old == buffer).map(|(_, new)| *new)
    }
}

impl StmtMutator for Replace {
    fn rule(&self) -> &'static str {
        "buffer replaced"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Block(block) if self.matched => {
                let matches = cx.store.prim_block(block).matches.clone();
                for (target, source) in matches {
                    let Some(new) = self.of(source.buffer) else { continue };
                    let (like, mut data) = (cx.store.buffer(new).clone(), cx.store.buffer(target).clone());
                    match self.dtype {
                        Some(_) => data.dtype = like.dtype,
                        None => {
                            data.name = named(cx.store, data.name, like.scope);
                            data.scope = like.scope;
                        }
                    }
                    let data = cx.store.add_buffer(data);
                    self.map.push((target, data));
                    cx.set_buffer(target, data);
                }
                None
            }
            Stmt::Store { buffer, indices, value } => {
                let ((_, to), new) = (self.dtype?, self.of(buffer)?);
                let indices = cx.roots(self, &indices);
                let value = cx.root(self, value);
                let value = cx.store.prim(PrimExpr::Cast { dtype: to, value });
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: new, indices, value }))
            }
            _ => None,
        }
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        let (Some((from, _)), PrimExpr::Load { buffer, .. }) = (self.dtype, cx.store.prim_of_id(pre)) else { return post };
        match self.of(*buffer) {
            Some(_) => cx.store.prim(PrimExpr::Cast { dtype: from, value: post }),
            None => post,
        }
    }
}

/// Returns the name of a buffer in another kind of memory.
pub(super) fn named(store: &mut crate::ir::Store, name: Id<crate::ir::Name>, scope: Id<crate::ir::Name>) -> Id<crate::ir::Name> {
    let text = format!("{}_{}", store.str(name), store.str(scope));
    store.name(&text)
}

impl State<'_> {
    /// Replaces buffers in a statement; both versions have the same blocks.
    pub(super) fn replace_buffers(&mut self, root: StmtId, replace: &mut Replace) -> StmtId {
        let mut cx = Rewriting::new(self.store);
        for (old, new) in &replace.map {
            cx.set_buffer(*old, *new);
        }
        cx.visit(replace, root)
    }

    fn allocation(&mut self, tree: &Tree, at: usize, buffer: Id<Buffer>) -> Outcome<usize> {
        match allocated_in(self, tree, at, buffer) {
            Some(site) => Ok(site),
            None => refuse("ScheduleError: The input buffer is not allocated by a block"),
        }
    }

    /// Moves a buffer that a block writes to another kind of memory.
    pub(super) fn set_scope(&mut self, block: BlockRef, index: i64, scope: &str) -> Outcome<()> {
        let (tree, at) = self.find_block(block)?;
        let buffer = nth_buffer(&self.block_at(&tree, at)?, index, true)?;
        let old = self.store.buffer(buffer).clone();
        if self.store.str(old.scope) == scope {
            return Ok(());
        }
        check_scope(scope)?;
        let site = self.allocation(&tree, at, buffer)?;
        let scope = self.store.name(scope);
        let name = named(self.store, old.name, scope);
        let new = self.store.add_buffer(Buffer { name, scope, ..old });
        let stmt = tree.nodes[site].stmt;
        let mut replace = Replace { map: vec![(buffer, new)], dtype: None, matched: true };
        let rewritten = self.replace_buffers(stmt, &mut replace);
        self.replace(stmt, rewritten, &[], &[])
    }

    /// Changes the element type of a buffer that a block writes; values are converted.
    pub(super) fn unsafe_set_dtype(&mut self, block: BlockRef, index: i64, dtype: &str) -> Outcome<()> {
        let (tree, at) = self.find_block(block)?;
        let buffer = nth_buffer(&self.block_at(&tree, at)?, index, true)?;
        let Some(dtype) = DType::parse(dtype) else { return refuse(format!("ValueError: unknown type {dtype}")) };
        let old = self.store.buffer(buffer).clone();
        if old.dtype == dtype {
            return Ok(());
        }
        let site = self.allocation(&tree, at, buffer)?;
        let from = old.dtype;
        let new = self.store.add_buffer(Buffer { dtype, ..old });
        let stmt = tree.nodes[site].stmt;
        let mut replace = Replace { map: vec![(buffer, new)], dtype: Some((from, dtype)), matched: true };
        let rewritten = self.replace_buffers(stmt, &mut replace);
        self.replace(stmt, rewritten, &[], &[])
    }

    /// Says how an axis of a buffer is aligned: its stride is `factor * n + offset`.
    pub(super) fn storage_align(&mut self, block: BlockRef, index: i64, axis: i64, factor: i64, offset: i64) -> Outcome<()> {
        let (tree, at) = self.find_block(block)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, true)?;
        if factor <= 0 {
            return refuse("ScheduleError: The input `factor` of storage_align is expected to be a positive number.");
        }
        let rank = self.store.buffer(buffer).shape.len() as i64;
        if axis < -rank || axis >= rank {
            return refuse(format!(
                "ScheduleError: The input `axis` is out of range. It is required to be in range [-{rank}, {rank}) since the \
                 block writes a buffer of {rank} dimensions"
            ));
        }
        let axis = if axis < 0 { axis + rank } else { axis };
        self.allocation(&tree, at, buffer)?;
        let number = |value: i64| AttrValue::Int { value, bits: 64 };
        let mut all: Vec<AttrValue> = match self.store.attr(data.annotations, "buffer_dim_align") {
            None => Vec::new(),
            Some(AttrValue::Array(items)) if items.iter().all(is_alignment) => items.to_vec(),
            Some(_) => {
                return refuse(
                    "ScheduleError: The block annotation for storage align is expected to be an array of 4-integer-tuples \
                     (buffer_index, axis, factor, offset).",
                );
            }
        };
        let new = AttrValue::Array([index, axis, factor, offset].map(number).into());
        let same = |item: &&mut AttrValue| item.as_ints().is_some_and(|ints| ints[..2] == [index, axis]);
        match all.iter_mut().find(same) {
            Some(item) => *item = new,
            None => all.push(new),
        }
        let annotations = self.store.with_attr(data.annotations, "buffer_dim_align", AttrValue::Array(all.into()));
        self.set_annotations(&tree, at, Some(annotations))
    }
}

fn is_alignment(item: &AttrValue) -> bool {
    item.as_ints().is_some_and(|ints| ints.len() == 4)
}

/// Fails if a kind of memory is unknown.
pub(super) fn check_scope(scope: &str) -> Outcome<()> {
    let known = ["global", "shared", "warp", "local", "wmma.", "texture", "amx.tmm", "metal.", "m16n8k8.", "mma_m16n8k8"];
    match known.iter().any(|name| scope.starts_with(name)) {
        true => Ok(()),
        false => refuse(format!("ScheduleError: The input storage scope \"{scope}\" is invalid.")),
    }
}
