//! Changes the execution order of a loop's iterations (TVM's `primitive/for_kind.cc`).

use super::analysis::check_subtree_compact;
use super::state::{LoopRef, State};
use super::{Outcome, refuse};
use crate::ir::{For, ForKind, IterKind, PrimExpr, Stmt};

impl State<'_> {
    /// Makes a loop parallel, vectorized, unrolled or bound to threads.
    pub(super) fn set_kind(&mut self, of: LoopRef, kind: ForKind) -> Outcome<()> {
        let (tree, at) = self.find_loop(of)?;
        let (head, body) = self.head(&tree, at)?;
        if kind != ForKind::Unrolled {
            check_subtree_compact(self, &tree, at)?;
            for inner in at..tree.nodes[at].end {
                let Some(block) = tree.as_block(inner) else { continue };
                let data = self.store.prim_block(block).clone();
                for iter in &data.iters {
                    let Some(value) = iter.value else { continue };
                    let mut uses = false;
                    self.store
                        .for_each_prim(value, &mut |_, node| uses |= matches!(node, PrimExpr::Var(var) if *var == head.var));
                    if !uses {
                        continue;
                    }
                    let thread = match kind {
                        ForKind::Thread(tag) => Some(self.store.str(tag).to_owned()),
                        _ => None,
                    };
                    let fine = iter.kind == IterKind::Spatial
                        || iter.kind == IterKind::Reduce && thread.is_some_and(|tag| tag.starts_with("threadIdx"));
                    if !fine {
                        return refuse(
                            "ScheduleError: The \"parallel\"/\"vectorized\"/\"bind\" loop can only be bound to data-parallel \
                             block iters, or to reduction ones with threadIdx",
                        );
                    }
                }
            }
        }
        let head = For { kind, ..head };
        let stmt = tree.nodes[at].stmt;
        let new = self.store.rebuild_stmt(stmt, Stmt::For(head, body));
        self.replace(stmt, new, &[], &[])
    }
}
