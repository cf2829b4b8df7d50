//! Relax's types: deduced forwards, from a binding's value to its variable (TVM: src/relax/ir/block_builder.cc).
//!
//! A written annotation stands; what is not written is filled in. [`deduce_call`] is the type of a call,
//! [`infer_module`] goes through a program.

mod call;
pub mod effects;
pub mod types;

pub use call::deduce_call;

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::{Binding, Expr, ExprId, Function, Id, Module, Name, PrimFunc, Store, Symbol, Type, TypeId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The types of a module's functions, as calls of them see it.
pub type Signatures = FxHashMap<Id<Name>, TypeId>;

/// The signatures that are written down. A function whose result is not said gives anything.
pub fn signatures(store: &mut Store, module: &Module) -> Signatures {
    let mut found = Signatures::default();
    for &(name, function) in module.functions() {
        let ty = match store.expr(function) {
            Expr::Function(id) => {
                let function = *store.function(id);
                function_type(store, &function, None)
            }
            Expr::PrimFunc(id) => prim_func_type(store, id),
            _ => store.checked_type(function).unwrap_or_else(|| opaque(store)),
        };
        found.insert(name, ty);
    }
    found
}

/// The type of a tensor program as calls see it. What it takes is checked by the calls that write its outputs.
pub(crate) fn prim_func_type(store: &mut Store, id: Id<PrimFunc>) -> TypeId {
    let given = store.prim_func(id).ret;
    let ret = given.unwrap_or_else(|| store.tuple_type(&[]));
    store.ty(Type::Callable { params: None, ret, pure: given.is_some() })
}

/// `R.Callable`, of which nothing is known.
fn opaque(store: &mut Store) -> TypeId {
    let ret = store.ty(Type::Any);
    store.ty(Type::Callable { params: None, ret, pure: false })
}

/// The type of a function with this result; with its own, or any, where none is given.
pub(crate) fn function_type(store: &mut Store, function: &Function, ret: Option<TypeId>) -> TypeId {
    let any = store.ty(Type::Any);
    let params = store.items(function.params).map(|param| store.var_type(param).unwrap_or(any)).collect();
    let ret = function.ret.or(ret).unwrap_or(any);
    store.ty(Type::Callable { params: Some(params), ret, pure: function.pure })
}

/// Fills in the types of every function. The error is everything that is wrong in any of them.
pub fn infer_module(store: &mut Store, module: &Module) -> Result<Module, Vec<Diagnostic>> {
    let mut signatures = signatures(store, module);
    let mut result = module.clone();
    let mut errors = Vec::new();
    let mut rewriting = Rewriting::new();
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let mut deducer = Deducer::new(&signatures);
        let new = rewriting.run(store, function, &mut deducer);
        errors.append(&mut deducer.errors);
        result.set_function(name, new);
        // A result that was not written is known to those that come later.
        if store.function(id).ret.is_none()
            && let Expr::Function(id) = store.expr(new)
        {
            let function = *store.function(id);
            let ty = function_type(store, &function, None);
            signatures.insert(name, ty);
        }
    }
    if errors.is_empty() { Ok(result) } else { Err(errors) }
}

/// Fills in the types of one function that stands in no module, or as if it stood in this one.
pub fn infer_function(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, Vec<Diagnostic>> {
    let signatures = signatures(store, module);
    let mut deducer = Deducer::new(&signatures);
    let new = Rewriting::new().run(store, function, &mut deducer);
    if deducer.errors.is_empty() { Ok(new) } else { Err(deducer.errors) }
}

struct Deducer<'s> {
    signatures: &'s Signatures,
    /// What binds the variables of the sequences that were entered.
    bindings: FxHashMap<VarId, Binding>,
    /// What nodes have become, and so their types.
    done: FxHashMap<ExprId, ExprId>,
    /// Variables that have got a type, and as what.
    vars: FxHashMap<VarId, VarId>,
    errors: Vec<Diagnostic>,
}

impl ExprMutator for Deducer<'_> {
    fn rule(&self) -> &'static str {
        "deduce"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> crate::ir::rewrite::Visit {
        if let Expr::Seq { blocks, .. } = store.expr(id) {
            for binding in store.bindings(blocks) {
                self.bindings.insert(binding.var, binding);
            }
        }
        crate::ir::rewrite::Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let result = self.typed(store, pre, post);
        if result != pre {
            self.done.insert(pre, result);
        }
        result
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        if store.var_type(var).is_some() {
            return var;
        }
        let Some(binding) = self.bindings.get(&var) else { return var };
        let value = match store.expr(binding.value) {
            Expr::Var(other) => self.vars.get(&other).map(|var| store.use_var(*var)),
            _ => self.done.get(&binding.value).copied(),
        };
        match binding.cast.or_else(|| store.checked_type(value.unwrap_or(binding.value))) {
            Some(ty) => {
                let typed = store.retyped_var(var, ty);
                self.vars.insert(var, typed);
                typed
            }
            None => var,
        }
    }
}

impl<'s> Deducer<'s> {
    fn new(signatures: &'s Signatures) -> Deducer<'s> {
        Deducer {
            signatures,
            bindings: FxHashMap::default(),
            done: FxHashMap::default(),
            vars: FxHashMap::default(),
            errors: Vec::new(),
        }
    }

    /// `post` with its type.
    fn typed(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let node = store.expr(post);
        let ty = match node {
            Expr::Call { callee, args, info } => match deduce_call(store, self.signatures, callee, args, info) {
                Ok(ty) => Some(ty),
                Err(message) => {
                    let place = store.source_span(pre);
                    self.errors.push(Diagnostic::error("relax-type", message, place));
                    None
                }
            },
            Expr::Tuple(fields) => {
                let any = store.ty(Type::Any);
                let types: Vec<TypeId> = store.items(fields).map(|field| store.checked_type(field).unwrap_or(any)).collect();
                Some(store.tuple_type(&types))
            }
            Expr::TupleGetItem { tuple, index } => match store.checked_type(tuple).map(|ty| store.type_rc(ty)).as_deref() {
                Some(Type::Tuple(fields)) => match fields.get(index as usize) {
                    Some(field) => Some(*field),
                    None => {
                        let message = format!(
                            "Index out of bounds: Tuple has {} fields, and cannot be accessed at index {index}",
                            fields.len()
                        );
                        self.errors.push(Diagnostic::error("relax-type", message, store.source_span(pre)));
                        None
                    }
                },
                _ => Some(store.ty(Type::Any)),
            },
            Expr::If { then, other, .. } => match (store.checked_type(then), store.checked_type(other)) {
                (Some(then), Some(other)) => Some(types::common(store, then, other)),
                _ => None,
            },
            Expr::Seq { blocks, body } => store.checked_type(body).map(|ty| self.scoped(store, ty, blocks)),
            Expr::Function(id) => return self.function(store, post, id),
            _ => None,
        };
        match ty {
            Some(ty) if store.checked_type(post) != Some(ty) => store.rebuild(pre, node, Some(ty)),
            _ => post,
        }
    }

    /// The type of a sequence's value outside of it: without the symbols and variables that it defines.
    fn scoped(&self, store: &mut Store, ty: TypeId, blocks: crate::ir::List<crate::ir::BindingBlock>) -> TypeId {
        let bindings: Vec<Binding> = store.bindings(blocks).collect();
        let mut symbols: FxHashSet<Id<Symbol>> = FxHashSet::default();
        let mut vars: FxHashSet<VarId> = FxHashSet::default();
        for binding in &bindings {
            vars.insert(binding.var);
            symbols.extend(store.var_data(binding.var).symbol);
        }
        // What a cast defines stays known: TVM erases to parameters and casts.
        let cast: FxHashSet<Id<Symbol>> =
            bindings.iter().filter_map(|b| b.cast).flat_map(|ty| types::symbols(store, ty, true)).collect();
        types::erase(store, ty, &|symbol| cast.contains(&symbol) || !symbols.contains(&symbol), &|var| !vars.contains(&var))
    }

    fn function(&mut self, store: &mut Store, id: ExprId, function: Id<Function>) -> ExprId {
        let data = *store.function(function);
        let ret = match data.ret {
            Some(ret) => Some(ret),
            None => store.checked_type(data.body),
        };
        let ty = function_type(store, &data, ret);
        if ret == data.ret && store.checked_type(id) == Some(ty) {
            return id;
        }
        let new = store.add_function(Function { ret, ..data });
        store.rebuild(id, Expr::Function(new), Some(ty))
    }
}
