//! The builder: open blocks and scopes, names, and the module.

use super::NameSupply;
use crate::diag::Diagnostic;
use crate::infer::relax::types::{self, Fit, fit};
use crate::infer::relax::{Signatures, function_type, result_type};
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::walk::post_order;
use crate::ir::{
    Binding, BindingBlock, Expr, ExprId, Function, Id, IdMap, List, Module, Name, Store, Symbol, Type, TypeId, Var, VarId,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// TVM's `BlockBuilder`: makes blocks of bindings in normal form, with types. See the [module's](super) example.
pub struct BlockBuilder {
    module: Module,
    /// The signatures that are known so far.
    pub(super) signatures: Signatures,
    /// The original module, which has the other signatures. Most passes need none.
    written: Module,
    /// The nesting depth of the expression that is being normalised.
    pub(super) depth: usize,
    names: NameSupply,
    pub(super) blocks: Vec<Frame>,
    scopes: Vec<Scope>,
    /// Symbols that scopes define, those of inner ones behind those of outer ones.
    symbols: Vec<Id<Symbol>>,
    bound: IdMap<Var, ExprId>,
    /// Functions that are being built, inner ones behind outer ones.
    pub(super) functions: Vec<super::functions::Open>,
    /// Functions of the module by their hashes, once a function is added.
    alike: Option<FxHashMap<u64, Vec<Id<Name>>>>,
    errors: Vec<Diagnostic>,
    /// Buffers of finished rewrites, which the next one reuses.
    pub(super) spare: Vec<super::anf::Run>,
}

/// A block under construction.
pub(super) struct Frame {
    pub(super) bindings: Vec<Binding>,
    pub(super) dataflow: bool,
    /// The variables of nested values in this block.
    pub(super) normal: FxHashMap<ExprId, ExprId>,
    /// True if it has leaves or tuples, which a pass has replaced.
    pub(super) normal_leaves: bool,
}

struct Scope {
    /// The first symbol that is visible in it.
    first: usize,
    /// The number of symbols before.
    outer: usize,
}

impl BlockBuilder {
    /// Returns the number of bindings in the current block.
    pub(super) fn emitted(&self) -> usize {
        self.blocks.last().map_or(0, |frame| frame.bindings.len())
    }

    /// Makes a builder in a module, which has the signatures. An empty one will do for a function that calls none.
    pub fn new(module: &Module) -> BlockBuilder {
        BlockBuilder {
            module: module.clone(),
            signatures: Signatures::default(),
            written: module.clone(),
            depth: 0,
            names: NameSupply::new(),
            blocks: Vec::new(),
            scopes: Vec::new(),
            symbols: Vec::new(),
            bound: IdMap::new(),
            functions: Vec::new(),
            alike: None,
            errors: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Returns the current module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the module, or all errors.
    pub fn finish(self) -> Result<Module, Vec<Diagnostic>> {
        if self.errors.is_empty() { Ok(self.module) } else { Err(self.errors) }
    }

    /// Returns the errors since the last call; [`BlockBuilder::finish`] does not return them again.
    pub fn take_errors(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.errors)
    }

    /// Adds an error; [`BlockBuilder::finish`] returns it.
    pub fn error(&mut self, code: &'static str, message: impl Into<String>, span: Option<crate::diag::Span>) {
        self.errors.push(Diagnostic::error(code, message, span));
    }

    /// Returns the type of a function of the module for its callers, if there is one of that name.
    pub fn signature_of(&mut self, store: &mut Store, name: Id<Name>) -> Option<TypeId> {
        if let Some(ty) = self.signatures.get(&name) {
            return Some(*ty);
        }
        let ty = signature(store, self.written.function(name)?);
        self.signatures.insert(name, ty);
        Some(ty)
    }

    /// Returns a name that this builder has not used yet.
    pub fn unique_name(&mut self, hint: &str) -> String {
        self.names.fresh(hint)
    }

    /// Adds a function and returns the node of its name. If the module has an equal function, under whatever name, it
    /// returns the node of that one (the first by name).
    pub fn add_function(&mut self, store: &mut Store, function: ExprId, hint: &str) -> ExprId {
        let look = from_afar(store, function);
        let alike = self.alike(store);
        let mut same: Vec<Id<Name>> = alike.get(&look).cloned().unwrap_or_default();
        same.retain(|name| {
            let other = self.module.function(*name);
            other.is_some_and(|other| exprs(store, other, function, EqualOptions::RELAX).is_ok())
        });
        if let Some(name) = same.into_iter().min_by(|a, b| store.str(*a).cmp(store.str(*b))) {
            return store.add(Expr::Global(name));
        }
        let name = loop {
            let name = self.names.fresh(hint);
            let name = store.name(&name);
            if self.module.function(name).is_none() {
                break name;
            }
        };
        self.module.set_function(name, function);
        let ty = signature(store, function);
        self.signatures.insert(name, ty);
        if let Some(alike) = &mut self.alike {
            alike.entry(look).or_default().push(name);
        }
        store.add(Expr::Global(name))
    }

    /// Replaces a function by another one. Calls keep their types, as in TVM, where the name carries the type: see
    /// [`BlockBuilder::set_signature`].
    pub fn update_function(&mut self, store: &Store, name: Id<Name>, function: ExprId) {
        if self.module.function(name) == Some(function) {
            return;
        }
        self.module.set_function(name, function);
        let look = self.alike.is_some().then(|| from_afar(store, function));
        if let (Some(alike), Some(look)) = (&mut self.alike, look) {
            alike.values_mut().for_each(|names| names.retain(|other| *other != name));
            alike.entry(look).or_default().push(name);
        }
    }

    /// Removes a function from the module.
    pub fn remove_function(&mut self, name: Id<Name>) {
        self.module.remove_function(name);
        if let Some(alike) = &mut self.alike {
            alike.values_mut().for_each(|names| names.retain(|other| *other != name));
        }
    }

    /// Sets the type of a function for its callers, also before the function exists; see [`signature`].
    pub fn set_signature(&mut self, name: Id<Name>, ty: TypeId) {
        self.signatures.insert(name, ty);
    }

    fn alike(&mut self, store: &Store) -> &mut FxHashMap<u64, Vec<Id<Name>>> {
        let functions = self.module.functions();
        self.alike.get_or_insert_with(|| {
            let mut alike: FxHashMap<u64, Vec<Id<Name>>> = FxHashMap::default();
            for (name, function) in functions {
                alike.entry(from_afar(store, *function)).or_default().push(*name);
            }
            alike
        })
    }

    /// Opens a block of bindings.
    pub fn begin_block(&mut self, dataflow: bool) {
        self.blocks.push(Frame { bindings: Vec::new(), dataflow, normal: FxHashMap::default(), normal_leaves: false });
    }

    /// Closes the innermost block and returns its bindings; none when none is open.
    pub fn end_block(&mut self) -> Vec<Binding> {
        self.blocks.pop().map(|frame| frame.bindings).unwrap_or_default()
    }

    /// True if the innermost block is a dataflow block.
    pub fn is_dataflow(&self) -> bool {
        self.blocks.last().is_some_and(|frame| frame.dataflow)
    }

    /// Makes the innermost block a dataflow block or an ordinary one.
    pub fn set_dataflow(&mut self, dataflow: bool) {
        if let Some(frame) = self.blocks.last_mut() {
            frame.dataflow = dataflow;
        }
    }

    /// True if a block is open.
    pub fn has_block(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Returns the bindings of the innermost block so far.
    pub fn bindings(&mut self) -> Option<&mut Vec<Binding>> {
        self.blocks.last_mut().map(|frame| &mut frame.bindings)
    }

    /// Binds a value in the innermost block, in normal form and with its type, to a new variable: in a dataflow block
    /// to a dataflow variable. Without a hint its name is `lv` or `gv`. Returns the use of the variable.
    pub fn emit(&mut self, store: &mut Store, value: ExprId, hint: &str) -> ExprId {
        self.emit_as(store, value, self.is_dataflow(), hint)
    }

    /// Binds a value in a dataflow block to a variable that is visible behind the block.
    pub fn emit_output(&mut self, store: &mut Store, value: ExprId, hint: &str) -> ExprId {
        self.emit_as(store, value, false, hint)
    }

    fn emit_as(&mut self, store: &mut Store, value: ExprId, dataflow: bool, hint: &str) -> ExprId {
        let value = self.normalize(store, value);
        self.emit_normal(store, value, dataflow, hint)
    }

    /// Binds a value that is in normal form.
    pub(super) fn emit_normal(&mut self, store: &mut Store, value: ExprId, dataflow: bool, hint: &str) -> ExprId {
        let ty = store.checked_type(value);
        let var = self.new_var(store, ty, dataflow, hint);
        self.emit_normalized(store, Binding { var, value, cast: None });
        store.use_var(var)
    }

    /// Binds a value to a variable of this type, which is checked at run time; symbols in the type are defined here.
    pub fn emit_match_cast(&mut self, store: &mut Store, value: ExprId, ty: TypeId, hint: &str) -> ExprId {
        let value = self.normalize(store, value);
        if let Some(given) = store.checked_type(value)
            && fit(store, ty, given) == Fit::Never
        {
            let (given, wanted) = (crate::print::relax_ty(store, given), crate::print::relax_ty(store, ty));
            let message = format!(
                "It is impossible to match cast any value into the target ty. But got value type: {given}, given type: {wanted}"
            );
            self.error("relax-type", message, store.source_span(value));
        }
        let var = self.new_var(store, Some(ty), self.is_dataflow(), hint);
        self.emit_normalized(store, Binding { var, value, cast: Some(ty) });
        store.use_var(var)
    }

    /// Adds a binding as it is: its value is in normal form, and value and variable have types.
    pub fn emit_normalized(&mut self, store: &Store, binding: Binding) {
        match binding.cast {
            None => {
                self.bound.insert(binding.var, binding.value);
            }
            Some(_) => self.define(store, binding.var),
        }
        if let Some(frame) = self.blocks.last_mut() {
            frame.bindings.push(binding);
        }
    }

    fn new_var(&mut self, store: &mut Store, ty: Option<TypeId>, dataflow: bool, hint: &str) -> VarId {
        let hint = match hint {
            "" if dataflow => "lv",
            "" => "gv",
            hint => hint,
        };
        let name = self.names.fresh(hint);
        store.relax_var(&name, ty, dataflow)
    }

    /// Returns the value that a variable is bound to. `None` for parameters and variables of a `match_cast`, as in TVM.
    pub fn lookup_binding(&self, var: VarId) -> Option<ExprId> {
        self.bound.get(var).copied()
    }

    /// Returns the value behind a variable, through variables that only rename another one; any other expression is itself.
    pub fn value_of(&self, store: &Store, expr: ExprId) -> ExprId {
        let mut expr = expr;
        while let Expr::Var(var) = store.expr(expr)
            && let Some(value) = self.lookup_binding(var)
        {
            expr = value;
        }
        expr
    }

    /// Opens the scope of a function: it knows the symbols that its parameters define, and no others.
    pub fn begin_scope(&mut self, store: &Store, params: &[VarId]) {
        self.scopes.push(Scope { first: self.symbols.len(), outer: self.symbols.len() });
        params.iter().for_each(|param| self.define(store, *param));
    }

    /// True inside of a scope, as every function has one.
    pub fn has_scope(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Opens a scope that inherits all symbols of the one around.
    pub fn begin_inner_scope(&mut self) {
        let first = self.scopes.last().map_or(0, |scope| scope.first);
        self.scopes.push(Scope { first, outer: self.symbols.len() });
    }

    /// Closes the innermost scope.
    pub fn end_scope(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.symbols.truncate(scope.outer);
        }
    }

    /// Defines the symbols in the type of a variable from here on.
    pub fn define(&mut self, store: &Store, var: VarId) {
        if self.scopes.is_empty() {
            return;
        }
        self.symbols.extend(store.var_data(var).symbol);
        if let Some(ty) = store.var_type(var) {
            self.symbols.extend(types::symbols(store, ty, true));
        }
    }

    /// Erases symbols from a type that this scope does not know (TVM's `EraseToWellDefinedInScope`).
    pub fn erase(&self, store: &mut Store, ty: TypeId) -> TypeId {
        match self.scopes.last() {
            Some(scope) => {
                let known = &self.symbols[scope.first..];
                types::erase(store, ty, &|symbol| known.contains(&symbol), &|_| false)
            }
            None => ty,
        }
    }

    /// Removes empty blocks, merges neighbours of one kind, and opens a sequence that is bound: its blocks come before
    /// the binding of its value (TVM's `NormalizeBlocks`).
    pub fn join_blocks(&self, store: &mut Store, blocks: &[Id<BindingBlock>]) -> List<BindingBlock> {
        let joined = |block: Id<BindingBlock>| {
            let mut bindings = store.block_bindings(block);
            bindings.len() > 0 && bindings.all(|binding| !matches!(store.expr(binding.value), Expr::Seq { .. }))
        };
        if blocks.iter().all(|block| joined(*block))
            && blocks.windows(2).all(|pair| store.block(pair[0]).dataflow != store.block(pair[1]).dataflow)
        {
            return store.list(blocks);
        }
        let mut parts: Vec<(Vec<Binding>, bool, Option<Id<BindingBlock>>)> = Vec::new();
        let mut add = |bindings: Vec<Binding>, dataflow: bool, whole: Option<Id<BindingBlock>>| match parts.last_mut() {
            _ if bindings.is_empty() => {}
            Some((joined, kind, id)) if *kind == dataflow => {
                joined.extend(bindings);
                *id = None;
            }
            _ => parts.push((bindings, dataflow, whole)),
        };
        for &block in blocks {
            let dataflow = store.block(block).dataflow;
            let bindings: Vec<Binding> = store.block_bindings(block).collect();
            if !bindings.iter().any(|binding| matches!(store.expr(binding.value), Expr::Seq { .. })) {
                add(bindings, dataflow, Some(block));
                continue;
            }
            let mut current = Vec::new();
            for binding in bindings {
                let Expr::Seq { blocks, body } = store.expr(binding.value) else {
                    current.push(binding);
                    continue;
                };
                add(std::mem::take(&mut current), dataflow, None);
                for inner in store.items(blocks) {
                    add(store.block_bindings(inner).collect(), store.block(inner).dataflow, Some(inner));
                }
                current.push(Binding { value: body, ..binding });
            }
            add(current, dataflow, None);
        }
        let ids: Vec<Id<BindingBlock>> = parts
            .into_iter()
            .map(|(bindings, dataflow, whole)| match whole {
                Some(block) => block,
                None => store.add_block_of(&bindings, dataflow),
            })
            .collect();
        store.list(&ids)
    }
}

/// True if a node has no operands and is no function.
pub fn is_leaf(store: &Store, id: ExprId) -> bool {
    !matches!(store.expr(id), Expr::Tuple(_)) && is_leaf_or_tuple(store, id)
}

/// True if a node may be an operand (TVM's `IsLeafOrTuple`).
pub fn is_leaf_or_tuple(store: &Store, id: ExprId) -> bool {
    !matches!(
        store.expr(id),
        Expr::Call { .. } | Expr::TupleGetItem { .. } | Expr::Seq { .. } | Expr::If { .. } | Expr::Function(_)
    )
}

/// Returns the type of a function for its callers.
pub fn signature(store: &mut Store, function: ExprId) -> TypeId {
    match store.expr(function) {
        Expr::Function(id) => {
            let function = *store.function(id);
            function_type(store, &function, None)
        }
        Expr::PrimFunc(id) => crate::infer::relax::prim_func_type(store, id),
        _ => match store.checked_type(function) {
            Some(ty) => ty,
            None => {
                let ret = store.ty(Type::Any);
                store.ty(Type::Callable { params: None, ret, pure: false })
            }
        },
    }
}

/// Returns a hash that equal functions share.
fn from_afar(store: &Store, function: ExprId) -> u64 {
    let mut hash = FxHasher::default();
    match store.expr(function) {
        Expr::Function(id) => {
            store.function(id).params.len().hash(&mut hash);
            for id in post_order(store, function) {
                match store.expr(id) {
                    Expr::Op(op) => op.hash(&mut hash),
                    Expr::Seq { blocks, .. } => store.bindings(blocks).count().hash(&mut hash),
                    _ => {}
                }
            }
        }
        Expr::PrimFunc(id) => store.prim_func(id).params.len().hash(&mut hash),
        _ => {}
    }
    hash.finish()
}

/// Makes a typed function over a body in normal form. Its result is the type of the body if that is as precise as
/// `ret`, without symbols that the parameters do not define.
pub fn function_over(store: &mut Store, pre: Option<ExprId>, function: Function) -> ExprId {
    let found = store.checked_type(function.body);
    let ret = result_type(store, &function, found);
    let function = Function { ret, ..function };
    let ty = Some(function_type(store, &function, None));
    let node = store.add_function(function);
    match pre {
        Some(pre) => store.rebuild(pre, Expr::Function(node), ty),
        None => store.add_typed(Expr::Function(node), ty),
    }
}

/// Rebuilds a function that was visited: the same one if nothing changed. A result type that the body does not
/// guarantee is dropped, even if it was written before (TVM's `ExprMutator`, which rebuilds every function).
pub fn function_again(store: &mut Store, pre: ExprId, function: Function) -> ExprId {
    let found = store.checked_type(function.body);
    let ret = function.ret.filter(|ret| found.is_none_or(|found| fit(store, found, *ret) == Fit::Always));
    let ret = result_type(store, &Function { ret, ..function }, found);
    let same =
        |old: Function| (old.ret, old.body) == (ret, function.body) && store.items(old.params).eq(store.items(function.params));
    if store.as_function(pre).is_some_and(same) && store.checked_type(pre).is_some() {
        return pre;
    }
    function_over(store, Some(pre), Function { ret, ..function })
}

/// Does the same as [`function_again`] for a function that was rewritten otherwise; any other expression stays.
pub fn visited(store: &mut Store, expr: ExprId) -> ExprId {
    match store.as_function(expr) {
        Some(function) => function_again(store, expr, function),
        None => expr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Dim};

    #[test]
    fn a_function_that_is_there_already_is_not_added_twice() {
        let store = &mut Store::new();
        let mut builder = BlockBuilder::new(&Module::of(crate::ir::Dialect::Relax));
        let identity = |store: &mut Store, extent: i64| {
            let ty = store.tensor_type(&[Dim::Int { value: extent, bits: 64 }], DType::F32);
            let x = store.relax_var("x", Some(ty), false);
            let used = store.use_var(x);
            let body = store.add_seq(&[], used);
            let params = store.list(&[x]);
            let data = Function { params, type_params: List::EMPTY, ret: None, body, attrs: None, device: None, pure: true };
            function_over(store, None, data)
        };
        let (a, b, c) = (identity(store, 2), identity(store, 2), identity(store, 3));
        let first = builder.add_function(store, a, "f");
        assert_eq!(builder.add_function(store, b, "f"), first);
        assert_ne!(builder.add_function(store, c, "f"), first);
        let names: Vec<&str> = builder.module().functions().iter().map(|(name, _)| store.str(*name)).collect();
        assert_eq!(names, ["f", "f1"]);
    }
}
