//! Moves groups of bindings into functions of their own, called where the bindings stood (TVM's `OperatorFusor` and
//! `FunctionCreator`, `src/relax/transform/fuse_ops.cc`).
//!
//! The pass decides on the groups: [`Partition`].

use super::group_function::GroupFunction;
use crate::build::{self, BlockMutator, Mutation};
use crate::diag::Diagnostic;
use crate::ir::sort::sort_by;
use crate::ir::walk::{for_each_child, has_children, post_order};
use crate::ir::{AttrValue, Binding, BindingBlock, Expr, ExprId, Id, Module, Name, Store, VarId};
use crate::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// The groups of bindings.
#[derive(Default)]
pub(super) struct Partition {
    /// The group of each bound variable.
    pub group_of: FxHashMap<VarId, usize>,
    /// The number of members of each group.
    pub sizes: Vec<usize>,
    /// The attributes of the function of each group. A group with attributes is made even with one member.
    pub attrs: Vec<Vec<(&'static str, AttrValue)>>,
}

impl Partition {
    /// Adds a group without members.
    pub fn add(&mut self) -> usize {
        self.sizes.push(0);
        self.attrs.push(Vec::new());
        self.sizes.len() - 1
    }
}

/// Makes functions of the groups in these functions of a module, or in all that are no groups themselves.
pub(super) fn make_grouped_functions(
    store: &mut Store,
    module: &Module,
    partition: &Partition,
    lift_constants: bool,
    entries: &[Id<Name>],
) -> Result<Module, PassError> {
    let mut functions: Vec<(Id<Name>, ExprId)> =
        module.functions().iter().copied().filter(|(name, _)| entries.is_empty() || entries.contains(name)).collect();
    sort_by(&mut functions, |a, b| store.str(a.0).cmp(store.str(b.0)));
    let builder = build::BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    let mut grouping = Grouping {
        module,
        partition,
        lift_constants,
        outer: FxHashMap::default(),
        deps: FxHashMap::default(),
        done: false,
        errors: Vec::new(),
    };
    let has_groups = (0..partition.sizes.len()).any(|group| !grouping.is_alone(group));
    functions.retain(|(_, function)| may_be_grouped(store, *function));
    for (name, function) in functions {
        // Only functions with groups need it.
        if has_groups {
            grouping.outer = bound_values(store, function);
        }
        let new = build::run(store, &mut cx, &mut grouping, function);
        cx.builder.update_function(store, name, new);
    }
    if !grouping.errors.is_empty() {
        return Err(grouping.errors);
    }
    cx.builder.finish()
}

/// True for a function of Relax that no earlier pass has made of a group.
pub(super) fn may_be_grouped(store: &Store, function: ExprId) -> bool {
    let Expr::Function(function) = store.expr(function) else { return false };
    let attrs = store.function(function).attrs;
    store.attr_int(attrs, "Primitive").is_none_or(|value| value == 0) && store.attr_str(attrs, "Codegen").is_none()
}

/// True if an earlier pass has marked a function as made of a group.
pub(super) fn is_primitive(store: &Store, function: ExprId) -> bool {
    match store.expr(function) {
        Expr::Function(id) => store.attr_int(store.function(id).attrs, "Primitive").is_some_and(|value| value != 0),
        _ => false,
    }
}

/// Returns the values that variables are bound to, casts left out (TVM's `AnalyzeVar2Value`).
pub(super) fn bound_values(store: &Store, root: ExprId) -> FxHashMap<VarId, ExprId> {
    let mut bound = FxHashMap::default();
    for id in post_order(store, root) {
        if let Expr::Seq { blocks, .. } = store.expr(id) {
            let plain = store.bindings(blocks).filter(|binding| binding.cast.is_none());
            bound.extend(plain.map(|binding| (binding.var, binding.value)));
        }
    }
    bound
}

struct Grouping<'p> {
    module: &'p Module,
    partition: &'p Partition,
    lift_constants: bool,
    /// The values of variables of the current function.
    outer: FxHashMap<VarId, ExprId>,
    /// The groups that each group uses.
    deps: FxHashMap<usize, Vec<usize>>,
    /// True if the bindings of the current block are done already.
    done: bool,
    errors: PassError,
}

impl BlockMutator for Grouping<'_> {
    fn rule(&self) -> &'static str {
        "bindings fused into a function"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        self.done = store.block(block).dataflow;
        if self.done {
            let bindings: Vec<Binding> = store.block_bindings(block).collect();
            self.done = self.group(store, cx, &bindings);
        }
    }

    fn enter_binding(&mut self, _: &mut Store, _: &mut Mutation, _: Binding) -> bool {
        !self.done
    }

    fn end_block(&mut self, _: &mut Store, _: &mut Mutation, _: Id<BindingBlock>) {
        self.done = false;
    }
}

impl Grouping<'_> {
    /// Returns the group of a variable; a variable without one is alone.
    fn group_of(&self, var: VarId) -> usize {
        self.partition.group_of.get(&var).copied().unwrap_or(self.partition.sizes.len() + var.index())
    }

    fn is_alone(&self, group: usize) -> bool {
        let size = self.partition.sizes.get(group).copied().unwrap_or(1);
        size <= 1 && self.partition.attrs.get(group).is_none_or(Vec::is_empty)
    }

    /// Binds the groups of a dataflow block. False when it has none, so that its bindings can be visited like any others.
    fn group(&mut self, store: &mut Store, cx: &mut Mutation, bindings: &[Binding]) -> bool {
        let mut functions: FxHashMap<usize, GroupFunction> = FxHashMap::default();
        for binding in bindings {
            let group = self.group_of(binding.var);
            if !self.is_alone(group) {
                let lift = self.lift_constants;
                functions.entry(group).or_insert_with(|| GroupFunction::new(lift)).append(store, *binding, &self.outer);
            }
        }
        if functions.is_empty() && !bindings.iter().any(|binding| matches!(store.expr(binding.value), Expr::Function(_))) {
            return false;
        }
        self.boundaries(store, bindings, &mut functions);
        let sorted = self.ordered(bindings);
        self.limit(store, &sorted, &mut functions);
        let mut waiting: FxHashMap<usize, Vec<VarId>> = FxHashMap::default();
        for binding in sorted {
            let group = self.group_of(binding.var);
            let Some(function) = functions.get(&group) else {
                let value = build::run(store, cx, &mut build::Follow("argument"), binding.value);
                cx.reemit(store, binding, value);
                continue;
            };
            if function.outputs.is_empty() {
                continue;
            }
            if function.outputs.len() > 1 && function.outputs.contains(&binding.var) {
                waiting.entry(group).or_default().push(binding.var);
            }
            if function.bindings.last().is_some_and(|last| last.var == binding.var) {
                let attrs = self.partition.attrs.get(group).map_or(&[][..], Vec::as_slice);
                let results = waiting.remove(&group).unwrap_or_default();
                self.call(store, cx, binding, function, attrs, &results);
            }
        }
        true
    }

    /// Binds the call of a group's function and its results.
    fn call(
        &self,
        store: &mut Store,
        cx: &mut Mutation,
        last: Binding,
        function: &GroupFunction,
        attrs: &[(&'static str, AttrValue)],
        results: &[VarId],
    ) {
        store.rewrite("bindings fused into a function", last.value, last.value, |store| {
            let (made, arguments) = function.make(store, self.module, attrs);
            let callee = cx.builder.add_function(store, made, &function.name);
            let mut args = Vec::with_capacity(arguments.len());
            for argument in arguments {
                args.push(build::run(store, cx, &mut build::Follow("argument"), argument));
            }
            let call = store.add_call(callee, &args, None);
            if let [only] = function.outputs[..] {
                let used = match store.var_data(only).dataflow {
                    true => cx.builder.emit(store, call, ""),
                    false => cx.builder.emit_output(store, call, ""),
                };
                cx.replace(store, only, used);
                return call;
            }
            let tuple = cx.builder.emit(store, call, "");
            let rest = function.outputs.iter().filter(|output| !results.contains(output));
            for output in results.iter().chain(rest) {
                let index = function.outputs.iter().position(|other| other == output).unwrap_or(0);
                let item = store.add(Expr::TupleGetItem { tuple, index: index as u32 });
                let used = match store.var_data(*output).dataflow {
                    true => cx.builder.emit(store, item, ""),
                    false => cx.builder.emit_output(store, item, ""),
                };
                cx.replace(store, *output, used);
            }
            call
        });
    }

    /// Limits the groups to the first ones, if the fuel does not suffice for all.
    fn limit(&self, store: &Store, sorted: &[Binding], functions: &mut FxHashMap<usize, GroupFunction>) {
        let Some(fuel) = store.log.fuel else { return };
        let mut order: Vec<usize> = Vec::new();
        for binding in sorted.iter().rev() {
            let group = self.group_of(binding.var);
            if functions.contains_key(&group) && !order.contains(&group) {
                order.push(group);
            }
        }
        order.iter().rev().skip(fuel as usize).for_each(|group| {
            functions.remove(group);
        });
    }

    /// Makes members that other groups use results of their group.
    fn boundaries(&mut self, store: &Store, bindings: &[Binding], functions: &mut FxHashMap<usize, GroupFunction>) {
        for binding in bindings {
            let group = self.group_of(binding.var);
            for var in used_vars(store, binding.value).into_iter().filter(|var| self.partition.group_of.contains_key(var)) {
                let producer = self.group_of(var);
                if producer == group {
                    continue;
                }
                if self.deps.get(&producer).is_some_and(|deps| deps.contains(&group)) {
                    let (user, used) = (store.var_name(binding.var), store.var_name(var));
                    let message = format!("A cyclic dependency detected between the groups {user} and {used} are in.");
                    self.errors.push(Diagnostic::error("relax-cyclic-groups", message, store.source_span(binding.value)));
                }
                self.deps.entry(group).or_default().push(producer);
                if let Some(function) = functions.get_mut(&producer) {
                    function.add_output(var);
                }
            }
        }
    }

    /// Orders the bindings: those of a group together, and behind the groups that it uses.
    fn ordered(&self, bindings: &[Binding]) -> Vec<Binding> {
        let mut members: FxHashMap<usize, Vec<Binding>> = FxHashMap::default();
        for binding in bindings {
            members.entry(self.group_of(binding.var)).or_default().push(*binding);
        }
        let mut sorted = Vec::with_capacity(bindings.len());
        let mut visited: FxHashSet<usize> = FxHashSet::default();
        for binding in bindings {
            let mut stack = vec![(self.group_of(binding.var), false)];
            while let Some((group, open)) = stack.pop() {
                if open {
                    sorted.extend(members.get(&group).into_iter().flatten());
                } else if visited.insert(group) {
                    stack.push((group, true));
                    stack.extend(self.deps.get(&group).into_iter().flatten().rev().map(|dep| (*dep, false)));
                }
            }
        }
        sorted
    }
}

/// Returns the variables in a value, in order and with repetitions.
pub(super) fn used_vars(store: &Store, value: ExprId) -> Vec<VarId> {
    let mut used = Vec::new();
    let mut stack = vec![value];
    while let Some(id) = stack.pop() {
        if let Expr::Var(var) = store.expr(id) {
            used.push(var);
        }
        let first = stack.len();
        for_each_child(store, id, |child| match store.expr(child) {
            Expr::Var(var) if stack.len() == first => used.push(var),
            _ if stack.len() > first || has_children(store, child) => stack.push(child),
            _ => {}
        });
        stack[first..].reverse();
    }
    used
}
