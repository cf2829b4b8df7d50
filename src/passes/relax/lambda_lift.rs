//! LambdaLift: moves inner functions into the module.
//!
//! Source: `src/relax/transform/lambda_lift.cc`.

use super::support::captures::{Captured, captures};
use super::support::lambda_names::lambda_names;
use crate::build::{BlockBuilder, BlockMutator, Mutation, any_leaf, bind_in, copy_with_new_vars, run as rewrite_in, signature};
use crate::infer::relax::types::Bindings;
use crate::ir::rewrite::Visit;
use crate::ir::walk::free_vars;
use crate::ir::{Binding, Dim, Expr, ExprId, Function, Id, Module, Name, Store, Type, TypeId, VarId};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.LambdaLift`.
pub static SPEC: PassSpec = PassSpec {
    name: "LambdaLift",
    info_name: "LambdaLift",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Moves inner functions into the module.",
    doc: explained(
        "A function that uses nothing of the one around it is simply moved, and its name takes the place of its variable. One \
that does gets what it uses as further parameters; where it stood, `R.make_closure` ties them to it, and its calls become \
`R.invoke_pure_closure`. The new name is that of the outer function and that of the variable. \
Where one function inside calls another, TVM leaves the variable of that one behind, which nothing binds any more; so it is here, but \
that a closure that is tied to the other gets the closure that there is. A symbol that a shape or a scalar in the function is \
made of counts as used, unless the function's own parameters or casts define it.\n\n\
Known divergence: a result whose extents are symbols that were handed over has them in its type, where TVM knows only the rank.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        @R.function(private=True)
        def inner(y: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
            z: R.Tensor((2,), dtype=\"float32\") = R.exp(y)
            return z

        r: R.Tensor((2,), dtype=\"float32\") = inner(x)
        return r
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        r: R.Tensor((2,), dtype=\"float32\") = cls.main_inner(x)
        return r

    @R.function(private=True)
    def main_inner(y: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        z: R.Tensor((2,), dtype=\"float32\") = R.exp(y)
        return z
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let names = lambda_names(store, module)?;
    let mut lift = Lift { names, ..Lift::default() };
    let mut cx = Mutation::new(BlockBuilder::new(module));
    for &(name, function) in module.functions() {
        if matches!(store.expr(function), Expr::Function(_)) {
            let new = rewrite_in(store, &mut cx, &mut lift, function);
            cx.builder.update_function(store, name, new);
            cx.forget();
        }
    }
    cx.builder.finish()
}

/// An inner function that is being visited.
struct Inner {
    captured: Vec<Captured>,
    name: Id<Name>,
}

#[derive(Default)]
struct Lift {
    /// The names of inner functions in the module.
    names: FxHashMap<ExprId, Id<Name>>,
    /// The variables of the function values being visited; none for a function of the module.
    vars: Vec<VarId>,
    inner: Vec<Option<Inner>>,
    /// Variables of functions without captured variables.
    globals: FxHashMap<VarId, Id<Name>>,
    /// Variables of recursive functions with captured variables: their names, and the additional arguments.
    recursive: FxHashMap<VarId, (Id<Name>, Vec<ExprId>)>,
    /// Names of functions that capture variables or return a function that does.
    closures: FxHashSet<Id<Name>>,
}

impl BlockMutator for Lift {
    fn rule(&self) -> &'static str {
        "inner function to function of the module"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let lifted = |leaf: ExprId| matches!(store.expr(leaf), Expr::Var(var) if self.globals.contains_key(&var));
        let of_var = store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Var(_)));
        of_var || any_leaf(store, id, &mut |leaf| lifted(leaf))
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter_binding(&mut self, store: &mut Store, _: &mut Mutation, binding: Binding) -> bool {
        if matches!(store.expr(binding.value), Expr::Function(_)) {
            self.vars.push(binding.var);
        }
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) => {
                let inner = self.begin(store, cx, id);
                self.inner.push(inner);
                Visit::Descend
            }
            Expr::Var(var) => match self.globals.get(&var) {
                Some(name) => Visit::Replace(store.add(Expr::Global(*name))),
                None => Visit::Descend,
            },
            Expr::Call { .. } => match self.call(store, cx, id) {
                Some(new) => Visit::Follow(new),
                None => Visit::Descend,
            },
            _ => Visit::Descend,
        }
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(pre) {
            Expr::Function(_) => match self.inner.pop() {
                Some(Some(inner)) => self.lift(store, cx, &inner, post),
                _ => post,
            },
            _ => post,
        }
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        if matches!(store.expr(pre.value), Expr::Function(_)) {
            self.vars.pop();
            if self.globals.contains_key(&pre.var) {
                return;
            }
        }
        cx.reemit(store, pre, value);
    }
}

impl Lift {
    /// Registers an inner function before its body is visited, since the body may call it.
    fn begin(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Option<Inner> {
        let var = *self.vars.last()?;
        let name = *self.names.get(&id)?;
        let (captured, own): (Vec<VarId>, Vec<VarId>) = free_vars(store, id).into_iter().partition(|free| *free != var);
        let function = store.as_function(id)?;
        let any = store.ty(Type::Any);
        let mut params: Vec<TypeId> = store.items(function.params).map(|p| store.var_type(p).unwrap_or(any)).collect();
        let captured = captures(store, id, &captured);
        for part in &captured {
            params.push(part.ty(store));
        }
        let ret = function.ret.unwrap_or(any);
        let ty = store.ty(Type::Callable { params: Some(params.into()), ret, pure: function.pure });
        cx.builder.set_signature(name, ty);
        if captured.is_empty() {
            self.globals.insert(var, name);
        } else if !own.is_empty() {
            let rest = captured.iter().map(|part| part.argument(store)).collect();
            self.recursive.insert(var, (name, rest));
        }
        Some(Inner { captured, name })
    }

    fn lift(&mut self, store: &mut Store, cx: &mut Mutation, inner: &Inner, post: ExprId) -> ExprId {
        let Expr::Function(id) = store.expr(post) else { return post };
        let data = *store.function(id);
        let mut params: Vec<VarId> = store.items(data.params).collect();
        let (mut vars, mut bound) = (Vec::new(), Bindings::default());
        for &part in &inner.captured {
            match part {
                Captured::Var(var) => {
                    let param = store.fresh_var(var);
                    store.set_var_dataflow(param, false);
                    params.push(param);
                    vars.push((var, store.use_var(param)));
                }
                Captured::Symbol(symbol) => {
                    let (name, ty) = (store.name_rc(store.symbol(symbol).name), part.ty(store));
                    let param = store.relax_var(&name.0, Some(ty), false);
                    params.push(param);
                    bound.extend(store.var_data(param).symbol.map(|new| (symbol, Dim::Symbol(new))));
                }
            }
        }
        let body = bind_in(store, cx, data.body, &vars, bound);
        let ret = store.checked_type(body);
        let params = store.list(&params);
        let lifted = crate::build::function_over(store, Some(post), Function { params, body, ret, ..data });
        if !inner.captured.is_empty() || self.is_closure(store, cx, lifted) {
            self.closures.insert(inner.name);
        }
        let lifted = copy_with_new_vars(store, cx, lifted);
        let ty = signature(store, lifted);
        cx.builder.set_signature(inner.name, ty);
        cx.builder.update_function(store, inner.name, lifted);
        let callee = store.add(Expr::Global(inner.name));
        if inner.captured.is_empty() {
            return callee;
        }
        let captured: Vec<ExprId> = inner.captured.iter().map(|part| part.argument(store)).collect();
        let captured: Vec<ExprId> = captured
            .into_iter()
            .map(|used| match store.expr(used) {
                Expr::Var(var) => cx.replaced(var).unwrap_or(used),
                _ => used,
            })
            .collect();
        let captured = store.add_tuple(&captured);
        call(store, "make_closure", &[callee, captured], &[])
    }

    /// Returns the replacement of a call whose callee is a closure, or an inner function with captured variables.
    fn call(&self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Option<ExprId> {
        let Expr::Call { callee, args, info } = store.expr(id) else { return None };
        let Expr::Var(var) = store.expr(callee) else { return None };
        let mut args: Vec<ExprId> = store.items(args).collect();
        let value = cx.lookup_binding(store, var);
        if let Some(value) = value.filter(|value| store.call(*value).is_some())
            && self.is_closure(store, cx, value)
        {
            let pure = store.call(value).is_some_and(|made| match store.expr(made.callee) {
                Expr::Global(name) => match cx.builder.signature_of(store, name).map(|ty| store.type_of_id(ty)) {
                    Some(Type::Callable { pure, .. }) => *pure,
                    _ => false,
                },
                _ => crate::infer::relax::effects::is_pure_callee(store, cx.builder.module(), made.callee),
            });
            let args = store.add_tuple(&args);
            let ty = store.checked_type(id);
            let op = if pure { "invoke_pure_closure" } else { "invoke_closure" };
            return Some(call(store, op, &[callee, args], ty.as_slice()));
        }
        let (name, rest) = self.recursive.get(&var)?;
        args.extend(rest);
        let callee = store.add(Expr::Global(*name));
        let args = store.list(&args);
        Some(store.rebuild(id, Expr::Call { callee, args, info }, None))
    }

    /// True if a value is, or returns, a function with captured variables.
    fn is_closure(&self, store: &Store, cx: &Mutation, value: ExprId) -> bool {
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut value = value;
        while seen.insert(value) {
            value = match store.expr(value) {
                Expr::Var(var) => match cx.lookup_binding(store, var) {
                    Some(value) => value,
                    None => return false,
                },
                Expr::Call { callee, .. } => match store.expr(callee) {
                    Expr::Var(_) | Expr::Global(_) => callee,
                    Expr::Op(op) => return ops::lookup_relax("make_closure") == Some(op),
                    _ => return false,
                },
                Expr::Global(name) => match cx.builder.module().function(name) {
                    _ if self.closures.contains(&name) => return true,
                    Some(function) => function,
                    None => return false,
                },
                Expr::Function(function) => store.function(function).body,
                Expr::Seq { body, .. } => body,
                _ => return false,
            };
        }
        false
    }
}

fn call(store: &mut Store, op: &str, args: &[ExprId], ty_args: &[TypeId]) -> ExprId {
    let Some(op) = ops::lookup_relax(op) else { return args[0] };
    let callee = store.add(Expr::Op(op));
    let args = store.list(args);
    let info = store.add_call_info(None, ty_args);
    store.add(Expr::Call { callee, args, info })
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn what_an_inner_function_uses_becomes_a_parameter() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        @R.function(private=True)\n        \
                    def inner(y: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n            \
                    z: R.Tensor((2,), dtype=\"float32\") = R.add(x, y)\n            return z\n\n        \
                    r: R.Tensor((2,), dtype=\"float32\") = inner(x)\n        return r\n";
        let made = after(text, "LambdaLift()");
        for part in ["R.make_closure(cls.main_inner, (x,))", "R.invoke_pure_closure(inner, (x,)", "R.add(x, y)"] {
            assert!(made.contains(part), "{part}\n{made}");
        }
    }

    fn outer(params: &str, lines: &str, result: &str, argument: &str) -> String {
        let lines: String = lines.lines().map(|line| format!("            {line}\n")).collect();
        format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x0: R.Tensor((\"n\", \"m\"), \"float32\"), w: R.Tensor((1, 1), \
             \"float32\")):\n        n = T.int64()\n        m = T.int64()\n        @R.function\n        def f4({params}) -> \
             R.Tensor(dtype=\"float32\", ndim=2):\n{lines}            return {result}\n        y = f4({argument})\n        return y\n"
        )
    }

    // The expected texts are TVM's.

    #[test]
    fn symbols_that_a_function_computes_with_become_parameters() {
        let text = outer("a5: R.Tensor((1, 1), \"float32\")", "v = R.zeros(R.shape([m, n]), \"float32\")", "v", "w");
        let made = after(&text, "LambdaLift()");
        for part in [
            "def main_f4(a5: R.Tensor((1, 1), dtype=\"float32\"), m: T.int64, n: T.int64) ->",
            "R.make_closure(cls.main_f4, (m, n))",
        ] {
            assert!(made.contains(part), "{part}\n{made}");
        }
    }

    #[test]
    fn symbols_that_parameters_or_casts_define_are_not_handed_over() {
        let own = outer("a5: R.Tensor((n, m), \"float32\")", "v6 = R.shape([n, 1])", "a5", "x0");
        let cast = "v = R.reshape(a5, R.shape([1, 1]))\nu = R.match_cast(v, R.Tensor((n, 1), \"float32\"))\ns = R.shape([n])";
        for text in [own, outer("a5: R.Tensor((1, 1), \"float32\")", cast, "u", "w")] {
            let made = after(&text, "LambdaLift()");
            assert!(made.contains("cls.main_f4(") && !made.contains("make_closure"), "{made}");
        }
    }

    #[test]
    fn tensors_and_symbols_are_handed_over_in_the_order_of_their_use() {
        let text = outer("a5: R.Tensor((1, 1), \"float32\")", "v = R.exp(x0)\nu = R.reshape(v, R.shape([n * m]))", "v", "w");
        let made = after(&text, "LambdaLift()");
        assert!(made.contains("R.make_closure(cls.main_f4, (x0, n, m))"), "{made}");
        assert!(made.contains("u: R.Tensor((n_1 * m_1,), dtype=\"float32\") = R.reshape(v, R.shape([n_1 * m_1]))"), "{made}");
    }
}
