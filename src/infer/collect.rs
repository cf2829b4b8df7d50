//! The first stage of inference: reads the program and notes the constraints on its types.
//!
//! After `TypeInferencer` in TVM's `type_infer.cc`, as a machine with a stack of its own: a
//! [`Step`] is what TVM does between two recursive calls.

use super::kind::KindChecker;
use super::solver::{Rule, Slot, Solver};
use super::subst;
use crate::diag::{Diagnostic, Span};
use crate::ir::{
    Call, Clause, CtorId, DType, Dim, Expr, ExprId, Function, Id, IdMap, Module, Name, OpId, Store, Type, TypeId, Var, VarId,
    show_type,
};
use crate::ir::{MAX_TYPE_DEPTH, MAX_TYPE_SIZE};
use crate::ops::{self, own};
use rustc_hash::{FxHashMap, FxHashSet};

enum Step {
    /// Reach an expression.
    Enter(ExprId),
    /// Binds the value of a let, which is done; its body follows.
    Bind(ExprId),
    /// Continues an `if`, whose condition is done, with the branches.
    Branch(ExprId),
    /// Continues a match, whose data is done, with the arms.
    Arms(ExprId),
    /// Leaves an expression, all parts of which are done.
    Leave(ExprId),
}

/// The results of inference for one function or expression.
pub(super) struct Collector<'a> {
    pub store: &'a mut Store,
    pub module: &'a Module,
    pub solver: Solver,
    /// Types of expressions, variables excepted.
    pub types: IdMap<Expr, Slot>,
    /// Types of variables.
    pub vars: IdMap<Var, Slot>,
    /// Every expression that was reached, parts before wholes.
    pub order: Vec<ExprId>,
    /// Type arguments of calls of anything but operators.
    pub type_args: FxHashMap<ExprId, Vec<TypeId>>,
    /// Result types that were written on function literals.
    pub written_rets: FxHashMap<ExprId, Slot>,
    /// The types of global functions that were used.
    pub globals: FxHashMap<Id<Name>, TypeId>,
    pub errors: Vec<Diagnostic>,
    /// Errors without a span, by index, and their expressions.
    pub placeless: Vec<(usize, ExprId)>,
    /// Expressions that have an error of their own.
    pub failed: FxHashSet<ExprId>,
    kinds: KindChecker,
}

impl<'a> Collector<'a> {
    /// Makes a collector for a program of about `nodes` nodes.
    pub(super) fn new(store: &'a mut Store, module: &'a Module, nodes: usize) -> Self {
        Collector {
            store,
            module,
            solver: Solver::with_capacity(nodes),
            types: IdMap::with_capacity(nodes),
            vars: IdMap::new(),
            order: Vec::with_capacity(nodes),
            type_args: FxHashMap::default(),
            written_rets: FxHashMap::default(),
            globals: FxHashMap::default(),
            errors: Vec::new(),
            placeless: Vec::new(),
            failed: FxHashSet::default(),
            kinds: KindChecker::default(),
        }
    }

    /// Notes all constraints of `root` and solves them.
    pub(super) fn run(&mut self, root: ExprId) {
        let mut stack = vec![Step::Enter(root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Enter(id) => {
                    if !self.types.contains(id) {
                        self.enter(id, &mut stack);
                    }
                }
                Step::Bind(id) => self.bind(id, &mut stack),
                Step::Branch(id) => self.branch(id, &mut stack),
                Step::Arms(id) => self.arms(id, &mut stack),
                Step::Leave(id) => self.leave(id),
            }
            if self.solver.too_deep {
                return;
            }
        }
        self.solver.solve(self.store);
    }

    fn enter(&mut self, id: ExprId, stack: &mut Vec<Step>) {
        match self.store.expr(id) {
            Expr::Var(var) => {
                let slot = self.var(var);
                self.done(id, slot);
            }
            Expr::Global(name) => {
                let slot = self.global(id, name);
                self.done(id, slot);
            }
            Expr::Op(_) => {
                let slot = self.op_as_value(id);
                self.done(id, slot);
            }
            Expr::Ctor(ctor) => {
                let slot = self.ctor(id, ctor);
                self.done(id, slot);
            }
            Expr::Constant(tensor) => {
                let tensor = self.store.tensor(tensor);
                let shape: Vec<Dim> = tensor.shape.iter().map(|extent| Dim::int(*extent)).collect();
                let dtype = tensor.dtype;
                let ty = self.store.tensor_type(&shape, dtype);
                let slot = self.solver.occurrence(self.store, ty);
                self.done(id, slot);
            }
            Expr::Tuple(fields) => {
                stack.push(Step::Leave(id));
                stack.extend(self.store.items(fields).rev().map(Step::Enter));
            }
            Expr::Call { callee, args, info: _ } => {
                stack.push(Step::Leave(id));
                stack.extend(self.store.items(args).rev().map(Step::Enter));
                if !matches!(self.store.expr(callee), Expr::Op(_)) {
                    stack.push(Step::Enter(callee));
                }
            }
            Expr::Let { var, value, body: _ } => {
                // A function literal may call itself.
                if matches!(self.store.expr(value), Expr::Function(_)) {
                    self.var(var);
                }
                stack.push(Step::Bind(id));
                stack.push(Step::Enter(value));
            }
            Expr::If { cond, .. } => {
                stack.push(Step::Branch(id));
                stack.push(Step::Enter(cond));
            }
            Expr::Function(function) => {
                self.solver.solve(self.store);
                let Function { params, body, ret, .. } = *self.store.function(function);
                for index in 0..params.len() {
                    let param = self.store.item(params, index);
                    self.var(param);
                }
                if let Some(ret) = ret {
                    let slot = self.solver.occurrence(self.store, ret);
                    self.written_rets.insert(id, slot);
                }
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(body));
            }
            Expr::Match { data, .. } => {
                stack.push(Step::Arms(id));
                stack.push(Step::Enter(data));
            }
            Expr::TupleGetItem { tuple: part, index: _ } | Expr::RefCreate(part) | Expr::RefRead(part) => {
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(part));
            }
            Expr::RefWrite { reference, value } => {
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(value));
                stack.push(Step::Enter(reference));
            }
            Expr::Seq { .. }
            | Expr::Shape(_)
            | Expr::Prim(_)
            | Expr::Str(_)
            | Expr::DataType(_)
            | Expr::Extern(_)
            | Expr::PrimFunc(_)
            | Expr::Stmt(_) => {
                let slot = self.solver.hole(self.store);
                self.error(id, "relay-type-mismatch", format!("Relay has no {:?}", self.store.expr(id).kind()));
                self.done(id, slot);
            }
        }
    }

    fn leave(&mut self, id: ExprId) {
        let slot = match self.store.expr(id) {
            Expr::Tuple(fields) => {
                let types: Vec<TypeId> = self.store.items(fields).map(|field| self.solver.own(self.slot(field))).collect();
                self.make(Type::Tuple(types.into()))
            }
            Expr::TupleGetItem { tuple, index } => {
                let tuple = self.slot(tuple);
                if let Some(field) = self.solver.field(self.store, tuple, index) {
                    self.solver.occurrence(self.store, field)
                } else {
                    let result = self.solver.hole(self.store);
                    self.solver.relate(self.store, Rule::Field(index), &[tuple, result], None, id);
                    result
                }
            }
            Expr::Call { .. } => match self.store.call(id) {
                Some(call) => self.call(id, call),
                None => return,
            },
            Expr::Let { body, .. } => self.slot(body),
            Expr::If { then, other, .. } => {
                let (then, other) = (self.slot(then), self.slot(other));
                self.unify(id, then, other)
            }
            Expr::Function(function) => self.function(id, *self.store.function(function)),
            Expr::Match { clauses, complete, .. } => self.matched(id, clauses, complete),
            Expr::RefCreate(value) => {
                let value = self.solver.own(self.slot(value));
                self.make(Type::Ref(value))
            }
            Expr::RefRead(reference) => self.referred(id, reference),
            Expr::RefWrite { reference, value } => {
                let referred = self.referred(id, reference);
                let value = self.slot(value);
                self.unify(id, value, referred);
                self.make(Type::Tuple([].into()))
            }
            // Leaves were done on entry.
            _ => return,
        };
        self.done(id, slot);
    }

    fn done(&mut self, id: ExprId, slot: Slot) {
        if !self.solver.made_as_hole(slot) {
            let own = self.solver.own(slot);
            if let Some(message) = self.kinds.check(self.store, self.module, own) {
                self.error(id, "relay-kind", message);
            }
        }
        self.types.insert(id, slot);
        self.order.push(id);
    }

    /// Returns the slot of a part that is done.
    pub(super) fn slot(&self, id: ExprId) -> Slot {
        *self.types.get(id).expect("parts are done before wholes")
    }

    /// Makes an occurrence of a new type.
    pub(super) fn make(&mut self, ty: Type) -> Slot {
        let ty = self.store.ty(ty);
        self.solver.too_deep |= self.store.type_depth(ty) > MAX_TYPE_DEPTH;
        self.solver.too_large |= self.store.type_size(ty) > MAX_TYPE_SIZE;
        self.solver.occurrence(self.store, ty)
    }

    /// Returns the slot of a variable: its annotation, or an unknown type.
    pub(super) fn var(&mut self, var: VarId) -> Slot {
        if let Some(&slot) = self.vars.get(var) {
            return slot;
        }
        let slot = match self.store.var_data(var).annotation {
            Some(ty) => self.solver.occurrence(self.store, ty),
            None => self.solver.hole(self.store),
        };
        if let Some(message) = self.kinds.check(self.store, self.module, self.solver.own(slot)) {
            let use_node = self.store.use_var(var);
            self.error(use_node, "relay-kind", message);
        }
        self.vars.insert(var, slot);
        slot
    }

    /// Returns the type of a global function, from its annotations only: as in TVM, a function that is
    /// not annotated imposes nothing on its callers.
    fn global(&mut self, id: ExprId, name: Id<Name>) -> Slot {
        let function = self.module.function(name).and_then(|f| self.store.as_function(f));
        let Some(function) = function else {
            let text = self.store.str(name).to_owned();
            self.error(id, "relay-unbound-global", format!("there is no function called @{text}"));
            return self.solver.hole(self.store);
        };
        let mut params = Vec::with_capacity(function.params.len());
        for index in 0..function.params.len() {
            let param = self.store.item(function.params, index);
            let ty = self.store.var_data(param).annotation;
            params.push(self.annotation_or_hole(ty));
        }
        let ret = self.annotation_or_hole(function.ret);
        let type_params = self.store.items(function.type_params).collect();
        let slot = self.make(Type::Func { type_params, params: params.into(), ret });
        let own = self.solver.own(slot);
        self.globals.insert(name, own);
        slot
    }

    pub(super) fn annotation_or_hole(&mut self, ty: Option<TypeId>) -> TypeId {
        match ty {
            Some(ty) => ty,
            None => {
                let hole = self.solver.hole(self.store);
                self.solver.own(hole)
            }
        }
    }

    /// Types an operator that is passed on instead of called: a function of its inputs.
    fn op_as_value(&mut self, id: ExprId) -> Slot {
        let Expr::Op(op) = self.store.expr(id) else {
            return self.solver.hole(self.store);
        };
        let info = ops::info(op);
        let slots: Vec<Slot> = (0..=info.relay_args().len()).map(|_| self.solver.hole(self.store)).collect();
        let types: Vec<TypeId> = slots.iter().map(|slot| self.solver.own(*slot)).collect();
        if let Some(rule) = rule_of(op) {
            self.solver.relate(self.store, rule, &slots, None, id);
        }
        let (ret, params) = types.split_last().expect("there is a result");
        self.make(Type::Func { type_params: [].into(), params: params.into(), ret: *ret })
    }

    fn ctor(&mut self, id: ExprId, ctor: CtorId) -> Slot {
        let name = self.store.ctor(ctor).adt;
        let Some(adt) = self.module.adt(name) else {
            let text = self.store.str(name).to_owned();
            self.error(id, "relay-unbound-type", format!("the type variable : `{text}` is undefined"));
            return self.solver.hole(self.store);
        };
        let type_params = self.store.adt(adt).type_params.clone();
        let args: Vec<TypeId> = type_params.iter().map(|param| self.store.ty(Type::Var(*param))).collect();
        let head = self.store.ty(Type::Global(name));
        let ret = self.store.ty(Type::Apply { head, args: args.into() });
        let params = self.store.ctor(ctor).inputs.clone();
        self.make(Type::Func { type_params, params, ret })
    }

    fn bind(&mut self, id: ExprId, stack: &mut Vec<Step>) {
        let Expr::Let { var, value, body } = self.store.expr(id) else { return };
        let value_slot = self.slot(value);
        // The variable of a function literal has a slot already; any other one begins with its
        // annotation.
        let slot = self.var(var);
        let slot = self.unify(id, slot, value_slot);
        self.vars.insert(var, slot);
        stack.push(Step::Leave(id));
        stack.push(Step::Enter(body));
    }

    fn branch(&mut self, id: ExprId, stack: &mut Vec<Step>) {
        let Expr::If { cond, then, other } = self.store.expr(id) else { return };
        let slot = self.slot(cond);
        let truth = self.store.tensor_type(&[], DType::BOOL);
        let truth = self.solver.occurrence(self.store, truth);
        self.unify(self.blame(cond, id), slot, truth);
        stack.push(Step::Leave(id));
        stack.push(Step::Enter(other));
        stack.push(Step::Enter(then));
    }

    fn function(&mut self, id: ExprId, function: Function) -> Slot {
        let params: Vec<TypeId> = self
            .store
            .items(function.params)
            .map(|param| self.solver.own(*self.vars.get(param).expect("parameters have slots before the body")))
            .collect();
        let mut ret = self.slot(function.body);
        let own = self.solver.own(ret);
        if matches!(self.store.type_of_id(own), Type::Func { type_params, .. } if !type_params.is_empty()) {
            let instance = self.instantiate(own, &mut Vec::new());
            ret = self.solver.occurrence(self.store, instance);
        }
        if let Some(&written) = self.written_rets.get(&id) {
            ret = self.unify(id, written, ret);
        }
        let ret = self.solver.own(ret);
        let type_params = self.store.items(function.type_params).collect();
        let slot = self.make(Type::Func { type_params, params: params.into(), ret });
        let resolved = self.solver.resolve(self.store, slot);
        self.solver.occurrence(self.store, resolved)
    }

    fn referred(&mut self, id: ExprId, reference: ExprId) -> Slot {
        let hole = self.solver.hole(self.store);
        let of_hole = self.make(Type::Ref(self.solver.own(hole)));
        let reference = self.slot(reference);
        self.unify(id, reference, of_hole);
        hole
    }

    fn call(&mut self, id: ExprId, call: Call) -> Slot {
        let args: Vec<Slot> = self.store.items(call.args).map(|arg| self.slot(arg)).collect();
        if let Expr::Op(op) = self.store.expr(call.callee) {
            let info = ops::info(op);
            if args.len() == info.relay_args().len()
                && let Some(Rule::Op(rule)) = rule_of(op)
                && let Some(ty) = self.solver.output(self.store, rule, &args, call.attrs)
            {
                return self.solver.occurrence(self.store, ty);
            }
            let result = self.solver.hole(self.store);
            if args.len() != info.relay_args().len() {
                self.arity(id, info.relay_args().len(), args.len(), &format!("operator {}", info.name));
            } else if let Some(rule) = rule_of(op) {
                let mut types = args;
                types.push(result);
                self.solver.relate(self.store, rule, &types, call.attrs, id);
            } else {
                let message = format!("the type relation of operator {} is not supported yet", info.name);
                self.error(id, "relay-op-unsupported", message);
            }
            return result;
        }
        self.solver.solve(self.store);
        let callee = self.slot(call.callee);
        let mut ty = self.solver.own(callee);
        if self.solver.made_as_hole(callee) {
            // The callee must be a function of these arguments with an unknown result.
            let params: Box<[TypeId]> = args.iter().map(|arg| self.solver.own(*arg)).collect();
            let result = self.solver.hole(self.store);
            let expected = self.make(Type::Func { type_params: [].into(), params, ret: self.solver.own(result) });
            let unified = self.unify(self.blame(call.callee, id), callee, expected);
            let root = self.solver.root(unified);
            ty = self.solver.known(root);
        }
        let Type::Func { type_params, .. } = &*self.store.type_rc(ty) else {
            if !self.failed.contains(&self.blame(call.callee, id)) {
                let shown = self.solver.resolve_type(self.store, ty);
                let shown = show_type(self.store, shown);
                let message = format!("only expressions with function types can be called, found {shown}");
                self.error(id, "relay-call", message);
            }
            self.failed.insert(id);
            return self.solver.hole(self.store);
        };
        let mut type_args = match call.info {
            Some(info) => self.store.call_info(info).type_args.to_vec(),
            None => Vec::new(),
        };
        if type_args.len() > type_params.len() {
            let message = format!("Incorrect number of type args: expected {} but got {}", type_params.len(), type_args.len());
            self.error(id, "relay-type-args", message);
            type_args.truncate(type_params.len());
        }
        let instance = self.instantiate(ty, &mut type_args);
        self.type_args.insert(id, type_args);
        let Type::Func { params, ret, .. } = &*self.store.type_rc(instance) else {
            return self.solver.hole(self.store);
        };
        if params.len() != args.len() {
            self.arity(id, params.len(), args.len(), "function");
        }
        for (&param, &arg) in params.iter().zip(&args) {
            let param = self.solver.occurrence(self.store, param);
            self.unify_sides(id, param, arg, true, false);
        }
        self.solver.occurrence(self.store, *ret)
    }

    fn arity(&mut self, id: ExprId, expected: usize, found: usize, what: &str) {
        let amount = if found > expected { "many" } else { "few" };
        let message = format!("the {what} is provided too {amount} arguments expected {expected}, found {found}");
        self.error(id, "relay-arity", message);
    }

    /// Replaces the type parameters of a function type by `type_args`, which is filled up with unknown
    /// types.
    fn instantiate(&mut self, ty: TypeId, type_args: &mut Vec<TypeId>) -> TypeId {
        let Type::Func { type_params, params, ret } = &*self.store.type_rc(ty) else {
            return ty;
        };
        while type_args.len() < type_params.len() {
            let hole = self.annotation_or_hole(None);
            type_args.push(hole);
        }
        if type_params.is_empty() {
            return ty;
        }
        let by = type_params.iter().copied().zip(type_args.iter().copied()).collect();
        let plain = self.store.ty(Type::Func { type_params: [].into(), params: params.clone(), ret: *ret });
        subst::substitute(self.store, &mut self.solver.facts, plain, &by)
    }

    fn arms(&mut self, id: ExprId, stack: &mut Vec<Step>) {
        let Expr::Match { data, clauses, .. } = self.store.expr(id) else { return };
        let slot = self.slot(data);
        let clauses: Vec<Clause> = self.store.items(clauses).map(|clause| *self.store.clause(clause)).collect();
        stack.push(Step::Leave(id));
        for clause in clauses.iter().rev() {
            stack.push(Step::Enter(clause.body));
        }
        for clause in &clauses {
            self.pattern(id, clause.pattern, slot);
        }
    }

    pub(super) fn unify(&mut self, id: ExprId, left: Slot, right: Slot) -> Slot {
        self.unify_sides(id, left, right, true, true)
    }

    fn unify_sides(&mut self, id: ExprId, left: Slot, right: Slot, assign_left: bool, assign_right: bool) -> Slot {
        match self.solver.unify(self.store, left, right, assign_left, assign_right) {
            Ok(slot) => slot,
            Err(mismatch) => {
                self.error(id, "relay-type-mismatch", mismatch.message());
                self.solver.root(left)
            }
        }
    }

    pub(super) fn try_unify(&mut self, id: ExprId, left: Slot, right: Slot) -> Result<Slot, ()> {
        self.solver.unify(self.store, left, right, true, true).map_err(|mismatch| {
            self.error(id, "relay-type-mismatch", mismatch.message());
        })
    }

    /// Returns the part of `whole` to report an error at: a variable has one node for all its uses, so
    /// `whole` is more precise.
    fn blame(&self, part: ExprId, whole: ExprId) -> ExprId {
        if matches!(self.store.expr(part), Expr::Var(_)) { whole } else { part }
    }

    /// Reports an error at an expression.
    pub(super) fn error(&mut self, id: ExprId, code: &'static str, message: String) {
        let span = self.span(id);
        self.push_error(id, Diagnostic::error(code, message, span));
    }

    /// Reports an error about an expression.
    pub(super) fn push_error(&mut self, id: ExprId, error: Diagnostic) {
        if error.span.is_none() {
            self.placeless.push((self.errors.len(), id));
        }
        self.errors.push(error);
        self.failed.insert(id);
    }

    /// Returns the span of an expression; for a variable, that of its binding.
    pub(super) fn span(&self, id: ExprId) -> Option<Span> {
        let own = self.store.source_span(id);
        match self.store.expr(id) {
            Expr::Var(var) => own.or_else(|| self.store.var_span(var)),
            _ => own,
        }
    }
}

/// The relation of an operator, if it has one.
fn rule_of(op: OpId) -> Option<Rule> {
    if own::asks_script(op) { Some(Rule::Own(op)) } else { ops::info(op).relay_rule().map(Rule::Op) }
}
