//! Blocks: `with T.sblock("name"):` and what stands at their head.

use super::{Meaning, Node, Read, Reader};
use crate::ir::{AttrsId, Block, Buffer, Id, IterKind, IterVar, List, PrimId, Region, Stmt as TirStmt, StmtId};
use crate::parse::script::tree::{Arg, Stmt};

/// A block under way.
#[derive(Default)]
pub(super) struct Open {
    iters: Vec<IterVar>,
    pub(super) predicate: Option<PrimId>,
    pub(super) reads: Option<Vec<Region>>,
    pub(super) writes: Option<Vec<Region>>,
    pub(super) annotations: Option<AttrsId>,
    pub(super) allocs: Vec<Id<Buffer>>,
    pub(super) matches: Vec<(Id<Buffer>, Region)>,
    pub(super) init: Option<StmtId>,
}

impl Reader<'_, '_, '_> {
    /// `with T.sblock("name", no_realize=True):`
    pub(super) fn sblock(&mut self, args: &[Arg], body: List<Stmt>) -> Read<StmtId> {
        let named = args.iter().find(|arg| arg.name().is_none_or(|name| self.tree.text(name) == "name"));
        let name = named.and_then(|arg| self.tree.string(arg.value)).unwrap_or_default();
        let name = self.name_of(&name);
        let bare = args.iter().any(|arg| {
            arg.name().is_some_and(|name| self.tree.text(name) == "no_realize") && self.tree.bool(arg.value) == Some(true)
        });
        let outer = self.block.replace(Open::default());
        let body = self.body(body);
        let open = std::mem::replace(&mut self.block, outer).unwrap_or_default();
        let body = body?;
        let block = self.store.add_prim_block(Block {
            name,
            iters: open.iters.into(),
            predicate: open.predicate,
            reads: open.reads.unwrap_or_default().into(),
            writes: open.writes.unwrap_or_default().into(),
            allocs: open.allocs.into(),
            matches: open.matches.into(),
            annotations: open.annotations,
            init: open.init,
            body,
            bare,
        });
        Ok(self.store.add_stmt(TirStmt::Block(block)))
    }

    /// `vi, vj = T.axis.remap("SR", [i, j])`, `vi = T.axis.spatial(n, i)`
    pub(super) fn axis(&mut self, target: Id<Node>, kind: &str, args: &[Arg], at: Id<Node>) -> Read<()> {
        if self.block.is_none() {
            return Err(self.error("tir-syntax", "variables of a block are defined in a block", at));
        }
        let targets = match self.tree.expr(target) {
            Node::Tuple(items) | Node::List(items) => self.tree.items(items).to_vec(),
            _ => vec![target],
        };
        if kind == "remap" {
            let kinds = args.first().and_then(|arg| self.tree.string(arg.value));
            let values = args.get(1).map(|arg| self.tree.expr(arg.value));
            let (Some(kinds), Some(Node::List(values) | Node::Tuple(values))) = (kinds, values) else {
                return Err(self.error("tir-syntax", "expected `T.axis.remap(\"SR\", [i, j])`", at));
            };
            let values = self.tree.items(values).to_vec();
            if kinds.len() != values.len() || targets.len() != values.len() {
                return Err(self.error("tir-syntax", "as many variables, kinds and loops are needed", at));
            }
            for ((target, value), kind) in targets.into_iter().zip(values).zip(kinds.chars()) {
                let kind = match kind {
                    'S' => IterKind::Spatial,
                    'R' => IterKind::Reduce,
                    _ => return Err(self.error("tir-syntax", "a kind is `S` or `R`", at)),
                };
                let range = match self.tree.name(value).and_then(|name| self.meaning(name)) {
                    Some(Meaning::Symbol(symbol)) => self.loops.get(&symbol).copied(),
                    _ => None,
                };
                let Some((min, extent)) = range else {
                    return Err(self.error("tir-type", "expected the variable of a loop", value));
                };
                let value = self.prim(value)?;
                self.iter(target, kind, min, extent, Some(value))?;
            }
            return Ok(());
        }
        let kind = match kind {
            "spatial" | "S" => IterKind::Spatial,
            "reduce" | "R" => IterKind::Reduce,
            "scan" => IterKind::Scan,
            "opaque" => IterKind::Opaque,
            _ => return Err(self.error("tir-syntax", format!("unknown kind of variable `{kind}`"), at)),
        };
        let (Some(domain), [target]) = (args.first(), &targets[..]) else {
            return Err(self.error("tir-syntax", "expected a range and a value", at));
        };
        let (min, extent) = match self.tree.expr(domain.value) {
            Node::Tuple(items) | Node::List(items) if items.len() == 2 => {
                let items = self.tree.items(items).to_vec();
                let (lower, upper) = (self.prim(items[0])?, self.prim(items[1])?);
                (lower, self.difference(lower, upper))
            }
            _ => {
                let extent = self.prim(domain.value)?;
                (self.store.prim_int(0, self.store.prim_dtype(extent)), extent)
            }
        };
        let value = match args.get(1) {
            Some(arg) => Some(self.prim(arg.value)?),
            None => None,
        };
        self.iter(*target, kind, min, extent, value)
    }

    fn iter(&mut self, target: Id<Node>, kind: IterKind, min: PrimId, extent: PrimId, value: Option<PrimId>) -> Read<()> {
        let Some(name) = self.tree.name(target) else {
            return Err(self.error("tir-syntax", "expected a name", target));
        };
        let dtype = value.map_or(self.store.prim_dtype(extent), |value| {
            let (a, b) = (self.store.prim_dtype(value), self.store.prim_dtype(extent));
            if a.bits > b.bits { a } else { b }
        });
        let var = self.new_symbol(name, dtype);
        self.give(name, Meaning::Symbol(var));
        if let Some(open) = &mut self.block {
            open.iters.push(IterVar { var, kind, min, extent, value });
        }
        Ok(())
    }
}
