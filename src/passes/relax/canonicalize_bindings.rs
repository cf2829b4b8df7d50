//! CanonicalizeBindings: removes variables that only rename another one, and makes variables that are used only in
//! their dataflow block dataflow variables.
//!
//! Source: `src/relax/transform/canonicalize_bindings.cc`.

use super::support::symbols::canonical_symbols;
use crate::build::{BlockMutator, Mutation, any_leaf, rewrite_function};
use crate::ir::rewrite::Visit;
use crate::ir::walk::{for_each_child, free_vars, post_order};
use crate::ir::{Binding, BindingBlock, Dim, Expr, ExprId, Extents, Id, IdMap, Module, Store, Type, Var, VarId};
use crate::pass::{Inner, Part, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.CanonicalizeBindings`.
pub static SPEC: PassSpec = PassSpec {
    name: "CanonicalizeBindings",
    info_name: "CanonicalizeBindings",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes bindings that only name a variable again and symbols that are known.",
    doc: explained(
        "Three things. Symbols that an `R.match_cast` defines and that the type of its value says already are replaced by what \
they are, and a cast to the type that the value has is a plain binding. A variable that is bound to another variable, to a \
field of a known tuple or to all fields of one in order is replaced by that, and constants are written where they are used. \
A variable of a dataflow block that nothing outside of the block uses becomes a dataflow variable, and one that is only \
given to an output is that output.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = x
            lv: R.Tensor((2,), dtype=\"float32\") = R.add(y, y)
            gv: R.Tensor((2,), dtype=\"float32\") = lv
            R.output(y, gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            R.output(gv)
        return gv
",
    ),
    run: Run::Sequential(|_| vec![Part::Inner(&SYMBOLS), Part::Inner(&BINDINGS)]),
};

static SYMBOLS: Inner = Inner {
    info_name: "CanonicalizeTIRVariables",
    opt_level: 1,
    run: Run::Function(|cx, module, function, _| of_symbols(cx.store, module, function)),
};

static BINDINGS: Inner = Inner {
    info_name: "CanonicalizeRelaxBindings",
    opt_level: 1,
    run: Run::Function(|cx, module, function, _| of_bindings(cx.store, module, function)),
};

/// Does once what the pass does, as TVM's function of that name, which other passes call; the pass replaces symbols twice.
pub fn canonicalize_bindings(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let function = canonical_symbols(store, module, function, false)?;
    of_bindings(store, module, function)
}

/// Does the same for the bodies of functions alone, in which the symbols of their parameters are unknown.
pub fn canonicalize_out_of_scope(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let function = canonical_symbols(store, module, function, true)?;
    of_bindings(store, module, function)
}

/// The value of a symbol may mention another one, so this runs twice, as in TVM.
fn of_symbols(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let once = canonical_symbols(store, module, function, false)?;
    if once == function { Ok(once) } else { canonical_symbols(store, module, once, false) }
}

/// Replaces bindings that only name another variable.
pub(super) fn of_bindings(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let plan = Planner::collect(store, function);
    rewrite_function(store, module, function, &mut Canonicalize(plan))
}

/// The changes to make, planned from the whole function.
#[derive(Default)]
struct Plan {
    used_as: IdMap<Var, VarId>,
    bound_as: IdMap<Var, VarId>,
    removed: FxHashSet<VarId>,
    constants: IdMap<Var, ExprId>,
    /// Variables that only rename a symbol.
    scalars: FxHashMap<VarId, ExprId>,
}

/// The block around a binding, and true if it is a dataflow block.
type Home = Option<(Id<BindingBlock>, bool)>;

enum Task {
    Expr(ExprId, Home),
    Binding(Binding, Id<BindingBlock>, bool),
}

#[derive(Default)]
struct Planner {
    homes: IdMap<Var, Id<BindingBlock>>,
    /// In the order of their bindings, which matters.
    trivial: Vec<(VarId, VarId)>,
    trivial_of: IdMap<Var, VarId>,
    known: IdMap<Var, ExprId>,
    constants: IdMap<Var, ExprId>,
    scalars: FxHashMap<VarId, ExprId>,
    in_dataflow: Vec<VarId>,
    used_outside: FxHashSet<VarId>,
}

impl Planner {
    fn collect(store: &mut Store, function: ExprId) -> Plan {
        let mut planner = Planner::default();
        // A variable that is free in the function has no binding in it, so only the body is visited.
        let body = store.as_function(function).map_or(function, |function| function.body);
        let mut tasks = vec![Task::Expr(body, None)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Expr(id, home) => planner.expr(store, id, home, &mut tasks),
                Task::Binding(binding, block, dataflow) => {
                    planner.binding(store, binding, block, dataflow);
                    tasks.push(Task::Expr(binding.value, Some((block, dataflow))));
                }
            }
        }
        planner.plan(store)
    }

    fn expr(&mut self, store: &Store, id: ExprId, home: Home, tasks: &mut Vec<Task>) {
        match store.expr(id) {
            Expr::Var(var) => self.used(var, home),
            Expr::Function(function) => {
                self.used_outside.extend(free_vars(store, id));
                tasks.push(Task::Expr(store.function(function).body, None));
            }
            Expr::Seq { blocks, body } => {
                tasks.push(Task::Expr(body, None));
                let first = tasks.len();
                for block in store.items(blocks) {
                    let dataflow = store.block(block).dataflow;
                    tasks.extend(store.block_bindings(block).map(|binding| Task::Binding(binding, block, dataflow)));
                }
                tasks[first..].reverse();
            }
            _ => {
                let first = tasks.len();
                for_each_child(store, id, |child| tasks.push(Task::Expr(child, home)));
                tasks[first..].reverse();
            }
        }
    }

    fn used(&mut self, var: VarId, home: Home) {
        let elsewhere =
            |(block, dataflow): (Id<BindingBlock>, bool)| !dataflow || self.homes.get(var).is_some_and(|home| *home != block);
        if home.is_none_or(elsewhere) {
            self.used_outside.insert(var);
        }
    }

    fn binding(&mut self, store: &Store, binding: Binding, block: Id<BindingBlock>, dataflow: bool) {
        let Binding { var, value, cast } = binding;
        let same_type = cast.is_none() || store.var_type(var) == store.checked_type(value);
        let value = self.behind(store, value).unwrap_or(value);
        match store.expr(value) {
            Expr::Var(parent) if same_type => {
                self.trivial.push((var, parent));
                self.trivial_of.insert(var, parent);
            }
            Expr::Constant(_) => {
                self.constants.insert(var, value);
            }
            Expr::Prim(prim) if matches!(store.dim_of_prim(prim), Dim::Symbol(_)) && same_type => {
                self.scalars.insert(var, value);
            }
            _ => {}
        }
        self.known.insert(var, value);
        self.homes.insert(var, block);
        // A shape in the type of a variable is a use.
        if let Some(Type::PartialTensor(info)) = store.var_type(var).map(|ty| store.type_of_id(ty))
            && let Extents::Var(shape) = info.extents
        {
            self.used(shape, Some((block, dataflow)));
        }
        if dataflow {
            self.in_dataflow.push(var);
        }
    }

    fn unwrapped(&self, store: &Store, expr: ExprId) -> ExprId {
        let mut expr = expr;
        while let Expr::Var(var) = store.expr(expr)
            && let Some(value) = self.known.get(var)
        {
            expr = *value;
        }
        expr
    }

    /// Returns the value behind one that takes a tuple apart or rebuilds it (TVM's `UnwrapKnownValue`).
    fn behind(&self, store: &Store, value: ExprId) -> Option<ExprId> {
        let item = |id: ExprId| match store.expr(id) {
            Expr::TupleGetItem { tuple, index } => Some((tuple, index as usize)),
            _ => None,
        };
        if let Some((tuple, index)) = item(value) {
            return match store.expr(self.unwrapped(store, tuple)) {
                Expr::Tuple(fields) if index < fields.len() => Some(store.item(fields, index)),
                _ => None,
            };
        }
        let Expr::Tuple(fields) = store.expr(value) else { return None };
        let (first, _) = item(self.unwrapped(store, store.items(fields).next()?))?;
        let size = match store.type_of_id(store.checked_type(first)?) {
            Type::Tuple(types) => types.len(),
            _ => return None,
        };
        let earlier = self.unwrapped(store, first);
        let copied = size == fields.len()
            && store.items(fields).enumerate().all(|(place, field)| {
                item(self.unwrapped(store, field))
                    .is_some_and(|(tuple, index)| index == place && self.unwrapped(store, tuple) == earlier)
            });
        copied.then_some(earlier)
    }

    fn plan(self, store: &mut Store) -> Plan {
        let mut plan = Plan { constants: self.constants, scalars: self.scalars, ..Plan::default() };
        for var in self.in_dataflow {
            if !store.var_data(var).dataflow && !self.used_outside.contains(&var) {
                let (annotation, ty) = (store.var_data(var).annotation, store.var_data(var).ty);
                let new = store.var_from(var, annotation, ty);
                store.set_var_dataflow(new, true);
                plan.bound_as.insert(var, new);
                plan.used_as.insert(var, new);
            }
        }
        for (var, parent) in self.trivial {
            let mut parent = parent;
            while let Some(earlier) = self.trivial_of.get(parent) {
                parent = *earlier;
            }
            parent = follow(&plan.bound_as, parent);
            let is_local = |var: VarId| store.var_data(var).dataflow;
            if is_local(var) || !is_local(parent) || !self.used_outside.contains(&var) {
                plan.used_as.insert(var, parent);
            } else {
                // An output that renames a dataflow variable: that variable becomes the output.
                plan.bound_as.insert(parent, var);
                plan.used_as.insert(parent, var);
            }
            plan.removed.insert(var);
        }
        plan.removed.extend(plan.scalars.keys());
        plan
    }
}

fn follow(map: &IdMap<Var, VarId>, var: VarId) -> VarId {
    let mut var = var;
    while let Some(next) = map.get(var) {
        var = *next;
    }
    var
}

struct Canonicalize(Plan);

impl BlockMutator for Canonicalize {
    fn rule(&self) -> &'static str {
        "a variable that only names a value to the value"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let named =
            |var: VarId| self.0.used_as.contains(var) || self.0.constants.contains(var) || self.0.scalars.contains_key(&var);
        any_leaf(store, id, &mut |leaf| matches!(store.expr(leaf), Expr::Var(var) if named(var)))
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        let new = follow(&self.0.used_as, var);
        if let Some(value) = self.0.constants.get(new).or(self.0.scalars.get(&new)) {
            return Visit::Replace(*value);
        }
        if new == var {
            return Visit::Descend;
        }
        let used = cx.replaced(new).unwrap_or_else(|| store.use_var(new));
        Visit::Replace(used)
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if !self.0.removed.contains(&binding.var) {
            return true;
        }
        // A scalar is the symbol that shapes mention.
        let symbol = |var: VarId| store.var_data(var).symbol;
        let new = follow(&self.0.used_as, binding.var);
        let named = self.0.scalars.get(&new).and_then(|value| match store.expr(*value) {
            Expr::Prim(prim) => Some(store.dim_of_prim(prim)),
            _ => None,
        });
        if let (Some(old), Some(new)) = (symbol(binding.var), named.or(symbol(new).map(Dim::Symbol))) {
            cx.symbols.insert(old, new);
        }
        false
    }

    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        let new = follow(&self.0.bound_as, var);
        cx.define_var(store, new)
    }

    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, _: Id<BindingBlock>) {
        if cx.builder.is_dataflow()
            && let Some(bindings) = cx.builder.bindings()
        {
            merge_outputs(store, bindings);
        }
    }
}

/// Merges each dataflow variable whose only use is the binding of an output into that output.
fn merge_outputs(store: &Store, bindings: &mut Vec<Binding>) {
    let local = |var: VarId| store.var_data(var).dataflow;
    let mut disqualified: FxHashSet<VarId> = FxHashSet::default();
    let mut outputs: FxHashSet<VarId> = FxHashSet::default();
    let mut candidates: FxHashMap<VarId, ExprId> = FxHashMap::default();
    let vars_of = |value: ExprId| -> Vec<VarId> {
        let vars = post_order(store, value).into_iter().filter_map(|id| match store.expr(id) {
            Expr::Var(var) => Some(var),
            _ => None,
        });
        vars.filter(|var| local(*var)).collect()
    };
    for Binding { var, value, .. } in bindings.iter().rev().copied() {
        if local(var) {
            disqualified.extend(vars_of(value));
            if !disqualified.contains(&var) && outputs.contains(&var) {
                candidates.insert(var, value);
            }
        } else {
            match store.expr(value) {
                Expr::Var(given) if local(given) => {
                    if !outputs.insert(given) {
                        disqualified.insert(given);
                    }
                }
                _ => disqualified.extend(vars_of(value)),
            }
        }
    }
    bindings.retain(|binding| !candidates.contains_key(&binding.var));
    for binding in bindings {
        if let Expr::Var(given) = store.expr(binding.value)
            && !local(binding.var)
            && let Some(value) = candidates.get(&given)
        {
            binding.value = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_cast_that_says_what_is_known_goes_and_so_do_its_symbols() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"m\",), dtype=\"float32\")) -> \
                    R.Tensor((\"m\",), dtype=\"float32\"):\n        n = T.int64()\n        y: R.Tensor((n,), dtype=\"float32\") = \
                    R.match_cast(x, R.Tensor((n,), dtype=\"float32\"))\n        z: R.Tensor((n,), dtype=\"float32\") = R.add(y, y)\n        \
                    return z\n";
        let made = after(text, "CanonicalizeBindings()");
        assert!(!made.contains("match_cast") && made.contains("z: R.Tensor((m,), dtype=\"float32\") = R.add(x, x)"), "{made}");
    }
}
