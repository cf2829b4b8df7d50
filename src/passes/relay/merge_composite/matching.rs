//! Matches of a pattern, and the functions that they become (TVM's `PatternGrouper` and `PatternPartitioner`).

use super::super::support::pattern::{Finder, Sites};
use super::super::support::with_dict_attrs;
use super::notation::{Form, Pat, Patterns};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::sort::sort_by;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Expr, ExprId, Function, IdMap, List, Store, VarId};
use crate::ops::{self, build::op_name};
use crate::pass::spec::Literal;

/// A match in progress: what each pattern has matched.
#[derive(Default)]
struct Trail {
    found: Vec<(Pat, ExprId)>,
    steps: u32,
}

/// Steps of one match. Sums match with their operands swapped, too, so that a pattern of many may take a step for each order.
const MAX_STEPS: u32 = 100_000;

impl Trail {
    fn matches(&mut self, store: &Store, patterns: &Patterns, pattern: Pat, id: ExprId) -> bool {
        if let Some((_, known)) = self.found.iter().find(|(known, _)| *known == pattern) {
            return *known == id;
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        let mark = self.found.len();
        let fits = match &patterns.0[pattern] {
            Form::Any => true,
            Form::Constant => matches!(store.expr(id), Expr::Constant(_)),
            Form::Var(name) => match store.expr(id) {
                Expr::Var(var) => name.as_ref().is_none_or(|name| store.var_name(var) == name),
                _ => false,
            },
            Form::Call(op, args) => match store.call(id) {
                Some(call) if store.called_op(id) == Some(*op) => {
                    let commutes = matches!(ops::info(*op).name, "add" | "multiply") && args.len() == 2;
                    let given: Vec<ExprId> = store.items(call.args).collect();
                    self.all(store, patterns, args, given.iter().copied())
                        || commutes && self.all(store, patterns, args, given.iter().rev().copied())
                }
                _ => false,
            },
            Form::Tuple(fields) => match store.expr(id) {
                Expr::Tuple(given) => self.all(store, patterns, fields, store.items(given)),
                _ => false,
            },
            Form::Item(inner, wanted) => match store.expr(id) {
                Expr::TupleGetItem { tuple, index } => {
                    wanted.is_none_or(|wanted| wanted == i64::from(index)) && self.matches(store, patterns, *inner, tuple)
                }
                _ => false,
            },
            Form::Or(left, right) => self.matches(store, patterns, *left, id) || self.matches(store, patterns, *right, id),
            Form::Attrs(inner, wanted) => has_attrs(store, id, wanted) && self.matches(store, patterns, *inner, id),
            Form::DType(inner, dtype) => {
                super::super::support::tensor_type(store, id).is_some_and(|ty| ty.1 == *dtype)
                    && self.matches(store, patterns, *inner, id)
            }
        };
        if fits {
            self.found.push((pattern, id));
        } else {
            self.found.truncate(mark);
        }
        fits
    }

    fn all(&mut self, store: &Store, patterns: &Patterns, parts: &[Pat], given: impl ExactSizeIterator<Item = ExprId>) -> bool {
        let mark = self.found.len();
        let fits =
            parts.len() == given.len() && parts.iter().zip(given).all(|(part, id)| self.matches(store, patterns, *part, id));
        if !fits {
            self.found.truncate(mark);
        }
        fits
    }
}

/// True if a call has attributes of these values.
fn has_attrs(store: &Store, id: ExprId, wanted: &[(Literal, Literal)]) -> bool {
    let attrs = store.call(id).and_then(|call| call.attrs);
    wanted.iter().all(|(name, value)| match name {
        Literal::Str(name) => store.attr(attrs, name).is_some_and(|found| same(store, found, value)),
        _ => false,
    })
}

fn same(store: &Store, found: &AttrValue, wanted: &Literal) -> bool {
    match (found, wanted) {
        (AttrValue::Array(found), Literal::List(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same(store, found, wanted))
        }
        (AttrValue::Str(found), Literal::Str(wanted)) => store.str(*found) == wanted,
        (AttrValue::DType(Some(found)), Literal::Str(wanted)) => found.to_string() == *wanted,
        (AttrValue::Null, Literal::None) => true,
        (found, Literal::Bool(wanted)) => store.value_int(found) == Some(i64::from(*wanted)),
        (found, Literal::Int(wanted)) => {
            store.value_int(found).map_or(found.as_float() == Some(*wanted as f64), |i| i == *wanted)
        }
        (found, Literal::Float(wanted)) => found.as_float() == Some(*wanted),
        _ => false,
    }
}

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
    let mut finder = Finder::new(store, &sites);
    let mut groups = IdMap::new();
    let mut number = 0;
    for &id in sites.order().iter().rev() {
        if finder.is_taken(id) || inner.contains(id) {
            continue;
        }
        let mut trail = Trail::default();
        let fits = trail.matches(store, patterns, pattern, id);
        if trail.steps > MAX_STEPS {
            let message =
                format!("the pattern of {name} takes too many steps to match here: TVM tries every order of operands, too");
            return Err(Diagnostic::error("relay-merge-composite", message, store.source_span(id)));
        }
        if !fits {
            continue;
        }
        let args = inputs(store, patterns, &trail);
        if finder.take(id, &inside(store, id, &args), &args) {
            groups.insert(id, (args, number));
        }
        // TVM's number counts matches, those that are refused too.
        number += 1;
    }
    Ok(Rewriting::new().run(store, root, &mut Partition { name, groups, done: IdMap::new() }))
}

/// Returns what the leaves of the pattern matched, in the order of the pattern, constants of `is_constant` left out.
fn inputs(store: &Store, patterns: &Patterns, trail: &Trail) -> Vec<ExprId> {
    let mut found: Vec<(Pat, ExprId)> = trail.found.clone();
    sort_by(&mut found, |a, b| a.0.cmp(&b.0));
    let mut inputs = Vec::new();
    for (pattern, id) in found {
        let leaf = matches!(patterns.0[pattern], Form::Any | Form::Var(_));
        if leaf && !matches!(store.expr(id), Expr::Op(_) | Expr::Function(_)) && !inputs.contains(&id) {
            inputs.push(id);
        }
    }
    inputs
}

/// Returns the nodes between a root and the inputs, children first.
fn inside(store: &Store, root: ExprId, inputs: &[ExprId]) -> Vec<ExprId> {
    let (mut seen, mut order, mut stack) = (IdMap::new(), Vec::new(), vec![(root, false)]);
    while let Some((id, done)) = stack.pop() {
        if done {
            order.push(id);
        } else if !inputs.contains(&id) && seen.insert(id, ()).is_none() {
            stack.push((id, true));
            let from = stack.len();
            crate::ir::walk::for_each_child(store, id, |child| stack.push((child, false)));
            stack[from..].reverse();
        }
    }
    order.retain(|id| !matches!(store.expr(*id), Expr::Op(_) | Expr::Constant(_) | Expr::Function(_)));
    order
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
