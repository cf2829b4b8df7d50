//! Evaluation of programs of Relax.
//!
//! A machine with frames of its own, as for Relay, so that recursion costs no call stack. In addition Relax has blocks of
//! bindings, shapes and scalars as values, and symbolic extents, which the arguments of a function and `match_cast` bind to
//! numbers; both are checked as in TVM's virtual machine, with its messages. Tensor programs run in [`super::tir`], operators in
//! [`operators`]. Tensors that a lowered program allocates are cells that tensor programs write into.
//!
//! Linked functions (`R.call_packed` and similar calls) are evaluated as far as the caller has them ([`linked`]).

mod linked;
mod matching;
mod norm;
pub(crate) mod operators;
mod seed;
mod shaped;
mod special;
#[cfg(test)]
mod tests;

pub use linked::{Linked, Ran, run_linked};
pub use seed::made_args;

use super::parts::{Parts, Taken};
use super::value::{Closure, Fields, RefCell, Slot, Value};
use super::{EvalFailure, EvalOptions, Watched, eval_prim};
use crate::infer::relax::types::{Bindings, substitute_dim};
use crate::ir::walk::{free_vars, post_order};
use crate::ir::{Dim, Expr, ExprId, Function, Id, Module, PrimExpr, Store, Symbol, Tensor, Type, VarId};
use crate::ops::kernel::{read_scalar, write};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// One evaluation.
pub(super) struct Machine<'a> {
    pub(super) store: &'a mut Store,
    pub(super) module: &'a Module,
    pub(super) fuel: u64,
    pub(super) work: u64,
    now: Activation,
    frames: Vec<Frame>,
    watched: Watched<'a>,
    linked: Option<&'a mut Linked<'a>>,
}

/// The variables and symbols of a function that is being evaluated.
#[derive(Default)]
struct Activation {
    vars: FxHashMap<VarId, Value>,
    symbols: Bindings,
}

/// The consumer of the value under evaluation.
enum Frame {
    /// A tuple, projection or call, as its next part.
    Parts(Parts),
    /// A call, as its callee.
    Callee(ExprId, Vec<Value>),
    /// This binding in this block of a sequence; the code behind it follows.
    Bind { seq: ExprId, block: usize, binding: usize },
    /// An `if`, whose condition it is.
    If(ExprId),
    /// A function, whose result it is and which checks it.
    Result(ExprId, String),
    /// The caller of the function, which is done.
    Restore(Box<Activation>),
    /// The list of watched values.
    Watch,
}

pub(super) enum Next {
    Eval(ExprId),
    Give(Value),
}

pub(super) type Step = Result<Next, EvalFailure>;

/// Applies a function of a module to values.
pub(super) fn apply(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    args: &[Value],
    options: EvalOptions,
    watched: Watched,
    linked: Option<&mut Linked<'_>>,
) -> Result<Value, EvalFailure> {
    let watched = watched.map(|(node, seen)| (bound_to(store, module, node), seen));
    let mut machine = Machine {
        store,
        module,
        fuel: options.fuel,
        work: options.work,
        now: Activation::default(),
        frames: Vec::new(),
        watched,
        linked: match linked {
            Some(linked) => Some(linked),
            None => None,
        },
    };
    let closure = global(function);
    let start = machine.call(function, closure, args.to_vec())?;
    machine.run(start).map(read_cells)
}

/// Evaluates a closed expression.
pub(super) fn eval(store: &mut Store, module: &Module, expr: ExprId, options: EvalOptions) -> Result<Value, EvalFailure> {
    let now = Activation::default();
    let (fuel, work) = (options.fuel, options.work);
    let machine = Machine { store, module, fuel, work, now, frames: Vec::new(), watched: None, linked: None };
    machine.run(Next::Eval(expr)).map(read_cells)
}

/// Returns the value of a bound variable, and any other node itself: a variable that is only bound is never evaluated.
fn bound_to(store: &Store, module: &Module, node: ExprId) -> ExprId {
    let Expr::Var(var) = store.expr(node) else { return node };
    let vid = store.var_data(var).vid;
    let all = module.functions().iter().flat_map(|(_, function)| post_order(store, *function));
    let blocks = all.filter_map(|id| match store.expr(id) {
        Expr::Seq { blocks, .. } => Some(store.items(blocks)),
        _ => None,
    });
    let mut bindings = blocks.flatten().flat_map(|block| store.items(store.block(block).bindings)).map(|id| store.binding(id));
    bindings.find(|bound| store.var_data(bound.var).vid == vid).map_or(node, |bound| bound.value)
}

/// Replaces the cells in a value by the tensors that they hold. Tuples of a program nest no deeper than its types.
fn read_cells(value: Value) -> Value {
    match value {
        Value::Ref(cell) => cell.get(),
        Value::Tuple(fields) => Value::tuple(fields.items().iter().cloned().map(read_cells).collect()),
        other => other,
    }
}

impl Machine<'_> {
    fn run(mut self, start: Next) -> Result<Value, EvalFailure> {
        let mut next = start;
        loop {
            next = match next {
                Next::Eval(expr) => {
                    if self.fuel == 0 {
                        let failure = self.fail(expr, "the evaluation takes more steps than are allowed");
                        return Err(EvalFailure { code: "eval-fuel", ..failure });
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

    /// Makes a failure for an expression that cannot be evaluated here at all.
    pub(super) fn unable(&self, expr: ExprId, message: impl Into<String>) -> EvalFailure {
        EvalFailure { code: "eval-no-kernel", ..self.fail(expr, message) }
    }

    /// Starts the evaluation of a node.
    fn start(&mut self, id: ExprId) -> Step {
        if self.watched.as_ref().is_some_and(|(node, _)| *node == id) {
            self.frames.push(Frame::Watch);
        }
        if let Some((parts, first)) = Parts::of(self.store, id) {
            self.frames.push(Frame::Parts(parts));
            return Ok(Next::Eval(first));
        }
        Ok(Next::Give(match self.store.expr(id) {
            Expr::Var(var) => self.variable(id, var)?,
            Expr::Constant(tensor) => {
                let tensor = self.store.tensor(tensor).clone();
                if tensor.data.is_none() {
                    return Err(self.without_value(id, &tensor));
                }
                Value::Tensor(tensor)
            }
            Expr::Op(op) => Value::Op(op),
            Expr::Global(name) => match self.module.function(name) {
                Some(function) => global(function),
                None => return Err(self.fail(id, format!("the module has no function `{}`", self.store.str(name)))),
            },
            Expr::Function(_) => self.closure(id, None),
            Expr::Extern(name) => Value::Word(name),
            Expr::Str(text) => Value::Word(text),
            Expr::DataType(dtype) => Value::Word(self.store.name(&dtype.to_string())),
            Expr::Shape(dims) => {
                let dims = self.store.dims_of_id(dims).to_vec();
                Value::Shape(dims.into_iter().map(|dim| self.extent(id, dim)).collect::<Result<_, _>>()?)
            }
            Expr::Prim(prim) => {
                let mut known = Vec::new();
                let symbols = &self.now.symbols;
                self.store.for_each_prim(prim, &mut |_, node| {
                    if let PrimExpr::Var(symbol) = node {
                        known.extend(symbols.get(symbol).and_then(|dim| dim.known()).map(|value| (*symbol, value)));
                    }
                });
                Value::Prim(
                    eval_prim(self.store, prim, &known).map_err(|e| EvalFailure { code: e.code, ..self.fail(id, e.message) })?,
                )
            }
            Expr::Tuple(_) => Value::unit(),
            Expr::Call { .. } => return self.callee(id, Vec::new()),
            Expr::If { cond, .. } => {
                self.frames.push(Frame::If(id));
                return Ok(Next::Eval(cond));
            }
            Expr::Seq { .. } => return Ok(self.binding(id, 0, 0)),
            Expr::PrimFunc(_) => global(id),
            other => return Err(self.unable(id, format!("{:?} is not evaluated in Relax", other.kind()))),
        }))
    }

    fn variable(&self, id: ExprId, var: VarId) -> Result<Value, EvalFailure> {
        let data = self.store.var_data(var);
        if let Some(value) = self.now.vars.get(&data.vid) {
            return Ok(value.clone());
        }
        let known = data.symbol.and_then(|symbol| self.now.symbols.get(&symbol)).and_then(|dim| dim.known());
        match known {
            Some(value) => Ok(Value::int(value)),
            None => Err(self.fail(id, format!("the variable `{}` has no value", self.store.str(data.name)))),
        }
    }

    /// Makes a failure for a constant without a value in the text, with the number that it prints with.
    fn without_value(&self, id: ExprId, tensor: &Tensor) -> EvalFailure {
        let mut seen: Vec<ExprId> = Vec::new();
        for (_, function) in self.module.functions() {
            // Scalars are printed inline.
            let listed = |node: &ExprId| match self.store.expr(*node) {
                Expr::Constant(tensor) => !self.store.tensor(tensor).is_scalar() || self.store.tensor(tensor).data.is_none(),
                _ => false,
            };
            seen.extend(post_order(self.store, *function).into_iter().filter(listed));
        }
        seen.dedup();
        let number = seen.iter().position(|node| *node == id).unwrap_or(0);
        let message = format!(
            "`metadata[\"ir.GenericConst\"][{number}]`, {}{:?}, is a constant without value: the text was dumped without its \
             metadata section",
            tensor.dtype, tensor.shape
        );
        self.fail(id, message)
    }

    /// Returns the current value of an extent.
    fn extent(&mut self, at: ExprId, dim: Dim) -> Result<i64, EvalFailure> {
        match substitute_dim(self.store, dim, &self.now.symbols) {
            Dim::Int { value, .. } => Ok(value),
            other => {
                let name = crate::ir::show_dim(self.store, other);
                Err(self.fail(at, format!("the extent `{name}` has no value: no argument and no match_cast says what it is")))
            }
        }
    }

    /// Returns the next step at a position in a sequence.
    fn binding(&mut self, seq: ExprId, block: usize, binding: usize) -> Next {
        let Expr::Seq { blocks, body } = self.store.expr(seq) else { return Next::Eval(seq) };
        let (mut block, mut binding) = (block, binding);
        while block < blocks.len() {
            let bindings = self.store.block(self.store.item(blocks, block)).bindings;
            if binding < bindings.len() {
                let bound = *self.store.binding(self.store.item(bindings, binding));
                if matches!(self.store.expr(bound.value), Expr::Function(_)) {
                    let closure = self.closure(bound.value, Some(self.store.var_data(bound.var).vid));
                    self.now.vars.insert(self.store.var_data(bound.var).vid, closure);
                    binding += 1;
                    continue;
                }
                self.frames.push(Frame::Bind { seq, block, binding });
                return Next::Eval(bound.value);
            }
            (block, binding) = (block + 1, 0);
        }
        Next::Eval(body)
    }

    /// Passes a value to the frame that waited for it.
    fn resume(&mut self, frame: Frame, value: Value) -> Step {
        Ok(match frame {
            Frame::Parts(parts) => match parts.take(self.store, value).map_err(|(id, why)| self.fail(id, why))? {
                Taken::Next(parts, part) => {
                    self.frames.push(Frame::Parts(parts));
                    Next::Eval(part)
                }
                Taken::Value(value) => Next::Give(value),
                Taken::Call(id, args) => return self.callee(id, args),
            },
            Frame::Callee(id, args) => return self.call(id, value, args),
            Frame::Bind { seq, block, binding } => {
                self.bind(seq, block, binding, value)?;
                self.binding(seq, block, binding + 1)
            }
            Frame::If(id) => {
                let Expr::If { cond, then, other } = self.store.expr(id) else { return Ok(Next::Give(value)) };
                let truth = match read_cells(value) {
                    Value::Tensor(tensor) | Value::Prim(tensor) => read_scalar::<f64>(&tensor).ok(),
                    _ => None,
                };
                match truth {
                    Some(truth) => Next::Eval(if truth == 0.0 { other } else { then }),
                    None => return Err(self.fail(cond, "the condition is no truth value that is known")),
                }
            }
            Frame::Result(function, name) => {
                self.check_result(function, &name, &value)?;
                Next::Give(value)
            }
            Frame::Restore(caller) => {
                self.now = *caller;
                Next::Give(value)
            }
            Frame::Watch => {
                if let Some((_, seen)) = &mut self.watched {
                    seen.push(read_cells(value.clone()));
                }
                Next::Give(value)
            }
        })
    }

    fn bind(&mut self, seq: ExprId, block: usize, binding: usize, value: Value) -> Result<(), EvalFailure> {
        let Expr::Seq { blocks, .. } = self.store.expr(seq) else { return Ok(()) };
        let bindings = self.store.block(self.store.item(blocks, block)).bindings;
        let bound = *self.store.binding(self.store.item(bindings, binding));
        let (vid, symbol) = (self.store.var_data(bound.var).vid, self.store.var_data(bound.var).symbol);
        if let Some(ty) = bound.cast {
            let place = |store: &Store, _: usize| format!("ErrorContext(match_cast, ty={}) ", matching::shown(store, ty));
            self.match_all(bound.value, &[(ty, value.clone())], &place)?;
        }
        if let (Some(symbol), Value::Prim(number)) = (symbol, &value) {
            self.set_symbol(symbol, number);
        }
        self.now.vars.insert(vid, value);
        Ok(())
    }

    /// Returns the current values of symbolic extents.
    pub(super) fn symbols(&self) -> &Bindings {
        &self.now.symbols
    }

    fn set_symbol(&mut self, symbol: Id<Symbol>, number: &Tensor) {
        if let (false, Ok(value)) = (number.dtype.is_float(), read_scalar::<i64>(number)) {
            self.now.symbols.insert(symbol, Dim::Int { value, bits: 64 });
        }
    }

    /// Continues a call whose arguments are evaluated with its callee.
    fn callee(&mut self, id: ExprId, args: Vec<Value>) -> Step {
        let Expr::Call { callee, .. } = self.store.expr(id) else { return Ok(Next::Give(Value::unit())) };
        match self.store.expr(callee) {
            Expr::Op(op) => self.operator(id, op, args),
            _ => {
                self.frames.push(Frame::Callee(id, args));
                Ok(Next::Eval(callee))
            }
        }
    }

    pub(super) fn call(&mut self, id: ExprId, callee: Value, args: Vec<Value>) -> Step {
        let closure = match callee {
            Value::Closure(closure) => closure,
            Value::Op(op) => return self.operator(id, op, args),
            Value::Word(name) => return self.call_linked(id, name, &args).map(Next::Give),
            other => return Err(self.fail(id, format!("{} cannot be called", other.kind()))),
        };
        if let Expr::PrimFunc(program) = self.store.expr(closure.function) {
            return self.write_into(id, program, &args).map(Next::Give);
        }
        let Some(function) = self.store.as_function(closure.function) else {
            return match self.store.expr(closure.function) {
                Expr::Extern(name) => self.call_linked(id, name, &args).map(Next::Give),
                _ => Err(self.unable(id, "this cannot be called")),
            };
        };
        let mut new = Activation::default();
        for (slot, value) in closure.slots.iter().zip(closure.captured.items()) {
            match (*slot, value) {
                (Slot::Var(var), value) => drop(new.vars.insert(var, value.clone())),
                (Slot::Symbol(symbol), Value::Shape(extent)) => {
                    new.symbols.extend(extent.first().map(|value| (symbol, Dim::Int { value: *value, bits: 64 })));
                }
                _ => {}
            }
        }
        if let Some(name) = closure.name {
            new.vars.insert(name, Value::Closure(closure.clone()));
        }
        let params: Vec<VarId> = self.store.items(function.params).collect();
        // A closure may have its last arguments already.
        let open: Vec<VarId> =
            params.iter().copied().filter(|param| !new.vars.contains_key(&self.store.var_data(*param).vid)).collect();
        if open.len() != args.len() {
            let names: Vec<&str> = open.iter().map(|param| self.store.var_name(*param)).collect();
            let (name, wanted, given) = (self.function_name(&closure), open.len(), args.len());
            let message = format!(
                "Invoking function {name} expects {wanted} arguments ({}), but {given} arguments were provided.",
                names.join(", ")
            );
            return Err(self.fail(id, message));
        }
        for (param, value) in open.iter().zip(args) {
            new.vars.insert(self.store.var_data(*param).vid, value);
        }
        let caller = std::mem::replace(&mut self.now, new);
        self.frames.push(Frame::Restore(Box::new(caller)));
        let name = self.function_name(&closure);
        self.check_params(id, &name, &params)?;
        if function.ret.is_some() {
            self.frames.push(Frame::Result(closure.function, name));
        }
        Ok(Next::Eval(function.body))
    }

    fn function_name(&self, closure: &Closure) -> String {
        if let Some(var) = closure.name {
            return self.store.var_name(var).to_owned();
        }
        let of_module = self.module.functions().iter().find(|(_, function)| *function == closure.function);
        of_module.map_or("<lambda>", |(name, _)| self.store.str(*name)).to_owned()
    }

    fn check_params(&mut self, at: ExprId, function: &str, params: &[VarId]) -> Result<(), EvalFailure> {
        let mut rows = Vec::with_capacity(params.len());
        for param in params {
            let data = self.store.var_data(*param);
            let symbol = data.symbol;
            let Some(value) = self.now.vars.get(&data.vid).cloned() else { continue };
            if let (Some(symbol), Value::Prim(number)) = (symbol, &value) {
                self.set_symbol(symbol, number);
            }
            let ty = self.store.var_type(*param);
            rows.push((ty.unwrap_or_else(|| self.store.ty(Type::Any)), value));
        }
        let place = |store: &Store, row: usize| {
            let ty = store.var_type(params[row]).map_or(String::new(), |ty| matching::shown(store, ty));
            let param = store.var_name(params[row]);
            format!("ErrorContext(fn={function}, loc=param[{row}], param={param}, annotation={ty}) ")
        };
        self.match_all(at, &rows, &place)
    }

    fn check_result(&mut self, function: ExprId, name: &str, value: &Value) -> Result<(), EvalFailure> {
        let Some(Function { ret: Some(ty), .. }) = self.store.as_function(function) else { return Ok(()) };
        let place =
            |store: &Store, _: usize| format!("ErrorContext(fn={name}, loc=return, annotation={}) ", matching::shown(store, ty));
        // All symbols in the result type are known by now, if the type is valid.
        let before = self.now.symbols.clone();
        let done = self.match_all(function, &[(ty, value.clone())], &place);
        self.now.symbols = before;
        done
    }

    /// Makes a closure that captures the values of its free variables; `name` is the variable by which it calls itself.
    fn closure(&mut self, function: ExprId, name: Option<VarId>) -> Value {
        let (mut slots, mut captured) = (Vec::new(), Vec::new());
        for var in free_vars(self.store, function) {
            let vid = self.store.var_data(var).vid;
            if Some(vid) != name
                && let Some(value) = self.now.vars.get(&vid)
            {
                slots.push(Slot::Var(vid));
                captured.push(value.clone());
            }
        }
        // Any of its types may have captured extents.
        for (symbol, dim) in &self.now.symbols {
            slots.push(Slot::Symbol(*symbol));
            captured.push(Value::Shape(dim.known().into_iter().collect()));
        }
        Value::Closure(Rc::new(Closure { function, name, slots: slots.into(), captured: captured.into() }))
    }

    /// Makes a closure that has its last arguments already (`R.make_closure`).
    pub(super) fn partial(&mut self, at: ExprId, closure: &Closure, last: &[Value]) -> Result<Value, EvalFailure> {
        let Some(function) = self.store.as_function(closure.function) else {
            return Err(self.fail(at, "a closure is made of a function"));
        };
        let first = function.params.len().saturating_sub(last.len());
        let params: Vec<VarId> = self.store.items(function.params).skip(first).collect();
        let slots = params.iter().map(|param| Slot::Var(self.store.var_data(*param).vid)).collect();
        let captured = Fields::from(last.to_vec());
        Ok(Value::Closure(Rc::new(Closure { function: closure.function, name: None, slots, captured })))
    }
}

/// Makes a closure of a function of the module. It captures nothing: the extents of its caller are not its own.
fn global(function: ExprId) -> Value {
    Value::Closure(Rc::new(Closure { function, name: None, slots: Rc::default(), captured: Fields::default() }))
}

/// Makes a new cell that holds a tensor.
pub(super) fn cell(tensor: Tensor) -> Value {
    Value::Ref(Rc::new(RefCell::new(Value::Tensor(tensor))))
}

/// Makes an integer tensor of rank 0.
pub(super) fn int64(value: i64) -> Tensor {
    write(crate::ir::DType::I64, &[], &[value]).unwrap_or_else(|_| Tensor::without_value(crate::ir::DType::I64, []))
}
