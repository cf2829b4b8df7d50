//! The new program: its bindings, functions and names.

use super::machine::{Activation, Evaluator, Frame, Next, Step};
use super::value::{Closure, Known, PartialId, Types, meet};
use crate::diag::Diagnostic;
use crate::infer::map_type_children;
use crate::ir::{CallInfo, Expr, ExprId, Function, Id, List, Name, Pattern, PatternId, Store, Type, TypeId, TypeVar, VarId};
use crate::pass::PassError;
use crate::passes::relay::support::copy::instantiate;
use crate::passes::relay::support::is_primitive;
use std::rc::Rc;

/// A function of the new program whose body is being evaluated.
pub(super) struct Residual {
    literal: ExprId,
    params: List<crate::ir::Var>,
    type_params: List<TypeVar>,
    ret: Option<TypeId>,
    /// The begin of the bindings of its body.
    scope: usize,
    role: Role,
}

enum Role {
    /// A global function.
    Global(Id<Name>),
    /// The value of a variable, and its known part.
    Local(VarId, Known),
}

impl Evaluator<'_> {
    /// Returns a new variable with a name as TVM's `Var::GenSym` gives it: `x_0`, `x_1`.
    pub(super) fn fresh_name(&mut self) -> VarId {
        let name = format!("x_{}", self.names);
        self.names += 1;
        self.store.var(&name, None)
    }

    /// Binds a new variable to a node; `from` is the node that it comes from.
    pub(super) fn push(&mut self, value: Expr, from: ExprId) -> ExprId {
        let value = self.store.rebuild(from, value, None);
        self.push_node(value, from)
    }

    fn push_node(&mut self, value: ExprId, from: ExprId) -> ExprId {
        let var = self.fresh_name();
        self.lets.push((var, value, from));
        self.store.use_var(var)
    }

    pub(super) fn push_unknown(&mut self, value: Expr, from: ExprId) -> Next {
        let made = self.push(value, from);
        Next::Give(self.value(None, made))
    }

    pub(super) fn push_known(&mut self, known: Known, value: ExprId, from: ExprId) -> Next {
        let made = self.push_node(value, from);
        Next::Give(self.value(Some(known), made))
    }

    /// Ends a scope: puts its bindings around its result.
    pub(super) fn close(&mut self, scope: usize, result: PartialId) -> ExprId {
        let mut body = self.dynamic(result);
        for (var, value, from) in self.lets.drain(scope..).rev() {
            body = self.store.rebuild(from, Expr::Let { var, value, body }, None);
        }
        body
    }

    /// Returns the variable of the new program for one that the old program binds: the same one for the first time.
    pub(super) fn bind(&mut self, var: VarId) -> VarId {
        let annotation = self.store.var_data(var).annotation;
        let wanted = annotation.map(|ty| self.ty(ty));
        let is_first = self.taken.insert(var, ()).is_none();
        if wanted != annotation {
            let name = self.store.var_name(var).to_owned();
            return self.store.var(&name, wanted);
        }
        if is_first { var } else { self.store.fresh_var(var) }
    }

    /// Rebuilds a pattern over variables of the new program, whose values are unknown.
    pub(super) fn pattern(&mut self, pattern: PatternId) -> PatternId {
        let data = *self.store.pattern(pattern);
        let fields = match data {
            Pattern::Wildcard => return pattern,
            Pattern::Var(var) => {
                let new = self.bind(var);
                let used = self.store.use_var(new);
                let value = self.value(None, used);
                self.now.vars.insert(var, value);
                return self.store.add_pattern(Pattern::Var(new));
            }
            Pattern::Ctor { ctor: _, fields } | Pattern::Tuple(fields) => fields,
        };
        // Patterns nest at most as deep as the parser lets them, so this may recurse.
        let old: Vec<PatternId> = self.store.items(fields).collect();
        let new: Vec<PatternId> = old.into_iter().map(|field| self.pattern(field)).collect();
        let fields = self.store.list(&new);
        self.store.add_pattern(match data {
            Pattern::Ctor { ctor, .. } => Pattern::Ctor { ctor, fields },
            _ => Pattern::Tuple(fields),
        })
    }

    /// Replaces the type parameters in a type by their types.
    pub(super) fn ty(&mut self, ty: TypeId) -> TypeId {
        replace(self.store, ty, &self.now.types)
    }

    pub(super) fn call_info(&mut self, info: Option<Id<CallInfo>>) -> Option<Id<CallInfo>> {
        if self.now.types.is_empty() {
            return info;
        }
        let CallInfo { attrs, type_args } = self.store.call_info(info?).clone();
        let type_args: Vec<TypeId> = type_args.iter().map(|ty| self.ty(*ty)).collect();
        self.store.add_call_info(attrs, &type_args)
    }

    /// Returns a global function. It is evaluated when it is met first, in the midst of its user.
    pub(super) fn global(&mut self, name: Id<Name>, at: ExprId) -> Step {
        if let Some(value) = self.globals.get(&name) {
            return Ok(Next::Give(*value));
        }
        let Some(literal) = self.module.function(name) else {
            return Err(self.fail(at, format!("there is no definition of @{}", self.store.str(name))));
        };
        let callee = self.store.add(Expr::Global(name));
        let known = self.code(literal, None, callee, Types::default())?;
        if matches!(known, Known::Kernel(_)) && self.store.as_function(literal).is_some_and(|f| !f.params.is_empty()) {
            let message = format!(
                "@{} is primitive: TVM makes of it a function that binds its parameters twice, and stops because that is not \
                 well-formed",
                self.store.str(name)
            );
            return Err(self.fail(literal, message));
        }
        let value = self.value(Some(known.clone()), callee);
        self.globals.insert(name, value);
        self.residual(literal, known, callee, Role::Global(name))
    }

    /// Builds a function literal that becomes the value of `name`; `own` is the variable by which it calls itself.
    pub(super) fn function(&mut self, literal: ExprId, name: VarId, own: Option<VarId>) -> Step {
        let callee = self.store.use_var(name);
        let known = self.code(literal, own, callee, self.now.types.clone())?;
        self.residual(literal, known.clone(), callee, Role::Local(name, known))
    }

    fn code(&mut self, literal: ExprId, own: Option<VarId>, callee: ExprId, types: Types) -> Result<Known, PassError> {
        if is_primitive(self.store, literal) {
            // Each time that it is met, in another expansion of what is around it, it is another function.
            let is_first = self.kernels.insert(literal);
            let kernel = if is_first { literal } else { instantiate(self.store, literal, &[], &[]) };
            return Ok(Known::Kernel(kernel));
        }
        Ok(Known::Function(Rc::new(self.closure(literal, own, callee, types)?)))
    }

    /// Begins a function of the new program: the code is applied to unknown parameters.
    fn residual(&mut self, literal: ExprId, known: Known, callee: ExprId, role: Role) -> Step {
        let Some(old) = self.store.as_function(literal) else { return Err(self.fail(literal, "this is no function")) };
        let old_type_params: Vec<Id<TypeVar>> = self.store.items(old.type_params).collect();
        let is_local = matches!(role, Role::Local(..));
        let copy = |store: &mut Store, var: &Id<TypeVar>| match is_local {
            true => store.add_type_var(*store.type_var(*var)),
            false => *var,
        };
        let type_params: Vec<Id<TypeVar>> = old_type_params.iter().map(|var| copy(self.store, var)).collect();
        let type_args: Vec<TypeId> = type_params.iter().map(|var| self.store.ty(Type::Var(*var))).collect();
        let outside = self.now.types.clone();
        let base = if is_local { outside.clone() } else { Types::default() };
        self.now.types = extended(self.store, &base, &old_type_params, &type_args);
        let old_params: Vec<VarId> = self.store.items(old.params).collect();
        if matches!(known, Known::Kernel(_)) {
            // The literal stays in the body as it is, with its parameters.
            for param in &old_params {
                self.taken.insert(*param, ());
            }
        }
        let params: Vec<VarId> = old_params.into_iter().map(|param| self.bind(param)).collect();
        let ret = old.ret.map(|ty| self.ty(ty));
        self.now.types = outside;
        self.memory.enter();
        self.memory.invalidate();
        let mut args = Vec::with_capacity(params.len());
        for param in &params {
            let used = self.store.use_var(*param);
            args.push(self.value(None, used));
        }
        let (params, type_params) = (self.store.list(&params), self.store.list(&type_params));
        let residual = Residual { literal, params, type_params, ret, scope: self.lets.len(), role };
        self.frames.push(Frame::Residual(Box::new(residual)));
        self.warn_of_loop(literal, &args);
        let this = self.value(Some(known), callee);
        let info = self.store.add_call_info(None, &type_args);
        self.apply(literal, this, args, info)
    }

    /// Warns of a literal that is met again inside of its own expansion without fuel left.
    fn warn_of_loop(&mut self, literal: ExprId, args: &[PartialId]) {
        if self.fuel.contains_key(&literal) && meet(self.fuel.get(&literal), self.fuel_of(args)).is_none() {
            let text = "this function is met again while it is expanded: TVM makes of it one that only calls itself";
            self.warnings.push(Diagnostic::warning("relay-partial-evaluate", text, self.store.source_span(literal)));
        }
    }

    /// Ends a function of the new program.
    pub(super) fn finish(&mut self, residual: Residual, result: PartialId) -> Next {
        let Residual { literal, params, type_params, ret, scope, role } = residual;
        let body = self.close(scope, result);
        self.memory.leave();
        let Some(old) = self.store.as_function(literal) else { unreachable!("a function was begun") };
        let function = self.store.add_function(Function { params, type_params, ret, body, ..old });
        // A copy of a function with another body keeps its type, as in TVM.
        let ty = self.store.checked_type(literal).filter(|_| self.now.types.is_empty());
        let function = self.store.rebuild(literal, Expr::Function(function), ty);
        match role {
            Role::Global(name) => {
                self.done.insert(name, function);
                Next::Give(self.globals[&name])
            }
            Role::Local(name, known) => {
                self.lets.push((name, function, literal));
                let used = self.store.use_var(name);
                Next::Give(self.value(Some(known), used))
            }
        }
    }

    /// Enters the body of a function with its arguments; missing type arguments are unknown.
    pub(super) fn enter(&mut self, closure: &Closure, this: PartialId, args: Vec<PartialId>, type_args: &[TypeId]) -> Activation {
        let type_params: Vec<Id<TypeVar>> = self.store.items(closure.function.type_params).collect();
        let mut type_args = type_args.to_vec();
        while type_args.len() < type_params.len() {
            type_args.push(self.store.hole());
        }
        let mut new =
            Activation { types: extended(self.store, &closure.types, &type_params, &type_args), ..Activation::default() };
        new.vars.extend(closure.captured.iter().copied());
        new.vars.extend(closure.name.map(|name| (name, this)));
        new.vars.extend(self.store.items(closure.function.params).zip(args));
        std::mem::replace(&mut self.now, new)
    }
}

/// Adds the types of some more type parameters. One that maps to itself needs no entry.
fn extended(store: &Store, types: &Types, params: &[Id<TypeVar>], args: &[TypeId]) -> Types {
    let mut types = types.clone();
    for (param, arg) in params.iter().zip(args) {
        match *store.type_of_id(*arg) {
            Type::Var(var) if var == *param && !types.contains_key(param) => {}
            _ => drop(Rc::make_mut(&mut types).insert(*param, *arg)),
        }
    }
    types
}

/// Types nest at most as deep as the parser lets them, so this may recurse.
fn replace(store: &mut Store, ty: TypeId, types: &Types) -> TypeId {
    if types.is_empty() {
        return ty;
    }
    if let Type::Var(var) = *store.type_of_id(ty) {
        return types.get(&var).copied().unwrap_or(ty);
    }
    map_type_children(store, ty, &mut |store, child| replace(store, child, types))
}
