//! Gradient: makes a function also return the gradients of its result, in programs with branches, recursion and functions as
//! values.
//!
//! Every tensor becomes a pair of its value and a cell with its gradient, zero at first. A cell `bp` holds what is to be
//! done backwards: each call of an operator puts in front of it what adds to the cells of its arguments. Functions get the
//! cell as a further parameter.
//!
//! Known divergences: TVM calls this `relay.transform.gradient(mode="higher_order")`, on an expression; here it is a pass on a
//! function of the module. `annotation.checkpoint` is refused. In a type `fn (A) -> B` that is written TVM keeps `B`, which the
//! function does not return any more; here it changes like any other type.
//!
//! Source: `src/relay/transforms/higher_order_gradient.cc`.

mod pairs;
mod reverse;

use super::first_order_gradient::{Call, rule};
use super::support::feature::holds_no_graph;
use super::support::let_lists::{Bound, fill};
use super::support::scope::Scopes;
use crate::diag::Diagnostic;
use crate::ir::walk::post_order;
use crate::ir::{Expr, ExprId, Function, Module, Store, Type, TypeId, VarId};
use crate::ops::build::{self, args, op_name};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use pairs::{Lets, Reverse};

/// Makes a function give its gradients as well, whatever it computes with.
pub static SPEC: PassSpec = PassSpec {
    name: "Gradient",
    info_name: "HigherOrderGradient",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[Param { name: "func_name", default: "\"main\"", doc: "The function." }],
    config: &[],
    summary: "Makes a function give its gradients as well: also through branches, recursion and closures.",
    doc: explained(
        "What TVM has as `relay.transform.gradient(mode=\"higher_order\")`, as a pass on a function of the module. Unlike \
FirstOrderGradient it takes `let`, `if`, `match`, closures and calls of other functions, of which it makes versions called \
`f_grad`. A tensor becomes a pair of its value and a cell (`ref`) with its gradient; a cell `bp` holds a function that does the \
rest of the way back, and each operator puts its part in front of it.\n\n\
The program must not share expressions: ToANormalForm comes first. *LazyGradientInit*, *PartialEvaluate* and \
*DeadCodeElimination* tidy up what comes out. `annotation.checkpoint` is refused.",
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
  %0 = fn () -> () {
    ()
  };
  let %bp: ref(fn () -> ()) = ref(%0);
  %1 = zeros_like(%x);
  %2 = ref(%1);
  let %x_19 = (%x, %2);
  %6 = fn (%x1: (Tensor[(4), float32], ref(Tensor[(4), float32])), %bp1: ref(fn () -> ())) -> (Tensor[(4), float32], \
ref(Tensor[(4), float32])) {
    let %x_0 = %x1;
    let %x_1 = %x_0.0;
    let %x_2 = exp(%x_1);
    %3 = zeros_like(%x_2);
    %4 = ref(%3);
    let %x_3 = (%x_2, %4);
    let %x_4 = %x_3;
    let %x_5 = ref_read(%bp1);
    %5 = fn () -> () {
      let %x_8 = %x_4.1;
      let %x_6 = ref_read(%x_8);
      let %x_9 = %x_0.1;
      let %x_10 = ref_read(%x_9);
      let %x_11 = exp(%x_1);
      let %x_12 = multiply(%x_6, %x_11);
      let %x_13 = add(%x_10, %x_12);
      let %x_14 = %x_0.1;
      let %x_7 = ref_write(%x_14, %x_13);
      let %x_15 = %x_5();
      let %x_16 = %x_15;
      let %x_17 = %x_16;
      %x_17
    };
    let %x_18 = ref_write(%bp1, %5);
    %x_4
  };
  let %x_20 = %6(%x_19, %bp);
  %7 = %x_20.1;
  %8 = %x_20.0;
  %9 = ones_like(%8);
  let %x_21 = ref_write(%7, %9);
  %10 = ref_read(%bp);
  let %x_22 = %10();
  %11 = %x_19.1;
  %12 = ref_read(%11);
  %13 = %x_20.0;
  %14 = (%12,);
  (%13, %14)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let wanted = arguments.str("func_name").unwrap_or_default();
    let name = cx.store.name(wanted);
    let Some(function) = module.function(name) else {
        return Err(vec![Diagnostic::error("pass-argument", format!("Gradient: there is no function @{wanted}"), None)]);
    };
    holds_no_graph(cx.store, module, "relay-gradient")?;
    let mut outcome = Ok(module.clone());
    let new = cx.store.rewrite("gradients beside the result", function, function, |store| {
        let mut reverse = Reverse::new(store, module);
        match reverse.whole(function) {
            Ok(new) => {
                outcome = Ok(reverse.module);
                new
            }
            Err(errors) => {
                outcome = Err(errors);
                function
            }
        }
    });
    let mut result = outcome?;
    result.set_function(name, new);
    Ok(result)
}

fn refused(store: &Store, at: ExprId, message: impl Into<String>) -> PassError {
    vec![Diagnostic::error("relay-gradient", message, store.source_span(at))]
}

impl Reverse<'_> {
    /// A call of an operator: its value, and before the rest of the way back its part of it.
    fn operator(&mut self, id: ExprId, cell: ExprId, parts: &[ExprId]) -> Result<ExprId, PassError> {
        let name = op_name(self.store, id);
        let Some(rule) = rule(name) else {
            return Err(refused(self.store, id, format!("{name} does not have reverse mode defined")));
        };
        let mut types = Vec::with_capacity(parts.len());
        for argument in args(self.store, id) {
            types.push(self.type_of(argument)?);
        }
        let (ty, mut lets) = (self.type_of(id)?, Lets::new());
        let pairs: Vec<ExprId> = parts.iter().map(|part| self.push(&mut lets, *part)).collect();
        let mut values = Vec::with_capacity(pairs.len());
        for (pair, ty) in pairs.iter().zip(&types) {
            values.push(self.lifted(*ty, *pair, &mut lets, |this, pair| this.field(pair, 0)));
        }
        let Expr::Call { callee, info, .. } = self.store.expr(id) else { return Ok(id) };
        let list = self.store.list(&values);
        let orig = self.store.add_typed(Expr::Call { callee, args: list, info }, Some(ty));
        let value = self.push(&mut lets, orig);
        let result = self.lifted(ty, value, &mut lets, Self::zero_pair);
        let result = self.push(&mut lets, result);
        let rest = self.store.add(Expr::RefRead(cell));
        let rest = self.push(&mut lets, rest);
        let mut inner = Lets::new();
        let grad = self.lifted(ty, result, &mut inner, |this, pair| {
            let cell = this.field(pair, 1);
            this.store.add(Expr::RefRead(cell))
        });
        let attrs = self.store.call(id).and_then(|call| call.attrs);
        let asked = Call { store: &mut *self.store, args: &values, types: &types, ty, attrs, orig, grad };
        let Some(found) = rule(asked).filter(|found| found.len() == pairs.len()) else {
            return Err(refused(self.store, id, format!("the gradient of {name} is not known for these attributes")));
        };
        for ((pair, ty), more) in pairs.iter().zip(&types).zip(found) {
            self.updated(*ty, *pair, more, &mut inner);
        }
        let onwards = self.store.add_call(rest, &[], None);
        let body = self.bound(inner, onwards);
        let back = self.thunk(body);
        let scopes = Scopes::of(self.store, back);
        let back = fill(self.store, back, &scopes, Bound::All, &mut self.names);
        let write = self.store.add(Expr::RefWrite { reference: cell, value: back });
        self.push(&mut lets, write);
        Ok(self.bound(lets, result))
    }

    /// The function that runs the reversed one and the way back.
    fn whole(&mut self, id: ExprId) -> Result<ExprId, PassError> {
        let Some(function) = self.store.as_function(id) else { return Ok(id) };
        if !function.type_params.is_empty() {
            return Err(refused(self.store, id, "no polymorphism supported for now"));
        }
        let params: Vec<VarId> = self.store.items(function.params).collect();
        let is_tensor =
            |store: &Store, var: VarId| store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tensor { .. }));
        if let Some(var) = params.iter().find(|param| !is_tensor(self.store, **param)) {
            let message = format!("input parameters need to be tensor, and %{} is not", self.store.var_name(*var));
            return Err(refused(self.store, id, message));
        }
        for inner in post_order(self.store, function.body) {
            let name = op_name(self.store, inner);
            if !name.is_empty() && rule(name).is_none() {
                return Err(refused(self.store, inner, format!("input has operators with missing gradients: {name}")));
            }
        }
        let ty = self.type_of(function.body)?;
        let own = self.store.var("bp", Some(self.cell));
        let cell = self.store.use_var(own);
        let empty = self.empty_cell();
        let mut lets: Lets = vec![(own, empty)];
        let reversed = self.translated(id, cell)?;
        let mut given = Vec::with_capacity(params.len() + 1);
        for param in &params {
            let used = self.store.use_var(*param);
            let pair = self.zero_pair(used);
            given.push(self.push(&mut lets, pair));
        }
        let pairs = given.clone();
        given.push(cell);
        let call = self.store.add_call(reversed, &given, None);
        let result = self.push(&mut lets, call);
        self.seed(result, ty, &mut lets, id)?;
        let back = self.store.add(Expr::RefRead(cell));
        let run = self.store.add_call(back, &[], None);
        self.push(&mut lets, run);
        let mut gradients = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let cell = self.field(pair, 1);
            gradients.push(self.store.add(Expr::RefRead(cell)));
        }
        let value = self.value(result, ty, &mut lets);
        let gradients = self.store.add_tuple(&gradients);
        let pair = self.store.add_tuple(&[value, gradients]);
        let body = self.bound(lets, pair);
        let types: Option<Vec<TypeId>> = params.iter().map(|param| self.store.var_data(*param).annotation).collect();
        let ret = function.ret.zip(types).map(|(ret, types)| {
            let gradients = self.store.tuple_type(&types);
            self.store.tuple_type(&[ret, gradients])
        });
        let new = self.store.add_function(Function { body, ret, ..function });
        Ok(self.store.add(Expr::Function(new)))
    }

    /// Sets the gradient of the result to ones; of a tuple, that of its first tensor.
    fn seed(&mut self, value: ExprId, ty: TypeId, lets: &mut Lets, at: ExprId) -> Result<(), PassError> {
        let (mut value, mut ty) = (value, ty);
        loop {
            match self.store.type_of_id(ty).clone() {
                Type::Tuple(fields) if !fields.is_empty() => {
                    let first = self.field(value, 0);
                    value = self.push(lets, first);
                    ty = fields[0];
                }
                Type::Tensor { .. } => {
                    let (inside, cell) = (self.field(value, 0), self.field(value, 1));
                    let ones = build::call(self.store, "ones_like", &[inside]);
                    let write = self.store.add(Expr::RefWrite { reference: cell, value: ones });
                    self.push(lets, write);
                    return Ok(());
                }
                _ => return Err(refused(self.store, at, "the result must be a tensor, or a tuple of such")),
            }
        }
    }

    /// Returns the value of a pair, or of a tuple of pairs.
    fn value(&mut self, pair: ExprId, ty: TypeId, lets: &mut Lets) -> ExprId {
        let Type::Tuple(fields) = self.store.type_of_id(ty).clone() else { return self.field(pair, 0) };
        let mut new = Vec::with_capacity(fields.len());
        for (index, ty) in (0u32..).zip(&fields) {
            let field = self.field(pair, index);
            let field = self.push(lets, field);
            new.push(self.value(field, *ty, lets));
        }
        self.store.add_tuple(&new)
    }
}

#[cfg(test)]
mod tests;
