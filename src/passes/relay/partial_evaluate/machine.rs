//! The interpreter of partially known values: frames, and one step for each kind of node.
//!
//! It has a stack of its own, so programs may nest and recurse as deep as memory allows. An unknown value becomes the
//! value of a `let` in the new program, in the order of evaluation.

use super::value::{Accepts, Closure, Fuel, Known, Memory, Partial, PartialId, Taken, Types, accepts};
use crate::diag::Diagnostic;
use crate::ir::{Clause, Expr, ExprId, Id, List, Module, Name, PatternId, Store, VarId};
use crate::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// One run of the pass.
pub(super) struct Evaluator<'a> {
    pub(super) store: &'a mut Store,
    pub(super) module: &'a Module,
    pub(super) values: Vec<Partial>,
    pub(super) memory: Memory,
    /// The fuel of functions that are being expanded, by their literals.
    pub(super) fuel: FxHashMap<ExprId, Fuel>,
    pub(super) globals: FxHashMap<Id<Name>, PartialId>,
    /// Primitive functions that were met.
    pub(super) kernels: FxHashSet<ExprId>,
    /// The new functions.
    pub(super) done: FxHashMap<Id<Name>, ExprId>,
    pub(super) now: Activation,
    pub(super) frames: Vec<Frame>,
    /// Open bindings, those of inner scopes behind the others, each with the node that it comes from.
    pub(super) lets: Vec<(VarId, ExprId, ExprId)>,
    /// The number of names taken. TVM counts on from program to program.
    pub(super) names: u32,
    pub(super) taken: Taken,
    pub(super) free: FxHashMap<ExprId, Rc<[VarId]>>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) warned: FxHashSet<&'static str>,
    steps: usize,
    limit: usize,
}

/// The variables of the current expansion, and the types in place of its type parameters.
#[derive(Default)]
pub(super) struct Activation {
    pub(super) vars: FxHashMap<VarId, PartialId>,
    pub(super) types: Types,
}

/// The consumer of the value under evaluation. The number in frames of branches is the begin of their bindings.
pub(super) enum Frame {
    /// It is the next field of a tuple.
    Tuple(ExprId, Vec<PartialId>),
    /// It is a tuple, of which one field is taken.
    Field(ExprId, u32),
    /// It is the callee of a call.
    Callee(ExprId),
    /// It is the next argument.
    Args(ExprId, PartialId, Vec<PartialId>),
    /// It is bound to a variable, and the body follows.
    Let(VarId, ExprId),
    /// It chooses a branch.
    If(ExprId),
    /// It is the first branch of an `if` on an unknown value.
    Then(ExprId, PartialId, usize),
    /// It is the second branch, after the first.
    Else(ExprId, PartialId, ExprId, usize),
    /// It is matched against patterns.
    Match(ExprId),
    /// It is the result of an arm with this pattern, in a match on an unknown value, after other arms.
    Arm(ExprId, PartialId, PatternId, Vec<Id<Clause>>, usize),
    /// It is the content of a new reference.
    NewRef(ExprId),
    /// It is the reference that is read.
    Read(ExprId),
    /// It is the reference that will be written.
    WriteTo(ExprId),
    /// It is written to the reference.
    Write(ExprId, PartialId),
    /// It is the result of an expansion; the caller continues with its own variables and fuel.
    Return(Box<Activation>, ExprId, Option<Fuel>),
    /// It is the result of a function of the new program.
    Residual(Box<super::residual::Residual>),
}

pub(super) enum Next {
    Eval(ExprId),
    Give(PartialId),
}

pub(super) type Step = Result<Next, PassError>;

/// This many nodes are evaluated for any program, and more for a large one. TVM stops when memory ends. Tests of this
/// crate have a lower limit, to be quick.
const STEPS: usize = if cfg!(test) { 20_000 } else { 2_000_000 };

impl<'a> Evaluator<'a> {
    pub fn new(store: &'a mut Store, module: &'a Module, size: usize) -> Self {
        Evaluator {
            store,
            module,
            values: Vec::new(),
            memory: Memory::new(),
            fuel: FxHashMap::default(),
            globals: FxHashMap::default(),
            kernels: FxHashSet::default(),
            done: FxHashMap::default(),
            now: Activation::default(),
            frames: Vec::new(),
            lets: Vec::new(),
            names: 0,
            taken: Taken::new(),
            free: FxHashMap::default(),
            warnings: Vec::new(),
            warned: FxHashSet::default(),
            steps: 0,
            limit: STEPS + 4 * size,
        }
    }

    /// Evaluates a global function, unless another one has done so before.
    pub fn visit_global(&mut self, name: Id<Name>, at: ExprId) -> Result<(), PassError> {
        let mut next = self.global(name, at)?;
        loop {
            next = match next {
                Next::Eval(id) => {
                    self.steps += 1;
                    if self.steps > self.limit {
                        let message = format!(
                            "the evaluation takes more than {} steps: each call of a known function is expanded, and TVM sets \
                             no limit to that",
                            self.limit
                        );
                        return Err(self.fail(id, message));
                    }
                    self.start(id)?
                }
                Next::Give(value) => match self.frames.pop() {
                    Some(frame) => self.resume(frame, value)?,
                    None => return Ok(()),
                },
            };
        }
    }

    pub(super) fn fail(&self, at: ExprId, message: impl Into<String>) -> PassError {
        vec![Diagnostic::error("relay-partial-evaluate", message, self.store.source_span(at))]
    }

    fn start(&mut self, id: ExprId) -> Step {
        Ok(match self.store.expr(id) {
            Expr::Var(var) => match self.now.vars.get(&var) {
                Some(value) => Next::Give(*value),
                None => return Err(self.fail(id, format!("Unknown Variable: %{}", self.store.var_name(var)))),
            },
            Expr::Constant(tensor) => self.push_known(Known::Tensor(tensor), id, id),
            Expr::Op(_) => Next::Give(self.value(Some(Known::Kernel(id)), id)),
            Expr::Ctor(ctor) => Next::Give(self.value(Some(Known::Constructor(ctor)), id)),
            Expr::Global(name) => return self.global(name, id),
            Expr::Function(_) => {
                let name = self.fresh_name();
                return self.function(id, name, None);
            }
            Expr::Tuple(fields) if fields.is_empty() => self.tuple(id, Vec::new()),
            Expr::Tuple(fields) => {
                let first = self.store.item(fields, 0);
                self.wait(Frame::Tuple(id, Vec::with_capacity(fields.len())), first)
            }
            Expr::TupleGetItem { tuple, index } => self.wait(Frame::Field(id, index), tuple),
            Expr::Call { callee, .. } => self.wait(Frame::Callee(id), callee),
            Expr::Let { var, value, body } => {
                self.frames.push(Frame::Let(var, body));
                if self.store.as_function(value).is_none() {
                    return Ok(Next::Eval(value));
                }
                let name = self.bind(var);
                return self.function(value, name, Some(var));
            }
            Expr::If { cond, .. } => self.wait(Frame::If(id), cond),
            Expr::Match { data, .. } => self.wait(Frame::Match(id), data),
            Expr::RefCreate(value) => self.wait(Frame::NewRef(id), value),
            Expr::RefRead(reference) => self.wait(Frame::Read(id), reference),
            Expr::RefWrite { reference, .. } => self.wait(Frame::WriteTo(id), reference),
            other => return Err(self.fail(id, format!("{:?} is not evaluated", other.kind()))),
        })
    }

    fn wait(&mut self, frame: Frame, first: ExprId) -> Next {
        self.frames.push(frame);
        Next::Eval(first)
    }

    /// Passes a value to the frame that waited for it.
    fn resume(&mut self, frame: Frame, value: PartialId) -> Step {
        Ok(match frame {
            Frame::Tuple(id, mut done) => {
                done.push(value);
                match self.store.expr(id) {
                    Expr::Tuple(fields) if done.len() < fields.len() => {
                        let next = self.store.item(fields, done.len());
                        self.wait(Frame::Tuple(id, done), next)
                    }
                    _ => self.tuple(id, done),
                }
            }
            Frame::Field(id, index) => match self.known(value) {
                Some(Known::Tuple(fields)) => match fields.get(index as usize) {
                    Some(field) => Next::Give(*field),
                    None => return Err(self.fail(id, format!("a tuple has no field {index}"))),
                },
                _ => self.push_unknown(Expr::TupleGetItem { tuple: self.dynamic(value), index }, id),
            },
            Frame::Callee(id) => return self.arguments(id, value, Vec::new()),
            Frame::Args(id, callee, mut done) => {
                done.push(value);
                return self.arguments(id, callee, done);
            }
            Frame::Let(var, body) => {
                self.now.vars.insert(var, value);
                Next::Eval(body)
            }
            Frame::If(id) => {
                let Expr::If { then, other, .. } = self.store.expr(id) else { unreachable!("the frame is of an if") };
                match self.truth(value) {
                    Some(true) => Next::Eval(then),
                    Some(false) => Next::Eval(other),
                    None => {
                        self.memory.enter();
                        self.wait(Frame::Then(id, value, self.lets.len()), then)
                    }
                }
            }
            Frame::Then(id, cond, scope) => {
                let Expr::If { other, .. } = self.store.expr(id) else { unreachable!("the frame is of an if") };
                let then = self.close(scope, value);
                self.memory.leave();
                self.memory.enter();
                self.wait(Frame::Else(id, cond, then, scope), other)
            }
            Frame::Else(id, cond, then, scope) => {
                let other = self.close(scope, value);
                self.memory.leave();
                self.memory.invalidate();
                self.push_unknown(Expr::If { cond: self.dynamic(cond), then, other }, id)
            }
            Frame::Match(id) => return self.match_value(id, value),
            Frame::Arm(id, data, pattern, mut done, scope) => {
                let body = self.close(scope, value);
                self.memory.leave();
                done.push(self.store.add_clause(Clause { pattern, body }));
                self.next_arm(id, data, done)
            }
            Frame::NewRef(id) => {
                let created = self.push(Expr::RefCreate(self.dynamic(value)), id);
                let reference = self.value(Some(Known::Ref), created);
                self.memory.write(reference, value);
                Next::Give(reference)
            }
            Frame::Read(id) => {
                let held = matches!(self.known(value), Some(Known::Ref)).then(|| self.memory.read(value)).flatten();
                match held {
                    Some(held) => Next::Give(held),
                    None => self.push_unknown(Expr::RefRead(self.dynamic(value)), id),
                }
            }
            Frame::WriteTo(id) => {
                let Expr::RefWrite { value: new, .. } = self.store.expr(id) else { unreachable!("the frame is of a write") };
                self.wait(Frame::Write(id, value), new)
            }
            Frame::Write(id, reference) => {
                match self.known(reference) {
                    Some(_) => self.memory.write(reference, value),
                    None => self.memory.invalidate(),
                }
                let write = Expr::RefWrite { reference: self.dynamic(reference), value: self.dynamic(value) };
                let written = self.push(write, id);
                Next::Give(self.value(Some(Known::Tuple(Rc::default())), written))
            }
            Frame::Return(caller, literal, fuel) => {
                self.now = *caller;
                match fuel {
                    Some(fuel) => self.fuel.insert(literal, fuel),
                    None => self.fuel.remove(&literal),
                };
                Next::Give(value)
            }
            Frame::Residual(residual) => self.finish(*residual, value),
        })
    }

    /// Evaluates the next argument of a call, or applies the call.
    fn arguments(&mut self, id: ExprId, callee: PartialId, done: Vec<PartialId>) -> Step {
        let Expr::Call { args, info, .. } = self.store.expr(id) else { unreachable!("only calls have arguments") };
        if done.len() < args.len() {
            let next = self.store.item(args, done.len());
            return Ok(self.wait(Frame::Args(id, callee, done), next));
        }
        let info = self.call_info(info);
        self.apply(id, callee, done, info)
    }

    fn tuple(&mut self, id: ExprId, fields: Vec<PartialId>) -> Next {
        let list = self.dynamics(&fields);
        let made = self.push(Expr::Tuple(list), id);
        Next::Give(self.value(Some(Known::Tuple(fields.into())), made))
    }

    /// Returns the value of a condition, if it is known.
    fn truth(&self, value: PartialId) -> Option<bool> {
        match self.values[value.index()].known {
            Some(Known::Tensor(tensor)) => self.store.tensor(tensor).data.as_ref()?.first().map(|byte| *byte != 0),
            _ => None,
        }
    }

    fn match_value(&mut self, id: ExprId, data: PartialId) -> Step {
        let Expr::Match { clauses, .. } = self.store.expr(id) else { unreachable!("the frame is of a match") };
        for index in 0..clauses.len() {
            let clause = *self.store.clause(self.store.item(clauses, index));
            let mut bound = Vec::new();
            match accepts(self.store, &self.values, clause.pattern, data, &mut bound) {
                Accepts::Yes => {
                    self.now.vars.extend(bound);
                    return Ok(Next::Eval(clause.body));
                }
                Accepts::No => {}
                Accepts::Maybe => return Ok(self.next_arm(id, data, Vec::new())),
            }
        }
        Err(self.fail(id, "No case Match"))
    }

    /// Evaluates the next arm of a match on an unknown value, or builds the match.
    fn next_arm(&mut self, id: ExprId, data: PartialId, done: Vec<Id<Clause>>) -> Next {
        let Expr::Match { clauses, complete, .. } = self.store.expr(id) else { unreachable!("the frame is of a match") };
        if done.len() == clauses.len() {
            self.memory.invalidate();
            let clauses = self.store.list(&done);
            return self.push_unknown(Expr::Match { data: self.dynamic(data), clauses, complete }, id);
        }
        let clause = *self.store.clause(self.store.item(clauses, done.len()));
        self.memory.enter();
        let pattern = self.pattern(clause.pattern);
        self.wait(Frame::Arm(id, data, pattern, done, self.lets.len()), clause.body)
    }

    pub(super) fn value(&mut self, known: Option<Known>, dynamic: ExprId) -> PartialId {
        self.values.push(Partial { known, dynamic });
        PartialId::from_index(self.values.len() - 1)
    }

    pub(super) fn known(&self, value: PartialId) -> Option<Known> {
        self.values[value.index()].known.clone()
    }

    pub(super) fn dynamic(&self, value: PartialId) -> ExprId {
        self.values[value.index()].dynamic
    }

    pub(super) fn dynamics(&mut self, values: &[PartialId]) -> List<Expr> {
        let nodes: Vec<ExprId> = values.iter().map(|value| self.dynamic(*value)).collect();
        self.store.list(&nodes)
    }

    /// Makes a function value that captures the current values of its free variables.
    pub(super) fn closure(
        &mut self,
        literal: ExprId,
        name: Option<VarId>,
        callee: ExprId,
        types: Types,
    ) -> Result<Closure, PassError> {
        let Some(function) = self.store.as_function(literal) else { return Err(self.fail(literal, "this is no function")) };
        let free = match self.free.get(&literal) {
            Some(free) => free.clone(),
            None => {
                let free: Rc<[VarId]> = crate::ir::walk::free_vars(self.store, literal).into();
                self.free.insert(literal, free.clone());
                free
            }
        };
        let captured = free.iter().filter(|var| Some(**var) != name);
        let captured = captured.filter_map(|var| Some((*var, *self.now.vars.get(var)?))).collect();
        Ok(Closure { literal, function, name, callee, captured, types })
    }
}
