//! Finds the parts of a function that can be captured: allocations of known size, and runs of kernel calls whose
//! arguments always stand at the same address.

use super::super::calls::{args, op_name};
use crate::infer::relax::types;
use crate::ir::walk::free_vars;
use crate::ir::{
    AttrValue, Binding, BindingBlock, Dim, Expr, ExprId, Extents, Id, Module, PrimExpr, PrimId, Store, Symbol, Type, TypeId,
    VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// A set that keeps the order of insertion.
pub(super) struct Ordered<T>(pub Vec<T>, FxHashSet<T>);

impl<T: Copy + Eq + Hash> Ordered<T> {
    pub fn add(&mut self, item: T) {
        if self.1.insert(item) {
            self.0.push(item);
        }
    }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new(), FxHashSet::default())
    }
}

/// Bindings that move into a function of their own.
#[derive(Default)]
pub(super) struct Region {
    pub bindings: Vec<Binding>,
    /// Variables from outside that the bindings use.
    pub inputs: Ordered<VarId>,
    /// Symbols that the bindings use.
    pub symbols: Ordered<Id<Symbol>>,
    /// Variables of the bindings with uses behind the region.
    pub outputs: Ordered<VarId>,
}

/// The regions of a module.
#[derive(Default)]
pub(super) struct Plan {
    pub regions: Vec<Region>,
    /// For each function with allocations the region of those.
    pub allocs: Vec<usize>,
    /// Regions that are captured.
    pub captures: Vec<usize>,
}

pub(super) fn plan(store: &Store, module: &Module) -> Plan {
    let mut planner = Planner {
        store,
        module,
        plan: Plan::default(),
        fixed: FxHashSet::default(),
        symbols: FxHashSet::default(),
        region_of: FxHashMap::default(),
        results: FxHashSet::default(),
        capture: None,
        alloc: None,
    };
    for (_, function) in module.functions() {
        if let Expr::Function(_) = store.expr(*function) {
            planner.function(*function);
        }
    }
    planner.plan
}

enum Task {
    Visit(ExprId),
    Block(Id<BindingBlock>),
    Binding(Binding),
    /// The end of a block, and the capture around it.
    EndBlock(Option<usize>),
    /// The end of a function, and the region of the allocations around it.
    EndFunction(Option<usize>),
}

struct Planner<'s> {
    store: &'s Store,
    module: &'s Module,
    plan: Plan,
    /// Variables whose memory is always at the same address.
    fixed: FxHashSet<VarId>,
    /// Symbols that a captured region may depend on.
    symbols: FxHashSet<Id<Symbol>>,
    region_of: FxHashMap<VarId, usize>,
    /// Storage that results of the function lie in.
    results: FxHashSet<VarId>,
    /// The region that is being captured.
    capture: Option<usize>,
    /// The region of allocations.
    alloc: Option<usize>,
}

/// The parts of arguments.
#[derive(Default)]
struct Found {
    vars: Vec<VarId>,
    symbols: Vec<Id<Symbol>>,
}

impl Planner<'_> {
    fn function(&mut self, function: ExprId) {
        let store = self.store;
        let Some(data) = store.as_function(function) else { return };
        let params: Vec<VarId> = store.items(data.params).collect();
        let inputs = store.attr_int(data.attrs, "num_input").map_or(params.len(), |count| count.max(0) as usize);
        let hints: Vec<&str> = match store.attr(data.attrs, "relax.rewrite_cuda_graph.capture_symbolic_vars") {
            Some(AttrValue::Array(items)) => items
                .iter()
                .filter_map(|item| match item {
                    AttrValue::Str(name) => Some(store.str(*name)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        for (index, param) in params.iter().enumerate() {
            let symbols = store.var_type(*param).map(|ty| types::symbols(store, ty, true)).unwrap_or_default();
            if index >= inputs {
                self.fixed.insert(*param);
                self.symbols.extend(symbols);
            } else {
                self.symbols.extend(symbols.into_iter().filter(|symbol| hints.contains(&store.str(store.symbol(*symbol).name))));
            }
        }
        self.results = result_storages(store, data.body);
        let mut tasks = vec![Task::Visit(function)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(id) => self.visit(id, &mut tasks),
                Task::Block(block) => {
                    tasks.push(Task::EndBlock(self.capture.take()));
                    tasks.extend(store.block_bindings(block).rev().map(Task::Binding));
                }
                Task::Binding(binding) => self.binding(binding, &mut tasks),
                Task::EndBlock(around) => {
                    self.end_region();
                    self.capture = around;
                }
                Task::EndFunction(around) => {
                    let done = std::mem::replace(&mut self.alloc, around);
                    self.plan.allocs.extend(done.filter(|region| !self.plan.regions[*region].outputs.0.is_empty()));
                }
            }
        }
    }

    fn visit(&mut self, id: ExprId, tasks: &mut Vec<Task>) {
        match self.store.expr(id) {
            Expr::Function(function) => {
                let region = self.region();
                tasks.push(Task::EndFunction(self.alloc.replace(region)));
                tasks.push(Task::Visit(self.store.function(function).body));
            }
            Expr::Seq { blocks, .. } => tasks.extend(self.store.items(blocks).rev().map(Task::Block)),
            Expr::If { then, other, .. } => tasks.extend([Task::Visit(other), Task::Visit(then)]),
            _ => {}
        }
    }

    fn region(&mut self) -> usize {
        self.plan.regions.push(Region::default());
        self.plan.regions.len() - 1
    }

    fn end_region(&mut self) {
        self.plan.captures.extend(self.capture.take().filter(|region| !self.plan.regions[*region].bindings.is_empty()));
    }

    fn binding(&mut self, binding: Binding, tasks: &mut Vec<Task>) {
        if binding.cast.is_some() {
            return;
        }
        let mut found = Found::default();
        let value = binding.value;
        let moves = match self.store.expr(value) {
            Expr::Function(_) | Expr::If { .. } => return tasks.push(Task::Visit(value)),
            Expr::Constant(_) => return self.add(binding),
            Expr::Var(_) => self.is_fixed(value, &mut found),
            Expr::Tuple(fields) => self.all_fixed(self.store.items(fields), &mut found),
            Expr::TupleGetItem { tuple, .. } => self.is_fixed(tuple, &mut found),
            Expr::Call { callee, .. } => {
                let name = op_name(self.store, value);
                if name == "memory.alloc_storage" {
                    return self.storage(binding);
                }
                if name == "builtin.alloc_tensor" {
                    return;
                }
                let fixed = self.all_fixed(args(self.store, value).into_iter(), &mut found);
                let kernel = self.is_kernel(callee, name);
                let moves = fixed && kernel.is_some();
                if moves && kernel == Some(true) && self.capture.is_none() {
                    self.capture = Some(self.region());
                }
                moves
            }
            _ => return,
        };
        if moves {
            self.add(binding);
            if let Some(capture) = self.capture {
                let region = &mut self.plan.regions[capture];
                for var in found.vars.iter().filter(|var| self.region_of.get(var) != Some(&capture)) {
                    region.inputs.add(*var);
                }
                found.symbols.iter().for_each(|symbol| region.symbols.add(*symbol));
            }
        } else {
            self.end_region();
        }
        for var in &found.vars {
            if let Some(region) = self.region_of.get(var).filter(|region| Some(**region) != self.capture) {
                self.plan.regions[*region].outputs.add(*var);
            }
        }
    }

    /// `None` if a call may not be captured; true if it calls a kernel, with which capturing begins.
    fn is_kernel(&self, callee: ExprId, name: &str) -> Option<bool> {
        match self.store.expr(callee) {
            Expr::Global(global) => {
                let function = self.module.function(global)?;
                matches!(self.store.expr(function), Expr::PrimFunc(_)).then_some(true)
            }
            Expr::Extern(symbol) => (!self.store.str(symbol).starts_with("vm.builtin")).then_some(true),
            Expr::Op(_) => {
                let other = name.starts_with("memory") || name.starts_with("builtin");
                Some(!other && !matches!(name, "reshape" | "null_value" | "call_builtin_with_ctx"))
            }
            _ => Some(false),
        }
    }

    fn storage(&mut self, binding: Binding) {
        let shape = args(self.store, binding.value).first().map(|shape| self.store.expr(*shape));
        let known = |dims: &[Dim]| dims.iter().all(|dim| dim.known().is_some());
        let constant = matches!(shape, Some(Expr::Shape(dims)) if known(self.store.dims_of_id(dims)));
        if let Some(alloc) = self.alloc.filter(|_| constant && !self.results.contains(&binding.var)) {
            self.plan.regions[alloc].bindings.push(binding);
            self.region_of.insert(binding.var, alloc);
            self.fixed.insert(binding.var);
        }
    }

    /// Adds a binding that could be captured, if capturing has begun.
    fn add(&mut self, binding: Binding) {
        if let Some(capture) = self.capture {
            self.plan.regions[capture].bindings.push(binding);
            self.region_of.insert(binding.var, capture);
        }
        self.fixed.insert(binding.var);
    }

    /// True if values are the same in every run of the function. Notes all of their parts.
    fn all_fixed(&self, values: impl Iterator<Item = ExprId>, found: &mut Found) -> bool {
        let mut all = true;
        for value in values {
            all &= self.is_fixed(value, found);
        }
        all
    }

    fn is_fixed(&self, value: ExprId, found: &mut Found) -> bool {
        let (mut all, mut waiting) = (true, vec![value]);
        while let Some(value) = waiting.pop() {
            all &= match self.store.expr(value) {
                Expr::Constant(_) | Expr::DataType(_) | Expr::Str(_) | Expr::Global(_) => true,
                Expr::Prim(prim) => self.fixed_prim(prim, found),
                Expr::Shape(dims) => self.fixed_dims(self.store.dims_of_id(dims), found),
                Expr::Var(var) => {
                    found.vars.push(var);
                    self.fixed.contains(&var) && self.store.var_type(var).is_some_and(|ty| self.fixed_type(ty, found))
                }
                Expr::Tuple(fields) => {
                    let first = waiting.len();
                    waiting.extend(self.store.items(fields));
                    waiting[first..].reverse();
                    true
                }
                _ => false,
            };
        }
        all
    }

    fn fixed_prim(&self, prim: PrimId, found: &mut Found) -> bool {
        let mut all = true;
        self.store.for_each_prim(prim, &mut |_, expr| {
            if let PrimExpr::Var(symbol) = expr {
                let fixed = self.symbols.contains(symbol);
                found.symbols.extend(Some(*symbol).filter(|_| fixed));
                all &= fixed;
            }
        });
        all
    }

    fn fixed_dims(&self, dims: &[Dim], found: &mut Found) -> bool {
        let mut all = true;
        for dim in dims {
            all &= match *dim {
                Dim::Int { .. } => true,
                Dim::Symbol(symbol) => {
                    let fixed = self.symbols.contains(&symbol);
                    found.symbols.extend(Some(symbol).filter(|_| fixed));
                    fixed
                }
                Dim::Expr(prim) => self.fixed_prim(prim, found),
                Dim::Any => false,
            };
        }
        all
    }

    /// Types nest at most as deep as the parser lets them, so this may recurse.
    fn fixed_type(&self, ty: TypeId, found: &mut Found) -> bool {
        match self.store.type_of_id(ty) {
            Type::Tensor { shape, .. } => self.fixed_dims(shape, found),
            Type::PartialTensor(info) => match &info.extents {
                Extents::Known(dims) => self.fixed_dims(dims, found),
                _ => false,
            },
            Type::Shape(Extents::Known(dims)) => self.fixed_dims(dims, found),
            Type::Tuple(fields) => {
                let mut all = true;
                for field in fields {
                    all &= self.fixed_type(*field, found);
                }
                all
            }
            Type::Any | Type::Prim(_) => true,
            _ => false,
        }
    }
}

/// Returns the storage of tensors that a function returns, or a branch of it.
fn result_storages(store: &Store, body: ExprId) -> FxHashSet<VarId> {
    enum Step {
        Seq(ExprId),
        Binding(Binding),
    }
    let var_of = |id: ExprId| match store.expr(id) {
        Expr::Var(var) => Some(var),
        _ => None,
    };
    let (mut results, mut storages) = (FxHashSet::default(), FxHashSet::default());
    let mut steps = vec![Step::Seq(body)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Seq(id) => {
                let Expr::Seq { blocks, body } = store.expr(id) else { continue };
                results.extend(free_vars(store, body));
                // The last binding is on top.
                steps.extend(store.items(blocks).flat_map(|block| store.block_bindings(block)).map(Step::Binding));
            }
            Step::Binding(binding) => match store.expr(binding.value) {
                Expr::If { then, other, .. } => steps.extend([Step::Seq(other), Step::Seq(then)]),
                Expr::Function(function) => steps.push(Step::Seq(store.function(function).body)),
                _ if !results.contains(&binding.var) => {}
                Expr::Var(var) => drop(results.insert(var)),
                Expr::Tuple(fields) => results.extend(store.items(fields).filter_map(var_of)),
                Expr::Call { .. } if op_name(store, binding.value) == "memory.alloc_tensor" => {
                    storages.extend(args(store, binding.value).first().and_then(|storage| var_of(*storage)));
                }
                _ => {}
            },
        }
    }
    storages
}
