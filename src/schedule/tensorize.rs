//! Loops replaced by an intrinsic that computes the same (`tensorize` of TVM's `primitive/blockize_tensorize.cc`).

use super::matching::Matching;
use super::state::{BlockRef, LoopRef, State};
use super::tree::blocks_in;
use super::{Outcome, refuse};
use crate::ir::{AttrValue, Block, Buffer, Id, PrimExpr, PrimFunc, PrimId, PrimParam, Region, Stmt, StmtId, Store};
use crate::tir::access::{extent_of, range_of};
use crate::tir::arith::Analyzer;
use crate::tir::{Copier, Rewriting, StmtMutator, cast};

/// A registered intrinsic: the computation that it replaces, and the statement that performs it.
#[derive(Clone, Debug)]
pub struct Intrinsic {
    /// The computation, as loops.
    pub desc: PrimFunc,
    /// The implementation, which takes the place of the loops.
    pub imp: PrimFunc,
}

/// Simplifies the expressions of a description, as TVM does before it compares.
struct Simple {
    analyzer: Analyzer,
}

impl StmtMutator for Simple {
    fn rule(&self) -> &'static str {
        "description simplified"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if let Stmt::For(head, _) = cx.store.stmt(id).clone() {
            self.analyzer.bind_range(cx.store, head.var, head.min, head.extent);
        }
        None
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        Some(self.analyzer.simplify(cx.store, root))
    }
}

impl State<'_> {
    /// The block, or the block that the loop becomes, does what it does by an intrinsic.
    pub(super) fn tensorize(&mut self, of: Result<BlockRef, LoopRef>, intrinsic: &Intrinsic, keep_unit: bool) -> Outcome<()> {
        let (tree, at, stmt) = match of {
            Ok(block) => {
                let (tree, at) = self.find_block(block)?;
                let stmt = tree.nodes[at].stmt;
                (tree, at, stmt)
            }
            Err(of) => {
                let (tree, at) = self.find_loop(of)?;
                let (stmt, ..) = self.block_of(&tree, at, keep_unit)?;
                (tree, at, stmt)
            }
        };
        let Stmt::Block(block) = *self.store.stmt(stmt) else { return refuse("InternalError: a block is no block") };
        let data = self.store.prim_block(block).clone();
        let bits = data.reads.iter().chain(&data.writes).flat_map(|region| region.ranges.iter());
        let Some(bits) = bits.map(|(min, _)| self.store.prim_dtype(*min).bits).max() else {
            return refuse("InternalError: Check failed: index_dtype_bits > 0");
        };
        let desc = Rewriting::new(self.store).visit(&mut Simple { analyzer: Analyzer::new() }, intrinsic.desc.body);
        let mut matching = Matching::new(self.store);
        matching.stmt(stmt, desc)?;
        let (buffers, bases) = (matching.buffers, matching.bases);
        let imp = fresh(self.store, &intrinsic.imp);
        let imp = crate::tir::index_types::normalized(self.store, imp, bits);
        let inner = match *self.store.stmt(imp.body) {
            Stmt::Block(block) => self.store.prim_block(block).clone(),
            _ => return refuse("TypeError: the implementation of an intrinsic is a block"),
        };
        let mut matches: Vec<(Id<Buffer>, Region)> = Vec::new();
        for (param, given) in imp.params.iter().zip(&intrinsic.desc.params) {
            let (PrimParam::Buffer(own), PrimParam::Buffer(given)) = (*param, *given) else {
                return refuse("TypeError: the parameters of an intrinsic are buffers");
            };
            let Some(&current) = buffers.get(&given) else {
                return refuse("InternalError: Check failed: (comparator.rhs_buffer_map_.count(desc)) is false");
            };
            let (Some(region), Some(base)) =
                (inner.reads.iter().chain(&inner.writes).find(|region| region.buffer == own), bases.get(&current))
            else {
                return refuse("IndexError: the implementation does not access a parameter of the intrinsic");
            };
            let Some(offset) = base.len().checked_sub(region.ranges.len()) else {
                return refuse("InternalError: Check failed: offset >= 0");
            };
            let mut ranges = Vec::new();
            for (axis, min) in base.iter().enumerate() {
                let extent = match axis.checked_sub(offset) {
                    Some(axis) => extent_of(self.store, region.ranges[axis]),
                    None => self.store.prim_int(1, self.store.prim_dtype(*min)),
                };
                let extent = cast(self.store, self.store.prim_dtype(*min), extent);
                ranges.push(range_of(self.store, *min, extent));
            }
            matches.push((own, Region { buffer: current, ranges: ranges.into() }));
        }
        let mut annotations = data.annotations;
        let given = inner.annotations.map(|id| self.store.attrs_of_id(id).fields.clone()).unwrap_or_default();
        for (key, value) in given.iter() {
            let key = self.store.str(*key).to_owned();
            if self.store.attr(annotations, &key).is_none() {
                let value: AttrValue = value.clone();
                annotations = Some(self.store.with_attr(annotations, &key, value));
            }
        }
        let inside = blocks_in(self.store, tree.nodes[at].stmt);
        let new = Block { body: inner.body, matches: matches.into(), annotations, ..data };
        let new = self.rebuilt_block(stmt, new);
        let made = blocks_in(self.store, new);
        self.replace(tree.nodes[at].stmt, new, &inside, &made)?;
        let Some(&own) = made.first() else { return refuse("InternalError: a block got lost") };
        if of.is_ok() {
            self.rename(&inside[..1], &[own]);
        }
        self.renew_inside_of_scope(own)?;
        Ok(())
    }
}

/// A copy of a program with buffers and variables of its own.
fn fresh(store: &mut Store, program: &PrimFunc) -> PrimFunc {
    let mut copier = Copier::default();
    let mut params = Vec::new();
    for param in &program.params {
        if let PrimParam::Buffer(buffer) = param {
            let data = store.buffer(*buffer).clone();
            for end in data.strides.iter().chain(&data.elem_offset) {
                if let PrimExpr::Var(symbol) = *store.prim_of_id(*end)
                    && !copier.symbols.contains_key(&symbol)
                {
                    copier.define(store, symbol);
                }
            }
        }
        params.push(match *param {
            PrimParam::Var(symbol) => PrimParam::Var(copier.define(store, symbol)),
            PrimParam::Buffer(buffer) => PrimParam::Buffer(copier.define_buffer(store, buffer)),
        });
    }
    let body = copier.stmt(store, program.body, &mut |_, _| {});
    PrimFunc { params: params.into(), body, ..program.clone() }
}
