//! Values of the forward part that the backward part uses: kept ones and recomputed ones.

use super::backward::is_checkpoint;
use crate::build::{BlockBuilder, BlockMutator, Mutation};
use crate::infer::relax::types::symbols;
use crate::ir::walk::post_order;
use crate::ir::{Binding, Dim, Expr, ExprId, Store, Type, TypeId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Removes the marks of checkpoints and notes the kept variables (TVM's `CheckpointCollector`).
#[derive(Default)]
pub(super) struct Collect {
    /// Variables that are kept.
    pub(super) kept: FxHashSet<VarId>,
    /// The original variables of those that marks bind.
    pub(super) originals: FxHashMap<VarId, VarId>,
    ends: FxHashSet<VarId>,
}

impl BlockMutator for Collect {
    fn rule(&self) -> &'static str {
        "checkpoints"
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if binding.cast.is_some() {
            cx.builder.error("gradient", "Now only support VarBindingNode", store.source_span(binding.value));
            return true;
        }
        if !is_checkpoint(store, binding.value) {
            let mut all = true;
            for id in post_order(store, binding.value) {
                if let Expr::Var(var) = store.expr(id) {
                    all &= self.kept.contains(&var) || self.ends.contains(&var);
                }
                // Symbols are variables in TVM and never kept, so a value with a symbolic shape is recomputed.
                all &= !has_symbols(store, id);
            }
            if all {
                self.kept.insert(binding.var);
            }
            return true;
        }
        let arg = super::super::calls::args(store, binding.value).first().copied();
        let Some(Expr::Var(var)) = arg.map(|arg| store.expr(arg)) else {
            let message = "The first argument of relax.grad.start_checkpoint and relax.grad.end_checkpoint should be a Var";
            cx.builder.error("gradient", message, store.source_span(binding.value));
            return true;
        };
        let original = match cx.replaced(var).map(|expr| store.expr(expr)) {
            Some(Expr::Var(original)) => original,
            _ => var,
        };
        let used = store.use_var(original);
        let leaves = !store.var_data(binding.var).dataflow && store.var_data(var).dataflow;
        let stands = if leaves {
            let name = store.var_name(original).to_owned();
            cx.builder.emit_output(store, used, &name)
        } else {
            used
        };
        cx.replace(store, binding.var, stands);
        self.originals.insert(binding.var, original);
        if super::super::calls::op_name(store, binding.value) == "grad.start_checkpoint" {
            self.kept.insert(original);
        } else {
            self.ends.insert(binding.var);
        }
        false
    }
}

/// True if a symbol occurs in an expression or its type.
fn has_symbols(store: &Store, id: ExprId) -> bool {
    let in_dim = |dim: &Dim| !matches!(dim, Dim::Int { .. } | Dim::Any);
    match store.expr(id) {
        Expr::Shape(dims) if store.dims_of_id(dims).iter().any(in_dim) => true,
        _ => store.checked_type(id).is_some_and(|ty| !symbols(store, ty, false).is_empty()),
    }
}

/// The values of the forward part as the backward part uses them (TVM's `CheckpointGenerator`).
pub(super) struct Checkpoints {
    /// Variables that are kept or were recomputed, and their values.
    known: FxHashMap<VarId, ExprId>,
    values: FxHashMap<VarId, ExprId>,
}

impl Checkpoints {
    pub(super) fn new(store: &mut Store, params: &[VarId], bindings: &[Binding], kept: &FxHashSet<VarId>) -> Checkpoints {
        let mut checkpoints = Checkpoints { known: FxHashMap::default(), values: FxHashMap::default() };
        for param in params {
            checkpoints.known.insert(*param, store.use_var(*param));
        }
        for binding in bindings {
            checkpoints.values.insert(binding.var, binding.value);
            if kept.contains(&binding.var) {
                checkpoints.known.insert(binding.var, store.use_var(binding.var));
            }
        }
        checkpoints
    }

    /// Returns the variable of a call and its arguments, as the backward part uses them.
    pub(super) fn of(
        &mut self,
        store: &mut Store,
        builder: &mut BlockBuilder,
        binding: Binding,
    ) -> Result<(ExprId, Vec<ExprId>), String> {
        let args = super::super::calls::args(store, binding.value);
        for arg in &args {
            self.need(store, builder, *arg)?;
        }
        let args: Vec<ExprId> = args.into_iter().map(|arg| self.mapped(store, arg)).collect();
        self.need_var(store, builder, binding.var)?;
        let result = self.known.get(&binding.var).copied().ok_or("a value is missing")?;
        Ok((result, args))
    }

    fn need(&mut self, store: &mut Store, builder: &mut BlockBuilder, expr: ExprId) -> Result<(), String> {
        for id in post_order(store, expr) {
            if let Expr::Var(var) = store.expr(id) {
                self.need_var(store, builder, var)?;
            }
        }
        Ok(())
    }

    /// Recomputes a variable, after its operands.
    fn need_var(&mut self, store: &mut Store, builder: &mut BlockBuilder, var: VarId) -> Result<(), String> {
        let mut stack = vec![(var, false)];
        while let Some((var, ready)) = stack.pop() {
            if self.known.contains_key(&var) {
                continue;
            }
            let Some(&value) = self.values.get(&var) else { return Err("a value of the forward part is missing".to_owned()) };
            if ready {
                let value = self.mapped(store, value);
                let hint = format!("{}_cp", store.var_name(var));
                let again = builder.emit(store, value, &hint);
                self.known.insert(var, again);
                continue;
            }
            stack.push((var, true));
            let first = stack.len();
            for id in post_order(store, value) {
                if let Expr::Var(used) = store.expr(id) {
                    stack.push((used, false));
                }
            }
            stack[first..].reverse();
        }
        Ok(())
    }

    /// Replaces variables in an expression by their values in the backward part. It is in normal form, which does not nest deep.
    fn mapped(&self, store: &mut Store, id: ExprId) -> ExprId {
        let map = |store: &mut Store, list: Vec<ExprId>| -> Vec<ExprId> {
            list.into_iter().map(|item| self.mapped(store, item)).collect()
        };
        match store.expr(id) {
            Expr::Var(var) => self.known.get(&var).copied().unwrap_or(id),
            Expr::Tuple(fields) => {
                let fields = store.items(fields).collect();
                let fields = map(store, fields);
                super::super::calls::tuple(store, &fields)
            }
            Expr::TupleGetItem { tuple, index } => {
                let tuple = self.mapped(store, tuple);
                let ty: Option<TypeId> = match store.checked_type(tuple).map(|ty| store.type_of_id(ty)) {
                    Some(Type::Tuple(types)) => types.get(index as usize).copied(),
                    _ => None,
                };
                store.add_typed(Expr::TupleGetItem { tuple, index }, ty)
            }
            Expr::Call { callee, args, info } => {
                let args = store.items(args).collect();
                let args = map(store, args);
                let args = store.list(&args);
                store.add(Expr::Call { callee, args, info })
            }
            _ => id,
        }
    }
}
