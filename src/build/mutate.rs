//! The rewriting of functions of Relax, binding by binding: TVM's `ExprMutator` of Relax (src/relax/ir/expr_functor.cc).

use super::BlockBuilder;
use crate::infer::relax::types::{self, Bindings};
use crate::ir::rewrite::Visit;
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, BindingBlock, Dim, Dims, Expr, ExprId, Extents, Id, IdMap, Store, Type, TypeId, Var, VarId};

/// True if a node over leaves and tuples of leaves has such a leaf, or is one itself.
pub fn any_leaf(store: &Store, id: ExprId, is: &mut dyn FnMut(ExprId) -> bool) -> bool {
    let mut found = is(id);
    for_each_child(store, id, |child| match store.expr(child) {
        Expr::Tuple(fields) => found = found || store.items(fields).any(&mut *is),
        _ => found = found || is(child),
    });
    found
}

/// True if the arm of a branch binds anything.
pub fn has_bindings(store: &Store, arm: ExprId) -> bool {
    matches!(store.expr(arm), Expr::Seq { blocks, .. } if !blocks.is_empty())
}

/// True if the variable of a branch was annotated with less than the branch yields: TVM rebuilds branches with bindings in
/// an arm, and what is bound anew takes the type of its value.
fn loses_annotation(store: &Store, binding: Binding) -> bool {
    let Expr::If { then, other, .. } = store.expr(binding.value) else { return false };
    (has_bindings(store, then) || has_bindings(store, other)) && store.var_type(binding.var) != store.checked_type(binding.value)
}

/// The actions of a pass on each kind of node and binding. By default every hook only propagates changes from
/// elsewhere: variables with a new value get its type, and uses follow their variables.
///
/// A hook may emit bindings into the current block (`cx.builder.emit`); they come before the current one.
pub trait BlockMutator {
    /// Name of the rule that is recorded when a hook changes something.
    fn rule(&self) -> &'static str;

    /// True if `enter` and `leave` are called for operands without children, too: variables, constants, names, shapes,
    /// scalars. Most nodes are such, and most passes look only at calls, functions and bindings.
    fn wants_leaves(&self) -> bool {
        false
    }

    /// True if `enter` or `leave` may change a node over leaves, leaves included. Otherwise a value stays as it is,
    /// unless a part of it has changed.
    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let _ = (store, id);
        true
    }

    /// True if all hooks have their default, so that none is called.
    fn is_passive(&self) -> bool {
        false
    }

    /// Enters a node; a leaf only if the pass [wants leaves](BlockMutator::wants_leaves). [`Visit::Replace`] need not
    /// be in normal form.
    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let _ = (store, cx, id);
        Visit::Descend
    }

    /// Leaves a node whose children are done: `post` is `pre` over them, in normal form and with its type. The returned
    /// node need neither be in normal form nor have types.
    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        let _ = (store, cx, pre);
        post
    }

    /// Enters a binding. False removes it: uses of its variable must be gone, or be replaced ([`Mutation::replace`]).
    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        let _ = (store, cx, binding);
        true
    }

    /// Binds the value of a binding, which is done. Only this hook emits it; its default is [`Mutation::reemit`] with
    /// [`BlockMutator::define_var`].
    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let var = self.define_var(store, cx, pre.var);
        cx.reemit_as(store, pre, var, value);
    }

    /// Defines a variable: a parameter or that of a binding. The returned variable replaces it.
    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        cx.define_var(store, var)
    }

    /// Begins a block, which is open in the builder; its bindings follow.
    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        let _ = (store, cx, block);
    }

    /// Ends a block, whose bindings are done; it is still open.
    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        let _ = (store, cx, block);
    }
}

/// Changes only what mentions a variable or symbol that was replaced; it has the name of a rule.
pub struct Follow(pub &'static str);

impl BlockMutator for Follow {
    fn rule(&self) -> &'static str {
        self.0
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }
}

/// A rewrite in progress: the builder, and the replacements of variables.
pub struct Mutation {
    /// The builder that gets the bindings.
    pub builder: BlockBuilder,
    /// The replacements of symbols, in types and shapes and scalars.
    pub symbols: Bindings,
    /// True if symbols get other names only: extents keep their form, and are not simplified.
    pub(super) renames: bool,
    vars: IdMap<Var, ExprId>,
    /// True if a variable that holds a shape was replaced, which types may mention.
    shapes_changed: bool,
}

/// The replacements of variables at some time.
pub struct Saved {
    vars: IdMap<Var, ExprId>,
    shapes_changed: bool,
}

impl Mutation {
    /// Makes a rewrite without replacements.
    pub fn new(builder: BlockBuilder) -> Mutation {
        Mutation { builder, symbols: Bindings::default(), renames: false, vars: IdMap::new(), shapes_changed: false }
    }

    /// Replaces uses of a variable by a leaf from here on (TVM: writing into `var_remap_`).
    pub fn replace(&mut self, store: &Store, var: VarId, by: ExprId) {
        self.vars.insert(var, by);
        let holds_shape = store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Shape(_)));
        self.shapes_changed |= holds_shape;
    }

    /// Returns the replacement of a variable, if it has one.
    pub fn replaced(&self, var: VarId) -> Option<ExprId> {
        self.vars.get(var).copied()
    }

    /// Saves the replacements of variables so far, for [`Mutation::restore`].
    pub fn save(&self) -> Saved {
        Saved { vars: self.vars.clone(), shapes_changed: self.shapes_changed }
    }

    /// Restores the saved replacements of variables.
    pub fn restore(&mut self, saved: Saved) {
        self.vars = saved.vars;
        self.shapes_changed = saved.shapes_changed;
    }

    /// Forgets the replacements of variables, before the next function.
    pub fn forget(&mut self) {
        self.vars = IdMap::new();
        self.shapes_changed = false;
    }

    /// Returns the value that a variable is bound to, or its replacement.
    pub fn lookup_binding(&self, store: &Store, var: VarId) -> Option<ExprId> {
        match self.replaced(var).map(|expr| store.expr(expr)) {
            Some(Expr::Var(var)) => self.builder.lookup_binding(var),
            _ => self.builder.lookup_binding(var),
        }
    }

    /// Returns the value behind an operand, through variables that only rename another one.
    pub fn value_of(&self, store: &Store, expr: ExprId) -> ExprId {
        let expr = match store.expr(expr) {
            Expr::Var(var) => self.replaced(var).unwrap_or(expr),
            _ => expr,
        };
        self.builder.value_of(store, expr)
    }

    /// True if a value is in normal form over leaves without replacements, so that it stays as it is.
    pub(super) fn is_untouched(&self, store: &Store, id: ExprId) -> bool {
        self.keeps_types() && self.builder.is_normal(store, id, &|var| !self.vars.contains(var))
    }

    /// True if types stay as they are: they can mention nothing that was replaced.
    pub(super) fn keeps_types(&self) -> bool {
        self.symbols.is_empty() && !self.shapes_changed
    }

    /// Replaces symbols and variables in a type.
    pub fn ty(&self, store: &mut Store, ty: TypeId) -> TypeId {
        let replace = if self.renames { types::rename } else { types::substitute };
        let ty = replace(store, ty, &self.symbols);
        if !self.shapes_changed {
            return ty;
        }
        types::substitute_shapes(store, ty, &|store, var| match self.replaced(var).map(|expr| store.expr(expr)) {
            Some(Expr::Var(var)) => Some(Extents::Var(var)),
            Some(Expr::Shape(dims)) => Some(Extents::Known(store.dims_of_id(dims).into())),
            _ => None,
        })
    }

    /// True if a variable stays the same: its type mentions nothing that was replaced.
    pub fn keeps_var(&mut self, store: &mut Store, var: VarId) -> bool {
        self.replaced(var).is_none() && self.define_var(store, var) == var
    }

    /// Renews a variable if its type changes; otherwise it stays.
    pub fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let symbol = store.var_data(var).symbol.and_then(|symbol| self.symbols.get(&symbol)).copied();
        let Some(old) = store.var_type(var) else { return var };
        let ty = self.ty(store, old);
        if ty == old && symbol.is_none() {
            return var;
        }
        let new = store.retyped_var(var, ty);
        if let Some(Dim::Symbol(symbol)) = symbol {
            store.set_var_symbol(new, Some(symbol));
        }
        new
    }

    /// Binds the new value of a binding. If it is the same, so is the binding; otherwise the variable has the type of
    /// the new value, and uses follow.
    pub fn reemit(&mut self, store: &mut Store, pre: Binding, value: ExprId) {
        let var = self.define_var(store, pre.var);
        self.reemit_as(store, pre, var, value);
    }

    /// Does the same as [`Mutation::reemit`] with another variable.
    pub fn reemit_as(&mut self, store: &mut Store, pre: Binding, var: VarId, value: ExprId) {
        let cast = pre.cast.map(|ty| self.ty(store, ty));
        if var == pre.var && value == pre.value && cast == pre.cast && !loses_annotation(store, pre) {
            self.builder.emit_normalized(store, pre);
            return;
        }
        let (value, ty) = match cast {
            Some(ty) => (self.builder.normalize_operand(store, value), Some(ty)),
            None => (value, store.checked_type(value)),
        };
        let new = match ty {
            Some(ty) if store.var_type(var) != Some(ty) => store.retyped_var(var, ty),
            _ => var,
        };
        // A variable without a change needs no entry.
        if new != pre.var || self.vars.contains(new) || self.shapes_changed {
            let used = store.use_var(new);
            self.replace(store, pre.var, used);
            self.replace(store, var, used);
        }
        self.builder.emit_normalized(store, Binding { var: new, value, cast });
    }

    /// Replaces symbols in extents.
    pub(super) fn dims(&self, store: &mut Store, dims: Id<Dims>) -> Id<Dims> {
        if self.symbols.is_empty() {
            return dims;
        }
        let old = store.dims_of_id(dims).to_vec();
        let replace = if self.renames { types::rename_dim } else { types::substitute_dim };
        let new: Vec<Dim> = old.iter().map(|dim| replace(store, *dim, &self.symbols)).collect();
        store.dims(&new)
    }
}
