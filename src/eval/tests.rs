//! Programs built by hand, with values found by hand.

use super::*;
use crate::ir::{Adt, Clause, Ctor, DType, Expr, Function, List, Pattern, Tensor, Type, VarId};
use crate::ops::kernel::{read_scalar, write};
use crate::ops::{lookup, op};

fn scalar(store: &mut Store, x: f32) -> ExprId {
    store.add_constant(write(DType::F32, &[], &[x]).unwrap())
}

fn call(store: &mut Store, name: &str, args: &[ExprId]) -> ExprId {
    let callee = store.add(Expr::Op(op(name)));
    store.add_call(callee, args, None)
}

fn function(store: &mut Store, params: &[VarId], body: ExprId) -> ExprId {
    let params = store.list(params);
    store.function_expr(Function { params, type_params: List::EMPTY, ret: None, body, attrs: None, device: None, pure: true })
}

fn number(value: &Value) -> f32 {
    read_scalar(value.as_tensor().unwrap()).unwrap()
}

fn run(store: &mut Store, expr: ExprId, args: &[Value]) -> Result<Value, EvalFailure> {
    eval_expr(store, &Module::new(), expr, args, EvalOptions::default())
}

/// True if the kernels of these programs exist.
fn has_arithmetic() -> bool {
    ["add", "equal", "subtract"].iter().all(|name| lookup(name).is_some_and(|op| crate::ops::info(op).kernel.is_some()))
}

#[test]
fn a_hundred_thousand_nested_calls_evaluate() {
    if !has_arithmetic() {
        return;
    }
    let store = &mut Store::new();
    let one = scalar(store, 1.0);
    let mut sum = one;
    for _ in 0..100_000 {
        sum = call(store, "add", &[sum, one]);
    }
    assert_eq!(number(&run(store, sum, &[]).unwrap()), 100_001.0);
}

#[test]
fn a_hundred_thousand_lets_evaluate() {
    let store = &mut Store::new();
    let vars: Vec<VarId> = (0..100_000).map(|i| store.var(&format!("x{i}"), None)).collect();
    let mut body = store.use_var(vars[99_999]);
    for i in (1..100_000).rev() {
        let value = store.use_var(vars[i - 1]);
        body = store.add(Expr::Let { var: vars[i], value, body });
    }
    let value = scalar(store, 7.0);
    body = store.add(Expr::Let { var: vars[0], value, body });
    assert_eq!(number(&run(store, body, &[]).unwrap()), 7.0);
}

#[test]
fn a_tail_recursive_loop_needs_no_frames_and_runs_out_of_fuel_when_endless() {
    let store = &mut Store::new();
    let (f, x) = (store.var("f", None), store.var("x", None));
    let (use_f, use_x) = (store.use_var(f), store.use_var(x));
    let body = store.add_call(use_f, &[use_x], None);
    let value = function(store, &[x], body);
    let one = scalar(store, 1.0);
    let body = store.add_call(use_f, &[one], None);
    let endless = store.add(Expr::Let { var: f, value, body });
    let failure =
        eval_expr(store, &Module::new(), endless, &[], EvalOptions { fuel: 100_000, ..EvalOptions::default() }).unwrap_err();
    assert_eq!(failure.code, "eval-fuel");
}

#[test]
fn a_recursive_function_counts_down() {
    if !has_arithmetic() {
        return;
    }
    let store = &mut Store::new();
    let (f, x) = (store.var("f", None), store.var("x", None));
    let (use_f, use_x) = (store.use_var(f), store.use_var(x));
    let (zero, one) = (scalar(store, 0.0), scalar(store, 1.0));
    let cond = call(store, "equal", &[use_x, zero]);
    let less = call(store, "subtract", &[use_x, one]);
    let again = store.add_call(use_f, &[less], None);
    // Not in tail position: f(n) = n + f(n - 1).
    let other = call(store, "add", &[use_x, again]);
    let body = store.add(Expr::If { cond, then: zero, other });
    let value = function(store, &[x], body);
    let hundred = scalar(store, 1000.0);
    let body = store.add_call(use_f, &[hundred], None);
    let sum = store.add(Expr::Let { var: f, value, body });
    assert_eq!(number(&run(store, sum, &[]).unwrap()), 500_500.0);
}

#[test]
fn a_node_used_twice_is_evaluated_once() {
    // %0 = ref(1); %1 = ref_write(%0, 2); (%1, ref_read(%0)): both uses are the same cell.
    let store = &mut Store::new();
    let (one, two) = (scalar(store, 1.0), scalar(store, 2.0));
    let cell = store.add(Expr::RefCreate(one));
    let write = store.add(Expr::RefWrite { reference: cell, value: two });
    let read = store.add(Expr::RefRead(cell));
    let both = store.add_tuple(&[write, read]);
    let Value::Tuple(fields) = run(store, both, &[]).unwrap() else { panic!("a tuple comes out") };
    assert_eq!(number(&fields.items()[1]), 2.0);
}

#[test]
fn a_shared_node_of_a_global_is_evaluated_anew_in_its_recursive_call() {
    if !has_arithmetic() {
        return;
    }
    // @f(%x) { %0 = add(%x, 1); if (%x == 0) { 10 } else { %1 = @f(%x - 1); (%0 + %0) + %1 } }
    let store = &mut Store::new();
    let name = store.name("f");
    let x = store.var("x", None);
    let use_x = store.use_var(x);
    let (zero, one, ten) = (scalar(store, 0.0), scalar(store, 1.0), scalar(store, 10.0));
    let next = call(store, "add", &[use_x, one]);
    let twice = call(store, "add", &[next, next]);
    let less = call(store, "subtract", &[use_x, one]);
    let global = store.add(Expr::Global(name));
    let again = store.add_call(global, &[less], None);
    let other = call(store, "add", &[twice, again]);
    let cond = call(store, "equal", &[use_x, zero]);
    let body = store.add(Expr::If { cond, then: ten, other });
    let f = function(store, &[x], body);
    let mut module = Module::new();
    module.set_function(name, f);
    let two = Value::Tensor(write(DType::F32, &[], &[2.0f32]).unwrap());
    let value = eval_function(store, &module, "f", &[two], EvalOptions::default()).unwrap();
    // 2 * 3 + 2 * 2 + 10
    assert_eq!(number(&value), 20.0);
}

#[test]
fn a_list_of_a_hundred_thousand_is_built_matched_turned_back_and_dropped() {
    let store = &mut Store::new();
    let list = store.name("List");
    let element = store.ty(Type::Tensor { shape: [].into(), dtype: DType::F32 });
    let nil_name = store.name("Nil");
    let cons_name = store.name("Cons");
    let head = store.ty(Type::Global(list));
    let nil = store.add_ctor(Ctor { name: nil_name, inputs: Box::new([]), adt: list, tag: 0 });
    let cons = store.add_ctor(Ctor { name: cons_name, inputs: Box::new([element, head]), adt: list, tag: 1 });
    store.add_adt(Adt { name: list, type_params: Box::new([]), ctors: Box::new([nil, cons]), is_extern: false });
    let (use_nil, use_cons) = (store.add(Expr::Ctor(nil)), store.add(Expr::Ctor(cons)));
    let mut items = store.add_call(use_nil, &[], None);
    for i in 0..100_000 {
        let item = scalar(store, i as f32);
        items = store.add_call(use_cons, &[item, items], None);
    }
    let value = run(store, items, &[]).unwrap();
    assert!(value_to_expr(store, &value).is_some());

    let (first, rest) = (store.var("first", None), store.var("rest", None));
    let patterns = [Pattern::Var(first), Pattern::Var(rest)].map(|p| store.add_pattern(p));
    let fields = store.list(&patterns);
    let pattern = store.add_pattern(Pattern::Ctor { ctor: cons, fields });
    let wanted = store.use_var(first);
    let no_fields = store.add_pattern(Pattern::Ctor { ctor: nil, fields: List::EMPTY });
    let zero = scalar(store, 0.0);
    let arms = [Clause { pattern: no_fields, body: zero }, Clause { pattern, body: wanted }].map(|c| store.add_clause(c));
    let clauses = store.list(&arms);
    let data = value_to_expr(store, &value).unwrap();
    let matched = store.add(Expr::Match { data, clauses, complete: true });
    assert_eq!(number(&run(store, matched, &[]).unwrap()), 99_999.0);
}

#[test]
fn a_constant_without_value_is_named_in_the_error() {
    if !has_arithmetic() {
        return;
    }
    let store = &mut Store::new();
    let one = scalar(store, 1.0);
    let unknown = store.add_constant(Tensor::without_value(DType::F32, []));
    let sum = call(store, "add", &[one, unknown]);
    let failure = run(store, sum, &[]).unwrap_err();
    assert!(failure.message.contains("`rhs` of `add` is a constant without value"), "{}", failure.message);
    assert_eq!(failure.expr, Some(sum));
}

#[test]
fn seeded_arguments_repeat_and_stay_in_range() {
    let store = &mut Store::new();
    let ty = store.tensor_type(&[crate::ir::Dim::int(2), crate::ir::Dim::Any], DType::F32);
    let a = seeded_value(store, ty, 1).unwrap();
    let b = seeded_value(store, ty, 1).unwrap();
    let tensor = a.as_tensor().unwrap();
    assert_eq!(Some(tensor), b.as_tensor());
    assert_eq!(&*tensor.shape, [2, 4]);
    let values: Vec<f32> = crate::ops::kernel::read(tensor).unwrap();
    assert!(values.iter().all(|x| (-1.0..1.0).contains(x)));
}

#[test]
fn seeded_weights_are_small_and_variances_positive() {
    let store = &mut Store::new();
    let d = crate::ir::Dim::int;
    let weight = store.tensor_type(&[d(8), d(16), d(5), d(5)], DType::F32);
    let vector = store.tensor_type(&[d(100)], DType::F32);
    let params =
        [store.var("conv0_weight", Some(weight)), store.var("bn_moving_var", Some(vector)), store.var("var2", Some(vector))];
    let body = store.add_tuple(&[]);
    let function = function(store, &params, body);
    let args = made_args(store, &Module::new(), function, Making::random(7)).unwrap();
    let floats = |i: usize| crate::ops::kernel::read::<f32>(args[i].as_tensor().unwrap()).unwrap();
    // The root of 3 / (12 * 25) is 0.1.
    assert!(floats(0).iter().all(|x| x.abs() <= 0.1) && floats(0).iter().any(|x| x.abs() > 0.09));
    for variance in [1, 2] {
        assert!(floats(variance).iter().all(|x| (0.5..1.0).contains(x)));
    }
}
