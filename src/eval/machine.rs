//! The machine: frames, activations, and one step for each kind of node.

use super::parts::{Parts, Taken};
use super::value::{Closure, Fields, RefCell, Slot, Value};
use super::{CallResults, EvalFailure, EvalOptions, Watched};
use crate::ir::walk::{for_each_child, free_vars, has_children, post_order};
use crate::ir::{Expr, ExprId, IdMap, Module, OpId, Pattern, PatternId, Store, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// One evaluation.
pub(super) struct Machine<'a> {
    pub(super) store: &'a mut Store,
    module: &'a Module,
    fuel: u64,
    pub(super) work: u64,
    /// Nodes used more than once: their values are kept.
    shared: IdMap<Expr, ()>,
    /// Roots whose nodes are in `shared`.
    scanned: IdMap<Expr, ()>,
    /// The variables and nodes that each function literal may capture.
    captures: FxHashMap<ExprId, Rc<[Slot]>>,
    now: Activation,
    frames: Vec<Frame>,
    watched: Watched<'a>,
    pub(super) results: Option<&'a mut CallResults>,
}

/// The variables and kept values of a function that is being evaluated.
#[derive(Default)]
struct Activation {
    vars: FxHashMap<VarId, Value>,
    kept: FxHashMap<ExprId, Value>,
}

/// The consumer of the value under evaluation.
enum Frame {
    /// The other uses of the node, for which it is kept.
    Keep(ExprId),
    /// The list of watched values.
    Watch,
    /// A tuple, projection or call, as its next part.
    Parts(Parts),
    /// A call, as its callee.
    Callee(ExprId, Vec<Value>),
    /// A let, which binds it; the body follows.
    Let(VarId, ExprId),
    /// An `if`, whose condition it is.
    If(ExprId),
    /// A match on it.
    Match(ExprId),
    /// A new cell, as its content.
    NewRef,
    /// A read of the cell that it is.
    Read(ExprId),
    /// A write to the cell that it is.
    WriteTo(ExprId),
    /// A write of it to the cell.
    Write(Value),
    /// A call that writes it to its outputs.
    Outputs(ExprId),
    /// The caller of the function, which is done.
    Restore(Box<Activation>),
}

/// Returns the values in a tuple of tuples, or the value itself.
fn flat(value: Value) -> Vec<Value> {
    let (mut found, mut left) = (Vec::new(), vec![value]);
    while let Some(value) = left.pop() {
        match value {
            Value::Tuple(fields) => left.extend(fields.items().iter().rev().cloned()),
            other => found.push(other),
        }
    }
    found
}

enum Next {
    Eval(ExprId),
    Give(Value),
}

type Step = Result<Next, EvalFailure>;

impl<'a> Machine<'a> {
    pub fn new(store: &'a mut Store, module: &'a Module, options: EvalOptions) -> Machine<'a> {
        Machine {
            store,
            module,
            fuel: options.fuel,
            work: options.work,
            shared: IdMap::new(),
            scanned: IdMap::new(),
            captures: FxHashMap::default(),
            now: Activation::default(),
            frames: Vec::new(),
            watched: None,
            results: None,
        }
    }

    /// Watches a node and records its values, and shares results of operators.
    pub fn with(self, watched: Watched<'a>, results: Option<&'a mut CallResults>) -> Machine<'a> {
        Machine { watched, results, ..self }
    }

    pub fn is_function(&self, expr: ExprId) -> bool {
        matches!(self.store.expr(expr), Expr::Function(_))
    }

    pub fn eval(mut self, expr: ExprId) -> Result<Value, EvalFailure> {
        self.scan(expr);
        self.run(Next::Eval(expr))
    }

    /// Applies a function literal to values.
    pub fn apply(mut self, function: ExprId, args: &[Value]) -> Result<Value, EvalFailure> {
        self.scan(function);
        let closure = global(function);
        let start = self.call(function, closure, args.to_vec())?;
        self.run(start)
    }

    /// Finds the shared nodes below a root, once. Leaves and functions are not kept: evaluating them again costs no more than a look-up.
    fn scan(&mut self, root: ExprId) {
        if self.scanned.insert(root, ()).is_some() {
            return;
        }
        let mut used: IdMap<Expr, ()> = IdMap::new();
        let mut left = vec![root];
        while let Some(id) = left.pop() {
            for_each_child(self.store, id, |child| {
                if !has_children(self.store, child) {
                    return;
                }
                if used.insert(child, ()).is_none() {
                    left.push(child);
                } else if !matches!(self.store.expr(child), Expr::Function(_)) {
                    self.shared.insert(child, ());
                }
            });
        }
    }

    fn run(&mut self, start: Next) -> Result<Value, EvalFailure> {
        let mut next = start;
        loop {
            next = match next {
                Next::Eval(expr) => {
                    if self.fuel == 0 {
                        let mut failure = self.fail(expr, "the evaluation takes more steps than are allowed");
                        failure.code = "eval-fuel";
                        return Err(failure);
                    }
                    self.fuel -= 1;
                    self.start(expr)?
                }
                Next::Give(value) => match self.frames.pop() {
                    Some(frame) => self.resume(frame, value)?,
                    None => return Ok(value),
                },
            };
        }
    }

    pub(super) fn fail(&self, expr: ExprId, message: impl Into<String>) -> EvalFailure {
        EvalFailure { expr: Some(expr), span: self.store.source_span(expr), ..EvalFailure::new(message) }
    }

    /// Starts the evaluation of a node.
    fn start(&mut self, id: ExprId) -> Step {
        if self.shared.contains(id) {
            if let Some(value) = self.now.kept.get(&id) {
                return Ok(Next::Give(value.clone()));
            }
            self.frames.push(Frame::Keep(id));
        }
        if self.watched.as_ref().is_some_and(|(node, _)| *node == id) {
            self.frames.push(Frame::Watch);
        }
        if let Some((parts, first)) = Parts::of(self.store, id) {
            self.frames.push(Frame::Parts(parts));
            return Ok(Next::Eval(first));
        }
        Ok(match self.store.expr(id) {
            Expr::Var(var) => match self.now.vars.get(&var) {
                Some(value) => Next::Give(value.clone()),
                None => return Err(self.fail(id, format!("the variable %{} has no value", self.store.var_name(var)))),
            },
            Expr::Constant(tensor) => Next::Give(Value::Tensor(self.store.tensor(tensor).clone())),
            Expr::Op(op) => Next::Give(Value::Op(op)),
            Expr::Global(name) => match self.module.function(name) {
                Some(function) => {
                    self.scan(function);
                    Next::Give(global(function))
                }
                None => return Err(self.fail(id, format!("the module has no function `@{}`", self.store.str(name)))),
            },
            Expr::Ctor(ctor) => Next::Give(Value::Ctor(ctor, Rc::default())),
            Expr::Function(_) => Next::Give(self.closure(id, None)),
            Expr::Tuple(_) => Next::Give(Value::unit()),
            Expr::Call { .. } => return self.callee(id, Vec::new()),
            Expr::Let { var, value, body } => {
                if self.is_function(value) {
                    let closure = self.closure(value, Some(var));
                    self.now.vars.insert(var, closure);
                    Next::Eval(body)
                } else {
                    self.frames.push(Frame::Let(var, body));
                    Next::Eval(value)
                }
            }
            Expr::If { cond, .. } => {
                self.frames.push(Frame::If(id));
                Next::Eval(cond)
            }
            Expr::Match { data, .. } => {
                self.frames.push(Frame::Match(id));
                Next::Eval(data)
            }
            Expr::RefCreate(value) => {
                self.frames.push(Frame::NewRef);
                Next::Eval(value)
            }
            Expr::RefRead(reference) => {
                self.frames.push(Frame::Read(id));
                Next::Eval(reference)
            }
            Expr::RefWrite { reference, .. } => {
                self.frames.push(Frame::WriteTo(id));
                Next::Eval(reference)
            }
            other @ (Expr::TupleGetItem { .. }
            | Expr::Seq { .. }
            | Expr::Shape(_)
            | Expr::Prim(_)
            | Expr::Str(_)
            | Expr::DataType(_)
            | Expr::Extern(_)
            | Expr::PrimFunc(_)
            | Expr::Stmt(_)) => {
                return Err(self.fail(id, format!("{:?} cannot be evaluated yet", other.kind())));
            }
        })
    }

    /// Passes a value to the frame that waited for it.
    fn resume(&mut self, frame: Frame, value: Value) -> Step {
        Ok(match frame {
            Frame::Keep(id) => {
                self.now.kept.insert(id, value.clone());
                Next::Give(value)
            }
            Frame::Watch => {
                if let Some((_, seen)) = &mut self.watched {
                    seen.push(value.clone());
                }
                Next::Give(value)
            }
            Frame::Parts(parts) => match parts.take(self.store, value).map_err(|(id, why)| self.fail(id, why))? {
                Taken::Next(parts, part) => {
                    self.frames.push(Frame::Parts(parts));
                    Next::Eval(part)
                }
                Taken::Value(value) => Next::Give(value),
                Taken::Call(id, args) => return self.callee(id, args),
            },
            Frame::Callee(id, args) => return self.call(id, value, args),
            Frame::Let(var, body) => {
                self.now.vars.insert(var, value);
                Next::Eval(body)
            }
            Frame::If(id) => {
                let Expr::If { then, other, .. } = self.store.expr(id) else { unreachable!("the frame is of an if") };
                let byte = value.as_tensor().and_then(|t| t.data.as_ref()).and_then(|d| d.first());
                match byte {
                    Some(0) => Next::Eval(other),
                    Some(_) => Next::Eval(then),
                    None => return Err(self.fail(id, "the condition is no truth value that is known")),
                }
            }
            Frame::Match(id) => return self.match_value(id, value),
            Frame::NewRef => Next::Give(Value::Ref(Rc::new(RefCell::new(value)))),
            Frame::Read(id) => match value {
                Value::Ref(cell) => Next::Give(cell.get()),
                other => return Err(self.fail(id, format!("{} cannot be read as a reference", other.kind()))),
            },
            Frame::WriteTo(id) => {
                let Expr::RefWrite { value: new, .. } = self.store.expr(id) else { unreachable!("the frame is of a write") };
                if !matches!(value, Value::Ref(_)) {
                    return Err(self.fail(id, format!("{} cannot be written as a reference", value.kind())));
                }
                self.frames.push(Frame::Write(value));
                Next::Eval(new)
            }
            Frame::Write(cell) => {
                if let Value::Ref(cell) = cell {
                    cell.set(value);
                }
                Next::Give(Value::unit())
            }
            Frame::Outputs(id) => {
                let outputs = self.store.call(id).map(|call| self.store.expr(self.store.item(call.args, 2)));
                let values = flat(value);
                if let Some(Expr::Tuple(fields)) = outputs {
                    for (field, value) in self.store.items(fields).zip(values) {
                        if let Expr::Var(var) = self.store.expr(field) {
                            self.now.vars.insert(var, value);
                        }
                    }
                }
                Next::Give(Value::unit())
            }
            Frame::Restore(caller) => {
                self.now = *caller;
                Next::Give(value)
            }
        })
    }

    /// Continues a call whose arguments are evaluated with its callee. Operators and constructors need no
    /// evaluation.
    fn callee(&mut self, id: ExprId, args: Vec<Value>) -> Step {
        let Expr::Call { callee, .. } = self.store.expr(id) else { unreachable!("only calls have arguments") };
        match self.store.expr(callee) {
            Expr::Op(op) => self.apply_op(id, op, args),
            Expr::Ctor(ctor) => Ok(Next::Give(Value::Ctor(ctor, Rc::new(args.into())))),
            _ => {
                self.frames.push(Frame::Callee(id, args));
                Ok(Next::Eval(callee))
            }
        }
    }

    /// Calls an operator, or the function that one calls.
    fn apply_op(&mut self, id: ExprId, op: OpId, args: Vec<Value>) -> Step {
        let outputs = match (crate::ops::info(op).name, args.len()) {
            ("call_lowered", 2) => false,
            ("vm.invoke_tvm_op", 3) => true,
            _ => return self.call_op(id, op, args).map(Next::Give),
        };
        let mut args = args.into_iter();
        let (Some(function), Some(Value::Tuple(inputs))) = (args.next(), args.next()) else {
            return Err(self.fail(id, "a function and a tuple of inputs were expected"));
        };
        if outputs {
            self.frames.push(Frame::Outputs(id));
        }
        self.call(id, function, inputs.items().to_vec())
    }

    fn call(&mut self, id: ExprId, callee: Value, args: Vec<Value>) -> Step {
        let closure = match callee {
            Value::Closure(closure) => closure,
            Value::Op(op) => return self.call_op(id, op, args).map(Next::Give),
            Value::Ctor(ctor, fields) if fields.items().is_empty() => {
                return Ok(Next::Give(Value::Ctor(ctor, Rc::new(args.into()))));
            }
            other => return Err(self.fail(id, format!("{} cannot be called", other.kind()))),
        };
        let Some(function) = self.store.as_function(closure.function) else { unreachable!("closures are made of functions") };
        if function.params.len() != args.len() {
            let (wanted, given) = (function.params.len(), args.len());
            return Err(self.fail(id, format!("a function of {wanted} parameters is called with {given} arguments")));
        }
        let mut new = Activation::default();
        for (slot, value) in closure.slots.iter().zip(closure.captured.items()) {
            match *slot {
                Slot::Var(var) => drop(new.vars.insert(var, value.clone())),
                Slot::Node(node) => drop(new.kept.insert(node, value.clone())),
                Slot::Symbol(_) => {}
            }
        }
        if let Some(name) = closure.name {
            new.vars.insert(name, Value::Closure(closure.clone()));
        }
        new.vars.extend(self.store.items(function.params).zip(args));
        let caller = std::mem::replace(&mut self.now, new);
        // A caller that would only return the value need not be restored.
        if !matches!(self.frames.last(), None | Some(Frame::Restore(_))) {
            self.frames.push(Frame::Restore(Box::new(caller)));
        }
        Ok(Next::Eval(function.body))
    }

    /// Makes a closure that captures the values of its free variables; `name` is the variable by which it calls itself.
    fn closure(&mut self, function: ExprId, name: Option<VarId>) -> Value {
        let wanted = match self.captures.get(&function) {
            Some(wanted) => wanted.clone(),
            None => {
                let vars = free_vars(self.store, function).into_iter().map(Slot::Var);
                let inside = post_order(self.store, function);
                let nodes = inside.into_iter().filter(|n| self.shared.contains(*n)).map(Slot::Node);
                let wanted: Rc<[Slot]> = vars.chain(nodes).collect();
                self.captures.insert(function, wanted.clone());
                wanted
            }
        };
        let mut slots = Vec::new();
        let mut captured = Vec::new();
        for &slot in wanted.iter() {
            let value = match slot {
                Slot::Var(var) if Some(var) == name => None,
                Slot::Var(var) => self.now.vars.get(&var),
                Slot::Node(node) => self.now.kept.get(&node),
                Slot::Symbol(_) => None,
            };
            if let Some(value) = value {
                slots.push(slot);
                captured.push(value.clone());
            }
        }
        let slots = if slots.len() == wanted.len() { wanted } else { slots.into() };
        Value::Closure(Rc::new(Closure { function, name, slots, captured: captured.into() }))
    }

    fn match_value(&mut self, id: ExprId, value: Value) -> Step {
        let Expr::Match { clauses, .. } = self.store.expr(id) else { unreachable!("the frame is of a match") };
        for index in 0..clauses.len() {
            let clause = *self.store.clause(self.store.item(clauses, index));
            if let Some(bindings) = self.accepts(clause.pattern, &value) {
                self.now.vars.extend(bindings);
                return Ok(Next::Eval(clause.body));
            }
        }
        Err(self.fail(id, "no arm of the match accepts the value"))
    }

    /// Matches a pattern against a value, and returns the values of its variables if it accepts.
    fn accepts(&self, pattern: PatternId, value: &Value) -> Option<Vec<(VarId, Value)>> {
        let mut bindings = Vec::new();
        let mut left = vec![(pattern, value)];
        while let Some((pattern, value)) = left.pop() {
            let (patterns, fields) = match (*self.store.pattern(pattern), value) {
                (Pattern::Wildcard, _) => continue,
                (Pattern::Var(var), value) => {
                    bindings.push((var, value.clone()));
                    continue;
                }
                (Pattern::Ctor { ctor, fields }, Value::Ctor(found, values)) => {
                    // A module holds one constructor for each name and tag, however often it was rebuilt.
                    let (wanted, found) = (self.store.ctor(ctor), self.store.ctor(*found));
                    if (wanted.adt, wanted.tag) != (found.adt, found.tag) {
                        return None;
                    }
                    (fields, values)
                }
                (Pattern::Tuple(fields), Value::Tuple(values)) => (fields, values),
                _ => return None,
            };
            if patterns.len() != fields.items().len() {
                return None;
            }
            left.extend(self.store.items(patterns).zip(fields.items()));
        }
        Some(bindings)
    }
}

/// Makes a closure of a global function. It captures nothing, and must not: in a recursive call the kept
/// values are those of its own earlier activation.
fn global(function: ExprId) -> Value {
    Value::Closure(Rc::new(Closure { function, name: None, slots: Rc::default(), captured: Fields::default() }))
}
