//! Follows an expression from its origin in the opened program through every step of the run.
//!
//! A node of one version and a node of the next are the same expression when one is the other, a copy of it, its
//! replacement, or a product of the rewrite that removed it. The store's origins and log tell; no text is compared.

use super::place::label;
use crate::diag::Span;
use crate::ir::walk::{for_each_binder, for_each_part};
use crate::ir::{Expr, ExprId, IdMap, Module, Origin, Store};
use crate::pass::trace::{Trace, Version};
use std::ops::Range;

crate::words! {
    /// The fate of an expression on the way to a version.
    pub enum Fate {
        /// It stands in the program that was opened.
        Source = "source",
        /// Nothing, or it was copied and reads as before.
        Kept = "kept",
        /// It was copied over other operands, or has another type.
        Rebuilt = "rebuilt",
        /// Another node replaces it.
        Rewritten = "rewritten",
        /// It was made here; before, at most its origin existed.
        Made = "made",
        /// It is gone.
        Removed = "removed",
    }
}

/// An expression in one version.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The version.
    pub version: Version,
    /// The step that made the version; none for the program that was opened.
    pub step: Option<usize>,
    /// The fate of the expression on the way to this version.
    pub fate: Fate,
    /// The rule that rewrote or made it; empty for none.
    pub rule: &'static str,
    /// The node that stands for it in this version; none when it is gone.
    pub node: Option<ExprId>,
    /// Names that node in a word or two.
    pub label: String,
}

/// The history of an expression.
#[derive(Clone, Debug)]
pub struct History {
    /// The version that was asked about.
    pub version: Version,
    /// The expression in it.
    pub node: ExprId,
    /// The place in the source that it comes from.
    pub source: Option<Span>,
    /// One entry for every version that has it, and one for the version that no longer has it.
    pub entries: Vec<Entry>,
}

/// The descent of a node from another: the weakest link between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tie {
    Same,
    Copy,
    Replacement,
    Product,
}

/// Returns the node that an expression is looked up by: all variables of one identity are one.
fn canonical(store: &Store, id: ExprId) -> ExprId {
    match store.expr(id) {
        Expr::Var(var) => store.var_use(store.var_data(var).vid).unwrap_or(id),
        _ => id,
    }
}

/// Returns the node that a node descends from directly, how, and by which rewrite.
fn parent(store: &Store, id: ExprId) -> Option<(ExprId, Tie, &'static str)> {
    let rule = |rewrite: u32| store.log.done.get(rewrite as usize).map_or("", |rewrite| rewrite.rule);
    match store.origin(id) {
        Origin::Rebuilt(pre) => Some((pre, Tie::Copy, "")),
        Origin::Rewrote { pre, rewrite } => Some((pre, Tie::Replacement, rule(rewrite))),
        Origin::Made(rewrite) => Some((store.log.done.get(rewrite as usize)?.pre, Tie::Product, rule(rewrite))),
        Origin::Parsed(_) | Origin::Unknown => None,
    }
}

/// True if a later node of the same first ancestor is more than a copy of an earlier one.
pub(super) fn is_rewritten(store: &Store, earlier: ExprId, later: ExprId) -> bool {
    let mut at = later;
    while at != earlier {
        match parent(store, at) {
            Some((pre, Tie::Copy, _)) => at = pre,
            Some((_, Tie::Replacement, _)) => return true,
            _ => return false,
        }
    }
    false
}

/// True if a copy differs from its original: one of its operands is another expression than before, or its attributes
/// or its type are others.
fn is_rebuilt(store: &Store, older: ExprId, newer: ExprId) -> bool {
    if older == newer {
        return false;
    }
    // The value of a let stands in its line.
    if let (Expr::Let { value: old, .. }, Expr::Let { value: new, .. }) = (store.expr(older), store.expr(newer)) {
        let nested = matches!(store.expr(new), Expr::Let { .. });
        return old != new && (nested || is_rewritten(store, old, new) || is_rebuilt(store, old, new));
    }
    let parts = |id: ExprId| {
        let mut parts = Vec::new();
        for_each_part(store, id, |part| parts.push(part));
        for_each_binder(store, id, |var| parts.extend(store.var_use(var)));
        parts
    };
    let attrs = |id: ExprId| match store.expr(id) {
        Expr::Call { info, .. } => info.and_then(|info| store.call_info(info).attrs),
        _ => None,
    };
    let (old, new) = (parts(older), parts(newer));
    old.len() != new.len()
        || old.iter().zip(&new).any(|(a, b)| !is_same_operand(store, *a, *b))
        || store.checked_type(older) != store.checked_type(newer)
        || attrs(older) != attrs(newer)
}

/// True if two operands are written the same: they are one variable, or one descends from the other.
fn is_same_operand(store: &Store, a: ExprId, b: ExprId) -> bool {
    let is_leaf = |id: ExprId| matches!(store.expr(id), Expr::Var(_) | Expr::Constant(_) | Expr::Global(_) | Expr::Op(_));
    let (a, b) = (canonical(store, a), canonical(store, b));
    a == b || (!is_leaf(a) && !is_leaf(b) && store.first_ancestor(a) == store.first_ancestor(b))
}

/// Everything in a version, those that use others first.
struct Members {
    order: Vec<ExprId>,
    has: IdMap<Expr, ExprId>,
}

impl Members {
    fn of(store: &Store, module: &Module) -> Members {
        let mut members = Members { order: Vec::new(), has: IdMap::new() };
        let mut stack: Vec<ExprId> = module.functions().iter().rev().map(|(_, function)| *function).collect();
        while let Some(id) = stack.pop() {
            let key = canonical(store, id);
            if members.has.contains(key) {
                continue;
            }
            members.has.insert(key, id);
            members.order.push(id);
            for_each_part(store, id, |part| stack.push(part));
            for_each_binder(store, id, |var| stack.extend(store.var_use(var)));
        }
        members
    }

    fn get(&self, store: &Store, id: ExprId) -> Option<ExprId> {
        self.has.get(canonical(store, id)).copied()
    }
}

/// Returns the steps that made the versions: the innermost that ends with it, or the one that gave it to an inner step.
pub(super) fn makers(trace: &Trace) -> Vec<Option<usize>> {
    let mut makers: Vec<Option<usize>> = vec![None; trace.versions.len()];
    let deeper = |now: Option<usize>, step: usize| now.is_none_or(|now| trace.steps[now].depth < trace.steps[step].depth);
    for (index, step) in trace.steps.iter().enumerate() {
        if step.changed() && deeper(makers[step.after], index) {
            makers[step.after] = Some(index);
        }
    }
    for step in &trace.steps {
        let maker = &mut makers[step.before];
        if maker.is_none() && step.before > 0 {
            *maker = step.parent;
        }
    }
    makers
}

/// Follows a node of a version back to the source and forward to the last version. Linear in the sizes of the versions.
pub(super) fn history(store: &Store, trace: &Trace, version: Version, node: ExprId) -> History {
    let makers = makers(trace);
    let mut entries = back(store, trace, version, node);
    let source = match entries.first() {
        Some(Entry { fate: Fate::Source, node: Some(first), .. }) => match store.expr(*first) {
            Expr::Var(var) => store.var_span(store.var_data(var).vid),
            _ => store.source_span(*first),
        },
        _ => store.source_span(node),
    };
    entries.extend(forward(store, trace, &makers, version, node));
    for entry in &mut entries {
        entry.step = makers[entry.version];
        entry.label = entry.node.map_or(String::new(), |node| label(store, node));
    }
    History { version, node, source, entries }
}

fn entry(version: Version, fate: Fate, rule: &'static str, node: Option<ExprId>) -> Entry {
    Entry { version, step: None, fate, rule, node, label: String::new() }
}

/// Returns the entries up to `version`, oldest first.
fn back(store: &Store, trace: &Trace, version: Version, node: ExprId) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut node = node;
    let mut at = version;
    while at > 0 {
        let before = Members::of(store, &trace.versions[at - 1]);
        let (mut tie, mut rule) = (Tie::Same, "");
        let mut older = Some(node);
        let found = loop {
            let Some(id) = older else { break None };
            if let Some(found) = before.get(store, id) {
                break Some(found);
            }
            older = parent(store, id).map(|(pre, how, by)| {
                if how >= tie && how > Tie::Copy {
                    rule = by;
                }
                tie = tie.max(how);
                pre
            });
        };
        let fate = match (found, tie) {
            (None, _) | (_, Tie::Product) => Fate::Made,
            (_, Tie::Replacement) => Fate::Rewritten,
            (Some(found), _) if is_rebuilt(store, found, node) => Fate::Rebuilt,
            _ => Fate::Kept,
        };
        entries.push(entry(at, fate, rule, Some(node)));
        at -= 1;
        match found {
            Some(found) => node = found,
            None => {
                entries.reverse();
                return entries;
            }
        }
    }
    entries.push(entry(0, Fate::Source, "", Some(node)));
    entries.reverse();
    entries
}

/// The descent of nodes from a root, remembered for those that were looked up.
struct Descent<'s> {
    store: &'s Store,
    root: ExprId,
    known: IdMap<Expr, Option<Tie>>,
}

impl Descent<'_> {
    fn tie(&mut self, id: ExprId) -> Option<Tie> {
        let mut chain = Vec::new();
        let mut at = id;
        let mut tie = loop {
            if canonical(self.store, at) == self.root {
                break Some(Tie::Same);
            }
            if let Some(known) = self.known.get(at) {
                break *known;
            }
            let Some((pre, how, _)) = parent(self.store, at) else {
                self.known.insert(at, None);
                break None;
            };
            chain.push((at, how));
            at = pre;
        };
        for (at, how) in chain.into_iter().rev() {
            tie = tie.map(|tie| tie.max(how));
            self.known.insert(at, tie);
        }
        tie
    }
}

/// Returns the entries after `version`.
fn forward(store: &Store, trace: &Trace, makers: &[Option<usize>], version: Version, node: ExprId) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut now = node;
    let mut descent = Descent { store, root: canonical(store, node), known: IdMap::new() };
    for at in version + 1..trace.versions.len() {
        let members = Members::of(store, &trace.versions[at]);
        let next = members.get(store, now).map(|same| (same, Tie::Same)).or_else(|| descendant(&mut descent, &members));
        // It may be gone because another, older one is used in its place.
        let next = next.or_else(|| {
            let stand_in = replaced_by(&mut descent, &members, done(trace, makers[at]))?;
            descent = Descent { store, root: canonical(store, stand_in), known: IdMap::new() };
            Some((stand_in, Tie::Replacement))
        });
        let Some((found, tie)) = next else {
            entries.push(entry(at, Fate::Removed, removed_by(store, now, done(trace, makers[at])), None));
            return entries;
        };
        // `tie` is since the first version; the tie to the last node is the change on the way to this one.
        let since = Descent { store, root: canonical(store, now), known: IdMap::new() }.tie(found).unwrap_or(tie);
        let fate = match since {
            Tie::Replacement | Tie::Product => Fate::Rewritten,
            _ if is_rebuilt(store, now, found) => Fate::Rebuilt,
            _ => Fate::Kept,
        };
        let rule = if fate == Fate::Rewritten { rule_between(store, now, found) } else { "" };
        entries.push(entry(at, fate, rule, Some(found)));
        now = found;
    }
    entries
}

/// Returns the nearest descendant that a version has; of several equals the one that is used by the others.
fn descendant(descent: &mut Descent<'_>, members: &Members) -> Option<(ExprId, Tie)> {
    let mut best: Option<(ExprId, Tie)> = None;
    for &id in &members.order {
        if let Some(tie) = descent.tie(id)
            && best.is_none_or(|(_, least)| tie < least)
        {
            best = Some((id, tie));
        }
    }
    best
}

/// Finds the existing node that a rewrite put in the place of an expression: the first of two that are equal.
fn replaced_by(descent: &mut Descent<'_>, members: &Members, rewrites: Range<usize>) -> Option<ExprId> {
    let log = &descent.store.log.done;
    log.get(rewrites)?.iter().rev().filter(|rewrite| rewrite.post != rewrite.pre).find_map(|rewrite| {
        descent.tie(rewrite.pre)?;
        let store = descent.store;
        let from_post = &mut Descent { store, root: canonical(store, rewrite.post), known: IdMap::new() };
        members.get(store, rewrite.post).or_else(|| Some(descendant(from_post, members)?.0))
    })
}

/// Returns the rewrites of the step that made a version.
fn done(trace: &Trace, maker: Option<usize>) -> Range<usize> {
    maker.map_or(0..0, |step| trace.steps[step].rewrites.clone())
}

/// Returns the rule of the last rewrite on the way from one node to a descendant of it.
fn rule_between(store: &Store, from: ExprId, to: ExprId) -> &'static str {
    let root = canonical(store, from);
    let mut at = to;
    while canonical(store, at) != root {
        match parent(store, at) {
            Some((_, tie, rule)) if tie > Tie::Copy => return rule,
            Some((pre, ..)) => at = pre,
            None => break,
        }
    }
    let by_log = store.log.done.iter().rev().find(|rewrite| canonical(store, rewrite.pre) == root);
    by_log.map_or("", |rewrite| rewrite.rule)
}

/// Returns the rule of the last rewrite of an expression, if there is one.
fn removed_by(store: &Store, node: ExprId, rewrites: Range<usize>) -> &'static str {
    let log = store.log.done.get(rewrites).unwrap_or_default();
    log.iter().rev().find(|rewrite| rewrite.pre == node).map_or("", |rewrite| rewrite.rule)
}

impl History {
    /// Returns the step that introduced the expression, when it does not come from the source.
    pub fn introduced_by(&self) -> Option<usize> {
        self.entries.first().filter(|entry| entry.fate == Fate::Made)?.step
    }
}
