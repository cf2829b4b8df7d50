//! Joining calls that have the same input (TVM's `combine_parallel_op.cc`).
//!
//! Calls of one operator on the same data are branches, each with the calls behind it as long as they are element-wise
//! or broadcasting and have no other user. Branches that fit together are computed by one larger call, and each gets
//! its part of the result.

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Expr, ExprId, IdMap, Store};
use crate::ops::build::{args, call_with, ints, op_name};
use crate::ops::{self, OpPattern};
use crate::pass::PassError;

/// A call and the calls behind it.
pub type Branch = Vec<ExprId>;

/// The rules for combining one operator.
pub trait Combiner {
    /// Returns the name of the operator.
    fn op(&self) -> &'static str;

    /// True if this call takes part at all.
    fn supports(&self, store: &Store, call: ExprId) -> bool {
        let _ = (store, call);
        true
    }

    /// True if two calls may be combined.
    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool;

    /// True if argument `index` of two following calls can be combined; `first` is the first call in the branch of `a`.
    fn arg_compatible(&self, store: &Store, first: ExprId, a: ExprId, b: ExprId, index: usize) -> bool;

    /// Combines the first calls of all branches into one.
    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId>;

    /// Returns argument `index` of the call that combines those at `depth` of each branch.
    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, parent: usize) -> Option<ExprId>;

    /// Returns the part of the combined result for each branch; the last call of each is at `depth`.
    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], depth: usize) -> Option<Vec<ExprId>>;
}

/// Combines branches in groups of at least `min_branches`. As in TVM, it is an error if the only user of a call that
/// takes part calls anything but an operator.
pub fn run(store: &mut Store, root: ExprId, combiner: &dyn Combiner, min_branches: usize) -> Result<ExprId, PassError> {
    let mut groups = find_groups(store, root, combiner)?;
    groups.retain(|group| group.len() >= min_branches);
    if groups.is_empty() {
        return Ok(root);
    }
    let mut place: IdMap<Expr, (usize, usize)> = IdMap::new();
    let mut plans = Vec::with_capacity(groups.len());
    for branches in groups {
        let depth = common_depth(store, combiner, &branches);
        for (i, branch) in branches.iter().enumerate() {
            place.insert(branch[depth - 1], (plans.len(), i));
        }
        plans.push(Plan { branches, depth, parts: None });
    }
    let mut combine = Combine { combiner, plans, place, entered: IdMap::new(), circular: None };
    let new = rewrite(store, root, &mut combine);
    match combine.circular {
        None => Ok(new),
        // TVM replaces calls in what replaces them, and runs out of its stack here.
        Some(id) => {
            let message = "one of the calls that are combined is computed from another: TVM does not end here";
            Err(vec![Diagnostic::error("relay-combine-parallel", message, store.source_span(id))])
        }
    }
}

fn find_groups(store: &mut Store, root: ExprId, combiner: &dyn Combiner) -> Result<Vec<Vec<Branch>>, PassError> {
    let mut children: IdMap<Expr, Vec<ExprId>> = IdMap::new();
    let mut roots = Vec::new();
    for id in post_order(store, root) {
        if !matches!(store.expr(id), Expr::Call { .. }) {
            continue;
        }
        let is_op = op_name(store, id) == combiner.op() && combiner.supports(store, id);
        for arg in args(store, id).into_iter().take(if is_op { 1 } else { usize::MAX }) {
            match children.get_mut(arg) {
                Some(list) => list.push(id),
                None => {
                    children.insert(arg, vec![id]);
                }
            }
            if is_op {
                roots.push(arg);
            }
        }
    }
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    roots.retain(|id| seen.insert(*id, ()).is_none());
    let mut groups: Vec<Vec<Branch>> = Vec::new();
    for data in roots {
        let first = groups.len();
        for &child in children.get(data).into_iter().flatten() {
            if op_name(store, child) != combiner.op() {
                continue;
            }
            let branch = follow(store, &children, child)?;
            match (first..groups.len()).find(|g| combiner.compatible(store, child, groups[*g][0][0])) {
                Some(group) => groups[group].push(branch),
                None => groups.push(vec![branch]),
            }
        }
    }
    Ok(groups)
}

/// Returns the call and those behind it, as long as each is simple and the only user of the one before.
fn follow(store: &Store, children: &IdMap<Expr, Vec<ExprId>>, call: ExprId) -> Result<Branch, PassError> {
    let mut branch = vec![call];
    let mut last = call;
    while let Some([next]) = children.get(last).map(Vec::as_slice) {
        let Some(op) = store.called_op(*next) else {
            let message = "what uses the result of a call that may be combined must be a call of an operator";
            return Err(vec![Diagnostic::error("relay-combine-parallel", message, store.source_span(*next))]);
        };
        if ops::info(op).pattern.is_none_or(|pattern| pattern > OpPattern::Broadcast) {
            break;
        }
        branch.push(*next);
        last = *next;
    }
    Ok(branch)
}

/// Returns the number of calls of each branch that can be combined, at least one.
fn common_depth(store: &Store, combiner: &dyn Combiner, branches: &[Branch]) -> usize {
    let shortest = branches.iter().map(Vec::len).min().unwrap_or(1);
    (1..shortest).find(|depth| !level_fits(store, combiner, branches, *depth)).unwrap_or(shortest)
}

/// Returns the index of the argument of the calls at `depth` that comes from the calls before them.
fn parent_index(store: &Store, branches: &[Branch], depth: usize) -> Option<usize> {
    args(store, branches[0][depth]).iter().position(|arg| *arg == branches[0][depth - 1])
}

fn level_fits(store: &Store, combiner: &dyn Combiner, branches: &[Branch], depth: usize) -> bool {
    let Some(parent) = parent_index(store, branches, depth) else { return false };
    let call = branches[0][depth];
    let first_args = args(store, call);
    let parts = |id| store.call(id).map(|call| (call.callee, call.attrs, call.args.len()));
    branches[1..].iter().all(|branch| {
        parts(branch[depth]) == parts(call)
            && args(store, branch[depth])[parent] == branch[depth - 1]
            && (0..first_args.len())
                .all(|i| i == parent || combiner.arg_compatible(store, branches[0][0], call, branch[depth], i))
    })
}

struct Plan {
    branches: Vec<Branch>,
    depth: usize,
    /// The replacement of each branch; made when the first of them is met.
    parts: Option<Vec<ExprId>>,
}

struct Combine<'a> {
    combiner: &'a dyn Combiner,
    plans: Vec<Plan>,
    /// The last combined call of each branch: its plan and its number there.
    place: IdMap<Expr, (usize, usize)>,
    /// The calls that are being replaced, or are done.
    entered: IdMap<Expr, ()>,
    /// A call that is needed to make what replaces it.
    circular: Option<ExprId>,
}

impl ExprMutator for Combine<'_> {
    fn rule(&self) -> &'static str {
        "calls on the same data combined"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let Some(&(plan, branch)) = self.place.get(id) else { return Visit::Descend };
        // A call that is being replaced, or is done, is not entered again.
        if self.entered.insert(id, ()).is_some() {
            self.circular = self.circular.or(Some(id));
            return Visit::Keep;
        }
        let plan = &mut self.plans[plan];
        if plan.parts.is_none() {
            plan.parts = build(store, self.combiner, &plan.branches, plan.depth).or(Some(Vec::new()));
        }
        // The parts are built of expressions that may have to be combined themselves.
        match plan.parts.as_ref().and_then(|parts| parts.get(branch)) {
            Some(part) => Visit::Follow(*part),
            None => Visit::Descend,
        }
    }
}

fn build(store: &mut Store, combiner: &dyn Combiner, branches: &[Branch], depth: usize) -> Option<Vec<ExprId>> {
    let mut data = combiner.combine(store, branches)?;
    for level in 1..depth {
        let parent = parent_index(store, branches, level)?;
        let call = store.call(branches[0][level])?;
        let mut args = Vec::with_capacity(call.args.len());
        for i in 0..call.args.len() {
            args.push(if i == parent { data } else { combiner.combine_arg(store, branches, level, i, parent)? });
        }
        data = store.add_call(call.callee, &args, call.attrs);
    }
    combiner.parts(store, data, branches, depth - 1)
}

/// Makes a `concatenate` of fields along an axis.
pub fn concatenate(store: &mut Store, fields: &[ExprId], axis: i64) -> ExprId {
    let tuple = store.add_tuple(fields);
    call_with(store, "concatenate", &[tuple], &[("axis", AttrValue::int(axis))])
}

/// Makes a `stack` of fields along the first axis.
pub fn stack(store: &mut Store, fields: &[ExprId]) -> ExprId {
    let tuple = store.add_tuple(fields);
    call_with(store, "stack", &[tuple], &[("axis", AttrValue::int(0))])
}

/// Makes a `strided_slice` with sizes instead of ends.
pub fn slice_sizes(store: &mut Store, data: ExprId, begin: &[i64], size: &[i64]) -> ExprId {
    let mode = AttrValue::Str(store.name("size"));
    let strides = ints(&vec![1; begin.len()]);
    let written =
        [("begin", ints(begin)), ("end", ints(size)), ("strides", strides), ("slice_mode", mode), ("axes", AttrValue::Null)];
    call_with(store, "strided_slice", &[data], &written)
}

/// Makes a `split` along the first axis into `sections` parts.
pub fn split(store: &mut Store, data: ExprId, sections: usize) -> ExprId {
    let sections = AttrValue::int(sections as i64);
    call_with(store, "split", &[data], &[("indices_or_sections", sections), ("axis", AttrValue::int(0))])
}
