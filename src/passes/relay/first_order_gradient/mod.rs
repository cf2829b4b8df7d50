//! FirstOrderGradient: makes a function also return the gradients of its result.
//!
//! Every value gets a variable and a second one for its gradient, zero at first. From the result backwards each call
//! then adds to the gradients of its arguments, by the rule of its operator ([`rules`]). Only graphs of operators,
//! tuples and constants are supported, and function literals that are called, whose bodies replace the call; everything
//! else is an error, as is an operator without a gradient. As in TVM, a literal that is called twice is evaluated for
//! the first call only, and the second one gets that result.
//!
//! Source: `src/relay/transforms/first_order_gradient.cc`, `gradient.h`.

mod call;
mod index;
mod products;
mod rules;
#[cfg(test)]
mod tests;

use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Function, Module, Store, Type, TypeId, VarId};
use crate::ops::build::{self, args, call_with, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
pub(super) use call::Call;
pub(super) use rules::rule;
use rustc_hash::FxHashMap;

/// Replaces each function by one that returns its result and the gradients of its parameters.
pub static SPEC: PassSpec = PassSpec {
    name: "FirstOrderGradient",
    info_name: "FirstOrderGradient",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes functions give the gradients of their results as well.",
    doc: explained(
        "A function becomes one that gives its result and, beside it, a tuple with the gradient of the result for each \
parameter (of the sum of its elements). Every operator on the way needs a gradient; `let`, `if` and calls of functions of \
the module are not taken; a function literal that is called is taken for its body.\n\n\
*DeadCodeElimination* and *ToGraphNormalForm* tidy up what comes out.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  exp(%x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> (Tensor[(4), float32], (Tensor[(4), float32],)) {
  let %x_0 = %x;
  let %x_1 = zeros_like(%x_0);
  let %x_2 = exp(%x_0);
  let %x_3 = zeros_like(%x_2);
  %0 = ones_like(%x_2);
  %1 = exp(%x_0);
  %2 = multiply(%0, %1);
  %3 = (
    let %x_4 = add(%x_1, %2);
    (%x_4,)
  );
  (%x_2, %3)
}
",
    ),
    run: Run::Module(run),
};

const RULE: &str = "gradients beside the result";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut result = module.clone();
    let mut names = 0;
    for &(name, function) in module.functions() {
        let mut outcome = Ok(function);
        let new = cx.store.rewrite(RULE, function, function, |store| {
            outcome = with_gradient(store, function, &mut names);
            *outcome.as_ref().unwrap_or(&function)
        });
        outcome?;
        result.set_function(name, new);
    }
    Ok(result)
}

fn refused(store: &Store, at: ExprId, code: &'static str, message: impl Into<String>) -> PassError {
    vec![Diagnostic::error(code, message, store.source_span(at))]
}

/// A value and its gradient so far.
struct Dual {
    forward: ExprId,
    reverse: ExprId,
    ty: TypeId,
}

/// A step of the backward pass, from a value to its operands.
enum Back {
    Call { result: usize, arguments: Vec<usize>, call: ExprId },
    Item { result: usize, tuple: usize, index: usize },
    Tuple { result: usize, fields: Vec<usize> },
}

struct Gradient<'s> {
    store: &'s mut Store,
    names: &'s mut u32,
    /// Bindings so far, those of the backward pass behind the others.
    lets: Vec<(VarId, ExprId)>,
    values: Vec<Dual>,
    back: Vec<Back>,
}

fn with_gradient(store: &mut Store, function: ExprId, names: &mut u32) -> Result<ExprId, PassError> {
    let Some(data) = store.as_function(function) else { return Ok(function) };
    if !data.type_params.is_empty() {
        return Err(refused(store, function, "relay-gradient", "first-order AD does not support polymorphism yet."));
    }
    let params: Vec<VarId> = store.items(data.params).collect();
    let order = post_order(store, data.body);
    let unsupported = order.iter().find_map(|id| {
        let feature = match store.expr(*id) {
            Expr::Let { .. } => "fLet",
            Expr::If { .. } => "fIf",
            Expr::Match { .. } => "fMatch",
            Expr::Global(_) => "fGlobalVar",
            Expr::Ctor(_) => "fConstructor",
            Expr::RefCreate(_) | Expr::RefRead(_) | Expr::RefWrite { .. } => "fRef",
            _ => return None,
        };
        Some((*id, feature))
    });
    if let Some((at, feature)) = unsupported {
        return Err(refused(store, at, "relay-gradient", format!("AD has unsupported feature: [{feature}, ]")));
    }
    let mut cx = Gradient { store, names, lets: Vec::new(), values: Vec::new(), back: Vec::new() };
    let mut env: FxHashMap<ExprId, usize> = FxHashMap::default();
    for param in &params {
        let used = cx.store.use_var(*param);
        let ty = cx.type_of(used)?;
        let value = cx.dual(used, ty);
        env.insert(used, value);
    }
    cx.forward(data.body, &mut env)?;
    let Some(&result) = env.get(&data.body) else { return Ok(function) };
    let forward_lets = std::mem::take(&mut cx.lets);
    let Dual { forward, ty, .. } = cx.values[result];
    cx.values[result].reverse = cx.like(forward, ty, "ones_like", "ones");
    for back in std::mem::take(&mut cx.back).into_iter().rev() {
        cx.go_back(back)?;
    }
    let gradients: Vec<ExprId> = (0..params.len()).map(|param| cx.values[param].reverse).collect();
    let gradients = cx.store.add_tuple(&gradients);
    let backward_lets = std::mem::take(&mut cx.lets);
    let bind = |store: &mut Store, lets: Vec<(VarId, ExprId)>, body: ExprId| {
        lets.into_iter().rev().fold(body, |body, (var, value)| store.add(Expr::Let { var, value, body }))
    };
    let gradients = bind(store, backward_lets, gradients);
    let pair = store.add_tuple(&[forward, gradients]);
    let body = bind(store, forward_lets, pair);
    let types: Option<Vec<TypeId>> = params.iter().map(|param| store.var_data(*param).annotation).collect();
    let ret = data.ret.zip(types).map(|(ret, types)| {
        let gradients = store.tuple_type(&types);
        store.tuple_type(&[ret, gradients])
    });
    let new = store.add_function(Function { body, ret, ..data });
    Ok(store.rebuild(function, Expr::Function(new), None))
}

/// Returns the function literal that a call calls.
fn literal_called(store: &Store, id: ExprId) -> Option<ExprId> {
    store.call(id).map(|call| call.callee).filter(|callee| matches!(store.expr(*callee), Expr::Function(_)))
}

impl Gradient<'_> {
    fn type_of(&self, id: ExprId) -> Result<TypeId, PassError> {
        let ty = self.store.checked_type(id);
        ty.ok_or_else(|| refused(self.store, id, "relay-gradient", "a type is not known: run InferType first"))
    }

    fn push(&mut self, value: ExprId) -> ExprId {
        let name = format!("x_{}", self.names);
        *self.names += 1;
        let var = self.store.var(&name, None);
        self.lets.push((var, value));
        self.store.use_var(var)
    }

    /// Makes a value of this type filled with a number; for a tensor, like the value at hand.
    fn like(&mut self, value: ExprId, ty: TypeId, like: &str, plain: &str) -> ExprId {
        match self.store.type_of_id(ty) {
            Type::Tuple(_) => self.full(ty, plain),
            _ => build::call(self.store, like, &[value]),
        }
    }

    /// Types nest at most as deep as the parser lets them, so this may recurse.
    fn full(&mut self, ty: TypeId, plain: &str) -> ExprId {
        match self.store.type_of_id(ty).clone() {
            Type::Tuple(fields) => {
                let fields: Vec<ExprId> = fields.iter().map(|field| self.full(*field, plain)).collect();
                self.store.add_tuple(&fields)
            }
            Type::Tensor { shape, dtype } => {
                let dim = |dim: &Dim| match *dim {
                    Dim::Int { value, bits } => AttrValue::Int { value, bits },
                    other => AttrValue::Dim(other),
                };
                let shape = AttrValue::Array(shape.iter().map(dim).collect());
                call_with(self.store, plain, &[], &[("shape", shape), ("dtype", AttrValue::DType(Some(dtype)))])
            }
            _ => self.store.add_tuple(&[]),
        }
    }

    /// Binds a value, and a gradient of zero for it.
    fn dual(&mut self, value: ExprId, ty: TypeId) -> usize {
        let forward = self.push(value);
        let zeros = self.like(forward, ty, "zeros_like", "zeros");
        let reverse = self.push(zeros);
        self.values.push(Dual { forward, reverse, ty });
        self.values.len() - 1
    }

    /// Binds an expression and all expressions below it that have no value yet, children first.
    fn forward(&mut self, root: ExprId, env: &mut FxHashMap<ExprId, usize>) -> Result<(), PassError> {
        enum Task {
            Enter(ExprId),
            Leave(ExprId),
            /// The call of a function literal has the value of its body.
            Same(ExprId, ExprId),
        }
        let mut tasks = vec![Task::Enter(root)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Enter(id) if env.contains_key(&id) => {}
                Task::Enter(id) => {
                    tasks.push(Task::Leave(id));
                    let first = tasks.len();
                    let literal = literal_called(self.store, id);
                    for_each_child(self.store, id, |child| {
                        if Some(child) != literal && !matches!(self.store.expr(child), Expr::Op(_)) {
                            tasks.push(Task::Enter(child));
                        }
                    });
                    tasks[first..].reverse();
                }
                Task::Leave(id) => match literal_called(self.store, id).and_then(|literal| self.store.as_function(literal)) {
                    Some(function) => {
                        for (param, argument) in self.store.items(function.params).zip(args(self.store, id)) {
                            let param = self.store.var_use(param);
                            env.extend(param.zip(env.get(&argument).copied()));
                        }
                        tasks.push(Task::Same(id, function.body));
                        tasks.push(Task::Enter(function.body));
                    }
                    None => {
                        let value = self.visit(id, env)?;
                        env.insert(id, value);
                    }
                },
                Task::Same(id, body) => env.extend(env.get(&body).copied().map(|value| (id, value))),
            }
        }
        Ok(())
    }

    fn visit(&mut self, id: ExprId, env: &FxHashMap<ExprId, usize>) -> Result<usize, PassError> {
        let found = |child: ExprId| {
            let missing =
                || refused(self.store, child, "relay-gradient", "first-order AD only supports (nested) tuples of tensors");
            env.get(&child).copied().ok_or_else(missing)
        };
        match self.store.expr(id) {
            Expr::Constant(_) => {
                let ty = self.type_of(id)?;
                Ok(self.dual(id, ty))
            }
            Expr::Tuple(fields) => {
                let fields = self.store.items(fields).map(found).collect::<Result<Vec<usize>, _>>()?;
                let forwards: Vec<ExprId> = fields.iter().map(|field| self.values[*field].forward).collect();
                let (list, ty) = (self.store.list(&forwards), self.type_of(id)?);
                let tuple = self.store.rebuild(id, Expr::Tuple(list), Some(ty));
                let result = self.dual(tuple, ty);
                self.back.push(Back::Tuple { result, fields });
                Ok(result)
            }
            Expr::TupleGetItem { tuple, index } => {
                let (tuple, ty) = (found(tuple)?, self.type_of(id)?);
                let item = Expr::TupleGetItem { tuple: self.values[tuple].forward, index };
                let item = self.store.rebuild(id, item, Some(ty));
                let result = self.dual(item, ty);
                self.back.push(Back::Item { result, tuple, index: index as usize });
                Ok(result)
            }
            Expr::Call { callee, info, .. } => {
                let name = op_name(self.store, id);
                if rule(name).is_none() {
                    let message = match name {
                        "" => "AD takes calls of operators and of function literals only".to_owned(),
                        name => format!("the operator {name} does not have a registered gradient."),
                    };
                    return Err(refused(self.store, id, "relay-gradient", message));
                }
                let arguments = args(self.store, id).into_iter().map(found).collect::<Result<Vec<usize>, _>>()?;
                let forwards: Vec<ExprId> = arguments.iter().map(|argument| self.values[*argument].forward).collect();
                let (list, ty) = (self.store.list(&forwards), self.type_of(id)?);
                let call = self.store.rebuild(id, Expr::Call { callee, args: list, info }, Some(ty));
                let result = self.dual(call, ty);
                self.back.push(Back::Call { result, arguments, call });
                Ok(result)
            }
            _ => Err(refused(self.store, id, "relay-gradient", "first-order AD only supports (nested) tuples of tensors")),
        }
    }

    fn add(&mut self, ty: TypeId, x: ExprId, y: ExprId) -> ExprId {
        let Type::Tuple(fields) = self.store.type_of_id(ty).clone() else {
            let sum = build::call(self.store, "add", &[x, y]);
            return self.push(sum);
        };
        let mut sums = Vec::new();
        for (index, field) in (0u32..).zip(&fields) {
            // The second one comes first, in the order in which TVM's compiler evaluates them.
            let [y, x] = [y, x].map(|tuple| {
                let item = self.store.add(Expr::TupleGetItem { tuple, index });
                self.push(item)
            });
            sums.push(self.add(*field, x, y));
        }
        let sums = self.store.add_tuple(&sums);
        self.push(sums)
    }

    fn accumulate(&mut self, value: usize, more: ExprId) {
        let Dual { reverse, ty, .. } = self.values[value];
        self.values[value].reverse = self.add(ty, reverse, more);
    }

    fn go_back(&mut self, back: Back) -> Result<(), PassError> {
        match back {
            Back::Call { result, arguments, call } => {
                let forwards: Vec<ExprId> = arguments.iter().map(|argument| self.values[*argument].forward).collect();
                let types: Vec<TypeId> = arguments.iter().map(|argument| self.values[*argument].ty).collect();
                let Dual { reverse, ty, .. } = self.values[result];
                let name = op_name(self.store, call);
                let Some(rule) = rule(name) else { return Ok(()) };
                let attrs = self.store.call(call).and_then(|call| call.attrs);
                let asked =
                    Call { store: &mut *self.store, args: &forwards, types: &types, ty, attrs, orig: call, grad: reverse };
                let found = rule(asked).filter(|found| found.len() == arguments.len());
                let Some(found) = found else {
                    let message = format!("the gradient of {name} is not known for these attributes");
                    return Err(refused(self.store, call, "relay-gradient", message));
                };
                for (argument, more) in arguments.into_iter().zip(found) {
                    self.accumulate(argument, more);
                }
            }
            Back::Item { result, tuple, index } => {
                let Dual { reverse, ty, .. } = self.values[tuple];
                let Type::Tuple(types) = self.store.type_of_id(ty).clone() else { return Ok(()) };
                let gradient = self.values[result].reverse;
                let mut fields = Vec::new();
                for (at, ty) in types.iter().enumerate() {
                    let before = self.store.add(Expr::TupleGetItem { tuple: reverse, index: at as u32 });
                    fields.push(if at == index { self.add(*ty, before, gradient) } else { before });
                }
                let fields = self.store.add_tuple(&fields);
                self.values[tuple].reverse = self.push(fields);
            }
            Back::Tuple { result, fields } => {
                let tuple = self.values[result].reverse;
                for (index, field) in (0u32..).zip(fields) {
                    let more = self.store.add(Expr::TupleGetItem { tuple, index });
                    self.accumulate(field, more);
                }
            }
        }
        Ok(())
    }
}
