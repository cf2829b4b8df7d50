//! Relax's types: deduced forwards, from a binding's value to its variable (TVM: src/relax/ir/block_builder.cc).
//!
//! A written annotation of a call stays, and missing ones are filled in; a value that has a type already, such as a
//! variable or tuple, gives it to the variable that it is bound to. [`deduce_call`] returns the type of a call,
//! [`infer_module`] infers a program.

pub mod analysis;
mod call;
pub mod effects;
pub mod types;

pub(crate) use call::deduce_callable;
pub use call::{closed_reshape, deduce_call};

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::walk;
use crate::ir::{
    Binding, BindingBlock, CallInfo, Expr, ExprId, Function, Id, List, Module, Name, PrimFunc, Store, Symbol, Type, TypeId, VarId,
};
use crate::print::relax_ty;
use rustc_hash::{FxHashMap, FxHashSet};

/// The types of a module's functions for their callers.
pub type Signatures = FxHashMap<Id<Name>, TypeId>;

/// Returns the written signatures. A function without a result type may return anything.
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

/// Returns the type of a tensor program for its callers. The calls that write its outputs check its parameters.
pub(crate) fn prim_func_type(store: &mut Store, id: Id<PrimFunc>) -> TypeId {
    let ret = store.prim_func(id).ret.unwrap_or_else(|| store.tuple_type(&[]));
    let pure = effects::is_pure_program(store, id);
    store.ty(Type::Callable { params: None, ret, pure })
}

/// Makes an unknown `R.Callable`.
fn opaque(store: &mut Store) -> TypeId {
    let ret = store.ty(Type::Any);
    store.ty(Type::Callable { params: None, ret, pure: false })
}

/// Returns the type of a function with this result; with its own, or any, where none is given.
pub(crate) fn function_type(store: &mut Store, function: &Function, ret: Option<TypeId>) -> TypeId {
    let any = store.ty(Type::Any);
    let params = store.items(function.params).map(|param| store.var_type(param).unwrap_or(any)).collect();
    let ret = function.ret.or(ret).unwrap_or(any);
    store.ty(Type::Callable { params: Some(params), ret, pure: function.pure })
}

/// Returns the result type of a function over a body of type `found`: that type if it is as precise as `ret`, without
/// symbols that the parameters do not define (TVM's constructor of `relax.Function`).
pub(crate) fn result_type(store: &mut Store, function: &Function, found: Option<TypeId>) -> Option<TypeId> {
    let Some(mut found) = found else { return function.ret };
    let known = if types::is_plain(store, found) { Vec::new() } else { defined_by_params(store, function) };
    let is_known = |symbol: Id<Symbol>| known.contains(&symbol);
    if !types::is_plain(store, found)
        && let Expr::Seq { blocks, .. } = store.expr(function.body)
    {
        // The body itself knows no symbols of functions around it, only those of its casts.
        let cast = cast_symbols(store, blocks);
        found = types::erase(store, found, &|symbol| is_known(symbol) || cast.contains(&symbol), &|_| true);
    }
    if let Some(ret) = function.ret
        && types::fit(store, ret, found) != types::Fit::Always
    {
        return Some(ret);
    }
    Some(if types::is_plain(store, found) { found } else { types::erase(store, found, &is_known, &|_| false) })
}

/// The symbols that the types of a function's parameters define.
fn defined_by_params(store: &mut Store, function: &Function) -> Vec<Id<Symbol>> {
    let params: Vec<VarId> = store.items(function.params).collect();
    let mut known: Vec<Id<Symbol>> = Vec::new();
    for param in params {
        // A parameter that holds a scalar defines no symbol of a shape.
        if let Some(ty) = store.var_type(param) {
            known.extend(types::symbols(store, ty, true));
        }
    }
    known
}

/// The symbols that casts in these blocks define.
fn cast_symbols(store: &mut Store, blocks: List<BindingBlock>) -> FxHashSet<Id<Symbol>> {
    let casts: Vec<TypeId> = store.bindings(blocks).filter_map(|binding| binding.cast).collect();
    casts.into_iter().flat_map(|ty| types::symbols(store, ty, true)).collect()
}

/// Fills in the types of every function. The error has all errors of all functions.
pub fn infer_module(store: &mut Store, module: &Module) -> Result<Module, Vec<Diagnostic>> {
    let mut signatures = signatures(store, module);
    let mut result = module.clone();
    let mut errors = Vec::new();
    let mut rewriting = Rewriting::new();
    for &(name, function) in module.functions() {
        if store.as_function(function).is_none() {
            continue;
        }
        let mut deducer = Deducer::new(&signatures);
        let new = rewriting.run(store, function, &mut deducer);
        deducer.refuse_lost_outputs(store, function);
        errors.append(&mut deducer.errors);
        result.set_function(name, new);
        // A deduced result type is known to later functions.
        if let Some(function) = store.as_function(new) {
            let ty = function_type(store, &function, None);
            signatures.insert(name, ty);
        }
    }
    if errors.is_empty() { Ok(result) } else { Err(errors) }
}

/// Fills in the types of one function as if it stood in this module.
pub fn infer_function(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, Vec<Diagnostic>> {
    let signatures = signatures(store, module);
    let mut deducer = Deducer::new(&signatures);
    let new = Rewriting::new().run(store, function, &mut deducer);
    deducer.refuse_lost_outputs(store, function);
    if deducer.errors.is_empty() { Ok(new) } else { Err(deducer.errors) }
}

struct Deducer<'s> {
    signatures: &'s Signatures,
    /// The bindings of the variables in the current sequences.
    bindings: FxHashMap<VarId, Binding>,
    /// Calls that are bound to a variable whose type is written.
    annotated: FxHashMap<ExprId, (TypeId, VarId)>,
    /// Variables that TVM renews when a dataflow block ends, by the block: its outputs, and variables whose types
    /// change so. Expressions there that mention them are rebuilt, and their written annotations yield
    /// (`BindingBlockFrameNode::ExitWithScope` of `src/relax/script/builder/frame.cc`).
    renewed: FxHashMap<VarId, u32>,
    /// The replacements of nodes, which have types.
    done: FxHashMap<ExprId, ExprId>,
    /// The replacements of variables, which have types.
    vars: FxHashMap<VarId, VarId>,
    errors: Vec<Diagnostic>,
    /// Outputs that are renewed a second time, because their types change, with the block. TVM forgets the variable that
    /// stands behind the block.
    lost: FxHashMap<VarId, (u32, TypeId)>,
}

impl ExprMutator for Deducer<'_> {
    fn rule(&self) -> &'static str {
        "deduce"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> crate::ir::rewrite::Visit {
        if let Expr::Seq { blocks, .. } = store.expr(id) {
            for binding in store.bindings(blocks) {
                self.bindings.insert(binding.var, binding);
                if let Some(block) = store.read_in_block(binding.var)
                    && !store.var_data(binding.var).dataflow
                {
                    self.renewed.insert(binding.var, block);
                }
                if let (None, Some(ty), Expr::Call { .. }) =
                    (binding.cast, store.var_type(binding.var), store.expr(binding.value))
                {
                    self.annotated.insert(binding.value, (ty, binding.var));
                }
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

    /// Gives the use of a variable; one of the empty tuple's type becomes its only value.
    fn use_of(&mut self, store: &mut Store, var: VarId) -> ExprId {
        match store.var_type(var) {
            Some(ty) if types::is_void(store, ty) && !store.var_data(var).dataflow => {
                store.add_typed(Expr::Tuple(List::EMPTY), Some(ty))
            }
            _ => store.use_var(var),
        }
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let written = store.var_type(var);
        let Some(binding) = self.bindings.get(&var) else { return var };
        let computed = match store.expr(binding.value) {
            Expr::Call { .. } | Expr::Function(_) | Expr::Seq { .. } => true,
            Expr::If { then, other, .. } => ![then, other].into_iter().all(|arm| arm_has(store, arm, written)),
            _ => false,
        };
        let gives_way = matches!(store.expr(binding.value), Expr::Call { .. }) && self.gives_way(store, binding);
        if written.is_some() && (computed && !gives_way || binding.cast.is_some()) {
            return var;
        }
        let value = match store.expr(binding.value) {
            Expr::Var(other) => self.vars.get(&other).map(|var| store.use_var(*var)),
            _ => self.done.get(&binding.value).copied(),
        };
        let value = value.unwrap_or(binding.value);
        match binding.cast.or_else(|| call::type_of(store, self.signatures, value)) {
            Some(ty) if written == Some(ty) => var,
            Some(ty) => {
                if let Some(written) = written.filter(|_| !gives_way)
                    && types::fit(store, written, ty) == types::Fit::Never
                {
                    let message = not_void(store, var, written, ty).unwrap_or_else(|| {
                        let (given, written) = (relax_ty(store, ty), relax_ty(store, written));
                        format!("Invalid annotation. Got rhs value type: {given}, given type: {written}")
                    });
                    let place = store.source_span(binding.value).or(store.var_span(var));
                    self.errors.push(Diagnostic::error("relax-type", message, place));
                }
                let typed = store.retyped_var(var, ty);
                self.vars.insert(var, typed);
                // Rules ask for the value of the variable that the operands name.
                self.bindings.insert(typed, *binding);
                if gives_way
                    && written.is_some()
                    && let Some(block) = store.read_in_block(var)
                {
                    self.renewed.insert(var, block);
                    if !store.var_data(var).dataflow {
                        self.lost.insert(var, (block, ty));
                    }
                }
                typed
            }
            None => var,
        }
    }
}

/// True if the value of a branch's arm has this type as it was read. The branch then has the type that its arms turn out to
/// have, which may be more where they name constants. Another type was written for the arm, and stands.
fn arm_has(store: &Store, arm: ExprId, ty: Option<TypeId>) -> bool {
    matches!(store.expr(arm), Expr::Seq { body, .. } if store.checked_type(body) == ty)
}

/// The message about a value that stands alone, whose variable is `_` of the empty tuple type, where it is of another type.
fn not_void(store: &Store, var: VarId, written: TypeId, ty: TypeId) -> Option<String> {
    let stands_alone = ty != written && store.var_name(var) == "_" && types::is_void(store, written);
    stands_alone.then(|| {
        let ty = relax_ty(store, ty);
        format!("Non-void relax expressions must be bound to a variable, but expression of type {ty} was used as a statement.")
    })
}

/// True if an operand is one of some variables, or a tuple with one.
fn mentions(store: &Store, operand: ExprId, is: &dyn Fn(VarId) -> bool) -> bool {
    match store.expr(operand) {
        Expr::Var(var) => is(var),
        Expr::Tuple(fields) => store.items(fields).any(|field| matches!(store.expr(field), Expr::Var(var) if is(var))),
        _ => false,
    }
}

impl<'s> Deducer<'s> {
    fn new(signatures: &'s Signatures) -> Deducer<'s> {
        Deducer {
            signatures,
            bindings: FxHashMap::default(),
            annotated: FxHashMap::default(),
            renewed: FxHashMap::default(),
            done: FxHashMap::default(),
            vars: FxHashMap::default(),
            errors: Vec::new(),
            lost: FxHashMap::default(),
        }
    }

    /// Refuses uses of outputs behind their block that TVM calls ill-formed.
    fn refuse_lost_outputs(&mut self, store: &Store, function: ExprId) {
        if self.lost.is_empty() {
            return;
        }
        let mut uses: Vec<(ExprId, Option<u32>)> = Vec::new();
        for id in walk::post_order(store, function) {
            if let Expr::Seq { blocks, body } = store.expr(id) {
                uses.extend(store.bindings(blocks).map(|binding| (binding.value, store.read_in_block(binding.var))));
                uses.push((body, None));
            }
        }
        for (value, block) in uses {
            for id in walk::post_order(store, value) {
                let Expr::Var(var) = store.expr(id) else { continue };
                if let Some((_, ty)) = self.lost.get(&var).copied().filter(|(home, _)| block != Some(*home)) {
                    self.lost.remove(&var);
                    let (name, ty) = (store.str(store.var_data(var).name), relax_ty(store, ty));
                    let message = format!(
                        "Program is not well-formed: `{name}` is computed from another output of its block, so its type has to be \
                         written as {ty} or not at all"
                    );
                    self.errors.push(Diagnostic::error("relax-type", message, store.var_span(var)));
                }
            }
        }
    }

    /// True if the written type of a call's variable yields to the type of the operands.
    fn gives_way(&self, store: &Store, binding: &Binding) -> bool {
        let Some(block) = store.read_in_block(binding.var) else { return false };
        let Expr::Call { callee, args, .. } = store.expr(binding.value) else { return false };
        let is = |var: VarId| self.renewed.get(&var) == Some(&block);
        mentions(store, callee, &is) || store.items(args).any(|arg| mentions(store, arg, &is))
    }

    /// The type of a call whose arguments have theirs.
    fn deduced(&self, store: &mut Store, callee: ExprId, args: List<Expr>, info: Option<Id<CallInfo>>) -> Result<TypeId, String> {
        deduce_call(store, self.signatures, callee, args, info, &|var| self.bindings.get(&var).map(|binding| binding.value))
    }

    /// Gives `post` its type.
    fn typed(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let post = self.resolved(store, pre, post);
        let node = store.expr(post);
        let mut deduced = false;
        let ty = match node {
            Expr::Call { callee, args, info } => match self.deduced(store, callee, args, info) {
                Ok(ty) => {
                    if let Some(&(written, var)) = self.annotated.get(&pre)
                        && let Some(message) = not_void(store, var, written, ty)
                    {
                        self.errors.push(Diagnostic::error("relax-type", message, store.source_span(pre)));
                    }
                    let stands = |(written, var): &(TypeId, VarId)| {
                        let gives_way = self.bindings.get(var).is_some_and(|binding| self.gives_way(store, binding));
                        (!gives_way).then_some(*written)
                    };
                    let written = self.annotated.get(&pre).and_then(stands).unwrap_or(ty);
                    deduced = written == ty && matches!(store.expr(callee), Expr::Op(_));
                    Some(written)
                }
                Err(message) => {
                    let place = store.source_span(pre);
                    self.errors.push(Diagnostic::error("relax-type", message, place));
                    None
                }
            },
            Expr::Tuple(fields) => {
                let any = store.ty(Type::Any);
                let fields: Vec<ExprId> = store.items(fields).collect();
                let types: Vec<TypeId> =
                    fields.into_iter().map(|field| call::type_of(store, self.signatures, field).unwrap_or(any)).collect();
                let ty = store.tuple_type(&types);
                match store.type_limit(ty) {
                    Some((code, message)) => {
                        self.errors.push(Diagnostic::error(code, message, store.source_span(pre)));
                        Some(any)
                    }
                    None => Some(ty),
                }
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
                None => Some(store.ty(Type::Any)),
                Some(_) => {
                    let ty = store.checked_type(tuple).map_or_else(String::new, |ty| relax_ty(store, ty));
                    let message = format!("The type of Tuple must be TupleType, but expression has type {ty}");
                    self.errors.push(Diagnostic::error("relax-type", message, store.source_span(pre)));
                    None
                }
            },
            Expr::If { then, other, .. } => match (store.checked_type(then), store.checked_type(other)) {
                (Some(then), Some(other)) => Some(types::common(store, then, other)),
                _ => None,
            },
            Expr::Seq { blocks, body } => call::type_of(store, self.signatures, body).map(|ty| self.scoped(store, ty, blocks)),
            Expr::Var(var) => return self.use_of(store, var),
            Expr::Function(id) => return self.function(store, post, id),
            _ => None,
        };
        let result = match ty {
            Some(ty) if store.checked_type(post) != Some(ty) => store.rebuild(pre, node, Some(ty)),
            _ => post,
        };
        if deduced {
            store.set_deduced(result);
        }
        result
    }

    /// Replaces -1 and 0 in the extents of a `reshape` by their values, as the constructor of the operator does
    /// (`ConvertNewShapeToExpr` of `src/relax/op/tensor/manipulate.cc`).
    fn resolved(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match call::closed_reshape(store, post) {
            Ok(None) => post,
            Ok(Some(closed)) => store.rebuild(pre, closed, None),
            Err(message) => {
                self.errors.push(Diagnostic::error("relax-type", message, store.source_span(pre)));
                post
            }
        }
    }

    /// Returns the type of a sequence's value outside of it: without the symbols and variables that it defines.
    fn scoped(&self, store: &mut Store, ty: TypeId, blocks: List<BindingBlock>) -> TypeId {
        let bindings: Vec<Binding> = store.bindings(blocks).collect();
        let mut symbols: FxHashSet<Id<Symbol>> = FxHashSet::default();
        let mut vars: FxHashSet<VarId> = FxHashSet::default();
        for binding in &bindings {
            vars.insert(binding.var);
            symbols.extend(store.var_data(binding.var).symbol);
        }
        // Symbols that a cast defines stay known: TVM erases to parameters and casts.
        let cast = cast_symbols(store, blocks);
        types::erase(store, ty, &|symbol| cast.contains(&symbol) || !symbols.contains(&symbol), &|var| !vars.contains(&var))
    }

    fn function(&mut self, store: &mut Store, id: ExprId, function: Id<Function>) -> ExprId {
        let data = *store.function(function);
        let found = store.checked_type(data.body);
        let ret = result_type(store, &data, found);
        let ty = function_type(store, &Function { ret, ..data }, None);
        if ret == data.ret && store.checked_type(id) == Some(ty) {
            return id;
        }
        let new = store.add_function(Function { ret, ..data });
        store.rebuild(id, Expr::Function(new), Some(ty))
    }
}
