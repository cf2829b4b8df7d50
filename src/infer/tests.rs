//! Inference over programs built by hand; whole programs are checked against TVM's own results by the
//! conformance runner.

use super::*;
use crate::ir::{
    Adt, Clause, Ctor, DType, Dim, Expr, ExprId, Function, List, Module, Pattern, Store, Type, TypeId, TypeVar, VarId, show_type,
};
use crate::ops;

fn tensor(store: &mut Store, shape: &[i64]) -> TypeId {
    let shape: Vec<Dim> = shape.iter().map(|extent| if *extent < 0 { Dim::Any } else { Dim::int(*extent) }).collect();
    store.tensor_type(&shape, DType::F32)
}

fn function(store: &mut Store, params: &[VarId], body: ExprId) -> ExprId {
    let params = store.list(params);
    store.function_expr(Function { params, type_params: List::EMPTY, ret: None, body, attrs: None, device: None, pure: true })
}

fn same(store: &mut Store, arg: ExprId) -> ExprId {
    ops::build::call(store, "annotation.stop_fusion", &[arg])
}

fn infer_function(store: &mut Store, function: ExprId) -> Result<ExprId, Vec<Diagnostic>> {
    infer_expr(store, &Module::new(), function)
}

fn type_text(store: &Store, id: ExprId) -> String {
    store.checked_type(id).map_or_else(|| "nothing".to_owned(), |ty| show_type(store, ty))
}

fn messages(result: Result<ExprId, Vec<Diagnostic>>) -> Vec<String> {
    result.err().unwrap_or_default().into_iter().map(|error| error.message).collect()
}

/// `fn (%x: Tensor[(3,), float32]) { f(f(...f(%x))) }`, as nested calls or as bindings.
fn chain(store: &mut Store, length: usize, lets: bool) -> ExprId {
    let ty = tensor(store, &[3]);
    let x = store.var("x", Some(ty));
    let mut at = store.use_var(x);
    let mut bindings = Vec::new();
    for _ in 0..length {
        at = same(store, at);
        if lets {
            let var = store.var("y", None);
            bindings.push((var, at));
            at = store.use_var(var);
        }
    }
    for (var, value) in bindings.into_iter().rev() {
        at = store.add(Expr::Let { var, value, body: at });
    }
    function(store, &[x], at)
}

#[test]
fn a_typed_program_comes_back_as_the_same_node() {
    let store = &mut Store::new();
    for lets in [false, true] {
        let untyped = chain(store, 10, lets);
        let typed = infer_function(store, untyped).unwrap();
        assert_ne!(untyped, typed);
        assert_eq!(type_text(store, typed), "fn (Tensor[(3,), float32]) -> Tensor[(3,), float32]");
        let nodes = store.n_exprs();
        assert_eq!(infer_function(store, typed), Ok(typed));
        // The cache must not be the only reason.
        store.inferred.clear();
        assert_eq!(infer_function(store, typed), Ok(typed));
        assert_eq!(store.n_exprs(), nodes);
    }
}

#[test]
fn a_hundred_thousand_calls_or_bindings_deep_is_no_matter() {
    for lets in [false, true] {
        let store = &mut Store::new();
        let untyped = chain(store, 100_000, lets);
        let typed = infer_function(store, untyped).unwrap();
        assert_eq!(type_text(store, typed), "fn (Tensor[(3,), float32]) -> Tensor[(3,), float32]");
    }
}

#[test]
fn operators_give_types_to_unannotated_inputs() {
    let store = &mut Store::new();
    let ty = tensor(store, &[2]);
    let (x, y) = (store.var("x", None), store.var("y", Some(ty)));
    let (use_x, use_y) = (store.use_var(x), store.use_var(y));
    let moved = same(store, use_x);
    let chosen = if_then_else(store, moved, use_y);
    let f = function(store, &[x, y], chosen);
    let typed = infer_function(store, f).unwrap();
    assert_eq!(type_text(store, typed), "fn (Tensor[(2,), float32], Tensor[(2,), float32]) -> Tensor[(2,), float32]");
    let params: Vec<VarId> = store.items(store.as_function(typed).unwrap().params).collect();
    assert_eq!(store.var_data(params[0]).annotation, Some(ty));
    assert_eq!(store.var_data(params[0]).vid, x);
}

fn truth(store: &mut Store) -> ExprId {
    store.add_constant(crate::ir::Tensor::new(DType::BOOL, [], [1]))
}

fn if_then_else(store: &mut Store, then: ExprId, other: ExprId) -> ExprId {
    let cond = truth(store);
    store.add(Expr::If { cond, then, other })
}

#[test]
fn what_cannot_be_found_is_said_once_where_it_begins() {
    let store = &mut Store::new();
    let x = store.var("x", None);
    let mut at = store.use_var(x);
    for _ in 0..5 {
        at = same(store, at);
    }
    let f = function(store, &[x], at);
    let result = infer_function(store, f);
    let found = messages(result);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("unable to infer a type") && found[0].contains("%x"), "{found:?}");
}

#[test]
fn types_that_do_not_match_are_an_error_with_the_dimension() {
    let store = &mut Store::new();
    let (a, b) = (tensor(store, &[2, 3]), tensor(store, &[2, 4]));
    let (x, y) = (store.var("x", Some(a)), store.var("y", Some(b)));
    let (use_x, use_y) = (store.use_var(x), store.use_var(y));
    let body = if_then_else(store, use_x, use_y);
    let f = function(store, &[x, y], body);
    let found = messages(infer_function(store, f));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("The Relay type checker is unable to show the following types match"), "{found:?}");
    assert!(found[0].contains("dimension 1 conflicts: 4 does not match 3."), "{found:?}");
}

#[test]
fn an_unknown_extent_spreads_to_both_branches() {
    let store = &mut Store::new();
    let (a, b) = (tensor(store, &[-1]), tensor(store, &[5]));
    let (x, y) = (store.var("x", Some(a)), store.var("y", Some(b)));
    let (use_x, use_y) = (store.use_var(x), store.use_var(y));
    let moved = same(store, use_y);
    let body = if_then_else(store, use_x, moved);
    let f = function(store, &[x, y], body);
    let typed = infer_function(store, f).unwrap();
    let body = store.as_function(typed).unwrap().body;
    assert_eq!(type_text(store, body), "Tensor[(?,), float32]");
}

#[test]
fn a_function_literal_may_call_itself_through_its_let() {
    let store = &mut Store::new();
    let ty = tensor(store, &[]);
    let (f, x, y) = (store.var("f", None), store.var("x", Some(ty)), store.var("y", Some(ty)));
    let (use_f, use_x, use_y) = (store.use_var(f), store.use_var(x), store.use_var(y));
    let again = store.add_call(use_f, &[use_x], None);
    let body = if_then_else(store, use_x, again);
    let literal = function(store, &[x], body);
    let call = store.add_call(use_f, &[use_y], None);
    let bound = store.add(Expr::Let { var: f, value: literal, body: call });
    let main = function(store, &[y], bound);
    let typed = infer_function(store, main).unwrap();
    assert_eq!(type_text(store, typed), "fn (float32) -> float32");
}

#[test]
fn calls_of_globals_see_annotations_only() {
    let store = &mut Store::new();
    let ty = tensor(store, &[4]);
    let x = store.var("x", Some(ty));
    let body = store.use_var(x);
    let helper = function(store, &[x], body);
    let name = store.name("helper");
    let callee = store.add(Expr::Global(name));
    let y = store.var("y", Some(ty));
    let arg = store.use_var(y);
    let call = store.add_call(callee, &[arg], None);
    let main = function(store, &[y], call);
    let mut module = Module::new();
    module.set_function(name, helper);
    let result = infer_expr(store, &module, main);
    assert!(messages(result)[0].contains("unable to infer a type"));
    assert!(infer_expr(store, &module, helper).is_ok());
    let annotated = infer_expr(store, &module, helper).unwrap();
    module.set_function(name, annotated);
    let typed = infer_expr(store, &module, main).unwrap();
    assert_eq!(type_text(store, typed), "fn (Tensor[(4,), float32]) -> Tensor[(4,), float32]");
}

#[test]
fn wrong_numbers_of_arguments_are_counted() {
    let store = &mut Store::new();
    let ty = tensor(store, &[4]);
    let x = store.var("x", Some(ty));
    let arg = store.use_var(x);
    let call = ops::build::call(store, "annotation.stop_fusion", &[arg, arg]);
    let f = function(store, &[x], call);
    let found = messages(infer_function(store, f));
    assert_eq!(found, ["the operator annotation.stop_fusion is provided too many arguments expected 1, found 2"]);
}

#[test]
fn a_result_is_not_remembered_when_a_callee_changes() {
    let store = &mut Store::new();
    let name = store.name("helper");
    let callee = store.add(Expr::Global(name));
    let call = store.add_call(callee, &[], None);
    let main = function(store, &[], call);
    let mut types = Vec::new();
    for extent in [2, 3] {
        let ty = tensor(store, &[extent]);
        let body = store.add_constant(crate::ir::Tensor::without_value(DType::F32, [extent]));
        let data = Function {
            params: List::EMPTY,
            type_params: List::EMPTY,
            ret: Some(ty),
            body,
            attrs: None,
            device: None,
            pure: true,
        };
        let mut module = Module::new();
        let helper = store.function_expr(data);
        module.set_function(name, helper);
        let typed = infer_expr(store, &module, main).unwrap();
        assert_eq!(infer_expr(store, &module, main), Ok(typed));
        types.push(type_text(store, typed));
    }
    assert_eq!(types, ["fn () -> Tensor[(2,), float32]", "fn () -> Tensor[(3,), float32]"]);
}

struct Lists {
    module: Module,
    nil: crate::ir::CtorId,
    cons: crate::ir::CtorId,
}

/// `type List[A] { Cons(A, List[A]), Nil, }`
fn lists(store: &mut Store) -> Lists {
    let (name, a) = (store.name("List"), store.name("A"));
    let a = store.add_type_var(TypeVar { name: a });
    let (head, element) = (store.ty(Type::Global(name)), store.ty(Type::Var(a)));
    let list = store.ty(Type::Apply { head, args: [element].into() });
    let (cons, nil) = (store.name("Cons"), store.name("Nil"));
    let cons = store.add_ctor(Ctor { name: cons, inputs: [element, list].into(), adt: name, tag: 0 });
    let nil = store.add_ctor(Ctor { name: nil, inputs: [].into(), adt: name, tag: 1 });
    let adt = store.add_adt(Adt { name, type_params: [a].into(), ctors: [cons, nil].into(), is_extern: false });
    let mut module = Module::new();
    module.set_adt(name, adt);
    Lists { module, nil, cons }
}

fn cons(store: &mut Store, lists: &Lists, head: ExprId, tail: ExprId) -> ExprId {
    let ctor = store.add(Expr::Ctor(lists.cons));
    store.add_call(ctor, &[head, tail], None)
}

#[test]
fn constructors_are_polymorphic_and_keep_their_type_arguments() {
    let store = &mut Store::new();
    let lists = lists(store);
    let nil = store.add(Expr::Ctor(lists.nil));
    let nil = store.add_call(nil, &[], None);
    let one = truth(store);
    let list = cons(store, &lists, one, nil);
    let typed = infer_expr(store, &lists.module, list).unwrap();
    assert_eq!(type_text(store, typed), "List[bool]");
    let info = store.call(typed).unwrap().info.unwrap();
    let type_args: Vec<String> = store.call_info(info).type_args.iter().map(|ty| show_type(store, *ty)).collect();
    assert_eq!(type_args, ["bool"]);
    assert_eq!(infer_expr(store, &lists.module, typed), Ok(typed));
}

#[test]
fn a_match_must_handle_every_case() {
    let store = &mut Store::new();
    let lists = lists(store);
    let nil = store.add(Expr::Ctor(lists.nil));
    let nil = store.add_call(nil, &[], None);
    let one = truth(store);
    let data = cons(store, &lists, one, nil);
    let (wild, empty) =
        (store.add_pattern(Pattern::Wildcard), store.add_pattern(Pattern::Ctor { ctor: lists.nil, fields: List::EMPTY }));
    let head = store.var("head", None);
    let head_pattern = store.add_pattern(Pattern::Var(head));
    let fields = store.list(&[head_pattern, empty]);
    let single = store.add_pattern(Pattern::Ctor { ctor: lists.cons, fields });
    let body = store.use_var(head);
    let first = store.add_clause(Clause { pattern: single, body });
    let clauses = store.list(&[first]);
    let partial = store.add(Expr::Match { data, clauses, complete: true });
    let found = messages(infer_expr(store, &lists.module, partial));
    assert_eq!(found, ["match expression does not handle the following cases: Nil, Cons(_, Cons(_, _))"]);
    let rest = store.add_clause(Clause { pattern: wild, body: one });
    let clauses = store.list(&[first, rest]);
    let total = store.add(Expr::Match { data, clauses, complete: true });
    let typed = infer_expr(store, &lists.module, total).unwrap();
    assert_eq!(type_text(store, typed), "bool");
}

#[test]
fn references_hold_what_is_written_to_them() {
    let store = &mut Store::new();
    let one = truth(store);
    let reference = store.add(Expr::RefCreate(one));
    let read = store.add(Expr::RefRead(reference));
    let write = store.add(Expr::RefWrite { reference, value: one });
    let both = store.add_tuple(&[read, write]);
    let typed = infer_function(store, both).unwrap();
    assert_eq!(type_text(store, typed), "(bool, ())");
}

#[test]
fn a_variable_bound_twice_is_an_error() {
    let store = &mut Store::new();
    let ty = tensor(store, &[]);
    let x = store.var("x", Some(ty));
    let body = store.use_var(x);
    let inner = function(store, &[x], body);
    let outer = function(store, &[x], inner);
    let found = messages(infer_function(store, outer));
    assert_eq!(found, ["The variable x is bound more than once, this is not valid IR"]);
}

#[test]
fn a_type_that_would_contain_itself_is_an_error() {
    let store = &mut Store::new();
    let f = store.var("f", None);
    let use_f = store.use_var(f);
    let body = store.add_call(use_f, &[use_f], None);
    let omega = function(store, &[f], body);
    let found = messages(infer_function(store, omega));
    assert!(found[0].contains("cannot contain itself"), "{found:?}");
}

#[test]
fn tuples_of_tuples_end_at_the_depth_limit() {
    let store = &mut Store::new();
    let mut at = truth(store);
    for _ in 0..100_000 {
        at = store.add_tuple(&[at]);
    }
    let found = messages(infer_function(store, at));
    assert_eq!(found, ["a type nests deeper than 256 levels"]);
}

/// Twenty-six such lines used to print 4.8 GB.
#[test]
fn tuples_that_hold_a_tuple_twice_end_at_the_size_limit() {
    let store = &mut Store::new();
    let mut at = truth(store);
    for _ in 0..200 {
        at = store.add_tuple(&[at, at]);
    }
    let found = messages(infer_function(store, at));
    assert_eq!(found, ["a type has more than 65536 parts"]);
}

#[test]
fn unknown_type_names_and_wrong_numbers_of_type_arguments_are_errors() {
    let store = &mut Store::new();
    let lists = lists(store);
    let (list, ghost) = (store.name("List"), store.name("Ghost"));
    let (list, ghost) = (store.ty(Type::Global(list)), store.ty(Type::Global(ghost)));
    let bare = store.ty(Type::Apply { head: list, args: [].into() });
    let unknown = store.ty(Type::Apply { head: ghost, args: [].into() });
    for (ty, expected) in
        [(bare, "Expected 1 arguments for List[]; got 0"), (unknown, "the type variable : `Ghost` is undefined")]
    {
        let x = store.var("x", Some(ty));
        let body = store.use_var(x);
        let f = function(store, &[x], body);
        let found = messages(infer_expr(store, &lists.module, f));
        assert_eq!(found[0], expected);
    }
}

#[test]
fn an_input_is_known_no_better_than_the_identical_output() {
    let store = &mut Store::new();
    let (known, unknown) = (tensor(store, &[5]), tensor(store, &[-1]));
    let (x, y) = (store.var("x", Some(known)), store.var("y", Some(unknown)));
    let (use_x, use_y) = (store.use_var(x), store.use_var(y));
    let value = same(store, use_x);
    let body = store.add(Expr::Let { var: y, value, body: use_y });
    let f = function(store, &[x], body);
    let typed = infer_function(store, f).unwrap();
    let param = store.item(store.as_function(typed).unwrap().params, 0);
    assert_eq!(store.var_data(param).annotation, Some(unknown));
}

#[test]
fn what_stays_open_is_the_same_the_second_time() {
    let store = &mut Store::new();
    let lists = lists(store);
    let nil = store.add(Expr::Ctor(lists.nil));
    let nil = store.add_call(nil, &[], None);
    let f = function(store, &[], nil);
    let typed = infer_expr(store, &lists.module, f).unwrap();
    assert_eq!(type_text(store, typed), "fn () -> List[?]");
    store.inferred.clear();
    assert_eq!(infer_expr(store, &lists.module, typed), Ok(typed));
}

/// TVM's `UpSamplingRel` makes `int32(round(float64(h) * 2))` of an extent `h`, and the metadata section says so.
#[test]
fn an_upsampled_symbolic_extent_is_inferred_as_tvm_annotates_it() {
    let section = r#"
#[metadata]
{
  "root": 10,
  "nodes": [
    {"type_key": ""},
    {"type_key": "tir.SizeVar", "attrs": {"dtype": "int32", "name": "2", "span": "0", "type_annotation": "0"}},
    {"type_key": "runtime.String", "repr_str": "h"},
    {"type_key": "tir.Cast", "attrs": {"dtype": "float64", "span": "0", "value": "1"}},
    {"type_key": "FloatImm", "attrs": {"dtype": "float64", "span": "0", "value": "2"}},
    {"type_key": "tir.Mul", "attrs": {"a": "3", "b": "4", "dtype": "float64", "span": "0"}},
    {"type_key": "Op", "repr_str": "tir.round"},
    {"type_key": "Array", "data": [5]},
    {"type_key": "tir.Call", "attrs": {"args": "7", "dtype": "float64", "op": "6", "span": "0"}},
    {"type_key": "tir.Cast", "attrs": {"dtype": "int32", "span": "0", "value": "8"}},
    {"type_key": "Map", "keys": ["tir.Cast", "tir.SizeVar"], "data": [11, 12]},
    {"type_key": "Array", "data": [9]},
    {"type_key": "Array", "data": [1]}
  ],
  "b64ndarrays": [],
  "attrs": {"tvm_version": "0.19.0"}
}"#;
    let text = "fn (%x: Tensor[(1, 1, meta[tir.SizeVar][0], 3), float32]) -> Tensor[(1, 1, meta[tir.Cast][0], 6), float32] {
      nn.upsampling(%x, scale_h=2f, scale_w=2f)
    }";
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, &format!("{text}{section}"));
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    let read = parsed.program.expr.expect("a function");
    let typed = infer_function(store, read).expect("the annotation is right");
    let function = store.as_function(typed).expect("a function");
    assert_eq!(store.checked_type(function.body), function.ret);
    let printed = crate::print::expr(store, typed, &crate::print::PrintOptions::default());
    for key in ["tir.Cast", "tir.Call", "tir.Mul", "FloatImm", "Op"] {
        assert!(printed.contains(&format!("\"type_key\": \"{key}\"")), "{key} in {printed}");
    }
}
