//! EtaExpand: constructors and global functions as function literals.
//!
//! A constructor that is used as a value, not called, becomes a function that calls it; likewise a global
//! function, called or not. Passes that follow then see only calls.
//!
//! At least one of the two must be asked for. Constructors that are called stay.
//!
//! Source: `src/relay/transforms/eta_expand.cc`.

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::{CtorId, Expr, ExprId, Function, Id, Module, Name, Store, Type, TypeId, TypeVar, VarId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Replaces constructors and global functions that are used as values by function literals.
pub static SPEC: PassSpec = PassSpec {
    name: "EtaExpand",
    info_name: "EtaExpand",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[
        Param { name: "expand_constructor", default: "False", doc: "Wraps constructors that are used as values." },
        Param { name: "expand_global_var", default: "False", doc: "Wraps global functions." },
    ],
    config: &[],
    summary: "Wraps constructors and global functions into function literals.",
    doc: explained(
        "With `expand_constructor=True`, a constructor that is used as a value becomes a function with its fields as \
parameters. With `expand_global_var=True`, every mention of a global function becomes a function literal that calls it. \
One of them must be set.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let mut expand = Expand {
        module,
        constructors: arguments.bool("expand_constructor"),
        globals: arguments.bool("expand_global_var"),
        type_vars: FxHashMap::default(),
    };
    if !expand.constructors && !expand.globals {
        let text = "must expand at least one language feature";
        let how = "set expand_constructor=True or expand_global_var=True";
        cx.diagnostics.emit(Diagnostic::help("relay-eta-expand", how, None));
        return Err(vec![Diagnostic::error("relay-eta-expand", text, None)]);
    }
    // One memo for all functions, as in TVM: a constructor becomes one literal.
    let mut rewriting = Rewriting::new();
    let mut result = module.clone();
    for (name, function) in module.functions() {
        result.set_function(*name, rewriting.run(cx.store, *function, &mut expand));
    }
    Ok(result)
}

struct Expand<'a> {
    module: &'a Module,
    constructors: bool,
    globals: bool,
    /// The new type parameter for each type parameter of a type definition.
    type_vars: FxHashMap<Id<TypeVar>, Id<TypeVar>>,
}

const PARAM: &str = "eta_expand_param";

impl ExprMutator for Expand<'_> {
    fn rule(&self) -> &'static str {
        "wrapped into a function"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(pre) {
            Expr::Ctor(ctor) if self.constructors => self.constructor(store, ctor).unwrap_or(post),
            Expr::Global(name) if self.globals => self.global(store, pre, name).unwrap_or(post),
            // A constructor that is called stays as it is.
            Expr::Call { callee, .. } if matches!(store.expr(callee), Expr::Ctor(_)) => match store.expr(post) {
                Expr::Call { args, info, .. } if post != pre => {
                    let same = store.items(args).eq(crate::ops::build::args(store, pre));
                    if same {
                        return pre;
                    }
                    let ty = store.checked_type(pre);
                    store.rebuild(pre, Expr::Call { callee, args, info }, ty)
                }
                _ => post,
            },
            _ => post,
        }
    }
}

impl Expand<'_> {
    fn constructor(&mut self, store: &mut Store, ctor: CtorId) -> Option<ExprId> {
        let data = store.ctor(ctor).clone();
        let adt = store.adt(self.module.adt(data.adt)?).clone();
        let mut params = Vec::with_capacity(data.inputs.len());
        for input in &data.inputs {
            let ty = self.fresh_type(store, *input);
            params.push(store.var(PARAM, Some(ty)));
        }
        let type_params: Vec<Id<TypeVar>> = adt.type_params.iter().map(|var| self.fresh_type_var(store, *var)).collect();
        let head = store.ty(Type::Global(data.adt));
        let type_args = type_params.iter().map(|var| store.ty(Type::Var(*var))).collect();
        let ret = store.ty(Type::Apply { head, args: type_args });
        let callee = store.add(Expr::Ctor(ctor));
        let body = call_params(store, callee, &params);
        let function = Function {
            params: store.list(&params),
            type_params: store.list(&type_params),
            ret: Some(ret),
            body,
            attrs: None,
            device: None,
            pure: true,
        };
        Some(store.function_expr(function))
    }

    fn global(&mut self, store: &mut Store, id: ExprId, name: Id<Name>) -> Option<ExprId> {
        let whole = self.module.function(name)?;
        let function = store.as_function(whole)?;
        let old: Vec<VarId> = store.items(function.params).collect();
        let annotations: Vec<Option<TypeId>> = old.iter().map(|param| store.var_data(*param).annotation).collect();
        let params: Vec<VarId> = annotations.into_iter().map(|ty| store.var(PARAM, ty)).collect();
        let body = call_params(store, id, &params);
        let params = store.list(&params);
        let new = store.add_function(Function { params, body, ..function });
        // A copy of the function with another body keeps its type, as in TVM.
        let ty = store.checked_type(whole);
        Some(store.add_typed(Expr::Function(new), ty))
    }

    /// Returns the type parameter that replaces one of a type definition. All are called `A`.
    fn fresh_type_var(&mut self, store: &mut Store, var: Id<TypeVar>) -> Id<TypeVar> {
        if let Some(known) = self.type_vars.get(&var) {
            return *known;
        }
        let name = store.name("A");
        let fresh = store.add_type_var(TypeVar { name });
        self.type_vars.insert(var, fresh);
        fresh
    }

    /// Types nest at most as deep as the parser lets them, so this may recurse.
    fn fresh_type(&mut self, store: &mut Store, ty: TypeId) -> TypeId {
        let new = match store.type_rc(ty).as_ref() {
            Type::Var(var) => Type::Var(self.fresh_type_var(store, *var)),
            Type::Tuple(fields) => Type::Tuple(fields.iter().map(|field| self.fresh_type(store, *field)).collect()),
            Type::Func { type_params, params, ret } => Type::Func {
                type_params: type_params.iter().map(|var| self.fresh_type_var(store, *var)).collect(),
                params: params.iter().map(|param| self.fresh_type(store, *param)).collect(),
                ret: self.fresh_type(store, *ret),
            },
            Type::Ref(inner) => Type::Ref(self.fresh_type(store, *inner)),
            Type::Apply { head, args } => Type::Apply {
                head: self.fresh_type(store, *head),
                args: args.iter().map(|arg| self.fresh_type(store, *arg)).collect(),
            },
            _ => return ty,
        };
        store.ty(new)
    }
}

fn call_params(store: &mut Store, callee: ExprId, params: &[VarId]) -> ExprId {
    let args: Vec<ExprId> = params.iter().map(|param| store.use_var(*param)).collect();
    store.add_call(callee, &args, None)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, failure, unchanged};

    const LIST: &str = "type List[A] { Cons(A, List[A]), Nil, }";

    #[test]
    fn a_constructor_that_is_called_stays() {
        let program = format!("{LIST} def @main() -> List[int32] {{ Cons(1, Nil()) }}");
        unchanged("EtaExpand(expand_constructor=True)", &program);
    }

    #[test]
    fn a_called_global_function_is_wrapped_too() {
        check(
            "EtaExpand(expand_global_var=True)",
            "def @main(%x: int32) -> int32 { @f(%x) } def @f(%y: int32) -> int32 { abs(%y) }",
            "def @main(%x: int32) -> int32 { %0 = fn (%p: int32) -> int32 { @f(%p) }; %0(%x) } \
             def @f(%y: int32) -> int32 { abs(%y) }",
        );
    }

    #[test]
    fn one_of_the_two_must_be_asked_for() {
        assert_eq!(failure("EtaExpand()", "def @main() { 1 }"), "must expand at least one language feature");
    }
}
