//! Where the nodes of a store came from, and the rewrites that made them.

use super::Store;
use crate::diag::Span;
use crate::ir::expr::ExprId;
use crate::ir::origin::{Origin, Rewrite, RewriteId};

/// A place in the session's history, to measure what was made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub(super) exprs: usize,
}

impl Store {
    /// Records the number that the text binds a node to: the 5 of `%5 = ...`. The first counts. For
    /// the parser only.
    pub fn set_number(&mut self, id: ExprId, number: u32) {
        self.numbers.entry(id).or_insert(number);
    }

    /// The number that the text binds a node to.
    pub fn number(&self, id: ExprId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// One more than the largest number in the text.
    pub fn next_number(&self) -> u32 {
        self.numbers.values().max().map_or(0, |n| n.saturating_add(1))
    }

    /// The oldest node that a node is a copy or the replacement of: itself when it is neither.
    pub fn first_ancestor(&self, id: ExprId) -> ExprId {
        let mut id = id;
        while let Origin::Rebuilt(pre) | Origin::Rewrote { pre, .. } = self.origin(id) {
            id = pre;
        }
        id
    }

    /// Where a node came from.
    pub fn origin(&self, id: ExprId) -> Origin {
        self.origins[id.index()]
    }

    /// Records that a node was read from the text. For the parser only.
    pub fn set_span(&mut self, id: ExprId, span: Span) {
        self.origins[id.index()] = Origin::Parsed(span);
    }

    /// The place in the text that a node descends from: its own, or that of what it replaces.
    pub fn source_span(&self, id: ExprId) -> Option<Span> {
        let mut id = id;
        loop {
            match self.origin(id) {
                Origin::Parsed(span) => return Some(span),
                Origin::Rebuilt(pre) | Origin::Rewrote { pre, .. } => id = pre,
                Origin::Made(rewrite) => id = self.log.done.get(rewrite as usize)?.pre,
                Origin::Unknown => return None,
            }
        }
    }

    /// Where the session stands now.
    pub fn mark(&self) -> Mark {
        Mark { exprs: self.exprs.len() }
    }

    /// Whether a node was made after `mark`.
    pub fn is_newer(&self, id: ExprId, mark: Mark) -> bool {
        id.index() >= mark.exprs
    }

    /// Names the rewrite under way more precisely than its driver could: the rule that was found
    /// to apply. Does nothing outside of a rewrite.
    pub fn set_rule(&mut self, rule: &'static str) {
        if self.current.is_some() {
            self.current_rule = Some(rule);
        }
    }

    /// Does one rewrite of `pre` and records it: the nodes that `f` makes are products of the
    /// rewrite, and what it returns replaces `pre`. Nothing is recorded when `f` returns `post`,
    /// which is `pre` over its new children. Without fuel `f` is not called.
    ///
    /// Rewrites do not nest: inside `f` a further call is part of the outer rewrite.
    pub fn rewrite(&mut self, rule: &'static str, pre: ExprId, post: ExprId, f: impl FnOnce(&mut Store) -> ExprId) -> ExprId {
        if !self.log.has_fuel() {
            return post;
        }
        if self.current.is_some() {
            return f(self);
        }
        let mark = self.mark();
        let number = self.log.done.len() as RewriteId;
        self.current = Some(number);
        self.current_rule = None;
        let result = f(self);
        self.current = None;
        let rule = self.current_rule.take().unwrap_or(rule);
        if result == post {
            return post;
        }
        if let Some(fuel) = &mut self.log.fuel {
            *fuel -= 1;
        }
        self.log.done.push(Rewrite { rule, pre, post: result });
        if self.is_newer(result, mark) && matches!(self.origin(result), Origin::Made(_)) {
            self.origins[result.index()] = Origin::Rewrote { pre, rewrite: number };
        }
        result
    }
}
