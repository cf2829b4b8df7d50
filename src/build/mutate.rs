//! The rewriting of functions of Relax, binding by binding: TVM's `ExprMutator` of Relax (src/relax/ir/expr_functor.cc).

use super::BlockBuilder;
use crate::infer::relax::types::{self, Bindings};
use crate::ir::rewrite::Visit;
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, BindingBlock, Dim, Dims, Expr, ExprId, Extents, Id, IdMap, Store, Type, TypeId, Var, VarId};

/// Whether there is such a leaf in a node over leaves and tuples of leaves, or it is one itself.
pub fn any_leaf(store: &Store, id: ExprId, is: &mut dyn FnMut(ExprId) -> bool) -> bool {
    let mut found = is(id);
    for_each_child(store, id, |child| match store.expr(child) {
        Expr::Tuple(fields) => found = found || store.items(fields).any(&mut *is),
        _ => found = found || is(child),
    });
    found
}

/// What a pass does with each kind of node and binding. Every hook has the default of changing nothing but what follows from
/// changes elsewhere: what is bound to a new value has its type, and uses follow their variables.
///
/// A hook may emit bindings into the block under way (`cx.builder.emit`); they stand before the one that is looked at.
pub trait BlockMutator {
    /// Name of the rule that is recorded when a hook changes something.
    fn rule(&self) -> &'static str;

    /// Whether `enter` and `leave` are asked about operands without children, too: variables, constants, names, shapes,
    /// scalars. Most nodes are such, and most passes look at calls, functions and bindings alone.
    fn wants_leaves(&self) -> bool {
        false
    }

    /// Whether `enter` or `leave` may do anything about a node over leaves, leaves included. Where they do not, a value stays
    /// as it is, unless something in it has become something else.
    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let _ = (store, id);
        true
    }

    /// Whether no hook does anything, so that none is asked.
    fn is_passive(&self) -> bool {
        false
    }

    /// A node is reached; a leaf only if the pass [wants leaves](BlockMutator::wants_leaves). [`Visit::Replace`] need not be in
    /// normal form.
    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let _ = (store, cx, id);
        Visit::Descend
    }

    /// The children of a node are done: `post` is `pre` over them, in normal form and with its type. What is returned need
    /// neither be in normal form nor have types.
    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        let _ = (store, cx, pre);
        post
    }

    /// A binding is reached. False leaves it out: uses of its variable must be gone, or be given another meaning
    /// ([`Mutation::replace`]).
    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        let _ = (store, cx, binding);
        true
    }

    /// The value of a binding is done. Nothing is bound but by this hook; its default is [`Mutation::reemit`] with
    /// [`BlockMutator::define_var`].
    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let var = self.define_var(store, cx, pre.var);
        cx.reemit_as(store, pre, var, value);
    }

    /// A variable is bound: a parameter or that of a binding. What is returned is bound in its place.
    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        cx.define_var(store, var)
    }

    /// A block is open in the builder, and its bindings come next.
    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        let _ = (store, cx, block);
    }

    /// The bindings of a block are done and it is still open.
    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        let _ = (store, cx, block);
    }
}

/// A rewriting under way: the builder, and what variables have become.
pub struct Mutation {
    /// Where bindings go.
    pub builder: BlockBuilder,
    /// What symbols become, in types and shapes and scalars.
    pub symbols: Bindings,
    vars: IdMap<Var, ExprId>,
    /// Whether a variable that holds a shape has become something else, which types may mention.
    shapes_changed: bool,
}

/// What variables had become at some time.
pub struct Saved {
    vars: IdMap<Var, ExprId>,
    shapes_changed: bool,
}

impl Mutation {
    /// A rewriting that has seen nothing yet.
    pub fn new(builder: BlockBuilder) -> Mutation {
        Mutation { builder, symbols: Bindings::default(), vars: IdMap::new(), shapes_changed: false }
    }

    /// From here on uses of a variable become this, a leaf (TVM: writing into `var_remap_`).
    pub fn replace(&mut self, store: &Store, var: VarId, by: ExprId) {
        self.vars.insert(var, by);
        let holds_shape = store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Shape(_)));
        self.shapes_changed |= holds_shape;
    }

    /// What uses of a variable become, if that is something else.
    pub fn replaced(&self, var: VarId) -> Option<ExprId> {
        self.vars.get(var).copied()
    }

    /// What variables have become so far, for [`Mutation::restore`].
    pub fn save(&self) -> Saved {
        Saved { vars: self.vars.clone(), shapes_changed: self.shapes_changed }
    }

    /// Forgets what variables have become since.
    pub fn restore(&mut self, saved: Saved) {
        self.vars = saved.vars;
        self.shapes_changed = saved.shapes_changed;
    }

    /// Forgets what variables have become, before the next function.
    pub fn forget(&mut self) {
        self.vars = IdMap::new();
        self.shapes_changed = false;
    }

    /// The value that a variable is bound to, or what has taken its place.
    pub fn lookup_binding(&self, store: &Store, var: VarId) -> Option<ExprId> {
        match self.replaced(var).map(|expr| store.expr(expr)) {
            Some(Expr::Var(var)) => self.builder.lookup_binding(var),
            _ => self.builder.lookup_binding(var),
        }
    }

    /// The value behind an operand, through variables that only name another one.
    pub fn value_of(&self, store: &Store, expr: ExprId) -> ExprId {
        let expr = match store.expr(expr) {
            Expr::Var(var) => self.replaced(var).unwrap_or(expr),
            _ => expr,
        };
        self.builder.value_of(store, expr)
    }

    /// Whether a value is in normal form over leaves of which none has become something else, so that it stays as it is.
    pub(super) fn is_untouched(&self, store: &Store, id: ExprId) -> bool {
        self.keeps_types() && self.builder.is_normal(store, id, &|var| !self.vars.contains(var))
    }

    /// Whether types stay as they are: nothing that they may mention has become something else.
    pub(super) fn keeps_types(&self) -> bool {
        self.symbols.is_empty() && !self.shapes_changed
    }

    /// A type with what symbols and variables have become.
    pub fn ty(&self, store: &mut Store, ty: TypeId) -> TypeId {
        let ty = types::substitute(store, ty, &self.symbols);
        if !self.shapes_changed {
            return ty;
        }
        types::substitute_shapes(store, ty, &|store, var| match self.replaced(var).map(|expr| store.expr(expr)) {
            Some(Expr::Var(var)) => Some(Extents::Var(var)),
            Some(Expr::Shape(dims)) => Some(Extents::Known(store.dims_of_id(dims).into())),
            _ => None,
        })
    }

    /// True if a variable stays the same: its type mentions nothing that has become something else.
    pub fn keeps_var(&mut self, store: &mut Store, var: VarId) -> bool {
        self.replaced(var).is_none() && self.define_var(store, var) == var
    }

    /// A variable with what its type has become: itself when that stays the same.
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

    /// Binds what a binding's value has become. When that is the same, so is the binding; otherwise the variable has the type
    /// of the new value, and uses follow.
    pub fn reemit(&mut self, store: &mut Store, pre: Binding, value: ExprId) {
        let var = self.define_var(store, pre.var);
        self.reemit_as(store, pre, var, value);
    }

    /// [`Mutation::reemit`] with another variable.
    pub fn reemit_as(&mut self, store: &mut Store, pre: Binding, var: VarId, value: ExprId) {
        let cast = pre.cast.map(|ty| self.ty(store, ty));
        if var == pre.var && value == pre.value && cast == pre.cast {
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
        // A variable that stays what it was stands for itself anyway.
        if new != pre.var || self.vars.contains(new) || self.shapes_changed {
            let used = store.use_var(new);
            self.replace(store, pre.var, used);
            self.replace(store, var, used);
        }
        self.builder.emit_normalized(store, Binding { var: new, value, cast });
    }

    /// Extents with what symbols have become.
    pub(super) fn dims(&self, store: &mut Store, dims: Id<Dims>) -> Id<Dims> {
        if self.symbols.is_empty() {
            return dims;
        }
        let old = store.dims_of_id(dims).to_vec();
        let new: Vec<Dim> = old.iter().map(|dim| types::substitute_dim(store, *dim, &self.symbols)).collect();
        store.dims(&new)
    }
}
