//! Rewriting by pattern (TVM's `PatternMatchingRewriter`, `src/relax/ir/dataflow_expr_rewriter.cc`).
//!
//! In every block the values that match a pattern are replaced; then trivial bindings, repeated values and unused ones
//! are removed, and the rewrite starts again until nothing changes. Bindings between side effects are rewritten by
//! themselves. The value of a sequence that is no variable counts as the last binding of its last block.

mod calls;
mod results;
mod tuples;

pub use calls::CallRewriter;

use super::canonicalize_bindings::canonicalize_out_of_scope;
use super::dead_code_elimination::remove_all_unused;
use super::eliminate_common_subexpr::eliminate_common_subexpr;
use super::grouping::used_vars;
use super::support::scope::rewritten_out_of_scope;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation};
use crate::infer::relax::effects::contains_impure_call;
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::walk::post_order;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Function, Id, List, Module, Store, VarId};
use crate::pass::PassError;
use crate::pattern::{Bound, Context, Pat, Patterns, match_graph};
use rustc_hash::{FxHashMap, FxHashSet};

/// The new values of some variables.
pub type Replacements = Vec<(VarId, ExprId)>;

/// Finds replacements among bindings without side effects.
pub trait BindingRewriter {
    /// Returns new values for some of the variables, and records the rewrites in the log.
    fn rewrite(&mut self, store: &mut Store, bindings: &[Binding]) -> Replacements;
}

/// Replaces matched variables that use one another by the result of a function; an empty result leaves all of them.
pub struct GraphRewriter<'f> {
    /// The name of the rule in the log.
    pub rule: &'static str,
    /// The table of the patterns.
    pub patterns: &'f Patterns,
    /// The uses between the patterns.
    pub context: &'f Context,
    /// Returns the new values, from the matched variables and the bindings.
    pub make: &'f mut MakeBindings<'f>,
}

/// Gives new values to matched variables.
pub type MakeBindings<'f> = dyn FnMut(&mut Store, &FxHashMap<Pat, VarId>, &[Binding]) -> Replacements + 'f;

impl BindingRewriter for GraphRewriter<'_> {
    fn rewrite(&mut self, store: &mut Store, bindings: &[Binding]) -> Replacements {
        let mut remaining = bindings.to_vec();
        let mut all: Replacements = Vec::new();
        loop {
            let bound: Bound = remaining.iter().map(|binding| (binding.var, binding.value)).collect();
            let Some(found) = match_graph(store, self.patterns, self.context, &remaining, &bound) else { break };
            let Some(last) = remaining.iter().rfind(|binding| found.values().any(|var| *var == binding.var)) else { break };
            let mut new = Vec::new();
            store.rewrite(self.rule, last.value, last.value, |store| {
                new = (self.make)(store, &found, &remaining);
                new.retain(|(var, _)| bound.contains_key(var));
                new.iter().find(|(var, _)| *var == last.var).or(new.first()).map_or(last.value, |(_, value)| *value)
            });
            if new.is_empty() {
                break;
            }
            remaining.retain(|binding| new.iter().all(|(var, _)| *var != binding.var));
            all.extend(new);
        }
        all
    }
}

/// Rewrites a function until nothing changes.
pub fn rewrite_bindings(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    rewriter: &mut dyn BindingRewriter,
) -> Result<ExprId, PassError> {
    let builder = BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    let mut last = function;
    // For every block that is no dataflow block, TVM compares the first result with a new sequence that has no type; so
    // such functions are tidied even where nothing matches a pattern.
    let mut tidy = has_ordinary_block(store, function);
    if tidy {
        // The arms of branches are tidied before the sequence around them, and each alone.
        last = tidy_arms(store, module, last)?;
        last = rewritten_out_of_scope(store, module, last)?;
    }
    loop {
        let mut blocks = Blocks { module, rewriter, taken: false, changed: false };
        cx.forget();
        let results = results::bound(store, last);
        let root = results.as_ref().map_or(last, |(bound, _)| *bound);
        let mut next = build::run(store, &mut cx, &mut blocks, root);
        let found = blocks.changed;
        if let Some((_, vars)) = &results {
            next = if found { results::unbound(store, &mut cx, next, vars) } else { last };
        }
        let changed = found && !same(store, last, next);
        if !std::mem::take(&mut tidy) && !changed {
            break;
        }
        next = simplified(store, module, next)?;
        if same(store, last, next) {
            break;
        }
        last = next;
    }
    cx.builder.finish()?;
    rewritten_out_of_scope(store, module, last)
}

/// True if bindings stand outside of dataflow blocks, or a compound result stands outside of any block.
fn has_ordinary_block(store: &Store, function: ExprId) -> bool {
    // Branches stand in ordinary blocks only, and inner functions of dataflow blocks are not visited.
    match store.as_function(function).map(|function| store.expr(function.body)) {
        Some(Expr::Seq { blocks, body }) if blocks.is_empty() => !matches!(store.expr(body), Expr::Var(_)),
        Some(Expr::Seq { blocks, .. }) => store.items(blocks).any(|block| !store.block(block).dataflow),
        _ => false,
    }
}

/// Tidies the arms of branches from the inside out, each without what stands around it. A branch gets the type of its new
/// arms, and no casts: those come with the sequence around it.
fn tidy_arms(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    if post_order(store, function).into_iter().all(|id| !matches!(store.expr(id), Expr::If { .. })) {
        return Ok(function);
    }
    let mut arms = Arms { module, failed: None };
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let next = build::run(store, &mut cx, &mut arms, function);
    cx.builder.finish()?;
    arms.failed.map_or(Ok(next), Err)
}

struct Arms<'m> {
    module: &'m Module,
    failed: Option<PassError>,
}

impl Arms<'_> {
    fn tidied(&mut self, store: &mut Store, arm: ExprId) -> ExprId {
        let alone = Function {
            params: List::EMPTY,
            type_params: List::EMPTY,
            ret: None,
            body: arm,
            attrs: None,
            device: None,
            pure: true,
        };
        let function = store.function_expr(alone);
        match simplified(store, self.module, function) {
            Ok(new) => {
                let new = store.as_function(new).map_or(arm, |function| function.body);
                match store.expr(new) {
                    // A value alone has its own type; symbols are only lost where bindings are rebuilt.
                    node @ Expr::Seq { blocks, body } if blocks.is_empty() => {
                        let ty = store.checked_type(body);
                        store.rebuild(new, node, ty)
                    }
                    _ => new,
                }
            }
            Err(error) => {
                self.failed.get_or_insert(error);
                arm
            }
        }
    }
}

impl BlockMutator for Arms<'_> {
    fn rule(&self) -> &'static str {
        "an arm is simplified by itself"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        matches!(store.expr(id), Expr::If { .. })
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::If { cond, then, other } = store.expr(post) else { return post };
        let arms = [then, other].map(|arm| self.tidied(store, arm));
        if arms == [then, other] {
            return post;
        }
        store.add(Expr::If { cond, then: arms[0], other: arms[1] })
    }
}

/// Removes trivial bindings, repeated values and unused ones until nothing changes.
fn simplified(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let mut next = function;
    loop {
        let start = next;
        next = canonicalize_out_of_scope(store, module, next)?;
        next = eliminate_common_subexpr(store, module, next, false)?;
        next = remove_all_unused(store, module, next);
        if same(store, start, next) {
            return Ok(next);
        }
    }
}

fn same(store: &Store, a: ExprId, b: ExprId) -> bool {
    a == b || exprs(store, a, b, EqualOptions::RELAX).is_ok()
}

struct Blocks<'r> {
    module: &'r Module,
    rewriter: &'r mut dyn BindingRewriter,
    /// True if the bindings of the current block are done already.
    taken: bool,
    changed: bool,
}

impl BlockMutator for Blocks<'_> {
    fn rule(&self) -> &'static str {
        "what looks like a pattern"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        let dataflow = store.block(block).dataflow;
        let bindings: Vec<Binding> = store.block_bindings(block).collect();
        let mut result: Vec<(Binding, Option<ExprId>)> = Vec::new();
        let mut collected: Vec<Binding> = Vec::new();
        let mut changed = false;
        for binding in bindings {
            let stops = !dataflow
                && (matches!(store.expr(binding.value), Expr::If { .. })
                    || contains_impure_call(store, self.module, binding.value));
            if stops {
                changed |= self.part(store, cx, &mut collected, &mut result);
                result.push((binding, None));
            } else {
                collected.push(binding);
            }
        }
        changed |= self.part(store, cx, &mut collected, &mut result);
        self.taken = changed;
        self.changed |= changed;
        if !changed {
            return;
        }
        for (binding, new) in result {
            let value = build::run(store, cx, &mut build::Follow("argument"), new.unwrap_or(binding.value));
            match new {
                // The variable keeps its type, though the new value may have a stronger one.
                Some(_) if cx.keeps_var(store, binding.var) => {
                    let value = if binding.cast.is_some() { cx.builder.normalize_operand(store, value) } else { value };
                    cx.builder.emit_normalized(store, Binding { value, ..binding });
                }
                _ => cx.reemit(store, binding, value),
            }
        }
    }

    fn enter_binding(&mut self, _: &mut Store, _: &mut Mutation, _: Binding) -> bool {
        !self.taken
    }

    fn end_block(&mut self, _: &mut Store, _: &mut Mutation, _: Id<BindingBlock>) {
        self.taken = false;
    }
}

impl Blocks<'_> {
    /// Rewrites bindings without side effects and appends them to the others.
    fn part(
        &mut self,
        store: &mut Store,
        cx: &mut Mutation,
        bindings: &mut Vec<Binding>,
        result: &mut Vec<(Binding, Option<ExprId>)>,
    ) -> bool {
        let bindings = std::mem::take(bindings);
        let found = self.rewriter.rewrite(store, &bindings);
        if found.is_empty() {
            result.extend(bindings.into_iter().map(|binding| (binding, None)));
            return false;
        }
        let replacements: FxHashMap<VarId, ExprId> = found.into_iter().collect();
        let new = bindings.into_iter().map(|binding| (binding, replacements.get(&binding.var).copied()));
        let new: Vec<(Binding, Option<ExprId>)> = new.collect();
        let span = new.first().and_then(|(binding, _)| store.var_span(binding.var));
        match ordered(store, new) {
            Some(new) => result.extend(new),
            None => cx.builder.error("relax-circular", "Bindings contain circular dependency", span),
        }
        true
    }
}

/// Orders bindings behind their new operands, otherwise as they were. `None` if some depend on each other.
fn ordered(store: &Store, bindings: Vec<(Binding, Option<ExprId>)>) -> Option<Vec<(Binding, Option<ExprId>)>> {
    let mut remaining: FxHashSet<VarId> = bindings.iter().map(|(binding, _)| binding.var).collect();
    let mut sorted = Vec::with_capacity(bindings.len());
    let mut delayed: Vec<(Binding, Option<ExprId>, Vec<VarId>)> = Vec::new();
    for (binding, new) in bindings {
        let used = used_vars(store, new.unwrap_or(binding.value));
        delayed.push((binding, new, used));
        while let Some(at) = delayed.iter().position(|(_, _, used)| used.iter().all(|var| !remaining.contains(var))) {
            let (binding, new, _) = delayed.remove(at);
            remaining.remove(&binding.var);
            sorted.push((binding, new));
        }
    }
    delayed.is_empty().then_some(sorted)
}
