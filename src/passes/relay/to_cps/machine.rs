//! The translation, by stacks of its own.

use super::super::support::is_primitive;
use super::{Globals, UNTYPED, arrow, cps_type, refused};
use crate::diag::Diagnostic;
use crate::ir::walk::for_each_child;
use crate::ir::{
    Clause, Expr, ExprId, Function, Id, List, Module, Name, Pattern, PatternId, Store, Type, TypeId, VarId, map_children,
};
use rustc_hash::FxHashMap;

type RestId = usize;

/// A continuation: it says what is to be done with a value. All run once, except the first kind.
enum Rest {
    /// Call this function with it.
    Call(ExprId),
    /// Bind it to the variable of this let, and go on with its body.
    Let(ExprId, RestId),
    /// It decides over the branches of this node, which all go on alike.
    Branch(ExprId, RestId),
    /// It is a child of this node; those before it, those behind it from the last on, and the rest of all.
    Child(ExprId, Vec<ExprId>, Vec<ExprId>, RestId),
}

/// An expression around a result.
enum Around {
    Let(VarId, ExprId),
    /// It is the body of a function of this variable, the last argument of a call of the first of these expressions.
    Call(ExprId, Vec<ExprId>, VarId),
    /// It is the body of a function of this variable, which the branches of this node call.
    Join(ExprId, VarId),
    /// It is a branch of this node: what decides and the branches before it, those behind it, and the rest of each.
    Branch(ExprId, Vec<ExprId>, Vec<ExprId>, RestId),
    /// It is the body of this function with that continuation. There is a rest unless the function is global.
    Function(ExprId, VarId, Option<RestId>),
}

enum State {
    Visit(ExprId, RestId),
    Go(RestId, ExprId),
    Return(ExprId),
}

pub(super) struct Cps<'a> {
    pub store: &'a mut Store,
    module: &'a Module,
    globals: &'a mut Globals,
    /// The type of what continuations answer.
    answer: TypeId,
    /// The variables that stand for those of the function.
    pub vars: FxHashMap<VarId, VarId>,
    rests: Vec<Rest>,
    around: Vec<Around>,
}

impl<'a> Cps<'a> {
    pub fn new(store: &'a mut Store, module: &'a Module, globals: &'a mut Globals, answer: TypeId) -> Cps<'a> {
        Cps { store, module, globals, answer, vars: FxHashMap::default(), rests: Vec::new(), around: Vec::new() }
    }

    /// Makes the version of a global function, without the type parameter of its answer.
    pub fn run(&mut self, function: ExprId) -> Result<ExprId, Diagnostic> {
        let mut state = self.enter_function(function, None)?;
        loop {
            state = match state {
                State::Visit(id, rest) => self.visit(id, rest)?,
                State::Go(rest, value) => self.go(rest, value),
                State::Return(result) => match self.around.pop() {
                    Some(around) => self.close(around, result),
                    None => return Ok(result),
                },
            }
        }
    }

    fn rest(&mut self, rest: Rest) -> RestId {
        self.rests.push(rest);
        self.rests.len() - 1
    }

    fn var(&self, var: VarId) -> VarId {
        self.vars.get(&var).copied().unwrap_or(var)
    }

    /// Binds a value around the result of the rest.
    fn bind(&mut self, value: ExprId) -> ExprId {
        let name = format!("x_{}", self.globals.vars);
        self.globals.vars += 1;
        let var = self.store.var(&name, None);
        self.around.push(Around::Let(var, value));
        self.store.use_var(var)
    }

    fn literal(&mut self, param: VarId, body: ExprId) -> ExprId {
        let params = self.store.list(&[param]);
        let type_params = List::EMPTY;
        self.store.function_expr(Function { params, type_params, ret: None, body, attrs: None, device: None, pure: true })
    }

    fn enter_function(&mut self, id: ExprId, rest: Option<RestId>) -> Result<State, Diagnostic> {
        if is_primitive(self.store, id) {
            return Err(refused(self.store, id, "primitive func not supported yet."));
        }
        let ty = self.store.checked_type(id).map(|ty| self.store.type_of_id(ty).clone());
        let Some(Type::Func { ret, .. }) = ty else { return Err(refused(self.store, id, UNTYPED)) };
        let ret = cps_type(self.store, ret, self.answer);
        let ty = arrow(self.store, ret, self.answer);
        let own = self.store.var("k", Some(ty));
        self.around.push(Around::Function(id, own, rest));
        let body = self.store.as_function(id).map_or(id, |function| function.body);
        let used = self.store.use_var(own);
        Ok(State::Visit(body, self.rest(Rest::Call(used))))
    }

    fn visit(&mut self, id: ExprId, rest: RestId) -> Result<State, Diagnostic> {
        Ok(match self.store.expr(id) {
            Expr::Var(var) => {
                let var = self.var(var);
                State::Go(rest, self.store.use_var(var))
            }
            Expr::Constant(_) => State::Go(rest, id),
            Expr::Global(name) => State::Go(rest, self.global(id, name)?),
            Expr::Function(_) => self.enter_function(id, Some(rest))?,
            Expr::Let { value, .. } => State::Visit(value, self.rest(Rest::Let(id, rest))),
            Expr::If { .. } | Expr::Match { .. } => {
                let arg = self.store.var("arg", None);
                self.around.push(Around::Join(id, arg));
                State::Go(rest, self.store.use_var(arg))
            }
            Expr::Op(_) | Expr::Ctor(_) => {
                let kind = if matches!(self.store.expr(id), Expr::Op(_)) { "Op" } else { "relay.Constructor" };
                return Err(refused(self.store, id, format!("Do not have a default for {kind}")));
            }
            expr => {
                let mut left = Vec::new();
                for_each_child(self.store, id, |child| left.push(child));
                if self.is_applied(expr) {
                    left.remove(0);
                }
                left.reverse();
                self.next(id, Vec::new(), left, rest)
            }
        })
    }

    /// True for a call of an operator or constructor, which is a value.
    fn is_applied(&self, expr: Expr) -> bool {
        matches!(expr, Expr::Call { callee, .. } if matches!(self.store.expr(callee), Expr::Op(_) | Expr::Ctor(_)))
    }

    /// Visits the next child of a node, or makes the node.
    fn next(&mut self, id: ExprId, done: Vec<ExprId>, mut left: Vec<ExprId>, rest: RestId) -> State {
        if let Some(child) = left.pop() {
            return State::Visit(child, self.rest(Rest::Child(id, done, left, rest)));
        }
        let node = self.store.expr(id);
        let value = match node {
            Expr::Call { callee, info, .. } if self.is_applied(node) => Expr::Call { callee, args: self.store.list(&done), info },
            Expr::Call { .. } => {
                let arg = self.store.var("arg", None);
                self.around.push(Around::Call(id, done, arg));
                return State::Go(rest, self.store.use_var(arg));
            }
            _ => map_children(self.store, id, &done, &|var| var).unwrap_or(node),
        };
        let pure = matches!(value, Expr::Tuple(_) | Expr::TupleGetItem { .. } | Expr::RefCreate(_));
        let value = self.store.rebuild(id, value, None);
        State::Go(rest, if pure { value } else { self.bind(value) })
    }

    fn global(&mut self, id: ExprId, name: Id<Name>) -> Result<ExprId, Diagnostic> {
        let new = match self.globals.names.get(&name) {
            Some(known) => *known,
            None => {
                let text = self.store.str(name).to_owned();
                let missing = || refused(self.store, id, format!("There is no definition of @{text}"));
                let function = self.module.function(name).ok_or_else(missing)?;
                let new = self.store.name(&format!("{text}_cps"));
                if self.module.function(new).is_some() {
                    return Err(refused(self.store, id, format!("Duplicate global function name @{text}_cps")));
                }
                self.globals.names.insert(name, new);
                self.globals.left.push((new, function));
                new
            }
        };
        Ok(self.store.add(Expr::Global(new)))
    }

    fn go(&mut self, rest: RestId, value: ExprId) -> State {
        match std::mem::replace(&mut self.rests[rest], Rest::Call(value)) {
            Rest::Call(function) => {
                self.rests[rest] = Rest::Call(function);
                State::Return(self.store.add_call(function, &[value], None))
            }
            Rest::Let(id, rest) => {
                let Expr::Let { var, body, .. } = self.store.expr(id) else { return State::Go(rest, value) };
                self.around.push(Around::Let(self.var(var), value));
                State::Visit(body, rest)
            }
            Rest::Branch(id, rest) => {
                let mut left: Vec<ExprId> = match self.store.expr(id) {
                    Expr::If { then, other, .. } => vec![then, other],
                    Expr::Match { clauses, .. } => {
                        self.store.items(clauses).map(|clause| self.store.clause(clause).body).collect()
                    }
                    _ => Vec::new(),
                };
                left.reverse();
                self.branch(id, vec![value], left, rest)
            }
            Rest::Child(id, mut done, left, rest) => {
                done.push(value);
                self.next(id, done, left, rest)
            }
        }
    }

    /// Visits the next branch of a node, or makes the node.
    fn branch(&mut self, id: ExprId, done: Vec<ExprId>, mut left: Vec<ExprId>, rest: RestId) -> State {
        if let Some(branch) = left.pop() {
            self.around.push(Around::Branch(id, done, left, rest));
            return State::Visit(branch, rest);
        }
        let new = match self.store.expr(id) {
            Expr::Match { clauses, complete, .. } => {
                let patterns: Vec<PatternId> =
                    self.store.items(clauses).map(|clause| self.store.clause(clause).pattern).collect();
                let mut clauses = Vec::with_capacity(done.len());
                for (pattern, body) in patterns.into_iter().zip(done[1..].iter().copied()) {
                    let pattern = self.pattern(pattern);
                    clauses.push(self.store.add_clause(Clause { pattern, body }));
                }
                Expr::Match { data: done[0], clauses: self.store.list(&clauses), complete }
            }
            _ => Expr::If { cond: done[0], then: done[1], other: done[2] },
        };
        State::Return(self.store.rebuild(id, new, None))
    }

    /// Recursive: patterns nest at most as deep as the parser lets them.
    fn pattern(&mut self, id: PatternId) -> PatternId {
        let pattern = *self.store.pattern(id);
        let (Pattern::Ctor { fields, .. } | Pattern::Tuple(fields)) = pattern else {
            let Pattern::Var(var) = pattern else { return id };
            let var = self.var(var);
            return self.store.add_pattern(Pattern::Var(var));
        };
        let fields: Vec<PatternId> = self.store.items(fields).collect();
        let fields: Vec<PatternId> = fields.into_iter().map(|field| self.pattern(field)).collect();
        let fields = self.store.list(&fields);
        self.store.add_pattern(match pattern {
            Pattern::Ctor { ctor, .. } => Pattern::Ctor { ctor, fields },
            _ => Pattern::Tuple(fields),
        })
    }

    fn close(&mut self, around: Around, result: ExprId) -> State {
        match around {
            Around::Let(var, value) => State::Return(self.store.add(Expr::Let { var, value, body: result })),
            Around::Call(id, mut parts, arg) => {
                parts.push(self.literal(arg, result));
                let args = self.store.list(&parts[1..]);
                let info = self.store.call(id).and_then(|call| call.info);
                State::Return(self.store.rebuild(id, Expr::Call { callee: parts[0], args, info }, None))
            }
            Around::Join(id, arg) => {
                let function = self.literal(arg, result);
                let joined = self.bind(function);
                let each = self.rest(Rest::Call(joined));
                let rest = self.rest(Rest::Branch(id, each));
                let (Expr::If { cond: data, .. } | Expr::Match { data, .. }) = self.store.expr(id) else {
                    return State::Return(id);
                };
                State::Visit(data, rest)
            }
            Around::Branch(id, mut done, left, rest) => {
                done.push(result);
                self.branch(id, done, left, rest)
            }
            Around::Function(id, own, rest) => {
                let Some(function) = self.store.as_function(id) else { return State::Return(id) };
                let mut params: Vec<VarId> = self.store.items(function.params).map(|param| self.var(param)).collect();
                params.push(own);
                let params = self.store.list(&params);
                let new = self.store.add_function(Function { params, ret: Some(self.answer), body: result, ..function });
                let new = self.store.rebuild(id, Expr::Function(new), None);
                rest.map_or(State::Return(new), |rest| State::Go(rest, new))
            }
        }
    }
}
