//! The function of a group of bindings (TVM's `FunctionCreator`, `src/relax/transform/fuse_ops.cc`).
//!
//! Values from outside become parameters, in the order of first use, each once; known scalars and shapes stay inside.
//! If only fields of a tuple are used, the fields are passed. Symbols are renewed, and those that no parameter defines
//! are passed as a shape, `tir_vars`.

use super::support::{symbol_of, symbols_in, used_symbols_at};
use crate::build::{self, BlockBuilder, BlockMutator, Mutation};
use crate::infer::relax::types::{self, Bindings};
use crate::ir::rewrite::Visit;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Binding, Dim, Expr, ExprId, Extents, Function, Id, List, Module, PrimExpr, Store, Symbol};
use crate::ir::{Type, TypeId, VarId};
use crate::ops;
use rustc_hash::{FxHashMap, FxHashSet};

/// A function under construction.
pub(super) struct GroupFunction {
    /// The members of the group.
    pub bindings: Vec<Binding>,
    /// Members that are used outside of the group.
    pub outputs: Vec<VarId>,
    /// A name that describes the computation.
    pub name: String,
    arguments: Vec<Argument>,
    defined: FxHashSet<VarId>,
    /// Variables of known scalars and shapes, and their values.
    inlined: Vec<(VarId, ExprId)>,
    lift_constants: bool,
    /// The number of arguments without a name of their own.
    unnamed: usize,
}

struct Argument {
    expr: ExprId,
    name: String,
    /// The used fields, for a tuple of which only fields were used so far.
    fields: Option<Vec<u32>>,
}

impl GroupFunction {
    /// Makes a function without members. With `lift_constants` constants become arguments.
    pub fn new(lift_constants: bool) -> GroupFunction {
        GroupFunction {
            bindings: Vec::new(),
            outputs: Vec::new(),
            name: "fused".to_owned(),
            arguments: Vec::new(),
            defined: FxHashSet::default(),
            inlined: Vec::new(),
            lift_constants,
            unnamed: 0,
        }
    }

    /// Adds a member. `outer` has the values of variables of the function around.
    pub fn append(&mut self, store: &Store, binding: Binding, outer: &FxHashMap<VarId, ExprId>) {
        self.bindings.push(binding);
        if binding.cast.is_some() {
            return;
        }
        match store.expr(binding.value) {
            Expr::Call { callee, args, .. } => {
                let (name, tensor_program) = called(store, callee, args);
                self.name = format!("{}_{name}", self.name);
                let args: Vec<ExprId> = match tensor_program {
                    Some(tuple) => fields_of(store, tuple),
                    None => store.items(args).collect(),
                };
                for arg in args {
                    match store.expr(arg) {
                        Expr::Tuple(fields) if tensor_program.is_none() => {
                            store.items(fields).for_each(|field| self.use_value(store, field, outer));
                        }
                        _ => self.use_value(store, arg, outer),
                    }
                    // It is used as a whole, so it is passed as a whole.
                    if let Some(argument) = self.arguments.iter_mut().find(|argument| argument.expr == arg) {
                        argument.fields = None;
                    }
                }
            }
            Expr::TupleGetItem { tuple, index } => {
                self.use_value(store, tuple, outer);
                let argument = self.arguments.iter_mut().find(|argument| argument.expr == tuple);
                if let Some(fields) = argument.and_then(|argument| argument.fields.as_mut()) {
                    fields.push(index);
                }
            }
            _ => {}
        }
        self.defined.insert(binding.var);
        if !store.var_data(binding.var).dataflow {
            self.add_output(binding.var);
        }
    }

    /// Marks a member as used outside.
    pub fn add_output(&mut self, var: VarId) {
        if !self.outputs.contains(&var) {
            self.outputs.push(var);
        }
    }

    /// Handles an operand of a member: a value that is not made in the group comes from outside.
    fn use_value(&mut self, store: &Store, expr: ExprId, outer: &FxHashMap<VarId, ExprId>) {
        if self.arguments.iter().any(|argument| argument.expr == expr) {
            return;
        }
        let name = match store.expr(expr) {
            Expr::Var(var) => {
                if self.defined.contains(&var) {
                    return;
                }
                if let Some(value) = known_value(store, var, outer) {
                    self.inlined.push((var, value));
                    return;
                }
                store.var_name(var).to_owned()
            }
            Expr::Constant(_) if !self.lift_constants => return,
            Expr::Prim(prim) if matches!(store.prim_of_id(prim), PrimExpr::Var(_)) => match *store.prim_of_id(prim) {
                PrimExpr::Var(symbol) => store.str(store.symbol(symbol).name).to_owned(),
                _ => return,
            },
            _ => {
                self.unnamed += 1;
                format!("param_{}", self.unnamed - 1)
            }
        };
        if is_known(store, expr) {
            return;
        }
        let tuple = store.checked_type(expr).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tuple(_)));
        self.arguments.push(Argument { expr, name, fields: tuple.then(Vec::new) });
    }

    /// Returns the function, and its arguments in the function around.
    pub fn make(&self, store: &mut Store, module: &Module, attrs: &[(&'static str, AttrValue)]) -> (ExprId, Vec<ExprId>) {
        let mut cx = Mutation::new(BlockBuilder::new(module));
        let mut signature = self.signature(store, &mut cx);
        cx.builder.begin_scope(store, &signature.params);
        cx.builder.begin_block(true);
        let results = self.copied(store, &mut cx, &mut signature);
        let bindings = cx.builder.end_block();
        let body = match results[..] {
            [only] => only,
            _ => {
                let tuple = store.add_tuple(&results);
                cx.builder.normalize(store, tuple)
            }
        };
        let block = store.add_block_of(&bindings, true);
        let body = store.add_seq(if bindings.is_empty() { &[] } else { std::slice::from_ref(&block) }, body);
        let all = attrs.iter().cloned().chain([("Primitive", AttrValue::Bool(true))]);
        let set = all.fold(None, |set, (name, value)| Some(store.with_attr(set, name, value)));
        let params = store.list(&signature.params);
        let data = Function { params, type_params: List::EMPTY, ret: None, body, attrs: set, device: None, pure: true };
        let function = crate::build::function_over(store, None, data);
        cx.builder.end_scope();
        (function, signature.arguments)
    }

    /// Makes the parameters; uses of the arguments become uses of them.
    fn signature(&self, store: &mut Store, cx: &mut Mutation) -> Signature {
        let mut signature = Signature::default();
        let Signature { params, arguments, inside, items } = &mut signature;
        let any = store.ty(Type::Any);
        let given: Vec<TypeId> = self.arguments.iter().map(|arg| store.checked_type(arg.expr).unwrap_or(any)).collect();
        cx.symbols = self.renewed(store, &given);
        for (argument, ty) in self.arguments.iter().zip(given) {
            if self.is_implied(store, argument.expr) {
                let renewed = symbol_of(store, argument.expr).and_then(|symbol| cx.symbols.get(&symbol).copied());
                if let (Expr::Var(var), Some(Dim::Symbol(symbol))) = (store.expr(argument.expr), renewed) {
                    let prim = store.prim(PrimExpr::Var(symbol));
                    let scalar = store.add_typed(Expr::Prim(prim), Some(ty));
                    cx.replace(store, var, scalar);
                }
                continue;
            }
            let new_type = types::substitute(store, ty, &cx.symbols);
            if let (Some(fields), Type::Tuple(types)) = (&argument.fields, store.type_of_id(new_type).clone())
                && !fields.is_empty()
            {
                for &index in fields {
                    items.entry((argument.expr, index)).or_insert_with(|| {
                        let ty = types.get(index as usize).copied();
                        params.push(store.relax_var(&format!("{}_{index}", argument.name), ty, false));
                        arguments.push(store.add(Expr::TupleGetItem { tuple: argument.expr, index }));
                        params[params.len() - 1]
                    });
                }
                continue;
            }
            let param = store.relax_var(&argument.name, Some(new_type), false);
            if let (Some(symbol), Some(new)) = (symbol_of(store, argument.expr), store.var_data(param).symbol) {
                // The scalar is the symbol that shapes mention.
                match *cx.symbols.entry(symbol).or_insert(Dim::Symbol(new)) {
                    Dim::Symbol(renewed) => store.set_var_symbol(param, Some(renewed)),
                    _ => _ = cx.symbols.insert(symbol, Dim::Symbol(new)),
                }
            }
            let used = store.use_var(param);
            match store.expr(argument.expr) {
                Expr::Var(var) => cx.replace(store, var, used),
                _ => {
                    inside.known.insert(argument.expr, used);
                }
            }
            params.push(param);
            arguments.push(argument.expr);
        }
        for (var, value) in &self.inlined {
            cx.replace(store, *var, *value);
        }
        let free = self.free_symbols(store, arguments);
        if !free.is_empty() {
            let old: Vec<Dim> = free.iter().map(|symbol| Dim::Symbol(*symbol)).collect();
            let new: Vec<Dim> = old.iter().map(|dim| types::substitute_dim(store, *dim, &cx.symbols)).collect();
            let ty = store.ty(Type::Shape(Extents::Known(new.into())));
            params.push(store.relax_var("tir_vars", Some(ty), false));
            let dims = store.dims(&old);
            let ty = store.ty(Type::Shape(Extents::Known(old.into())));
            arguments.push(store.add_typed(Expr::Shape(dims), Some(ty)));
        }
        signature
    }

    /// Copies the bindings into the open block, and returns the outputs there.
    fn copied(&self, store: &mut Store, cx: &mut Mutation, signature: &mut Signature) -> Vec<ExprId> {
        let Signature { inside, items, .. } = signature;
        let mut results = vec![None; self.outputs.len()];
        for binding in &self.bindings {
            let output = self.outputs.iter().position(|var| *var == binding.var);
            let used = match store.expr(binding.value) {
                Expr::TupleGetItem { tuple, index } if items.contains_key(&(tuple, index)) => {
                    store.use_var(items[&(tuple, index)])
                }
                _ => {
                    let value = build::run(store, cx, inside, binding.value);
                    if output.is_none() {
                        cx.reemit(store, *binding, value);
                        continue;
                    }
                    cx.builder.emit_output(store, value, "")
                }
            };
            cx.replace(store, binding.var, used);
            if let Some(output) = output {
                results[output] = Some(used);
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Returns a new symbol for each one in a type or shape.
    fn renewed(&self, store: &mut Store, given: &[TypeId]) -> Bindings {
        let mut all: Vec<Id<Symbol>> = given.iter().flat_map(|ty| types::symbols(store, *ty, false)).collect();
        all.extend(self.arguments.iter().filter_map(|argument| symbol_of(store, argument.expr)));
        all.extend(self.used_symbols(store, &[]));
        let mut renewed = Bindings::default();
        for symbol in all {
            renewed.entry(symbol).or_insert_with(|| {
                let copy = store.symbol(symbol).clone();
                Dim::Symbol(store.add_symbol(copy))
            });
        }
        renewed
    }

    /// Returns symbols that no parameter defines, in the order of first use.
    fn free_symbols(&self, store: &Store, arguments: &[ExprId]) -> Vec<Id<Symbol>> {
        let types = || arguments.iter().filter_map(|argument| store.checked_type(*argument));
        let mut defined: FxHashSet<Id<Symbol>> = types().flat_map(|ty| types::symbols(store, ty, true)).collect();
        defined.extend(arguments.iter().filter_map(|argument| symbol_of(store, *argument)));
        let used = types().flat_map(|ty| types::symbols(store, ty, false)).chain(self.used_symbols(store, arguments));
        let mut free: Vec<Id<Symbol>> = Vec::new();
        for symbol in used {
            if !defined.contains(&symbol) && !free.contains(&symbol) {
                free.push(symbol);
            }
        }
        // TVM takes them from a hash table of few elements, where the newest stands first.
        free.reverse();
        free
    }

    /// True if an argument is a scalar whose symbols are all in the types of other arguments, so it need not be passed.
    fn is_implied(&self, store: &Store, argument: ExprId) -> bool {
        let scalar = |expr| match store.expr(expr) {
            Expr::Prim(prim) => symbols_in(store, prim),
            Expr::Var(var) => store.var_data(var).symbol.into_iter().collect(),
            _ => Vec::new(),
        };
        let own = scalar(argument);
        let given = || self.arguments.iter().map(|argument| argument.expr).filter(|expr| scalar(*expr).is_empty());
        let stands = |symbol: &Id<Symbol>| {
            given().filter_map(|expr| store.checked_type(expr)).any(|ty| types::symbols(store, ty, false).contains(symbol))
        };
        !own.is_empty() && own.iter().all(stands)
    }

    /// Returns the symbols in the values of members and in the types of their variables.
    fn used_symbols(&self, store: &Store, kept: &[ExprId]) -> Vec<Id<Symbol>> {
        let mut found = Vec::new();
        for binding in &self.bindings {
            // A parameter replaces an argument, whatever that is made of.
            for id in post_order(store, binding.value).into_iter().filter(|id| !kept.contains(id)) {
                used_symbols_at(store, id, &mut found);
            }
            if let Some(ty) = store.var_type(binding.var) {
                found.extend(types::symbols(store, ty, false));
            }
        }
        found
    }
}

/// The parameters of the function, and what stands for them.
#[derive(Default)]
struct Signature {
    params: Vec<VarId>,
    /// The arguments in the function around.
    arguments: Vec<ExprId>,
    inside: Inside,
    /// Parameters that are fields of an argument.
    items: FxHashMap<(ExprId, u32), VarId>,
}

/// Replaces arguments that are no variables by parameters.
#[derive(Default)]
struct Inside {
    known: FxHashMap<ExprId, ExprId>,
}

impl BlockMutator for Inside {
    fn rule(&self) -> &'static str {
        "parameter"
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, _: &mut Store, _: &mut Mutation, id: ExprId) -> Visit {
        self.known.get(&id).map_or(Visit::Descend, |param| Visit::Replace(*param))
    }
}

/// Returns the part of the group's name for a call, and the arguments of a call of a tensor program.
fn called(store: &Store, callee: ExprId, args: List<Expr>) -> (String, Option<ExprId>) {
    let op_name = match store.expr(callee) {
        Expr::Op(op) => ops::info(op).relax.as_ref().map_or(ops::info(op).name, |op| op.name),
        Expr::Global(name) => {
            let name = store.str(name);
            return (name.strip_prefix("fused_").unwrap_or(name).to_owned(), None);
        }
        _ => return (String::new(), None),
    };
    if matches!(op_name, "call_tir" | "call_tir_inplace")
        && let [program, tuple] = store.items(args).collect::<Vec<_>>()[..]
        && let Expr::Global(name) = store.expr(program)
    {
        return (store.str(name).to_owned(), Some(tuple));
    }
    (format!("relax.{op_name}"), None)
}

fn fields_of(store: &Store, tuple: ExprId) -> Vec<ExprId> {
    match store.expr(tuple) {
        Expr::Tuple(fields) => store.items(fields).collect(),
        _ => vec![tuple],
    }
}

/// Returns the scalar or shape without symbols that a variable stands for.
fn known_value(store: &Store, var: VarId, outer: &FxHashMap<VarId, ExprId>) -> Option<ExprId> {
    let mut value = *outer.get(&var)?;
    let mut steps = outer.len();
    while let Expr::Var(next) = store.expr(value) {
        value = *outer.get(&next)?;
        steps = steps.checked_sub(1)?;
    }
    is_known(store, value).then_some(value)
}

/// True if an expression is a scalar or shape without symbols, or a tuple of such (TVM's `IsInlinableConstants`).
fn is_known(store: &Store, root: ExprId) -> bool {
    let mut stack = vec![root];
    while let Some(expr) = stack.pop() {
        match store.expr(expr) {
            Expr::Tuple(fields) => stack.extend(store.items(fields)),
            Expr::Prim(prim) if symbols_in(store, prim).is_empty() => {}
            Expr::Shape(dims) if store.dims_of_id(dims).iter().all(|dim| matches!(dim, Dim::Int { .. })) => {}
            _ => return false,
        }
    }
    true
}
