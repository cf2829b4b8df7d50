use super::*;
use crate::ir::{AttrValue, DType, Dim, Expr, Function, List, Tensor, TypeId, VarId};
use crate::ops::build;

const BODY: PrintOptions = PrintOptions {
    numbering: Numbering::Exact,
    types: true,
    metadata: false,
    header: false,
    verbose: false,
    sugar: true,
    all_types: true,
    marks: None,
    notes: None,
};

fn free(store: &mut Store, name: &str) -> ExprId {
    let var = store.var(name, None);
    store.use_var(var)
}

fn function(store: &mut Store, params: &[VarId], ret: Option<TypeId>, body: ExprId) -> ExprId {
    let params = store.list(params);
    store.function_expr(Function { params, type_params: List::EMPTY, ret, body, attrs: None, device: None, pure: true })
}

fn text(store: &Store, id: ExprId) -> String {
    expr(store, id, &BODY)
}

#[test]
fn children_get_their_numbers_when_their_parent_is_made_up() {
    let mut s = Store::new();
    let (x, y) = (free(&mut s, "x"), free(&mut s, "y"));
    let [a, b] = [("exp", x), ("log", y)].map(|(op, arg)| build::call(&mut s, op, &[arg]));
    let [g, h] = [("tanh", a), ("sqrt", b)].map(|(op, arg)| build::call(&mut s, op, &[arg]));
    let f = build::call(&mut s, "add", &[g, h]);
    let expected = "free_var %x;\n%0 = exp(%x);\nfree_var %y;\n%1 = log(%y);\n%2 = tanh(%0);\n%3 = sqrt(%1);\nadd(%2, %3)";
    assert_eq!(text(&s, f), expected);
}

#[test]
fn a_node_used_twice_by_one_call_is_bound_once() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let a = build::call(&mut s, "exp", &[x]);
    let two = build::call(&mut s, "add", &[a, a]);
    assert_eq!(text(&s, two), "free_var %x;\n%0 = exp(%x);\nadd(%0, %0)");
}

#[test]
fn a_module_prints_with_its_types_by_name_and_variables_are_named_across_functions() {
    let mut s = Store::new();
    let mut m = Module::new();
    let ty = s.tensor_type(&[Dim::int(1), Dim::Int { value: 3, bits: 64 }, Dim::Any], DType::F32);
    for name in ["main", "a"] {
        let v = s.var("x", Some(ty));
        let body = s.use_var(v);
        let body = build::call_with(&mut s, "nn.softmax", &[body], &[("axis", AttrValue::int(1))]);
        let f = function(&mut s, &[v], Some(ty), body);
        let name = s.name(name);
        m.set_function(name, f);
    }
    let expected = "\
#[version = \"0.0.5\"]
def @a(%x: Tensor[(1, 3i64, ?), float32]) -> Tensor[(1, 3i64, ?), float32] {
  nn.softmax(%x, axis=1)
}

def @main(%x1: Tensor[(1, 3i64, ?), float32]) -> Tensor[(1, 3i64, ?), float32] {
  nn.softmax(%x1, axis=1)
}
";
    let printed = module_lines(&s, &m, &PrintOptions::default());
    assert_eq!(printed.text, expected);
    let lines: Vec<&str> = (0..printed.lines.len()).map(|i| printed.line(i)).collect();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    let role = |i: usize| printed.lines[i].role;
    assert_eq!([role(0), role(1), role(2), role(3), role(4)], {
        use LineRole::*;
        [Header, Definition, Result, Close, Blank]
    });
}

#[test]
fn scopes_nest_and_a_let_that_is_not_last_stands_in_parentheses() {
    let mut s = Store::new();
    let (c, x) = (free(&mut s, "c"), free(&mut s, "x"));
    let y = s.var("y", None);
    let one = build::scalar(&mut s, DType::F32, 1.0);
    let body = s.use_var(y);
    let inner = s.add(Expr::Let { var: y, value: one, body });
    let sum = build::call(&mut s, "add", &[inner, x]);
    let choice = s.add(Expr::If { cond: c, then: sum, other: x });
    let unit = s.add_tuple(&[choice]);
    let expected = "\
free_var %c;
%1 = if (%c) {
  %0 = (
    let %y = 1f;
    %y
  );
  free_var %x;
  add(%0, %x)
} else {
  %x
};
(%1,)";
    assert_eq!(text(&s, unit), expected);
}

#[test]
fn lets_stand_below_one_another_with_what_their_values_need_between() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let (v, w) = (s.var("v", None), s.var("w", None));
    let use_v = s.use_var(v);
    let use_w = s.use_var(w);
    let a = build::call(&mut s, "exp", &[use_v]);
    let b = build::call(&mut s, "add", &[a, a]);
    let c = build::call(&mut s, "log", &[x]);
    let inner = s.add(Expr::Let { var: w, value: b, body: use_w });
    let outer = s.add(Expr::Let { var: v, value: c, body: inner });
    assert_eq!(text(&s, outer), "free_var %x;\nlet %v = log(%x);\n%0 = exp(%v);\nlet %w = add(%0, %0);\n%w");
}

#[test]
fn numbers_print_as_c_plus_plus_streams_print_them() {
    let mut text = String::new();
    for value in [0.0, -0.0, 1.0, 0.1, 1e-5, 0.0001, 123456.0, 1234567.0, 1e10, 2.5e-7, 0.333_333_34, 1e300, f64::INFINITY] {
        value::push_float(&mut text, value, 6);
        text.push(' ');
    }
    assert_eq!(text, "0 -0 1 0.1 1e-05 0.0001 123456 1.23457e+06 1e+10 2.5e-07 0.333333 1e+300 inf ");
}

#[test]
fn scalars_print_as_literals_and_other_constants_as_references() {
    let mut s = Store::new();
    let mut scalar = |dtype: DType, bytes: &[u8]| s.add_constant(Tensor::new(dtype, [], bytes));
    let items = [
        scalar(DType::I32, &5i32.to_le_bytes()),
        scalar(DType::I64, &(-5i64).to_le_bytes()),
        scalar(DType::I16, &5i16.to_le_bytes()),
        scalar(DType::BOOL, &[1]),
        scalar(DType::F32, &0.5f32.to_le_bytes()),
        scalar(DType::F64, &0.5f64.to_le_bytes()),
        scalar(DType::F16, &[0, 0x3c]),
        scalar(DType::I8, &[7]),
    ];
    let tuple = s.add_tuple(&items);
    assert_eq!(text(&s, tuple), "(5, -5i64, 5i16, True, 0.5f, 0.5f64, 1f16, meta[relay.Constant][0])");
}

#[test]
fn a_variable_bound_twice_is_marked() {
    let mut s = Store::new();
    let v = s.var("x", None);
    let body = s.use_var(v);
    let f = function(&mut s, &[v, v], None, body);
    assert_eq!(text(&s, f), "fn (%x, %x-malformed-ir) {\n  %x\n}");
}

#[test]
fn names_that_are_taken_are_counted_up_past_names_of_that_form() {
    let mut s = Store::new();
    let vars: Vec<VarId> = ["x1", "x", "x", "", "0", "x"].iter().map(|name| s.var(name, None)).collect();
    let body = s.add_tuple(&[]);
    let f = function(&mut s, &vars, None, body);
    assert_eq!(text(&s, f), "fn (%x1, %x, %x2, %v, %v0, %x3) {\n  ()\n}");
}

#[test]
fn a_chain_a_hundred_thousand_calls_deep_prints_without_recursion() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let root = (0..100_000).fold(x, |arg, _| build::call(&mut s, "exp", &[arg]));
    let printed = expr_lines(&s, root, &BODY);
    assert_eq!(printed.lines.len(), 100_001);
    assert_eq!(printed.line(99_999), "%99998 = exp(%99997);");
}

#[test]
fn a_chain_of_references_and_functions_and_lets_prints_without_recursion() {
    let mut s = Store::new();
    let mut e = free(&mut s, "x");
    for _ in 0..10_000 {
        e = s.add(Expr::RefCreate(e));
        let v = s.var("v", None);
        let used = s.use_var(v);
        e = s.add(Expr::Let { var: v, value: e, body: used });
    }
    assert_eq!(expr_lines(&s, e, &BODY).lines.len(), 10_000 * 4 - 1);
}

#[test]
fn the_metadata_section_is_tvms_json_byte_for_byte() {
    // The source of TVM's own parser test for metadata: a constant [1, 2, 3] of int32.
    let mut s = Store::new();
    let bytes: Vec<u8> = [1i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
    let constant = s.add_constant(Tensor::new(DType::I32, [3], bytes));
    let expected = r#"#[version = "0.0.5"]
meta[relay.Constant][0]
#[metadata]
{
  "root": 1, 
  "nodes": [
    {
      "type_key": ""
    }, 
    {
      "type_key": "Map", 
      "keys": [
        "relay.Constant"
      ], 
      "data": [2]
    }, 
    {
      "type_key": "Array", 
      "data": [3]
    }, 
    {
      "type_key": "relay.Constant", 
      "attrs": {
        "_checked_type_": "0", 
        "data": "0", 
        "span": "0", 
        "virtual_device_": "4"
      }
    }, 
    {
      "type_key": "VirtualDevice", 
      "attrs": {
        "device_type_int": "-1", 
        "memory_scope": "5", 
        "target": "0", 
        "virtual_device_id": "-1"
      }
    }, 
    {
      "type_key": "runtime.String"
    }
  ], 
  "b64ndarrays": [
    "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAAgAQADAAAAAAAAAAwAAAAAAAAAAQAAAAIAAAADAAAA"
  ], 
  "attrs": {"tvm_version": "0.19.0"}
}"#;
    assert_eq!(expr(&s, constant, &PrintOptions::default()), expected);
}

#[test]
fn a_constant_without_a_value_keeps_its_number_and_has_no_entry() {
    let mut s = Store::new();
    let unknown = s.add_constant(Tensor::without_value(DType::F32, [2]));
    assert_eq!(expr(&s, unknown, &PrintOptions::default()), "#[version = \"0.0.5\"]\nmeta[relay.Constant][0]");
    let known = s.add_constant(Tensor::new(DType::I8, [1], [7]));
    let tuple = s.add_tuple(&[unknown, known]);
    let text = expr(&s, tuple, &PrintOptions::default());
    assert!(text.contains("(meta[relay.Constant][0], meta[relay.Constant][1])"), "{text}");
    assert!(text.contains("\"data\": [0, 3]"), "{text}");
}

#[test]
fn the_parts_of_a_split_are_counted_in_boxes_of_their_own() {
    let mut s = Store::new();
    let x = free(&mut s, "x");
    let parts = [("indices_or_sections", AttrValue::int(2)), ("axis", AttrValue::int(0))];
    let [a, b] = [(); 2].map(|()| build::call_with(&mut s, "split", &[x], &parts));
    let both = s.add_tuple(&[a, b]);
    let [first, second] = [0, 1].map(|index| format!("split(%x, indices_or_sections=meta[runtime.BoxInt][{index}])"));
    assert_eq!(text(&s, both), format!("free_var %x;\n%0 = {first};\n%1 = {second};\n(%0, %1)"));
}

/// The gradient of `arange` has calls as its extents.
#[test]
fn an_expression_that_an_attribute_holds_has_an_entry() {
    let mut s = Store::new();
    let [zero, one] = [0.0, 1.0].map(|value| build::scalar(&mut s, DType::F32, value));
    let stop = build::call(&mut s, "abs", &[one]);
    let extents = [("start", zero), ("stop", stop), ("step", one)].map(|(name, id)| (name, AttrValue::Expr(id)));
    let attrs = [&extents[..], &[("dtype", AttrValue::DType(Some(DType::F32)))]].concat();
    let range = build::call_with(&mut s, "arange", &[zero, stop, one], &attrs);
    let main = function(&mut s, &[], None, range);
    let mut module = Module::default();
    module.set_function(s.name("main"), main);
    let text = self::module(&s, &module, &PrintOptions { metadata: true, ..PrintOptions::default() });
    assert!(text.contains("stop=meta[relay.Call][0]") && text.contains("\"type_key\": \"relay.Call\""), "{text}");
    let again = crate::session::open(&mut Store::new(), &text);
    assert!(again.is_ok(), "{:?}", again.diagnostics);
}

/// TVM 0.27 does so: the parameter `n` over `(n,)` is `n_1`.
#[test]
fn the_symbols_of_a_type_are_named_before_the_parameter_that_has_it() {
    let mut s = Store::new();
    let source = "n = TypeVar(\"n\")\n@I.ir_module\nclass Module:\n    @R.function\n    def f(x: R.Tensor((n,), \"float32\")):\n        \
                  return x\n";
    let mut module = crate::session::open(&mut s, source).module;
    let (name, f) = module.functions()[0];
    let params = s.as_function(f).expect("it is one").params;
    let ty = s.var_type(s.item(params, 0));
    let var = s.relax_var("n", ty, false);
    let body = s.use_var(var);
    let f = function(&mut s, &[var], ty, body);
    module.set_function(name, f);
    let text = self::module(&s, &module, &PrintOptions::default());
    assert!(text.contains("n_1: R.Tensor((n,), dtype=\"float32\")"), "{text}");
}
