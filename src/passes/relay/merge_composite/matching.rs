//! Matches of a pattern, and the functions that they become (TVM's `PatternGrouper` and `PatternPartitioner`).

use super::super::support::pattern::{Finder, Sites, inputs, inside};
use super::super::support::with_dict_attrs;
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Expr, ExprId, Function, IdMap, List, Store, VarId};
use crate::ops::build::op_name;
use crate::pattern::{Bound, Matcher, Pat, Patterns, TOO_MANY_STEPS};

/// Replaces the matches of a pattern in a function by calls of functions with the attribute `Composite`.
pub(super) fn partition(
    store: &mut Store,
    root: ExprId,
    patterns: &Patterns,
    pattern: Pat,
    name: &str,
) -> Result<ExprId, Diagnostic> {
    let sites = Sites::new(store, root);
    let mut inner: IdMap<Expr, ()> = IdMap::new();
    for id in sites.order() {
        let attrs = store.as_function(*id).and_then(|function| function.attrs);
        if store.attr(attrs, "PartitionedFromPattern").is_some() {
            post_order(store, *id).into_iter().for_each(|id| _ = inner.insert(id, ()));
        }
    }
    let mut finder = Finder::new(&sites);
    let bound = Bound::default();
    let mut matcher = Matcher::new(patterns, &bound);
    let mut groups = IdMap::new();
    let mut number = 0;
    for &id in sites.order().iter().rev() {
        if finder.is_taken(id) || inner.contains(id) {
            continue;
        }
        let found = matcher.found(store, pattern, id);
        if patterns.gave_up() {
            let message = format!("the pattern of {name} {TOO_MANY_STEPS}");
            return Err(Diagnostic::error("relay-merge-composite", message, store.source_span(id)));
        }
        let Some(found) = found else { continue };
        let args = inputs(store, patterns, &found);
        if finder.take(store, id, &inside(store, id, &args), &args) {
            groups.insert(id, (args, number));
        }
        // TVM's number counts matches, those that are refused too.
        number += 1;
    }
    Ok(Rewriting::new().run(store, root, &mut Partition { name, groups, done: IdMap::new() }))
}

/// Makes the function of a match, its inputs being parameters.
fn extract(store: &mut Store, root: ExprId, inputs: &[ExprId], number: usize, name: &str) -> ExprId {
    let mut rewriting = Rewriting::new();
    let mut params: Vec<VarId> = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        let param = store.var(&format!("FunctionVar_{number}_{index}"), None);
        params.push(param);
        let used = store.use_var(param);
        rewriting.set(*input, used);
    }
    let mut names = String::new();
    for id in inside(store, root, inputs) {
        match store.expr(id) {
            Expr::Call { .. } => names += if op_name(store, id).is_empty() { "Call" } else { op_name(store, id) },
            Expr::Tuple(_) => names += "Tuple",
            Expr::TupleGetItem { index, .. } => names += &format!("TupleGetItem{index}"),
            _ => continue,
        }
        names.push('_');
    }
    let body = rewriting.run(store, root, &mut Copy);
    let params = store.list(&params);
    let values = [("PartitionedFromPattern", names.as_str()), ("Composite", name)];
    let values = values.map(|(key, value)| (store.name(key), AttrValue::Str(store.name(value))));
    let attrs = Some(with_dict_attrs(store, None, &values));
    store.function_expr(Function { params, type_params: List::EMPTY, ret: None, body, attrs, device: None, pure: true })
}

struct Copy;

impl ExprMutator for Copy {
    fn rule(&self) -> &'static str {
        RULE
    }
}

const RULE: &str = "match became a composite function";

struct Partition<'a> {
    name: &'a str,
    /// The inputs and the number of each match, by its root.
    groups: IdMap<Expr, (Vec<ExprId>, usize)>,
    done: IdMap<Expr, ExprId>,
}

impl ExprMutator for Partition<'_> {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let mut result = post;
        if let Some((inputs, number)) = self.groups.remove(pre) {
            let function = extract(store, pre, &inputs, number, self.name);
            let args: Vec<ExprId> = inputs.iter().map(|id| self.done.get(*id).copied().unwrap_or(*id)).collect();
            result = store.add_call(function, &args, None);
        }
        self.done.insert(pre, result);
        result
    }
}
