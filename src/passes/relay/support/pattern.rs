//! Rewriting with dataflow patterns (TVM's `dataflow_matcher.cc`, as far as the passes here use it).
//!
//! Rewriting with one pattern has two steps, as in TVM. First every node, users before their operands,
//! is tried as the root of a match; a match is refused when a node inside it is inside another match, or has an outside
//! use that does not flow back into the root. Then the program is rebuilt and each root replaced.

use super::notation::{self, Notation, Right};
use super::tensor_type;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Expr, ExprId, IdMap, Module, OpId, Store};
use crate::ops;
use crate::ops::build::{call_attrs, scalar};
use crate::passes::any::dominators::Forest;
use crate::passes::relay::fold_constant::fold_expr;
use crate::pattern::{Bound, Matcher, Matches, Pat, Pattern, Patterns};
use std::sync::OnceLock;

/// The name of a part of a pattern.
pub type Slot = &'static str;

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
    /// The pattern to look for, as [`notation`] has it, and behind `=>` the replacement of a match.
    text: &'static str,
    then: Then,
    read: OnceLock<Notation<'static>>,
}

/// The part of a rule that is no text.
enum Then {
    /// A condition on a match.
    When(fn(&Store, &Match) -> bool),
    /// Returns the replacement of a match; `None` leaves it.
    Make(fn(&mut Store, &Module, &Match) -> Option<ExprId>),
}

impl Rule {
    /// Makes a rule whose replacements a function makes. Its pattern is read when it is used first.
    pub const fn new(name: &'static str, pattern: &'static str, make: fn(&mut Store, &Module, &Match) -> Option<ExprId>) -> Rule {
        Rule { name, text: pattern, then: Then::Make(make), read: OnceLock::new() }
    }

    /// Makes a rule `lhs => rhs`, which applies to a match where a condition holds.
    pub const fn when(name: &'static str, text: &'static str, holds: fn(&Store, &Match) -> bool) -> Rule {
        Rule { name, text, then: Then::When(holds), read: OnceLock::new() }
    }

    /// Makes a rule `lhs => rhs`.
    pub const fn always(name: &'static str, text: &'static str) -> Rule {
        Rule::when(name, text, |_, _| true)
    }

    fn notation(&self) -> &Notation<'static> {
        let read = || notation::parse_rule(self.text).unwrap_or_else(|why| panic!("the rule `{}`: {why}", self.name));
        self.read.get_or_init(read)
    }

    /// Returns the replacement of a match; `None` leaves it.
    fn apply(&self, store: &mut Store, module: &Module, found: &Match) -> Option<ExprId> {
        match (&self.then, &self.notation().right) {
            (Then::Make(make), _) => make(store, module, found),
            (Then::When(holds), Some(right)) if holds(store, found) => build(store, module, found, right),
            _ => None,
        }
    }
}

/// Makes the right side of a rule for a match.
fn build(store: &mut Store, module: &Module, found: &Match, right: &Right<'static>) -> Option<ExprId> {
    let all = |store: &mut Store, args: &[Right<'static>]| -> Option<Vec<ExprId>> {
        args.iter().map(|arg| build(store, module, found, arg)).collect()
    };
    Some(match right {
        Right::Part(name) => found.get(name),
        Right::Number(value) => {
            let (_, dtype) = tensor_type(store, found.pre)?;
            scalar(store, dtype, *value)
        }
        Right::Call(op, args) => {
            let args = all(store, args)?;
            call_attrs(store, ops::info(*op).name, &args, None)
        }
        Right::Again(name, args) => {
            let Expr::Op(op) = store.expr(found.get(name)) else { return None };
            let (args, attrs) = (all(store, args)?, store.call(found.pre)?.attrs);
            call_attrs(store, ops::info(op).name, &args, attrs)
        }
        Right::Fold(inner) => {
            let built = build(store, module, found, inner)?;
            let folded = fold_expr(store, module, built);
            if matches!(store.expr(folded), Expr::Constant(_)) { folded } else { built }
        }
    })
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
    pub fn find(&self, store: &mut Store, rule: &Rule) -> Found {
        let Notation { patterns, whole, names, .. } = rule.notation();
        if !may_occur(patterns, *whole, &self.ops) {
            return Vec::new();
        }
        let wanted: Vec<bool> = self.ops.iter().map(|op| may_begin(patterns, *whole, *op)).collect();
        let bound = Bound::default();
        let mut matcher = Matcher::new(patterns, &bound);
        let mut finder = Finder::new(self);
        let mut found = Vec::new();
        for &(place, op) in self.calls.iter().rev() {
            let id = self.order[place];
            if !wanted[op] || finder.taken.contains(id) {
                continue;
            }
            let Some(matches) = matcher.found(store, *whole, id) else { continue };
            let inputs = inputs(store, patterns, &matches);
            if finder.take(store, id, &inside(store, id, &inputs), &inputs) {
                let parts = names.iter().filter_map(|(name, pat)| Some((*name, matches.get(*pat)?)));
                found.push((id, parts.collect()));
            }
        }
        found
    }
}

/// True if a callee of this pattern may be the operator.
fn may_call(patterns: &Patterns, callee: Pat, op: OpId) -> bool {
    match patterns.get(callee) {
        Pattern::Op(wanted) => *wanted == op,
        Pattern::OpKind(kind) => ops::info(op).pattern == Some(*kind),
        Pattern::Or(a, b) => may_call(patterns, *a, op) || may_call(patterns, *b, op),
        Pattern::And(a, b) => may_call(patterns, *a, op) && may_call(patterns, *b, op),
        _ => true,
    }
}

/// True if a call of this operator can be the root of a match.
fn may_begin(patterns: &Patterns, pattern: Pat, op: OpId) -> bool {
    match patterns.get(pattern) {
        Pattern::Constant => false,
        Pattern::Call { callee, .. } => may_call(patterns, *callee, op),
        Pattern::Or(a, b) => may_begin(patterns, *a, op) || may_begin(patterns, *b, op),
        Pattern::Chain { op: wanted, .. } => *wanted == op,
        _ => true,
    }
}

/// True if a program that calls these operators may contain a match.
fn may_occur(patterns: &Patterns, pattern: Pat, called: &[OpId]) -> bool {
    let occurs = |pattern: &Pat| may_occur(patterns, *pattern, called);
    match patterns.get(pattern) {
        Pattern::Call { callee, args, .. } => called.iter().any(|op| may_call(patterns, *callee, *op)) && args.iter().all(occurs),
        Pattern::Chain { op, end } => called.contains(op) && occurs(end),
        Pattern::Or(a, b) => occurs(a) || occurs(b),
        _ => true,
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
        rule.apply(store, module, &Match { pre: *id, post: *id, parts }).is_some_and(|next| next != *id)
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
            result = self.rule.apply(store, self.module, &Match { pre, post, parts }).unwrap_or(post);
        }
        self.done.insert(pre, result);
        result
    }
}

/// Returns what the leaves of a pattern matched, in the order of the pattern.
pub fn inputs(store: &Store, patterns: &Patterns, found: &Matches) -> Vec<ExprId> {
    let mut leaves: Vec<(Pat, ExprId)> =
        found.iter().filter(|(pat, _)| matches!(patterns.get(*pat), Pattern::Wildcard | Pattern::Var(_))).collect();
    crate::ir::sort::sort_by(&mut leaves, |a, b| a.0.cmp(&b.0));
    let mut inputs = Vec::new();
    for (_, id) in leaves {
        if !matches!(store.expr(id), Expr::Op(_) | Expr::Function(_)) && !inputs.contains(&id) {
            inputs.push(id);
        }
    }
    inputs
}

/// Returns the nodes between a root and the inputs, children first.
pub fn inside(store: &Store, root: ExprId, inputs: &[ExprId]) -> Vec<ExprId> {
    let (mut seen, mut order, mut stack) = (IdMap::new(), Vec::new(), vec![(root, false)]);
    while let Some((id, done)) = stack.pop() {
        if done {
            order.push(id);
        } else if !inputs.contains(&id) && seen.insert(id, ()).is_none() {
            stack.push((id, true));
            let from = stack.len();
            for_each_child(store, id, |child| stack.push((child, false)));
            stack[from..].reverse();
        }
    }
    order.retain(|id| !matches!(store.expr(*id), Expr::Op(_) | Expr::Constant(_) | Expr::Function(_)));
    order
}

/// Finds the matches of a pattern that may be replaced together.
pub struct Finder<'a> {
    order: &'a [ExprId],
    /// Nodes inside a match.
    taken: IdMap<Expr, ()>,
    /// The users of each node, made when first needed.
    users: Option<IdMap<Expr, Vec<ExprId>>>,
    dominators: Option<(Forest<u8>, IdMap<Expr, usize>)>,
}

impl<'a> Finder<'a> {
    /// Makes a finder that has taken nothing.
    pub fn new(sites: &'a Sites) -> Finder<'a> {
        Finder { order: &sites.order, taken: IdMap::new(), users: None, dominators: None }
    }

    /// True if a node is inside of a match.
    pub fn is_taken(&self, id: ExprId) -> bool {
        self.taken.contains(id)
    }

    /// Takes a match of these nodes, if it may be replaced beside the others.
    pub fn take(&mut self, store: &Store, root: ExprId, inside: &[ExprId], inputs: &[ExprId]) -> bool {
        let may = self.may_take(store, root, inside, inputs);
        if may {
            for id in inside {
                self.taken.insert(*id, ());
            }
        }
        may
    }

    fn may_take(&mut self, store: &Store, root: ExprId, inside: &[ExprId], inputs: &[ExprId]) -> bool {
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
            for user in self.users(store, id) {
                if !inside.contains(&user) && !self.dominates(store, root, user) {
                    return false;
                }
            }
        }
        true
    }

    fn users(&mut self, store: &Store, id: ExprId) -> Vec<ExprId> {
        let users = self.users.get_or_insert_with(|| {
            let mut users: IdMap<Expr, Vec<ExprId>> = IdMap::new();
            for &user in self.order {
                for_each_child(store, user, |used| match users.get_mut(used) {
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
    fn dominates(&mut self, store: &Store, root: ExprId, id: ExprId) -> bool {
        if self.dominators.is_none() {
            let mut forest = Forest::default();
            let mut place: IdMap<Expr, usize> = IdMap::new();
            for i in (0..self.order.len()).rev() {
                let node = self.order[i];
                let users = self.users(store, node);
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
