//! Finds bindings that depend only on the weights of a model, so that they can be computed before it runs.
//!
//! Source: the collectors of `src/relax/transform/lift_transform_params.cc`.

use super::{symbols_made_of, type_error};
use crate::build::{BlockBuilder, Mutation, bind_in};
use crate::infer::relax::types::{Bindings, substitute, symbols};
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::walk::{free_vars, post_order};
use crate::ir::{Binding, Dim, Expr, ExprId, Id, Module, Store, Symbol, VarId};
use crate::pass::PassError;
use crate::passes::relax::calls::op_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// A function whose parameters behind the inputs are weights.
#[derive(Clone)]
pub(in crate::passes::relax) struct Target {
    pub function: ExprId,
    pub params: Vec<VarId>,
    /// The number of parameters that are inputs.
    pub inputs: usize,
}

impl Target {
    /// Returns the function as a target, if its attribute gives the number of inputs.
    pub fn of(store: &Store, function: ExprId) -> Option<Target> {
        let data = store.as_function(function)?;
        let inputs = usize::try_from(store.attr(data.attrs, "num_input")?.as_int()?).ok()?;
        let params: Vec<VarId> = store.items(data.params).collect();
        (inputs <= params.len()).then_some(Target { function, params, inputs })
    }

    pub fn weights(&self) -> &[VarId] {
        &self.params[self.inputs..]
    }
}

/// The bindings that can be lifted, and the values that are needed at run time.
#[derive(Default)]
pub(in crate::passes::relax) struct Plan {
    pub lifted: Vec<Binding>,
    /// Variables that depend on weights.
    pub from_weights: FxHashSet<VarId>,
    pub needed: FxHashSet<VarId>,
    pub needed_symbols: FxHashSet<Id<Symbol>>,
}

impl Plan {
    /// Returns the outputs of the lifted function: weights that are needed, then values computed from weights.
    pub fn outputs(&self, weights: &[VarId]) -> Vec<VarId> {
        let params = weights.iter().copied().filter(|var| self.needed.contains(var));
        let computed = self.lifted.iter().map(|binding| binding.var);
        let computed = computed.filter(|var| self.from_weights.contains(var) && self.needed.contains(var));
        params.chain(computed).collect()
    }

    /// Returns symbols that `all` define and the function needs, but neither `known` nor the outputs define.
    pub fn symbols(&self, store: &Store, all: &[VarId], known: &[VarId], outputs: &[VarId]) -> Vec<Id<Symbol>> {
        let known: Vec<Id<Symbol>> = known.iter().chain(outputs).flat_map(|var| defined(store, *var)).collect();
        let mut found: Vec<Id<Symbol>> = Vec::new();
        for symbol in all.iter().flat_map(|var| defined(store, *var)) {
            if self.needed_symbols.contains(&symbol) && !known.contains(&symbol) && !found.contains(&symbol) {
                found.push(symbol);
            }
        }
        found
    }
}

/// The common plan of several functions that share lifted values, in variables of the first one.
pub(in crate::passes::relax) struct Shared {
    pub plan: Plan,
    pub weights: Vec<VarId>,
    pub vars: FxHashMap<VarId, VarId>,
    pub symbols: FxHashMap<Id<Symbol>, Id<Symbol>>,
}

/// Returns the symbols that the type of a variable defines.
fn defined(store: &Store, var: VarId) -> Vec<Id<Symbol>> {
    store.var_type(var).map_or(Vec::new(), |ty| symbols(store, ty, true))
}

/// Variables and symbols that a value uses.
type Uses = (Vec<VarId>, Vec<Id<Symbol>>);

fn uses(store: &Store, value: ExprId) -> Uses {
    let found = post_order(store, value).into_iter().flat_map(|id| symbols_made_of(store, id)).collect();
    (free_vars(store, value), found)
}

/// True if a value ends the lifting: `R.builtin.stop_lift_params(x)`.
pub(in crate::passes::relax) fn stops(store: &Store, value: ExprId) -> bool {
    op_name(store, value) == "builtin.stop_lift_params"
}

#[derive(Default)]
struct Liftable {
    vars: FxHashSet<VarId>,
    symbols: FxHashSet<Id<Symbol>>,
}

impl Liftable {
    fn allows(&self, store: &Store, binding: Binding, dataflow: bool, (vars, read): &Uses) -> bool {
        let of_type = store.var_type(binding.var).map_or(Vec::new(), |ty| symbols(store, ty, false));
        dataflow
            && !stops(store, binding.value)
            && !matches!(store.expr(binding.value), Expr::Extern(_))
            && vars.iter().all(|var| self.vars.contains(var))
            && read.iter().chain(&of_type).all(|symbol| self.symbols.contains(symbol))
    }
}

/// Returns the bindings of a function in order, each with true if it is in a dataflow block; branches are not visited.
fn bindings(store: &Store, function: ExprId) -> Vec<(Binding, bool)> {
    let body = store.as_function(function).map(|function| store.expr(function.body));
    let Some(Expr::Seq { blocks, .. }) = body else { return Vec::new() };
    let of_block = |block| store.block_bindings(block).map(move |binding| (binding, store.block(block).dataflow));
    store.items(blocks).flat_map(of_block).collect()
}

/// Returns the plan of one function. A shared plan limits the lifting to shared bindings, and gets this function's
/// needs.
pub(in crate::passes::relax) fn plan(store: &Store, target: &Target, shared: Option<&mut Shared>) -> Plan {
    let mut plan = Plan::default();
    let mut liftable = Liftable::default();
    for var in target.weights() {
        liftable.vars.insert(*var);
        plan.from_weights.insert(*var);
        liftable.symbols.extend(defined(store, *var));
    }
    for (binding, dataflow) in bindings(store, target.function) {
        let uses = uses(store, binding.value);
        let lift = liftable.allows(store, binding, dataflow, &uses)
            && shared.as_ref().is_none_or(|shared| shared.vars.contains_key(&binding.var));
        if lift {
            plan.lifted.push(binding);
            liftable.vars.insert(binding.var);
            if uses.0.iter().any(|var| plan.from_weights.contains(var)) {
                plan.from_weights.insert(binding.var);
            }
            continue;
        }
        plan.needed.insert(binding.var);
        // Symbols in the types of used values count as read, too.
        let types = uses.0.iter().filter_map(|var| store.var_type(*var)).chain(store.checked_type(binding.value));
        for ty in types.collect::<Vec<_>>() {
            plan.needed_symbols.extend(symbols(store, ty, false));
        }
        plan.needed.extend(uses.0);
        plan.needed_symbols.extend(uses.1);
        if let Some(info) = store.call(binding.value).and_then(|call| call.info) {
            let types = store.call_info(info).type_args.iter();
            plan.needed_symbols.extend(types.flat_map(|ty| symbols(store, *ty, false)));
        }
    }
    if let Some(shared) = shared {
        let var = |var: &VarId| shared.vars.get(var).copied().unwrap_or(*var);
        shared.plan.from_weights.extend(plan.from_weights.iter().map(var));
        shared.plan.needed.extend(plan.needed.iter().map(var));
        let symbol = |symbol: &Id<Symbol>| shared.symbols.get(symbol).copied().unwrap_or(*symbol);
        shared.plan.needed_symbols.extend(plan.needed_symbols.iter().map(symbol));
    }
    plan
}

/// Finds the bindings that several functions compute from their weights alike.
pub(in crate::passes::relax) fn shared_plan(store: &mut Store, module: &Module, targets: &[Target]) -> Result<Shared, PassError> {
    let Some(first) = targets.first() else { return Err(type_error("no function has the attribute num_input")) };
    let weights = first.weights().to_vec();
    let mut shared = Shared { plan: Plan::default(), weights, vars: FxHashMap::default(), symbols: FxHashMap::default() };
    for target in targets {
        if target.weights().len() != shared.weights.len() {
            return Err(type_error("The number of parameters should be the same for all target functions"));
        }
        for (own, first) in target.weights().iter().zip(shared.weights.clone()) {
            shared.vars.insert(*own, first);
            let (mine, others) = (defined(store, *own), defined(store, first));
            let renamed = mine.iter().copied().zip(others.iter().map(|symbol| Dim::Symbol(*symbol))).collect();
            let ty = store.var_type(*own).map(|ty| substitute(store, ty, &renamed));
            if mine.len() != others.len() || ty != store.var_type(first) {
                return Err(type_error("The type of the parameters should be the same for all target functions"));
            }
            shared.symbols.extend(mine.into_iter().zip(others));
        }
    }
    // Values in the variables of the first function that has them, with the bindings of all functions that do.
    let mut found: Vec<(ExprId, Vec<Binding>)> = Vec::new();
    let mut vars = shared.vars.clone();
    let mut cx = Mutation::new(BlockBuilder::new(module));
    for target in targets {
        let mut liftable = Liftable { vars: target.weights().iter().copied().collect(), symbols: FxHashSet::default() };
        for (binding, dataflow) in bindings(store, target.function) {
            if binding.cast.is_some() {
                return Err(type_error("MatchCast is not supported in global lifting"));
            }
            if !liftable.allows(store, binding, dataflow, &uses(store, binding.value)) {
                continue;
            }
            liftable.vars.insert(binding.var);
            let mut renamed = Vec::new();
            for var in free_vars(store, binding.value) {
                if let Some(by) = vars.get(&var) {
                    renamed.push((var, store.use_var(*by)));
                }
            }
            let value = bind_in(store, &mut cx, binding.value, &renamed, Bindings::default());
            let same = |(known, _): &(ExprId, Vec<Binding>)| exprs(store, *known, value, EqualOptions::RELAX).is_ok();
            let place = match found.iter().position(same) {
                Some(place) => place,
                None => {
                    found.push((value, Vec::new()));
                    found.len() - 1
                }
            };
            found[place].1.push(binding);
            vars.insert(binding.var, found[place].1[0].var);
        }
    }
    for (_, same) in found {
        if same.len() == targets.len() {
            shared.vars.extend(same.iter().map(|binding| (binding.var, same[0].var)));
            shared.plan.lifted.push(same[0]);
        }
    }
    Ok(shared)
}
