//! Dataflow patterns and rewriting with them (TVM's `dataflow_matcher.cc`, as far as the passes here
//! use it).
//!
//! Rewriting with one pattern has two steps, as in TVM. First every node, users before their operands,
//! is tried as the root of a match; a match is refused when a node inside it is inside another match, or has an outside
//! use that does not flow back into the root. Then the program is rebuilt and each root replaced.

use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Expr, ExprId, IdMap, Module, OpId, Store};
use crate::ops::{self, OpPattern};
use crate::passes::any::dominators::Forest;

/// The name of a part of a pattern. Parts of one name match one and the same node.
pub type Slot = &'static str;

/// A pattern. It is a constant of the program, so matching it may recurse.
#[derive(Clone, Copy)]
pub enum Pat {
    /// Any node.
    Any(Slot),
    /// A constant.
    Const(Slot),
    /// A call of an operator with one of these names on these arguments. `add` and `multiply` also
    /// match with their arguments swapped.
    Call(&'static [&'static str], &'static [Pat]),
    /// A call of a broadcasting operator on these arguments.
    Broadcast(&'static [Pat]),
    /// A named pattern, whose match is remembered.
    Named(Slot, &'static Pat),
    /// The first of these that matches.
    Or(&'static [Pat]),
    /// A chain of one or more casts over what the pattern matches.
    Casts(&'static Pat),
}

/// A match: the root, and the nodes that the named parts matched.
pub struct Match {
    /// The root before the rewrite.
    pub pre: ExprId,
    /// The root over its rewritten children.
    pub post: ExprId,
    parts: Vec<(Slot, ExprId, ExprId)>,
}

impl Match {
    /// Returns the rewritten node of a named part. Panics when the pattern has no such part, or not on this way.
    pub fn get(&self, slot: Slot) -> ExprId {
        self.find(slot).unwrap_or_else(|| panic!("the pattern has no part `{slot}`")).1
    }

    /// Returns the original node of a named part, which has its type.
    pub fn pre_of(&self, slot: Slot) -> ExprId {
        self.find(slot).unwrap_or_else(|| panic!("the pattern has no part `{slot}`")).0
    }

    /// True if a part was matched on this way through the pattern.
    pub fn has(&self, slot: Slot) -> bool {
        self.find(slot).is_some()
    }

    fn find(&self, slot: Slot) -> Option<(ExprId, ExprId)> {
        self.parts.iter().find(|(s, ..)| *s == slot).map(|(_, pre, post)| (*pre, *post))
    }
}

/// A pattern and the rewrite of its matches.
pub struct Rule {
    /// The name of the rule in the log.
    pub name: &'static str,
    /// The pattern to look for.
    pub pattern: Pat,
    /// Returns the replacement of a match; `None` leaves it.
    pub apply: fn(&mut Store, &Module, &Match) -> Option<ExprId>,
}

/// The nodes of a program in post-order, and its calls by operator: made once for all rules that look at the same
/// program.
pub struct Sites {
    order: Vec<ExprId>,
    /// The operators that are called.
    ops: Vec<OpId>,
    /// Positions of calls in `order`, with those of their operators in `ops`.
    calls: Vec<(usize, usize)>,
}

impl Sites {
    /// Collects everything that is reachable from `root`.
    pub fn new(store: &Store, root: ExprId) -> Sites {
        let order = post_order(store, root);
        let mut sites = Sites { order, ops: Vec::new(), calls: Vec::new() };
        for (place, &id) in sites.order.iter().enumerate() {
            let Some(op) = store.called_op(id) else { continue };
            let known = sites.ops.iter().position(|known| *known == op);
            let index = known.unwrap_or_else(|| {
                sites.ops.push(op);
                sites.ops.len() - 1
            });
            sites.calls.push((place, index));
        }
        sites
    }

    /// Returns all nodes, children before parents.
    pub fn order(&self) -> &[ExprId] {
        &self.order
    }

    /// Finds the matches of a rule that may be replaced together. Types are not looked at.
    pub fn find(&self, store: &Store, rule: &Rule) -> Found {
        Finder::find(store, self, &rule.pattern)
    }
}

/// True if a call of this operator can be the root of a match.
fn may_begin(pattern: &Pat, op: OpId) -> bool {
    match pattern {
        Pat::Any(_) => true,
        Pat::Const(_) => false,
        Pat::Call(names, _) => names.contains(&ops::info(op).name),
        Pat::Broadcast(_) => ops::info(op).pattern == Some(OpPattern::Broadcast),
        Pat::Named(_, inner) => may_begin(inner, op),
        Pat::Or(options) => options.iter().any(|option| may_begin(option, op)),
        Pat::Casts(_) => ops::info(op).name == "cast",
    }
}

/// True if a program that calls these operators may contain a match.
fn may_occur(pattern: &Pat, called: &[OpId]) -> bool {
    let occurs = |pattern: &Pat| may_occur(pattern, called);
    match pattern {
        Pat::Any(_) | Pat::Const(_) => true,
        Pat::Call(_, arguments) | Pat::Broadcast(arguments) => {
            called.iter().any(|op| may_begin(pattern, *op)) && arguments.iter().all(occurs)
        }
        Pat::Named(_, inner) | Pat::Casts(inner) => occurs(inner),
        Pat::Or(options) => options.iter().any(occurs),
    }
}

/// The matches to which a rule may be applied at once: their roots and parts.
pub type Found = Vec<(ExprId, Parts)>;

/// Rewrites `root` with one rule at its matches. The program must have types.
pub fn rewrite_found(store: &mut Store, module: &Module, root: ExprId, found: Found, rule: &Rule) -> ExprId {
    // The innermost match that changes something sees its operands unchanged. So if no match changes anything now, none
    // will: most additions of a constant do not add zero.
    let changes = |(id, parts): &(ExprId, Parts)| {
        let parts = parts.iter().map(|&(slot, id)| (slot, id, id)).collect();
        (rule.apply)(store, module, &Match { pre: *id, post: *id, parts }).is_some_and(|next| next != *id)
    };
    if !found.iter().any(changes) {
        return root;
    }
    let mut apply = Apply { rule, module, roots: IdMap::new(), done: IdMap::new() };
    for (id, parts) in found {
        apply.roots.insert(id, parts);
    }
    rewrite(store, root, &mut apply)
}

type Parts = Vec<(Slot, ExprId)>;

struct Apply<'a> {
    rule: &'a Rule,
    module: &'a Module,
    roots: IdMap<Expr, Parts>,
    done: IdMap<Expr, ExprId>,
}

impl ExprMutator for Apply<'_> {
    fn rule(&self) -> &'static str {
        self.rule.name
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let mut result = post;
        if let Some(parts) = self.roots.remove(pre) {
            let become_ = |id: ExprId| self.done.get(id).copied().unwrap_or(id);
            let parts = parts.into_iter().map(|(slot, id)| (slot, id, become_(id))).collect();
            result = (self.rule.apply)(store, self.module, &Match { pre, post, parts }).unwrap_or(post);
        }
        self.done.insert(pre, result);
        result
    }
}

/// A match in progress.
#[derive(Default)]
struct Trail {
    parts: Parts,
    /// Calls that are part of the pattern.
    inside: Vec<ExprId>,
    /// Nodes that the pattern leaves open.
    inputs: Vec<ExprId>,
}

impl Trail {
    fn mark(&self) -> (usize, usize, usize) {
        (self.parts.len(), self.inside.len(), self.inputs.len())
    }

    fn back(&mut self, mark: (usize, usize, usize)) {
        self.parts.truncate(mark.0);
        self.inside.truncate(mark.1);
        self.inputs.truncate(mark.2);
    }

    fn name(&mut self, slot: Slot, id: ExprId) -> bool {
        match self.parts.iter().find(|(s, _)| *s == slot) {
            Some((_, known)) => *known == id,
            None => {
                self.parts.push((slot, id));
                true
            }
        }
    }

    fn matches(&mut self, store: &Store, pattern: &Pat, id: ExprId) -> bool {
        let mark = self.mark();
        let fits = match pattern {
            Pat::Any(slot) => {
                self.inputs.push(id);
                self.name(slot, id)
            }
            Pat::Const(slot) => matches!(store.expr(id), Expr::Constant(_)) && self.name(slot, id),
            Pat::Named(slot, inner) => match self.parts.iter().find(|(s, _)| s == slot) {
                Some((_, known)) => *known == id,
                None => self.matches(store, inner, id) && self.name(slot, id),
            },
            Pat::Or(options) => options.iter().any(|option| self.matches(store, option, id)),
            Pat::Call(names, patterns) => match store.called_op(id).map(|op| ops::info(op).name) {
                Some(name) if names.contains(&name) => {
                    let commutes = matches!(*names, ["add"] | ["multiply"]);
                    self.arguments(store, patterns, id, false) || commutes && self.arguments(store, patterns, id, true)
                }
                _ => false,
            },
            Pat::Broadcast(patterns) => {
                let broadcasts = |op| ops::info(op).pattern == Some(OpPattern::Broadcast);
                store.called_op(id).is_some_and(broadcasts) && self.arguments(store, patterns, id, false)
            }
            Pat::Casts(inner) => self.casts(store, inner, id),
        };
        if !fits {
            self.back(mark);
        }
        fits
    }

    fn arguments(&mut self, store: &Store, patterns: &[Pat], id: ExprId, swapped: bool) -> bool {
        let mark = self.mark();
        let Some(call) = store.call(id) else { return false };
        if call.args.len() != patterns.len() {
            return false;
        }
        let fits = patterns.iter().enumerate().all(|(i, pattern)| {
            let place = if swapped { patterns.len() - 1 - i } else { i };
            self.matches(store, pattern, store.item(call.args, place))
        });
        if fits {
            self.inside.push(id);
        } else {
            self.back(mark);
        }
        fits
    }

    /// Walks down the casts, in a loop because the chain may be long.
    fn casts(&mut self, store: &Store, inner: &Pat, id: ExprId) -> bool {
        let mut id = id;
        let mut any = false;
        while store.called_op(id).is_some_and(|op| ops::info(op).name == "cast") {
            any = true;
            self.inside.push(id);
            let Some(call) = store.call(id) else { return false };
            id = store.item(call.args, 0);
        }
        any && self.matches(store, inner, id)
    }
}

/// Finds the matches of a pattern that may be replaced together.
pub struct Finder<'a> {
    store: &'a Store,
    order: &'a [ExprId],
    /// Nodes inside a match.
    taken: IdMap<Expr, ()>,
    /// The users of each node, made when first needed.
    users: Option<IdMap<Expr, Vec<ExprId>>>,
    dominators: Option<(Forest<u8>, IdMap<Expr, usize>)>,
}

impl<'a> Finder<'a> {
    /// Makes a finder that has taken nothing.
    pub fn new(store: &'a Store, sites: &'a Sites) -> Finder<'a> {
        Finder { store, order: &sites.order, taken: IdMap::new(), users: None, dominators: None }
    }

    /// True if a node is inside of a match.
    pub fn is_taken(&self, id: ExprId) -> bool {
        self.taken.contains(id)
    }

    /// Takes a match of these nodes, if it may be replaced beside the others.
    pub fn take(&mut self, root: ExprId, inside: &[ExprId], inputs: &[ExprId]) -> bool {
        let may = self.may_take(root, inside, inputs);
        if may {
            for id in inside {
                self.taken.insert(*id, ());
            }
        }
        may
    }

    fn find(store: &Store, sites: &Sites, pattern: &Pat) -> Found {
        if !may_occur(pattern, &sites.ops) {
            return Vec::new();
        }
        let wanted: Vec<bool> = sites.ops.iter().map(|op| may_begin(pattern, *op)).collect();
        let mut finder = Finder::new(store, sites);
        let mut found = Vec::new();
        for &(place, op) in sites.calls.iter().rev() {
            let id = sites.order[place];
            if !wanted[op] || finder.taken.contains(id) {
                continue;
            }
            let mut trail = Trail::default();
            if trail.matches(store, pattern, id) && finder.take(id, &trail.inside, &trail.inputs) {
                found.push((id, trail.parts));
            }
        }
        found
    }

    fn may_take(&mut self, root: ExprId, inside: &[ExprId], inputs: &[ExprId]) -> bool {
        for &id in inside {
            if inputs.contains(&id) {
                continue;
            }
            if self.taken.contains(id) {
                return false;
            }
            if id == root {
                continue;
            }
            for user in self.users(id) {
                if !inside.contains(&user) && !self.dominates(root, user) {
                    return false;
                }
            }
        }
        true
    }

    fn users(&mut self, id: ExprId) -> Vec<ExprId> {
        let users = self.users.get_or_insert_with(|| {
            let mut users: IdMap<Expr, Vec<ExprId>> = IdMap::new();
            for &user in self.order {
                for_each_child(self.store, user, |used| match users.get_mut(used) {
                    Some(list) => list.push(user),
                    None => {
                        users.insert(used, vec![user]);
                    }
                });
            }
            users
        });
        users.get(id).cloned().unwrap_or_default()
    }

    /// True if everything computed from `id` flows into `root`.
    fn dominates(&mut self, root: ExprId, id: ExprId) -> bool {
        if self.dominators.is_none() {
            let mut forest = Forest::default();
            let mut place: IdMap<Expr, usize> = IdMap::new();
            for i in (0..self.order.len()).rev() {
                let node = self.order[i];
                let users = self.users(node);
                let mut users = users.iter().filter_map(|user| place.get(*user).copied());
                let mut parent = users.next();
                for user in users {
                    parent = parent.and_then(|known| forest.common(known, user, 0)).map(|(common, _)| common);
                }
                place.insert(node, forest.add(parent, 0));
            }
            self.dominators = Some((forest, place));
        }
        let Some((forest, place)) = &self.dominators else { return false };
        match (place.get(root), place.get(id)) {
            (Some(&root), Some(&id)) => root != id && forest.common(root, id, 0).is_some_and(|(common, _)| common == root),
            _ => false,
        }
    }
}
