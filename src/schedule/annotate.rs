//! Annotations of loops and blocks (TVM's `primitive/annotate.cc`).

use super::state::{BlockRef, LoopRef, State};
use super::tree::{Tree, What};
use super::{Outcome, refuse};
use crate::ir::{AttrValue, AttrsId, For, Stmt};

impl State<'_> {
    fn annotated(&mut self, of: Result<BlockRef, LoopRef>) -> Outcome<(Tree, usize, Option<AttrsId>)> {
        let (tree, at) = match of {
            Ok(block) => self.find_block(block)?,
            Err(of) => self.find_loop(of)?,
        };
        let annotations = match tree.nodes[at].what {
            What::Block(block) => self.store.prim_block(block).annotations,
            What::Loop(_) => self.head(&tree, at)?.0.annotations,
        };
        Ok((tree, at, annotations))
    }

    /// A loop or block gets other annotations.
    pub(super) fn set_annotations(&mut self, tree: &Tree, at: usize, annotations: Option<AttrsId>) -> Outcome<()> {
        let stmt = tree.nodes[at].stmt;
        let new = match tree.nodes[at].what {
            What::Block(block) => {
                let mut data = self.store.prim_block(block).clone();
                data.annotations = annotations;
                self.rebuilt_block(stmt, data)
            }
            What::Loop(_) => {
                let (head, body) = self.head(tree, at)?;
                self.store.rebuild_stmt(stmt, Stmt::For(Box::new(For { annotations, ..head }), body))
            }
        };
        self.replace(stmt, new, &[], &[])
    }

    /// Adds an annotation; one that is there stays.
    pub(super) fn annotate(&mut self, of: Result<BlockRef, LoopRef>, key: &str, value: AttrValue) -> Outcome<()> {
        let (tree, at, old) = self.annotated(of)?;
        if self.store.attr(old, key).is_some() {
            return Ok(());
        }
        let new = self.store.with_attr(old, key, value);
        self.set_annotations(&tree, at, Some(new))
    }

    /// Takes an annotation away.
    pub(super) fn unannotate(&mut self, of: Result<BlockRef, LoopRef>, key: &str) -> Outcome<()> {
        let (tree, at, old) = self.annotated(of)?;
        if self.store.attr(old, key).is_none() {
            return refuse(format!("IndexError: Cannot find annotation key: {key}"));
        }
        let new = self.store.without_attr(old, key);
        self.set_annotations(&tree, at, new)
    }
}
