//! Calls of functions as values, and the versions of functions that take them.

use super::super::support::copy::substitute;
use super::super::support::types::{TypeArgs, has, in_type, specialised};
use super::{RULE, is_function};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::walk::free_vars;
use crate::ir::{
    Adt, Clause, Ctor, CtorId, Expr, ExprId, Function, Id, List, Module, Name, Pattern, PatternId, Store, Type, TypeId, VarId,
};
use crate::ops::build::args;
use crate::pass::PassError;
use rustc_hash::FxHashMap;

/// The data type for functions of a type, and the function that calls them.
pub(super) struct Encoding {
    /// The type of the functions.
    ty: TypeId,
    adt: Id<Name>,
    /// The data type as a type.
    data: TypeId,
    apply: Id<Name>,
    /// Each constructor, with the variables that its fields are bound to and what it stands for.
    cases: Vec<(CtorId, Vec<VarId>, ExprId)>,
}

impl Encoding {
    /// Adds data type and function to a module.
    pub fn add(&self, store: &mut Store, module: &mut Module) {
        let Type::Func { params: types, ret, .. } = store.type_of_id(self.ty).clone() else { return };
        let ctors = self.cases.iter().map(|case| case.0).collect();
        let adt = store.add_adt(Adt { name: self.adt, type_params: Box::new([]), ctors, is_extern: false });
        module.set_adt(self.adt, adt);
        let mut params = vec![store.var("x", Some(self.data))];
        params.extend(types.iter().map(|ty| store.var("y", Some(*ty))));
        let uses: Vec<ExprId> = params.iter().map(|param| store.use_var(*param)).collect();
        let mut clauses = Vec::with_capacity(self.cases.len());
        for (ctor, fields, function) in &self.cases {
            let fields: Vec<PatternId> = fields.iter().map(|field| store.add_pattern(Pattern::Var(*field))).collect();
            let fields = store.list(&fields);
            let pattern = store.add_pattern(Pattern::Ctor { ctor: *ctor, fields });
            let body = store.add_call(*function, &uses[1..], None);
            clauses.push(store.add_clause(Clause { pattern, body }));
        }
        let clauses = store.list(&clauses);
        let body = store.add(Expr::Match { data: uses[0], clauses, complete: true });
        let params = store.list(&params);
        let function = Function { params, type_params: List::EMPTY, ret: Some(ret), body, attrs: None, device: None, pure: true };
        let function = store.function_expr(function);
        module.set_function(self.apply, function);
    }
}

/// The program on its way.
pub(super) struct Defunc<'a> {
    module: &'a Module,
    /// The module with the versions.
    pub made: Module,
    pub encodings: Vec<Encoding>,
    /// The encoding of a type of functions, and that of a data type.
    known: FxHashMap<TypeId, usize>,
    /// The versions of global functions for types.
    names: FxHashMap<(Id<Name>, TypeId), Id<Name>>,
    /// Those that are to be made: the name, the function and its type arguments.
    left: Vec<(Id<Name>, ExprId, Box<[TypeId]>)>,
    constructors: u32,
    pub errors: PassError,
}

impl<'a> Defunc<'a> {
    pub fn new(module: &'a Module) -> Defunc<'a> {
        let made = module.clone();
        let (encodings, known, names) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        Defunc { module, made, encodings, known, names, left: Vec::new(), constructors: 0, errors: Vec::new() }
    }

    pub fn refuse(&mut self, store: &Store, at: ExprId, message: impl Into<String>) {
        self.errors.push(Diagnostic::error("relay-defunctionalization", message, store.source_span(at)));
    }

    /// Makes a name that no function of the module has.
    fn free_name(&self, store: &mut Store, text: &str) -> Id<Name> {
        let mut name = store.name(text);
        let mut number = 1;
        while self.made.function(name).is_some() || self.names.values().any(|known| *known == name) {
            name = store.name(&format!("{text}_{number}"));
            number += 1;
        }
        name
    }

    /// Returns the place of the encoding of functions of a type.
    fn encoding(&mut self, store: &mut Store, ty: TypeId) -> usize {
        if let Some(known) = self.known.get(&ty) {
            return *known;
        }
        let place = self.encodings.len();
        let suffix = if place == 0 { String::new() } else { format!("_{place}") };
        let mut adt = store.name(&format!("DefuncFuncType{suffix}"));
        while self.module.adt(adt).is_some() {
            let longer = format!("{}_", store.str(adt));
            adt = store.name(&longer);
        }
        let apply = self.free_name(store, &format!("applyrelay.FuncType{suffix}"));
        let head = store.ty(Type::Global(adt));
        let data = store.ty(Type::Apply { head, args: Box::new([]) });
        self.encodings.push(Encoding { ty, adt, data, apply, cases: Vec::new() });
        self.known.insert(ty, place);
        self.known.insert(data, place);
        place
    }

    /// Makes the constructor that stands for a function: its captured variables are fields.
    fn construct(&mut self, store: &mut Store, ty: TypeId, function: ExprId, captured: &[VarId]) -> Option<ExprId> {
        let place = self.encoding(store, ty);
        let (mut inputs, mut fields, mut by) = (Vec::new(), Vec::new(), Vec::new());
        for var in captured {
            let Some(ty) = store.var_data(*var).annotation.or(store.var_data(*var).ty) else {
                let message = format!("the type of %{}, which is captured, is not known", store.var_name(*var));
                self.refuse(store, function, message);
                return None;
            };
            let name = store.var_name(*var).to_owned();
            let field = store.var(&name, Some(ty));
            inputs.push(ty);
            by.push((*var, store.use_var(field)));
            fields.push(field);
        }
        let function = if by.is_empty() { function } else { substitute(store, function, &by) };
        let name = store.name(&format!("F{}", self.constructors));
        self.constructors += 1;
        let encoding = &mut self.encodings[place];
        let tag = encoding.cases.len() as u32;
        let ctor = store.add_ctor(Ctor { name, inputs: inputs.into(), adt: encoding.adt, tag });
        encoding.cases.push((ctor, fields, function));
        let given: Vec<ExprId> = captured.iter().map(|var| store.use_var(*var)).collect();
        let ctor = store.add(Expr::Ctor(ctor));
        Some(store.add_call(ctor, &given, None))
    }

    /// Replaces an argument that is a function by data.
    fn encode(&mut self, store: &mut Store, arg: ExprId, ty: TypeId) -> Option<ExprId> {
        if !is_function(store.type_of_id(ty)) {
            self.refuse(store, arg, "assume no nested functions");
            return None;
        }
        match store.expr(arg) {
            // In a version its type is that of the data; it cannot be a function of the program.
            Expr::Var(_) => Some(arg),
            Expr::Global(_) => self.construct(store, ty, arg, &[]),
            Expr::Function(_) => {
                let captured = free_vars(store, arg);
                self.construct(store, ty, arg, &captured)
            }
            _ => {
                self.refuse(store, arg, "assume all first-order-parameters are identifiers or functions");
                None
            }
        }
    }

    /// A call of a global function: of its version, if it takes functions.
    fn global(&mut self, store: &mut Store, pre: ExprId, post: ExprId, name: Id<Name>) -> Option<ExprId> {
        let function = self.module.function(name)?;
        let Some(Type::Func { type_params, params, ret }) = store.checked_type(function).map(|ty| store.type_of_id(ty).clone())
        else {
            self.refuse(store, pre, "the type of what is called is not known: run InferType first");
            return None;
        };
        let info = store.call(pre)?.info;
        let types = info.map_or(Box::default(), |info| store.call_info(info).type_args.clone());
        if types.len() != type_params.len() {
            self.refuse(store, pre, "all type args must be explicit");
            return None;
        }
        let by: TypeArgs = type_params.iter().copied().zip(types.iter().copied()).collect();
        let params: Vec<TypeId> = params.iter().map(|ty| in_type(store, *ty, &by)).collect();
        let ret = in_type(store, ret, &by);
        let ty = store.ty(Type::Func { type_params: Box::new([]), params: params.clone().into(), ret });
        let refused = match () {
            () if has(store, ty, |ty| matches!(ty, Type::Var(_))) => Some("free type vars in instantiated"),
            () if has(store, ret, is_function) => Some("returning functions not supported"),
            () => None,
        };
        if let Some(message) = refused {
            self.refuse(store, pre, message);
            return None;
        }
        if !params.iter().any(|ty| has(store, *ty, is_function)) {
            return None;
        }
        let mut new = Vec::with_capacity(params.len());
        for (arg, ty) in args(store, post).into_iter().zip(params) {
            new.push(if has(store, ty, is_function) { self.encode(store, arg, ty)? } else { arg });
        }
        let version = match self.names.get(&(name, ty)) {
            Some(known) => *known,
            None => {
                let text = format!("{}relay.FuncType", store.str(name));
                let version = self.free_name(store, &text);
                self.names.insert((name, ty), version);
                self.left.push((version, function, types));
                version
            }
        };
        let callee = store.add(Expr::Global(version));
        Some(store.add_call(callee, &new, None))
    }

    /// Makes the versions that calls ask for.
    pub fn versions(&mut self, store: &mut Store) {
        while let Some((name, function, types)) = self.left.pop() {
            if let Some(new) = self.version(store, function, &types) {
                self.made.set_function(name, new);
            }
        }
    }

    fn version(&mut self, store: &mut Store, id: ExprId, types: &[TypeId]) -> Option<ExprId> {
        let by: TypeArgs = store.items(store.as_function(id)?.type_params).zip(types.iter().copied()).collect();
        let copy = specialised(store, id, &by);
        let function = store.as_function(copy)?;
        let (mut params, mut renamed) = (Vec::new(), Vec::new());
        for param in store.items(function.params).collect::<Vec<_>>() {
            let ty = store.var_type(param)?;
            params.push(if is_function(store.type_of_id(ty)) {
                let data = self.encoding(store, ty);
                let name = store.var_name(param).to_owned();
                let new = store.var(&name, Some(self.encodings[data].data));
                renamed.push((param, store.use_var(new)));
                new
            } else {
                if has(store, ty, is_function) {
                    self.refuse(store, id, "nested function type in parameter not supported yet");
                    return None;
                }
                param
            });
        }
        let body = substitute(store, function.body, &renamed);
        let body = rewrite(store, body, self);
        let params = store.list(&params);
        let new = store.add_function(Function { params, type_params: List::EMPTY, body, ..function });
        Some(store.rebuild(id, Expr::Function(new), None))
    }
}

impl ExprMutator for Defunc<'_> {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        // A function that is called in place is its body over the arguments.
        if let Some(call) = store.call(id)
            && let Some(function) = store.as_function(call.callee)
        {
            let by: Vec<(VarId, ExprId)> = store.items(function.params).zip(store.items(call.args)).collect();
            return Visit::Follow(substitute(store, function.body, &by));
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(pre) else { return post };
        match store.expr(call.callee) {
            Expr::Global(name) => self.global(store, pre, post, name).unwrap_or(post),
            Expr::Var(var) => {
                let known = store.var_data(var).annotation.and_then(|ty| self.known.get(&ty));
                let Some(encoding) = known.map(|place| &self.encodings[*place]) else {
                    self.refuse(
                        store,
                        pre,
                        "expected type call when getting original type from encoded type: a variable is called",
                    );
                    return post;
                };
                let mut given = vec![call.callee];
                given.extend(args(store, post));
                let callee = store.add(Expr::Global(encoding.apply));
                store.add_call(callee, &given, None)
            }
            _ => post,
        }
    }
}
