use super::*;
use crate::ir::{AttrValue, Attrs, Binding, DType, Dim, Double, OpId, Tensor};

const MAP_FREE: EqualOptions =
    EqualOptions { map_free_vars: true, scalar_tolerance: false, unknown_constants: false, types: false, results: false };

fn op(store: &mut Store, n: u16) -> ExprId {
    store.add(Expr::Op(OpId(n)))
}

fn free(store: &mut Store, name: &str) -> ExprId {
    let var = store.var(name, None);
    store.use_var(var)
}

/// Makes `fn (params) { body }`.
fn function(store: &mut Store, params: &[VarId], body: ExprId) -> ExprId {
    let params = store.list(params);
    store.function_expr(Function {
        params,
        type_params: super::super::List::EMPTY,
        ret: None,
        body,
        attrs: None,
        device: None,
        pure: true,
    })
}

fn equal(store: &Store, a: ExprId, b: ExprId) -> bool {
    exprs(store, a, b, EqualOptions::default()).is_ok()
}

fn scalar(store: &mut Store, value: f32) -> ExprId {
    store.add_constant(Tensor::new(DType::F32, [], value.to_le_bytes()))
}

#[test]
fn names_of_bound_variables_do_not_matter() {
    let mut s = Store::new();
    let [f, g] = ["x", "y"].map(|name| {
        let v = s.var(name, None);
        let body = s.use_var(v);
        function(&mut s, &[v], body)
    });
    assert!(equal(&s, f, g));
}

#[test]
fn exchanged_parameters_are_another_function() {
    // fn (%x, %y) { op(%x, %y) } over the same two variables as fn (%y, %x) { op(%x, %y) }
    let mut s = Store::new();
    let (x, y) = (s.var("x", None), s.var("y", None));
    let add = op(&mut s, 0);
    let args = [s.use_var(x), s.use_var(y)];
    let body = s.add_call(add, &args, None);
    let f = function(&mut s, &[x, y], body);
    let g = function(&mut s, &[y, x], body);
    assert!(!equal(&s, f, g));
    assert!(equal(&s, f, f));
}

#[test]
fn free_variables_are_equal_only_when_mapped() {
    let mut s = Store::new();
    let (x, y) = (free(&mut s, "x"), free(&mut s, "x"));
    let relu = op(&mut s, 0);
    let (a, b) = (s.add_call(relu, &[x], None), s.add_call(relu, &[y], None));
    assert!(!equal(&s, a, b));
    assert_eq!(exprs(&s, a, b, MAP_FREE), Ok(()));
    let (xy, xx) = (s.add_tuple(&[x, y]), s.add_tuple(&[x, x]));
    assert!(exprs(&s, xy, xx, MAP_FREE).is_err());
}

#[test]
fn one_shared_call_differs_from_two_equal_calls() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let f = op(&mut s, 0);
    let (a, b) = (s.add_call(f, &[x], None), s.add_call(f, &[x], None));
    let shared = s.add_call(f, &[a, a], None);
    let apart = s.add_call(f, &[a, b], None);
    assert!(!equal(&s, shared, apart));
    let difference = exprs(&s, apart, shared, MAP_FREE).unwrap_err();
    assert_eq!(difference.path, "expression.args[1]");
}

#[test]
fn projections_and_constants_and_unit_have_no_identity() {
    let mut s = Store::new();
    let t = free(&mut s, "t");
    let get = |s: &mut Store| s.add(Expr::TupleGetItem { tuple: t, index: 0 });
    let (a, b) = (get(&mut s), get(&mut s));
    let (c, d) = (scalar(&mut s, 1.0), scalar(&mut s, 1.0));
    let (u, v) = (s.add_tuple(&[]), s.add_tuple(&[]));
    let shared = s.add_tuple(&[a, a, c, c, u, u]);
    let apart = s.add_tuple(&[a, b, c, d, u, v]);
    assert!(equal(&s, shared, apart));
}

#[test]
fn null_attributes_are_not_default_attributes() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let f = op(&mut s, 0);
    let (key, axis) = (s.name("relay.attrs.SoftmaxAttrs"), s.name("axis"));
    let attrs = s.attrs(Attrs { key, fields: [(axis, AttrValue::int(-1))].into() });
    let (a, b) = (s.add_call(f, &[x], None), s.add_call(f, &[x], Some(attrs)));
    let message = exprs(&s, a, b, MAP_FREE).unwrap_err().message;
    assert_eq!(message, "one call has attributes, the other has none");
}

#[test]
fn attribute_integers_of_other_width_differ_and_doubles_have_a_tolerance() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let f = op(&mut s, 0);
    let (key, name) = (s.name("K"), s.name("a"));
    let call = |s: &mut Store, value| {
        let attrs = s.attrs(Attrs { key, fields: [(name, value)].into() });
        s.add_call(f, &[x], Some(attrs))
    };
    let (a, b) = (call(&mut s, AttrValue::int(1)), call(&mut s, AttrValue::Int { value: 1, bits: 64 }));
    assert_eq!(exprs(&s, a, b, MAP_FREE).unwrap_err().to_string(), "at expression: attribute `a` differs");
    let (a, b) = (call(&mut s, AttrValue::Float(Double(1e-5))), call(&mut s, AttrValue::Float(Double(1.00001e-5))));
    assert!(equal(&s, a, b));
    let (a, b) = (call(&mut s, AttrValue::Float(Double(1.0))), call(&mut s, AttrValue::Float(Double(1.000001))));
    assert!(!equal(&s, a, b));
    assert!(exprs(&s, a, b, EqualOptions { scalar_tolerance: true, ..MAP_FREE }).is_ok());
}

#[test]
fn scalar_constants_are_compared_by_bytes_or_within_what_the_text_shows() {
    let mut s = Store::new();
    let (a, b, c) = (scalar(&mut s, 0.333_333_34), scalar(&mut s, 0.333_333), scalar(&mut s, 0.3334));
    let tolerant = EqualOptions { scalar_tolerance: true, ..EqualOptions::default() };
    assert!(!equal(&s, a, b));
    assert!(exprs(&s, a, b, tolerant).is_ok());
    assert!(exprs(&s, a, c, tolerant).is_err());
}

#[test]
fn a_missing_annotation_is_not_a_given_one() {
    let mut s = Store::new();
    let ty = s.tensor_type(&[Dim::int(2)], DType::F32);
    let [f, g] = [None, Some(ty)].map(|ty| {
        let v = s.var("x", ty);
        let body = s.use_var(v);
        function(&mut s, &[v], body)
    });
    assert!(!equal(&s, f, g));
}

#[test]
fn type_parameters_correspond_by_place() {
    let mut s = Store::new();
    let name = s.name("A");
    let generic = |s: &mut Store, swap: bool| {
        let params = [0, 1].map(|_| s.add_type_var(TypeVar { name }));
        let types = params.map(|p| s.ty(Type::Var(p)));
        s.ty(Type::Func { type_params: params.into(), params: types.into(), ret: types[usize::from(swap)] })
    };
    let (a, b, c) = (generic(&mut s, false), generic(&mut s, false), generic(&mut s, true));
    assert!(types(&s, a, b));
    assert!(!types(&s, a, c));
}

#[test]
fn modules_correspond_by_function_name_and_say_what_is_missing() {
    let mut s = Store::new();
    let (main, other) = (s.name("main"), s.name("other"));
    let [f, g] = [0, 1].map(|_| {
        let v = s.var("x", None);
        let body = s.use_var(v);
        function(&mut s, &[v], body)
    });
    let (mut a, mut b) = (Module::new(), Module::new());
    a.set_function(main, f);
    a.set_function(other, f);
    b.set_function(other, g);
    assert_eq!(modules(&s, &a, &b, MAP_FREE).unwrap_err().message, "only the first has function @main");
    b.set_function(main, g);
    assert_eq!(modules(&s, &a, &b, MAP_FREE), Ok(()));
}

#[test]
fn a_chain_a_hundred_thousand_calls_deep_is_compared_without_recursion() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let f = op(&mut s, 0);
    let g = op(&mut s, 1);
    let [a, b] = [0, 1].map(|_| (0..100_000).fold(x, |arg, _| s.add_call(f, &[arg], None)));
    assert!(equal(&s, a, b));
    let start = s.add_call(g, &[x], None);
    let c = (1..100_000).fold(start, |arg, _| s.add_call(f, &[arg], None));
    let difference = exprs(&s, a, c, MAP_FREE).unwrap_err();
    assert_eq!(difference.message, "calls of different operators");
    assert!(difference.path.starts_with("expression.args[0]....args[0]"), "{}", difference.path);
}

/// Makes a Relax function of one dataflow block: `names[0] = op(x, x)`, `names[1] = op(names[0], names[0])`, ...
fn dataflow(s: &mut Store, names: &[&str], share: bool) -> Module {
    let param = s.var("x", None);
    let relu = op(s, 0);
    let mut value = s.use_var(param);
    let mut bindings = Vec::new();
    let mut pair = None;
    for name in names {
        let fields = match pair {
            Some(fields) if share => fields,
            _ => s.add_tuple(&[value, value]),
        };
        pair = Some(fields);
        let call = s.add_call(relu, &[fields], None);
        let var = s.relax_var(name, None, false);
        bindings.push(Binding { var, value: call, cast: None });
        value = if share { value } else { s.use_var(param) };
    }
    let block = s.add_block_of(&bindings, true);
    let result = bindings.last().expect("there is a binding").var;
    let result = s.use_var(result);
    let body = s.add_seq(&[block], result);
    let root = function(s, &[param], body);
    let mut module = Module::of(Dialect::Relax);
    let main = s.name("main");
    module.set_function(main, root);
    module
}

#[test]
fn bindings_of_blocks_correspond_and_their_names_do_not_matter() {
    let mut s = Store::new();
    let (a, b, c) = (dataflow(&mut s, &["a", "b"], false), dataflow(&mut s, &["u", "v"], false), dataflow(&mut s, &["u"], false));
    assert_eq!(modules(&s, &a, &b, EqualOptions::default()), Ok(()));
    let difference = modules(&s, &a, &c, EqualOptions::default()).unwrap_err();
    assert_eq!(difference.message, "the blocks have another number of bindings");
}

#[test]
fn in_relax_a_tuple_that_two_calls_share_is_as_good_as_two() {
    let mut s = Store::new();
    let (shared, apart) = (dataflow(&mut s, &["a", "b"], true), dataflow(&mut s, &["a", "b"], false));
    assert_eq!(modules(&s, &shared, &apart, EqualOptions::default()), Ok(()));
}

#[test]
fn a_module_of_relay_is_none_of_relax() {
    let s = Store::new();
    assert!(modules(&s, &Module::new(), &Module::of(Dialect::Relax), MAP_FREE).is_err());
}
