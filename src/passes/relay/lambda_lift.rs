//! LambdaLift: inner functions become global ones.
//!
//! A function literal without free variables moves into the module and its name takes its place. One
//! with free variables becomes a global function of those that returns it (`Closure=1`), and is called
//! with them where it stood. A let-bound function that calls itself calls the global one.
//!
//! Does nothing to primitive functions and inside functions for other compilers. The names differ from
//! TVM's: it numbers them by its structural hash, which is made of addresses of captured variables too; here
//! they are numbered by a hash of the text. Equal functions have one name, as in TVM.
//!
//! Source: `src/relay/backend/vm/lambda_lift.cc`.

use super::support::copy::substitute;
use super::support::devices::without_place;
use super::support::text_hash::{text_hash, without_names};
use super::support::{dict_attrs, is_external, is_primitive};
use crate::diag::Diagnostic;
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::rewrite::{ExprMutator, Rewriting, Visit};
use crate::ir::walk::{for_each_binder, free_vars, post_order};
use crate::ir::{AttrValue, Expr, ExprId, Function, Id, IdMap, Module, Name, Store, Type, TypeId, TypeVar, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::print::{self, PrintOptions};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves function literals into the module as global functions.
pub static SPEC: PassSpec = PassSpec {
    name: "LambdaLift",
    info_name: "LambdaLift",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Moves inner functions into the module.",
    doc: explained(
        "After it, functions are global: an inner function without free variables is replaced by the name of a new \
global function, and one with free variables by a call of a new global function that takes them and returns \
it, marked `Closure=1`. Primitive functions stay where they are.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Module(run),
};

const RULE: &str = "function moved into the module";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut lifter = Lifter {
        result: module.clone(),
        depth: 0,
        let_bound: IdMap::new(),
        recursive: Vec::new(),
        plans: FxHashMap::default(),
        captures: FxHashMap::default(),
        untyped: None,
    };
    for (name, function) in module.functions() {
        if is_external(cx.store, *function) {
            continue;
        }
        // A function and those lifted out of it belong together, so this is one rewrite.
        let new = cx.store.rewrite(RULE, *function, *function, |store| Rewriting::new().run(store, *function, &mut lifter));
        lifter.result.set_function(*name, new);
    }
    if let Some(var) = lifter.untyped {
        let what = format!("%{}", cx.store.var_name(var));
        let message = format!("internal error: the type checker has not populated the checked_type field for {what}");
        let error = Diagnostic::error("relay-lambda-lift", message, None);
        return Err(vec![error.with_note("run InferType first: what a function captures becomes a parameter of that type")]);
    }
    Ok(lifter.result)
}

/// The plan for lifting an inner function.
struct Plan {
    name: Id<Name>,
    captured: Vec<VarId>,
    /// True if its let-bound variable was pushed to `recursive`.
    pushed: bool,
}

struct Lifter {
    result: Module,
    /// The number of functions around the node at hand.
    depth: u32,
    /// The variable that a function literal is bound to.
    let_bound: IdMap<Expr, VarId>,
    /// Let-bound functions that are being visited, and the replacement of their calls.
    recursive: Vec<(VarId, Option<ExprId>)>,
    plans: FxHashMap<ExprId, Plan>,
    /// The variables that the functions of these names capture.
    captures: FxHashMap<Id<Name>, Vec<VarId>>,
    /// A captured variable whose type is not known.
    untyped: Option<VarId>,
}

impl ExprMutator for Lifter {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) if is_primitive(store, id) => Visit::Keep,
            Expr::Function(_) => {
                self.depth += 1;
                if self.depth > 1 {
                    self.plan(store, id);
                }
                Visit::Descend
            }
            Expr::Let { var, value, .. } => {
                if matches!(store.expr(value), Expr::Function(_)) && !is_primitive(store, value) {
                    self.let_bound.insert(value, var);
                }
                Visit::Descend
            }
            _ => Visit::Descend,
        }
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Function(_) => {
                self.depth -= 1;
                match self.plans.remove(&pre) {
                    Some(plan) => self.lift(store, pre, post, plan),
                    None => post,
                }
            }
            Expr::Call { callee, args, info } => {
                if let Some(value) = without_place(store, post) {
                    return value;
                }
                let (Expr::Var(var), Some((innermost, becomes))) = (store.expr(callee), self.recursive.last()) else {
                    return post;
                };
                match becomes {
                    Some(global) if var == *innermost => {
                        let callee = *global;
                        store.rebuild(post, Expr::Call { callee, args, info }, None)
                    }
                    _ => post,
                }
            }
            _ => post,
        }
    }
}

impl Lifter {
    /// Decides on name and captured variables before the body is visited, since the body may call the
    /// function itself.
    fn plan(&mut self, store: &mut Store, id: ExprId) {
        let let_var = self.let_bound.get(id).copied();
        if let Some(var) = let_var {
            self.recursive.push((var, None));
        }
        let innermost = self.recursive.last().map(|(var, _)| *var);
        let free = free_vars(store, id);
        let calls_itself = innermost.is_some_and(|var| free.contains(&var));
        let captured: Vec<VarId> = free.into_iter().filter(|var| Some(*var) != innermost).collect();
        let names: Vec<&str> = captured.iter().map(|var| store.var_name(*var)).collect();
        let text = without_names(&print::expr(store, id, &PrintOptions::default()), &names);
        let mut name = store.name(&format!("lifted_name{}", text_hash(&text)));
        // Functions that capture different variables get different names, though the variables may have equal names.
        while self.captures.entry(name).or_insert_with(|| captured.clone()) != &captured {
            let longer = format!("{}_", store.str(name));
            name = store.name(&longer);
        }
        if calls_itself {
            let global = store.add(Expr::Global(name));
            let becomes = apply(store, global, &captured);
            if let Some(entry) = self.recursive.last_mut() {
                entry.1 = Some(becomes);
            }
        }
        self.plans.insert(id, Plan { name, captured, pushed: let_var.is_some() });
    }

    fn lift(&mut self, store: &mut Store, pre: ExprId, post: ExprId, plan: Plan) -> ExprId {
        if plan.pushed {
            self.recursive.pop();
        }
        let (Some(old), Some(function)) = (store.as_function(pre), store.as_function(post)) else { return post };
        let type_params = free_type_vars(store, pre);
        let lifted = if plan.captured.is_empty() && type_params.is_empty() {
            post
        } else {
            let mut params = Vec::with_capacity(plan.captured.len());
            let mut renamed = Vec::with_capacity(plan.captured.len());
            for var in &plan.captured {
                let data = store.var_data(*var);
                let (name, ty) = (store.str(data.name).to_owned(), data.ty);
                self.untyped = self.untyped.or(if ty.is_none() { Some(*var) } else { None });
                let param = store.var(&name, ty);
                params.push(param);
                renamed.push((*var, store.use_var(param)));
            }
            let body = substitute(store, function.body, &renamed);
            let inner = store.add_function(Function { body, ..old });
            let ty = store.checked_type(pre);
            let inner = store.rebuild(pre, Expr::Function(inner), ty);
            let attrs = dict_attrs(store, &[("Closure", AttrValue::int(1))]);
            let ret = annotated_type(store, &old).or(ty);
            let function = Function {
                params: store.list(&params),
                type_params: store.list(&type_params),
                ret,
                body: inner,
                attrs: Some(attrs),
                device: None,
                pure: true,
            };
            store.function_expr(function)
        };
        let name = self.add(store, plan.name, lifted);
        let global = store.add(Expr::Global(name));
        if plan.captured.is_empty() { global } else { apply(store, global, &plan.captured) }
    }

    /// Adds a function to the module, or finds an equal one there. A name that another function has gets a suffix.
    fn add(&mut self, store: &mut Store, name: Id<Name>, function: ExprId) -> Id<Name> {
        let mut name = name;
        while let Some(known) = self.result.function(name) {
            if exprs(store, known, function, EqualOptions::default()).is_ok() {
                return name;
            }
            let longer = format!("{}_", store.str(name));
            name = store.name(&longer);
        }
        self.result.set_function(name, function);
        name
    }
}

fn apply(store: &mut Store, global: ExprId, vars: &[VarId]) -> ExprId {
    if vars.is_empty() {
        return global;
    }
    let args: Vec<ExprId> = vars.iter().map(|var| store.use_var(*var)).collect();
    store.add_call(global, &args, None)
}

/// Returns the type of a function by the annotations of its parameters and result, if all are annotated.
fn annotated_type(store: &mut Store, function: &Function) -> Option<TypeId> {
    let params: Option<Box<[TypeId]>> = store.items(function.params).map(|param| store.var_data(param).annotation).collect();
    let type_params: Box<[Id<TypeVar>]> = store.items(function.type_params).collect();
    let func = Type::Func { type_params, params: params?, ret: function.ret? };
    Some(store.ty(func))
}

/// Type parameters that annotations in a function use and the function does not bind.
fn free_type_vars(store: &Store, id: ExprId) -> Vec<Id<TypeVar>> {
    let mut used = Vec::new();
    let mut bound: FxHashSet<Id<TypeVar>> = FxHashSet::default();
    for node in post_order(store, id) {
        if let Some(function) = store.as_function(node) {
            bound.extend(store.items(function.type_params));
            if let Some(ret) = function.ret {
                type_vars(store, ret, &mut used);
            }
        }
        for_each_binder(store, node, |var| {
            if let Some(annotation) = store.var_data(var).annotation {
                type_vars(store, annotation, &mut used);
            }
        });
    }
    let mut seen = bound;
    used.retain(|var| seen.insert(*var));
    used
}

/// Types nest at most as deep as the parser lets them, so this may recurse.
fn type_vars(store: &Store, ty: TypeId, out: &mut Vec<Id<TypeVar>>) {
    match store.type_of_id(ty) {
        Type::Var(var) => out.push(*var),
        Type::Tuple(fields) => fields.iter().for_each(|field| type_vars(store, *field, out)),
        Type::Func { params, ret, type_params } => {
            let from = out.len();
            params.iter().for_each(|param| type_vars(store, *param, out));
            type_vars(store, *ret, out);
            let mut inner = out.split_off(from);
            inner.retain(|var| !type_params.contains(var));
            out.append(&mut inner);
        }
        Type::Ref(inner) => type_vars(store, *inner, out),
        Type::Apply { head, args } => {
            type_vars(store, *head, out);
            args.iter().for_each(|arg| type_vars(store, *arg, out));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure, unchanged};

    #[test]
    fn a_function_without_free_variables_becomes_global_under_a_name_made_from_its_text() {
        let program = "def @main(%x: int32) -> int32 { let %f = fn (%y: int32) -> int32 { abs(%y) }; %f(%x) }";
        let made = after("LambdaLift()", program);
        assert_eq!((made.matches("def @").count(), made.matches("fn (%").count()), (2, 0), "{made}");
        assert_eq!(made, after("LambdaLift()", program));
    }

    /// TVM 0.19 gives this: the device of a variable is that of its binding.
    #[test]
    fn the_device_of_a_variable_is_not_said_again() {
        let device = "on_device(%x, virtual_device=meta[VirtualDevice][0], constrain_result=True)";
        let table = "#[metadata]\n{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, {\"type_key\": \"Map\", \"keys\": [\"VirtualDevice\"], \
             \"data\": [2]}, {\"type_key\": \"Array\", \"data\": [3]}, {\"type_key\": \"VirtualDevice\", \"attrs\": \
             {\"device_type_int\": \"1\", \"memory_scope\": \"4\", \"target\": \"0\", \"virtual_device_id\": \"0\"}}, \
             {\"type_key\": \"runtime.String\"}], \"b64ndarrays\": [], \"attrs\": {\"tvm_version\": \"0.19.0\"}}";
        let program = |value: &str| format!("def @main(%x: int32) -> int32 {{ let %y = {value}; %y }}\n{table}");
        let made = after("LambdaLift()", &program(device));
        assert!(made.contains("= %x;") && !made.contains("on_device"), "{made}");
        let kept = after("LambdaLift()", &program(&device.replace("%x", "abs(%x)")));
        assert!(kept.contains("on_device(%0, "), "{kept}");
    }

    #[test]
    fn functions_that_differ_in_names_alone_become_one_and_those_that_capture_other_variables_two() {
        let made = after(
            "LambdaLift()",
            "def @main(%x: int32) { let %f = fn (%y: int32) -> int32 { abs(%y) }; let %g = fn (%z: int32) -> int32 { abs(%z) }; \
             %f(%g(%x)) }",
        );
        assert_eq!(made.matches("def @").count(), 2, "{made}");
        let other = "def @main(%x: int32) { fn (%y: int32) -> int32 { add(%x, %y) } }
             def @other(%x: int32) { fn (%y: int32) -> int32 { add(%x, %y) } }";
        assert_eq!(after("LambdaLift()", other).matches("def @").count(), 4);
    }

    #[test]
    fn captured_variables_become_parameters_of_a_closure() {
        let made = after(
            "LambdaLift(), InferType()",
            "def @main(%x: int32) -> fn (int32) -> int32 { fn (%y: int32) -> int32 { add(%x, %y) } }",
        );
        assert!(made.contains("(%x: int32, Closure=1) -> fn (int32) -> int32 {"), "{made}");
    }

    #[test]
    fn a_function_that_calls_itself_calls_the_global_one() {
        let made = after(
            "LambdaLift(), InferType()",
            "def @main(%n: int32) -> int32 {
               let %f = fn (%i: int32) -> int32 { if (equal(%i, 0)) { 0 } else { %f(subtract(%i, 1)) } };
               %f(%n)
             }",
        );
        assert_eq!(made.matches("@lifted_name").count(), 3, "{made}");
    }

    #[test]
    fn a_captured_variable_without_a_type_is_refused() {
        let program = "def @main(%x: int32) { %0 = abs(%x); (%0, fn (%y: int32) -> int32 { add(%0, %y) }) }";
        let said = failure("ToANormalForm(), LambdaLift()", program);
        assert!(said.starts_with("internal error: the type checker has not populated the checked_type field for %"), "{said}");
        after("ToANormalForm(), InferType(), LambdaLift(), InferType()", program);
    }

    #[test]
    fn primitive_functions_stay() {
        unchanged("LambdaLift()", "def @main(%x: int32) { %0 = fn (%p0: int32, Primitive=1) -> int32 { abs(%p0) }; %0(%x) }");
    }
}
