//! The summary of the differences, in plain sentences.

use super::Diff;
use crate::ir::sort::sort_by;
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Expr, ExprId, IdMap, Module, Origin, Store};
use crate::ops;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// More operators than this are counted together.
const NAMED: usize = 5;

pub(super) fn sentences(store: &Store, before: &Module, after: &Module, diff: &Diff) -> Vec<String> {
    let mut out = Vec::new();
    definitions(store, before, after, &mut out);
    let (old, new) = (Contents::of(store, before), Contents::of(store, after));
    functions(store, before, &old, &new, &mut out);
    let folded = new.constants.iter().filter(|&&id| was_computed(store, id, &old)).count();
    if folded > 0 {
        out.push(format!("{} became {}", count(folded, "expression"), plural(folded, "a constant", "constants")));
    }
    operators(&old, &new, &mut out);
    let typed = new.nodes.iter().filter(|&&id| got_type(store, id, &old)).count();
    if typed > 0 {
        out.push(format!("inferred the types of {}", count(typed, "expression")));
    }
    if out.is_empty() {
        rows(diff, &mut out);
    }
    out
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn plural<'a>(n: usize, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

fn definitions(store: &Store, before: &Module, after: &Module, out: &mut Vec<String>) {
    let mut named = |verb: &str, from: &Module, without: &Module| {
        let mut names: Vec<String> = from
            .functions()
            .iter()
            .filter(|(name, _)| without.function(*name).is_none())
            .map(|(name, _)| format!("@{}", store.str(*name)))
            .chain(from.adts().iter().filter(|(n, _)| without.adt(*n).is_none()).map(|(n, _)| store.str(*n).to_string()))
            .collect();
        sort_by(&mut names, Ord::cmp);
        if names.len() > NAMED {
            out.push(format!("{verb} {} definitions", names.len()));
        } else if !names.is_empty() {
            out.push(format!("{verb} {}", names.join(", ")));
        }
    };
    named("removed", before, after);
    named("added", after, before);
}

/// The contents of a version, each node once.
#[derive(Default)]
struct Contents {
    nodes: Vec<ExprId>,
    has: IdMap<Expr, ()>,
    /// First ancestors of its nodes.
    origins: IdMap<Expr, ()>,
    ops: FxHashMap<&'static str, usize>,
    constants: Vec<ExprId>,
    functions: Vec<ExprId>,
}

impl Contents {
    fn of(store: &Store, module: &Module) -> Contents {
        let mut contents = Contents::default();
        let mut stack: Vec<ExprId> = module.functions().iter().map(|(_, f)| *f).collect();
        while let Some(id) = stack.pop() {
            if contents.has.insert(id, ()).is_some() {
                continue;
            }
            contents.nodes.push(id);
            contents.origins.insert(store.first_ancestor(id), ());
            match store.expr(id) {
                Expr::Constant(_) => contents.constants.push(id),
                Expr::Function(_) => contents.functions.push(id),
                _ => {
                    if let Some(op) = store.called_op(id) {
                        *contents.ops.entry(ops::info(op).name).or_default() += 1;
                    }
                }
            }
            for_each_child(store, id, |child| stack.push(child));
        }
        contents
    }
}

/// Reports calls that are inside a function now and were not before, as after fusing and lifting.
fn functions(store: &Store, before: &Module, old: &Contents, new: &Contents, out: &mut Vec<String>) {
    let is_global = |id: ExprId| before.functions().iter().any(|(_, f)| store.first_ancestor(*f) == store.first_ancestor(id));
    let made: Vec<ExprId> =
        new.functions.iter().copied().filter(|&id| !old.origins.contains(store.first_ancestor(id)) && !is_global(id)).collect();
    let grown = new.functions.len().saturating_sub(old.functions.len());
    if made.is_empty() || grown == 0 {
        return;
    }
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    let mut calls = 0;
    let mut largest: Vec<&str> = Vec::new();
    for function in made {
        // Inner functions are counted with it.
        let inside = post_order(store, function).into_iter().filter(|id| seen.insert(*id, ()).is_none());
        let names: Vec<&str> = inside.filter_map(|id| store.called_op(id)).map(|op| ops::info(op).name).collect();
        calls += names.len();
        if names.len() > largest.len() {
            largest = names;
        }
    }
    let rest = largest.len().saturating_sub(NAMED);
    largest.truncate(NAMED);
    let mut named = largest.join(", ");
    if rest > 0 {
        let _ = write!(named, " and {rest} more");
    }
    match (calls, grown) {
        (0, _) => {}
        (1, 1) => out.push(format!("put {named} into a function of its own")),
        (_, 1) => out.push(format!("merged {named} into one function: {calls} calls became 1")),
        _ => out.push(format!("{} became {}, the largest of {named}", count(calls, "call"), count(grown, "function"))),
    }
}

/// Returns the number of calls of each operator in two versions: name, before, after; sorted by name.
pub fn operators_of(store: &Store, before: &Module, after: &Module) -> Vec<(&'static str, usize, usize)> {
    let (old, new) = (Contents::of(store, before), Contents::of(store, after));
    let count = |contents: &Contents, name| contents.ops.get(name).copied().unwrap_or(0);
    let mut names: Vec<&'static str> = old.ops.keys().chain(new.ops.keys()).copied().collect();
    sort_by(&mut names, |a, b| a.cmp(b));
    names.dedup();
    names.into_iter().map(|name| (name, count(&old, name), count(&new, name))).collect()
}

/// True if a constant replaces an expression of the earlier version that was not constant.
fn was_computed(store: &Store, id: ExprId, old: &Contents) -> bool {
    let mut id = id;
    if old.has.contains(id) {
        return false;
    }
    while let Origin::Rebuilt(pre) | Origin::Rewrote { pre, .. } = store.origin(id) {
        if !matches!(store.expr(pre), Expr::Constant(_)) {
            return true;
        }
        if old.has.contains(pre) {
            return false;
        }
        id = pre;
    }
    false
}

fn operators(old: &Contents, new: &Contents, out: &mut Vec<String>) {
    let mut changes: Vec<(isize, &'static str)> = Vec::new();
    for (name, n) in &new.ops {
        changes.push((*n as isize - old.ops.get(name).copied().unwrap_or(0) as isize, name));
    }
    for (name, n) in &old.ops {
        if !new.ops.contains_key(name) {
            changes.push((-(*n as isize), name));
        }
    }
    for (verb, sign) in [("removed", -1), ("added", 1)] {
        let mut these: Vec<(usize, &str)> =
            changes.iter().filter(|(n, _)| n * sign > 0).map(|(n, name)| (n.unsigned_abs(), *name)).collect();
        sort_by(&mut these, |a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        if these.is_empty() {
            continue;
        }
        let rest: usize = these.iter().skip(NAMED).map(|(n, _)| n).sum();
        let mut parts: Vec<String> = these.iter().take(NAMED).map(|(n, name)| format!("{n} {name}")).collect();
        if rest > 0 {
            parts.push(count(rest, "other call"));
        }
        out.push(format!("{verb} {}", parts.join(", ")));
    }
}

/// True if a node has a type and is a copy of one of the earlier version that had none.
fn got_type(store: &Store, id: ExprId, old: &Contents) -> bool {
    let mut pre = id;
    while !old.has.contains(pre) {
        match store.origin(pre) {
            Origin::Rebuilt(older) => pre = older,
            _ => return false,
        }
    }
    store.checked_type(id).is_some() && store.checked_type(pre).is_none()
}

fn rows(diff: &Diff, out: &mut Vec<String>) {
    let kinds = [
        (diff.changed, "changed"),
        (diff.removed, "removed"),
        (diff.added, "added"),
        (diff.moved, "moved"),
        (diff.renumbered, "renumbered"),
    ];
    for (n, verb) in kinds {
        if n > 0 {
            out.push(format!("{verb} {}", count(n, "line")));
        }
    }
    if out.is_empty() {
        out.push("rebuilt without a difference that shows".to_string());
    }
}
