//! A program that the writer of metadata sections, extended to whole programs, writes is read as the same one.

use crate::ir::{Module, Store};
use crate::parse::parse;
use crate::print::{self, PrintOptions, metadata::program::save_json};

fn printed(store: &Store, module: &Module) -> String {
    print::module(store, module, &PrintOptions::default())
}

/// The text of a program, directly and by its JSON.
fn both(text: &str) -> [String; 2] {
    let mut store = Store::new();
    let parsed = parse(&mut store, text);
    assert!(!parsed.has_errors(), "{:?}\n{text}", parsed.diagnostics);
    let mut module = parsed.program.module;
    if let Some(expr) = parsed.program.expr {
        let main = store.name("main");
        module.set_function(main, expr);
    }
    let json = save_json(&store, &module);
    let mut again = Store::new();
    let read = parse(&mut again, &json);
    assert!(!read.has_errors(), "{:?}\n{text}\n{json}", read.diagnostics);
    [printed(&store, &module), printed(&again, &read.program.module)]
}

#[track_caller]
fn same(text: &str) {
    let [wanted, found] = both(text);
    assert!(wanted == found, "{wanted}\n{found}");
}

#[test]
fn every_kind_of_expression_is_read() {
    same(
        r#"#[version = "0.0.5"]
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]), Nothing }
def @sum[A](%t: Tree[A], %f: fn(A) -> int32) -> int32 {
  match (%t) {
    Leaf(%a) => %f(%a),
    Node(%l, _) => @sum(%l, %f),
    Nothing => 0,
  }
}
def @main(%x: Tensor[(?, 4), float32], %w: (Tensor[(4, 4), float32], bool), Inline=1, Compiler="c") -> Tensor[(?, 4), float32] {
  let %r = ref(%x);
  let %seen = ref_read(%r);
  let %done = ref_write(%r, %seen);
  let %f = fn (%a: Tensor[(?, 4), float32]) { nn.dense(%a, %w.0, units=4) };
  if (%w.1) { %f(%seen) } else {
    match? ((%x, %seen)) { (%p, _) => add(%p, 1.5f) }
  }
}
"#,
    );
}

#[test]
fn a_constant_keeps_its_values_and_a_call_its_attributes() {
    same(
        "fn (%x: Tensor[(1, 3, 8, 8), float32]) {
           %0 = nn.conv2d(%x, ones(shape=[4, 3, 3, 3], dtype=\"float32\"), padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
           %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
           %2 = clip(%1, a_min=-1.5f, a_max=6f);
           cast(add(%2, 0.25f), dtype=\"float16\")
         }",
    );
}

#[test]
fn attributes_of_an_unknown_type_are_kept() {
    same("def @main(%x: Tensor[(4), float32]) { %0 = fn (%a) { exp(%a) }; %0(%x, name=\"mine\", attrs_type_key=\"attrs.My\") }");
}

#[test]
fn a_long_chain_is_read_without_recursion() {
    let calls: String = (0..20_000).map(|at| format!("  %{} = exp(%{at});\n", at + 1)).collect();
    let text = format!("fn (%x: Tensor[(4), float32]) {{\n  %0 = exp(%x);\n{calls}  negative(%20000)\n}}");
    let [wanted, found] = both(&text);
    assert!(wanted == found);
}

#[test]
fn damaged_json_says_where_it_is_wrong() {
    let json =
        |nodes: &str| format!(r#"{{"root": 1, "nodes": [{{"type_key": ""}}, {nodes}], "attrs": {{"tvm_version": "0.19.0"}}}}"#);
    for (nodes, wanted) in [
        (r#"{"type_key": "relay.Tuple", "attrs": {"fields": "2"}}, {"type_key": "Array", "data": [1]}"#, "in a circle"),
        (r#"{"type_key": "relay.Call", "attrs": {"op": "9"}}"#, "field `op` of `relay.Call` is not the index of an object: `9`"),
        (
            r#"{"type_key": "relay.Call", "attrs": {"op": "2"}}, {"type_key": "Op", "repr_str": "nn.conv2"}"#,
            "there is no operator `nn.conv2`; did you mean `nn.conv2d`?",
        ),
        (r#"{"type_key": "relax.expr.Function"}"#, "functions of Relax are read from JSON of TVM 0.21 and later"),
        (r#"{"type_key": "te.Tensor"}"#, "objects of type `te.Tensor` are not read here"),
        (
            r#"{"type_key": "relay.Let", "attrs": {"var": "2", "value": "2", "body": "2"}},
               {"type_key": "Op", "repr_str": "add"}"#,
            "an object of type `Op` stands where a variable is expected",
        ),
    ] {
        let parsed = parse(&mut Store::new(), &json(nodes));
        let [error] = &parsed.diagnostics[..] else { panic!("{nodes}: {:?}", parsed.diagnostics) };
        assert!(error.code == "front-saved" && error.message.contains(wanted), "{nodes}: {}", error.message);
    }
}
