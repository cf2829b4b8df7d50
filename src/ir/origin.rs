//! The origins of nodes. Recorded by the store and the rewriter, never by pass authors.

use super::expr::ExprId;
use crate::diag::Span;

/// Number of a rewrite in the store's log, from 0.
pub type RewriteId = u32;

/// The origin of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Made without a record (shared leaves, test code).
    Unknown,
    /// Read from the text at this place.
    Parsed(Span),
    /// A copy of an older node over new children or with a new type; it means the same.
    Rebuilt(ExprId),
    /// The replacement of an older node by a rewrite.
    Rewrote {
        /// The replaced node.
        pre: ExprId,
        /// The rewrite that made it.
        rewrite: RewriteId,
    },
    /// Made by a rewrite, replacing nothing.
    Made(RewriteId),
}

/// One rewrite: the change of a pass at one place.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// Name of the rule, by default that of the pass.
    pub rule: &'static str,
    /// The node that the rule matched.
    pub pre: ExprId,
    /// The replacement.
    pub post: ExprId,
}

/// The rewrites of a session, in order, and how many more are allowed.
#[derive(Clone, Debug, Default)]
pub struct RewriteLog {
    /// All rewrites so far.
    pub done: Vec<Rewrite>,
    /// The number of rewrites that may still happen; `None` is no limit. With fuel k a pass stops rewriting after k
    /// places and leaves the rest as it was.
    pub fuel: Option<u32>,
}

impl RewriteLog {
    /// True if another rewrite may happen.
    pub fn has_fuel(&self) -> bool {
        self.fuel != Some(0)
    }

    /// Records a rewrite that removes `what`, a whole function. It has no replacement, so it is named on both sides. To
    /// be called only with fuel.
    pub fn record_removal(&mut self, rule: &'static str, what: ExprId) {
        self.done.push(Rewrite { rule, pre: what, post: what });
        if let Some(fuel) = &mut self.fuel {
            *fuel -= 1;
        }
    }
}
