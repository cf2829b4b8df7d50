//! Records the origins of the nodes of a store, and the rewrites that made them.

use super::Store;
use crate::diag::Span;
use crate::ir::expr::{ExprId, VarId};
use crate::ir::id::Id;
use crate::ir::origin::{Origin, Rewrite, RewriteId};

/// A point in the session's history, to tell nodes made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub(super) exprs: usize,
    pub(super) vars: usize,
}

impl Store {
    /// Records the number that the text binds a node to: the 5 of `%5 = ...`. The first counts. For
    /// the parser only.
    pub fn set_number(&mut self, id: ExprId, number: u32) {
        self.numbers.entry(id).or_insert(number);
    }

    /// Returns the number that the text binds a node to.
    pub fn number(&self, id: ExprId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// Returns one more than the largest number in the text.
    pub fn next_number(&self) -> u32 {
        self.numbers.values().max().map_or(0, |n| n.saturating_add(1))
    }

    /// Records which of the text's dataflow blocks binds a variable. For the parser only.
    pub fn set_read_in_block(&mut self, var: VarId, block: u32) {
        self.read_blocks.insert(var, block);
    }

    /// Returns the dataflow block of the text that a variable was read in.
    pub fn read_in_block(&self, var: VarId) -> Option<u32> {
        self.read_blocks.get(&var).copied()
    }

    /// Returns the oldest node that a node is a copy or the replacement of: itself when it is neither.
    pub fn first_ancestor(&self, id: ExprId) -> ExprId {
        let mut id = id;
        while let Origin::Rebuilt(pre) | Origin::Rewrote { pre, .. } = self.origin(id) {
            id = pre;
        }
        id
    }

    /// Returns the origin of a node.
    pub fn origin(&self, id: ExprId) -> Origin {
        self.origins[id.index()]
    }

    /// Records that a node was read from the text. For the parser only.
    pub fn set_span(&mut self, id: ExprId, span: Span) {
        self.origins[id.index()] = Origin::Parsed(span);
    }

    /// Returns the place in the text that a node descends from: its own, or that of the node it replaces.
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

    /// Forgets the places of nodes parsed since `mark` from a text that is not the program: they count as made.
    pub fn disown(&mut self, mark: Mark) {
        let origin = self.current.map_or(Origin::Unknown, Origin::Made);
        for place in &mut self.origins[mark.exprs..] {
            if matches!(place, Origin::Parsed(_)) {
                *place = origin;
            }
        }
        self.numbers.retain(|id, _| id.index() < mark.exprs);
        for index in mark.vars..self.vars.len() {
            self.var_spans.remove(Id::from_index(index));
        }
    }

    /// Moves the places of nodes parsed since `mark`, from a text that was made of the program's.
    pub fn move_places(&mut self, mark: Mark, place: impl Fn(Span) -> Span) {
        for origin in &mut self.origins[mark.exprs..] {
            if let Origin::Parsed(span) = origin {
                *span = place(*span);
            }
        }
        for index in mark.vars..self.vars.len() {
            if let Some(span) = self.var_spans.get_mut(Id::from_index(index)) {
                *span = place(*span);
            }
        }
    }

    /// Returns the present end of the session's nodes.
    pub fn mark(&self) -> Mark {
        Mark { exprs: self.exprs.len(), vars: self.vars.len() }
    }

    /// True if a node was made after `mark`.
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

    /// Does one rewrite of `pre` and records it: the nodes that `f` makes are products of the rewrite, and its result
    /// replaces `pre`. Nothing is recorded when `f` returns `post`, which is `pre` over its new children, unless it
    /// called [`Store::keep_products`]. Without fuel `f` is not called.
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
        self.products_stand = false;
        let result = f(self);
        self.current = None;
        let rule = self.current_rule.take().unwrap_or(rule);
        if result == post && !self.products_stand {
            // The new nodes belong to no rewrite; the next one has this number and may be of one of them.
            self.disown_products(mark, number);
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

    /// Inside a rewrite: the products stand beside the unchanged node, so the rewrite counts although its result is the
    /// same.
    pub fn keep_products(&mut self) {
        self.products_stand = true;
    }

    fn disown_products(&mut self, mark: Mark, number: RewriteId) {
        self.origins[mark.exprs..].iter_mut().filter(|o| **o == Origin::Made(number)).for_each(|o| *o = Origin::Unknown);
    }

    /// Records a rewrite of a driver whose rewrites nest: nodes made since `mark` that belong to no inner rewrite are
    /// its products. While another rewrite is under way, it is a part of that.
    pub fn record_nested(&mut self, mark: Mark, rewrite: Rewrite) {
        let Rewrite { pre, post, .. } = rewrite;
        let number = self.current.unwrap_or(self.log.done.len() as RewriteId);
        // A product copied since it was made stands for `pre` all the same.
        let mut made = post;
        while let Origin::Rebuilt(older) = self.origin(made)
            && self.is_newer(older, mark)
        {
            made = older;
        }
        let is_new = self.is_newer(made, mark) && matches!(self.origin(made), Origin::Unknown | Origin::Made(_));
        if self.current.is_none() {
            self.origins[mark.exprs..].iter_mut().filter(|o| **o == Origin::Unknown).for_each(|o| *o = Origin::Made(number));
            self.log.done.push(rewrite);
            if let Some(fuel) = &mut self.log.fuel {
                *fuel = fuel.saturating_sub(1);
            }
        }
        if is_new && self.origin(made) == Origin::Made(number) {
            self.origins[made.index()] = Origin::Rewrote { pre, rewrite: number };
        }
    }

    /// Makes nodes products of the next rewrite that is recorded, until [`Store::end_products`]. For passes that are
    /// not written against the rewriting driver; in between no driver records anything of its own.
    pub fn begin_products(&mut self) {
        self.current = Some(self.log.done.len() as RewriteId);
    }

    /// True if products are recorded.
    pub fn makes_products(&self) -> bool {
        self.current.is_some()
    }

    /// Ends [`Store::begin_products`]. Nodes made since `mark` that belong to no rewrite yet belong to `claim`, or get
    /// no origin.
    pub fn end_products(&mut self, mark: Mark, claim: Option<Rewrite>) {
        let number = self.log.done.len() as RewriteId;
        self.current = None;
        if !self.has_products(mark) {
            return;
        }
        match claim.filter(|claim| self.origin(self.first_ancestor(claim.pre)) != Origin::Made(number)) {
            Some(claim) => self.log.done.push(claim),
            None => self.disown_products(mark, number),
        }
    }

    /// Records that `post` replaces `pre`. The nodes made since the last record are its products. `root` is the node
    /// that the pass looks at, and stands for a `pre` that is itself only a product. False without fuel: then `post`
    /// must not be used.
    pub fn record(&mut self, rule: &'static str, root: ExprId, pre: ExprId, post: ExprId) -> bool {
        let number = self.log.done.len() as RewriteId;
        // Ancestors lead to older rewrites only, or following them would not end.
        let pre = if self.origin(self.first_ancestor(pre)) == Origin::Made(number) { root } else { pre };
        if !self.log.has_fuel() || self.origin(self.first_ancestor(pre)) == Origin::Made(number) {
            return self.log.has_fuel();
        }
        if let Some(fuel) = &mut self.log.fuel {
            *fuel -= 1;
        }
        self.log.done.push(Rewrite { rule, pre, post });
        if self.origin(post) == Origin::Made(number) {
            self.origins[post.index()] = Origin::Rewrote { pre, rewrite: number };
        }
        if self.current.is_some() {
            self.current = Some(number + 1);
        }
        true
    }

    /// True if a node made after `mark` belongs to no rewrite yet.
    pub fn has_products(&self, mark: Mark) -> bool {
        let pending = Origin::Made(self.log.done.len() as RewriteId);
        self.origins[mark.exprs..].contains(&pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Expr, OpId};

    #[test]
    fn products_of_a_rewrite_recorded_from_outside_lead_back_to_the_text() {
        let store = &mut Store::new();
        let op = store.add(Expr::Op(OpId(0)));
        let read = store.add_call(op, &[op], None);
        store.set_span(read, Span::new(3, 5));
        let mark = store.mark();
        store.begin_products();
        let made = store.add_call(op, &[], None);
        assert!(store.has_products(mark));
        // Of a node that was made just now the record is that of the whole.
        let again = store.add_call(op, &[made], None);
        assert!(store.record("mine", read, made, again));
        assert!(!store.has_products(mark));
        store.end_products(mark, None);
        assert_eq!(store.origin(again), Origin::Rewrote { pre: read, rewrite: 0 });
        assert_eq!(store.source_span(made), Some(Span::new(3, 5)));
        assert_eq!(store.source_span(again), Some(Span::new(3, 5)));
    }

    /// Following the origin of such a node never ended.
    #[test]
    fn products_of_a_rewrite_that_changes_nothing_are_not_those_of_the_next() {
        let store = &mut Store::new();
        let op = store.add(Expr::Op(OpId(0)));
        let mut made = None;
        store.rewrite("nothing", op, op, |store| {
            made = Some(store.add_call(op, &[], None));
            op
        });
        let made = made.expect("it was made");
        let again = store.rewrite("something", made, made, |store| store.add_call(op, &[made], None));
        assert_eq!(store.origin(again), Origin::Rewrote { pre: made, rewrite: 0 });
        assert_eq!((store.source_span(again), store.first_ancestor(again)), (None, made));
    }

    #[test]
    fn a_record_about_products_alone_is_left_out() {
        let store = &mut Store::new();
        let op = store.add(Expr::Op(OpId(0)));
        store.begin_products();
        let made = store.add_call(op, &[], None);
        assert!(store.record("mine", made, made, made));
        assert!(store.log.done.is_empty());
        store.end_products(Mark { exprs: 0, vars: 0 }, None);
        assert_eq!(store.origin(made), Origin::Unknown);
        assert_eq!(store.source_span(made), None);
    }
}
