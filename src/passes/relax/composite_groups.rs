//! Groups calls of composite functions (TVM's `CompositeGroupsBuilder`,
//! `src/relax/transform/merge_composite_functions.cc`).

use super::grouping::{Partition, bound_values, used_vars};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Binding, Expr, ExprId, Module, Store, Type, VarId};
use crate::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the groups of the variables of a function.
pub(super) fn composite_groups(store: &mut Store, module: &Module, function: ExprId) -> Result<Partition, PassError> {
    let Expr::Function(id) = store.expr(function) else { return Ok(Partition::default()) };
    let body = store.function(id).body;
    let mut groups = Groups {
        module,
        parent: Vec::new(),
        size: Vec::new(),
        compiler: Vec::new(),
        deps: Vec::new(),
        of: FxHashMap::default(),
        bound: bound_values(store, function),
        users: FxHashMap::default(),
        outputs: Vec::new(),
    };
    let Expr::Seq { blocks, body } = store.expr(body) else { return Ok(Partition::default()) };
    groups.outputs = used_vars(store, body);
    let bindings: Vec<Binding> = store.bindings(blocks).collect();
    for binding in &bindings {
        for var in used_vars(store, binding.value) {
            groups.users.entry(var).or_default().push(binding.var);
        }
    }
    for param in store.items(store.function(id).params).collect::<Vec<VarId>>() {
        let used = store.use_var(param);
        let group = groups.add(None);
        groups.of.insert(used, group);
    }
    for binding in &bindings {
        if binding.cast.is_some() {
            let message = "TypeError: Invalid type: relax.expr.MatchCast";
            return Err(vec![Diagnostic::error("relax-composite", message, store.source_span(binding.value))]);
        }
        if let Some(kind) = ungrouped(store, binding.value) {
            let message = format!("InternalError: Do not have a default for {kind}");
            return Err(vec![Diagnostic::error("relax-composite", message, store.source_span(binding.value))]);
        }
        let used = store.use_var(binding.var);
        let group = groups.visit(store, used, binding.value);
        groups.of.insert(used, group);
    }
    let mut partition = Partition::default();
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    for binding in &bindings {
        let used = store.use_var(binding.var);
        let root = groups.root(groups.of[&used]);
        let number = *numbers.entry(root).or_insert_with(|| partition.add());
        partition.group_of.insert(binding.var, number);
        partition.sizes[number] = groups.size[root];
        if let (Some(compiler), true) = (&groups.compiler[root], partition.attrs[number].is_empty()) {
            let name = store.name(compiler);
            partition.attrs[number].push(("Codegen", AttrValue::Str(name)));
        }
    }
    Ok(partition)
}

/// Returns the kind of an expression that TVM's grouping does not handle: branches, inner functions, and
/// external functions and strings as operands.
fn ungrouped(store: &Store, value: ExprId) -> Option<&'static str> {
    let kind = |id: ExprId| match store.expr(id) {
        Expr::If { .. } => Some("relax.expr.If"),
        Expr::Function(_) => Some("relax.expr.Function"),
        Expr::Extern(_) => Some("relax.expr.ExternFunc"),
        Expr::Str(_) => Some("ir.StringImm"),
        _ => None,
    };
    match store.expr(value) {
        Expr::Call { args, .. } => store.items(args).find_map(kind),
        _ => kind(value),
    }
}

struct Groups<'m> {
    module: &'m Module,
    parent: Vec<usize>,
    size: Vec<usize>,
    /// The compiler of each group that has one.
    compiler: Vec<Option<String>>,
    /// The groups that each group depends on, by their roots.
    deps: Vec<Set>,
    /// The group of each expression, variables by their uses.
    of: FxHashMap<ExprId, usize>,
    bound: FxHashMap<VarId, ExprId>,
    users: FxHashMap<VarId, Vec<VarId>>,
    outputs: Vec<VarId>,
}

/// A set of group numbers, one bit each, because a group depends on nearly all groups before it.
#[derive(Default)]
struct Set(Vec<u64>);

impl Set {
    fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Removes a number; true if it was in the set.
    fn remove(&mut self, number: usize) -> bool {
        let there = self.contains(number);
        if there {
            self.0[number / 64] &= !(1 << (number % 64));
        }
        there
    }

    fn extend(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }
}

impl Groups<'_> {
    fn add(&mut self, compiler: Option<String>) -> usize {
        self.parent.push(self.parent.len());
        self.size.push(1);
        self.compiler.push(compiler);
        self.deps.push(Set::default());
        self.parent.len() - 1
    }

    fn root(&self, mut group: usize) -> usize {
        while self.parent[group] != group {
            group = self.parent[group];
        }
        group
    }

    /// Returns the group of a value, which is bound to a variable.
    fn visit(&mut self, store: &Store, var: ExprId, value: ExprId) -> usize {
        if let Some(known) = self.of.get(&value) {
            return *known;
        }
        let group = match store.expr(value) {
            Expr::Call { callee, args, .. } => {
                let args: Vec<ExprId> = store.items(args).collect();
                for arg in &args {
                    self.ensure(store, *arg);
                }
                self.call(store, callee, &args)
            }
            Expr::Tuple(_) | Expr::TupleGetItem { .. } => self.tuple(store, var, value),
            _ => self.add(None),
        };
        self.of.insert(value, group);
        group
    }

    /// Makes sure that an operand has a group: its own, unless it is bound or a tuple.
    fn ensure(&mut self, store: &Store, expr: ExprId) {
        if !matches!(store.expr(expr), Expr::Global(_)) && !self.of.contains_key(&expr) {
            let group = match store.expr(expr) {
                Expr::Tuple(_) => self.tuple(store, expr, expr),
                _ => self.add(None),
            };
            self.of.insert(expr, group);
        }
    }

    fn call(&mut self, store: &Store, callee: ExprId, args: &[ExprId]) -> usize {
        let compiler = self.compiler_of(store, callee);
        let operands: Vec<usize> = args.iter().filter_map(|arg| self.of.get(arg)).map(|group| self.root(*group)).collect();
        let group = match &compiler {
            Some(_) => {
                let mut waits = Set::default();
                operands.iter().for_each(|group| waits.extend(&self.deps[*group]));
                let fits = |group: &&usize| self.compiler[**group] == compiler && !waits.contains(**group);
                let mut fitting = operands.iter().filter(fits).copied().collect::<Vec<usize>>().into_iter();
                match fitting.next() {
                    Some(first) => {
                        self.size[first] += 1;
                        fitting.for_each(|other| self.merge(other, first));
                        first
                    }
                    None => self.add(compiler),
                }
            }
            None => self.add(None),
        };
        self.depend(store, group, args);
        group
    }

    /// Puts tuples of tensors and their fields into the group that they come from, if they have no other users.
    fn tuple(&mut self, store: &Store, var: ExprId, value: ExprId) -> usize {
        let (whole, sources) = match store.expr(value) {
            Expr::TupleGetItem { tuple, .. } => (tuple, vec![tuple]),
            Expr::Tuple(fields) => (value, store.items(fields).collect()),
            _ => return self.add(None),
        };
        if !is_flat(store, whole) {
            return self.add(None);
        }
        for source in &sources {
            self.ensure(store, *source);
        }
        let seen_as = if whole == value { var } else { whole };
        if self.only_fields_are_used(store, seen_as) {
            let roots: FxHashSet<usize> =
                sources.iter().filter_map(|source| self.of.get(source)).map(|group| self.root(*group)).collect();
            if let (Some(root), 1) = (roots.iter().next().copied(), roots.len())
                && self.compiler[root].is_some()
            {
                self.size[root] += 1;
                return root;
            }
        }
        let group = self.add(None);
        self.depend(store, group, &sources);
        group
    }

    fn compiler_of(&self, store: &Store, callee: ExprId) -> Option<String> {
        let Expr::Global(name) = store.expr(callee) else { return None };
        let Expr::Function(function) = store.expr(self.module.function(name)?) else { return None };
        let composite = store.attr_str(store.function(function).attrs, "Composite")?;
        composite.split_once('.').map(|(compiler, _)| compiler.to_owned())
    }

    fn merge(&mut self, from: usize, to: usize) {
        let (from, to) = (self.root(from), self.root(to));
        if from == to {
            return;
        }
        self.parent[from] = to;
        self.size[to] += self.size[from];
        let waits = std::mem::take(&mut self.deps[from]);
        self.deps[to].extend(&waits);
        for deps in &mut self.deps {
            if deps.remove(from) {
                deps.insert(to);
            }
        }
    }

    /// Adds the groups of its operands, and all that these depend on, to the dependencies of a group.
    fn depend(&mut self, store: &Store, group: usize, args: &[ExprId]) {
        let root = self.root(group);
        let mut stack: Vec<ExprId> = args.to_vec();
        while let Some(arg) = stack.pop() {
            if let Expr::Tuple(fields) = store.expr(arg) {
                stack.extend(store.items(fields));
                continue;
            }
            let Some(other) = self.of.get(&arg).map(|group| self.root(*group)).filter(|other| *other != root) else { continue };
            let mut waits = std::mem::take(&mut self.deps[root]);
            waits.insert(other);
            waits.extend(&self.deps[other]);
            self.deps[root] = waits;
        }
    }

    /// True if all uses of a tuple, also under other names, take its fields.
    fn only_fields_are_used(&self, store: &Store, tuple: ExprId) -> bool {
        let Expr::Var(var) = store.expr(tuple) else { return false };
        let mut pending = vec![var];
        let mut seen: FxHashSet<VarId> = FxHashSet::default();
        let mut found = false;
        while let Some(current) = pending.pop() {
            if !seen.insert(current) {
                continue;
            }
            if self.outputs.contains(&current) {
                return false;
            }
            if let Some(Expr::Var(source)) = self.bound.get(&current).map(|value| store.expr(*value)) {
                pending.push(source);
            }
            for user in self.users.get(&current).into_iter().flatten() {
                match self.bound.get(user).map(|value| store.expr(*value)) {
                    Some(Expr::TupleGetItem { .. }) => found = true,
                    Some(Expr::Var(_)) => pending.push(*user),
                    _ => return false,
                }
            }
        }
        found
    }
}

/// True if a value is a tuple of tensors and nothing else.
fn is_flat(store: &Store, value: ExprId) -> bool {
    match store.checked_type(value).map(|ty| store.type_of_id(ty)) {
        Some(Type::Tuple(fields)) => !fields.is_empty() && fields.iter().all(|field| store.tensor_info(*field).is_some()),
        _ => false,
    }
}
