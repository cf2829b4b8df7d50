use super::*;
use crate::ir::{Adt, Clause, Ctor, DType, Function, List, Tensor, VarId};
use crate::ops;

fn function(store: &mut Store, params: &[VarId], body: ExprId) -> ExprId {
    let params = store.list(params);
    store.function_expr(Function { params, type_params: List::EMPTY, ret: None, body, attrs: None, device: None, pure: true })
}

fn module(store: &mut Store, main: ExprId) -> Module {
    let mut module = Module::new();
    let name = store.name("main");
    module.set_function(name, main);
    module
}

fn codes(found: &[Diagnostic]) -> Vec<&'static str> {
    found.iter().map(|error| error.code).collect()
}

fn constant(store: &mut Store) -> ExprId {
    store.add_constant(Tensor::new(DType::BOOL, [], [1]))
}

#[test]
fn a_sound_program_has_nothing_wrong_and_gets_types() {
    let store = &mut Store::new();
    let one = constant(store);
    let x = store.var("x", None);
    let body = store.use_var(x);
    let bound = store.add(Expr::Let { var: x, value: one, body });
    let main = function(store, &[], bound);
    let module = module(store, main);
    assert_eq!(verify(store, &module), []);
    assert_eq!(codes(&verify_types(store, &module)), ["relay-untyped"]);
    let typed = crate::infer::infer_module(store, &module).unwrap();
    assert_eq!(verify_types(store, &typed), []);
}

#[test]
fn free_variables_and_unknown_globals_are_found() {
    let store = &mut Store::new();
    let x = store.var("x", None);
    let arg = store.use_var(x);
    let ghost = store.name("ghost");
    let callee = store.add(Expr::Global(ghost));
    let call = store.add_call(callee, &[arg], None);
    let main = function(store, &[], call);
    let module = module(store, main);
    assert_eq!(codes(&verify(store, &module)), ["relay-unbound-var", "relay-unbound-global"]);
}

#[test]
fn variables_used_where_they_are_not_bound_are_found() {
    let store = &mut Store::new();
    let x = store.var("x", None);
    let use_x = store.use_var(x);
    let inner = function(store, &[x], use_x);
    let pair = store.add_tuple(&[inner, use_x]);
    let main = function(store, &[], pair);
    let module = module(store, main);
    assert_eq!(codes(&verify(store, &module)), ["relay-out-of-scope"]);
    let pair = store.add_tuple(&[use_x, inner]);
    let main = function(store, &[], pair);
    let module = super::tests::module(store, main);
    assert_eq!(codes(&verify(store, &module)), ["relay-bound-twice"]);
}

#[test]
fn calls_and_patterns_have_the_arity_of_what_they_name() {
    let store = &mut Store::new();
    let (name, ctor) = (store.name("Box"), store.name("Put"));
    let field = store.tensor_type(&[], DType::BOOL);
    let ctor = store.add_ctor(Ctor { name: ctor, inputs: [field].into(), adt: name, tag: 0 });
    let adt = store.add_adt(Adt { name, type_params: [].into(), ctors: [ctor].into(), is_extern: false });
    let pattern = store.add_pattern(Pattern::Ctor { ctor, fields: List::EMPTY });
    let body = constant(store);
    let data = ops::build::call(store, "annotation.stop_fusion", &[body, body]);
    let clause = store.add_clause(Clause { pattern, body });
    let clauses = store.list(&[clause]);
    let matched = store.add(Expr::Match { data, clauses, complete: true });
    let main = function(store, &[], matched);
    let mut module = module(store, main);
    assert_eq!(codes(&verify(store, &module)), ["relay-arity", "relay-unbound-type", "relay-pattern"]);
    module.set_adt(name, adt);
    assert_eq!(codes(&verify(store, &module)), ["relay-arity", "relay-pattern"]);
}

#[test]
fn type_definitions_hold_types_that_exist() {
    let store = &mut Store::new();
    let (name, ctor, ghost) = (store.name("Box"), store.name("Put"), store.name("Ghost"));
    let ghost = store.ty(Type::Global(ghost));
    let field = store.ty(Type::Apply { head: ghost, args: [].into() });
    let ctor = store.add_ctor(Ctor { name: ctor, inputs: [field].into(), adt: name, tag: 0 });
    let adt = store.add_adt(Adt { name, type_params: [].into(), ctors: [ctor].into(), is_extern: false });
    let mut module = Module::new();
    module.set_adt(name, adt);
    let found = verify(store, &module);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "Put of Box: the type variable : `Ghost` is undefined");
}
