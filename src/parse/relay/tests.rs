//! Tests the grammar and the programs built from it. Whole files are read in `tests/parse.rs`.

use crate::diag::{Diagnostic, LineIndex};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Function, Store, Type, VarId, walk};
use crate::parse::{Parsed, parse, parse_type};

const HEADER: &str = "#[version = \"0.0.5\"]\n";

/// Parses a text that must be without problems.
fn read(store: &mut Store, source: &str) -> Parsed {
    let parsed = parse(store, source);
    assert!(parsed.diagnostics.is_empty(), "{source}\n{:#?}", parsed.diagnostics);
    parsed
}

fn read_expr(store: &mut Store, source: &str) -> ExprId {
    read(store, source).program.expr.expect("an expression")
}

/// Returns the only function of a module.
fn read_function(store: &mut Store, source: &str) -> Function {
    let parsed = read(store, &format!("{HEADER}{source}"));
    let (_, function) = parsed.program.module.functions()[0];
    store.as_function(function).expect("a function")
}

fn message(d: &Diagnostic, index: &LineIndex, source: &str) -> String {
    let (line, column) = d.span.map_or((0, 0), |s| index.line_column(source, s.start));
    format!("{line}:{column} {}: {}", d.code, d.message)
}

/// Returns the problems of an expression, as `line:column code: message`.
fn problems(source: &str) -> Vec<String> {
    let index = LineIndex::new(source);
    parse(&mut Store::new(), source).diagnostics.iter().map(|d| message(d, &index, source)).collect()
}

/// Returns the problems of a module without its header, which would shift the lines.
fn module_problems(source: &str) -> Vec<String> {
    let text = format!("#[version = \"0.0.5\"] {source}");
    let shift = text.len() - source.len();
    let index = LineIndex::new(source);
    let mut found = parse(&mut Store::new(), &text).diagnostics;
    for span in found.iter_mut().filter_map(|d| d.span.as_mut()) {
        *span = crate::diag::Span::new((span.start as usize).saturating_sub(shift), (span.end as usize).saturating_sub(shift));
    }
    found.iter().map(|d| message(d, &index, source)).collect()
}

/// Writes an expression in prefix form, for comparisons.
fn form(store: &Store, id: ExprId) -> String {
    let all = |ids: Vec<ExprId>| ids.into_iter().map(|i| form(store, i)).collect::<Vec<_>>().join(" ");
    let var = |v: VarId| format!("%{}", store.var_name(v));
    match store.expr(id) {
        Expr::Var(v) => var(v),
        Expr::Global(name) => format!("@{}", store.str(name)),
        Expr::Op(op) => crate::ops::info(op).name.to_string(),
        Expr::Ctor(ctor) => store.str(store.ctor(ctor).name).to_string(),
        Expr::Constant(t) => {
            let data = store.tensor(t).data.clone().unwrap_or_default();
            data.first().map_or("?".into(), |b| b.to_string())
        }
        Expr::Tuple(fields) => format!("({})", all(store.items(fields).collect())),
        Expr::TupleGetItem { tuple, index } => format!("{}.{index}", form(store, tuple)),
        Expr::Call { callee, args, .. } => {
            format!("[{} {}]", form(store, callee), all(store.items(args).collect())).replace(" ]", "]")
        }
        Expr::Let { var: v, value, body } => format!("let {} = {}; {}", var(v), form(store, value), form(store, body)),
        Expr::If { cond, then, other } => {
            format!("if {} {{{}}} else {{{}}}", form(store, cond), form(store, then), form(store, other))
        }
        Expr::Function(f) => format!("fn {{{}}}", form(store, store.function(f).body)),
        Expr::Match { data, clauses, complete } => {
            let arms: Vec<String> = store.items(clauses).map(|c| form(store, store.clause(c).body)).collect();
            format!("match{} {} {{{}}}", if complete { "" } else { "?" }, form(store, data), arms.join(", "))
        }
        Expr::RefCreate(v) => format!("ref({})", form(store, v)),
        Expr::RefRead(r) => format!("ref_read({})", form(store, r)),
        Expr::RefWrite { reference, value } => format!("ref_write({}, {})", form(store, reference), form(store, value)),
        other => format!("{:?}", other.kind()),
    }
}

fn expr_form(source: &str) -> String {
    let store = &mut Store::new();
    let id = read_expr(store, source);
    form(store, id)
}

fn body_form(source: &str) -> String {
    let store = &mut Store::new();
    let function = read_function(store, source);
    form(store, function.body)
}

#[test]
fn operators_bind_by_precedence_and_to_the_left() {
    assert_eq!(expr_form("1 * 2 + 3 < 4 == 5"), "[equal [less [add [multiply 1 2] 3] 4] 5]");
    assert_eq!(expr_form("1 == 2 < 3 + 4 * 5"), "[equal 1 [less 2 [add 3 [multiply 4 5]]]]");
    assert_eq!(expr_form("1 - 2 - 3"), "[subtract [subtract 1 2] 3]");
    assert_eq!(expr_form("1 <= 2 != (3 >= 4)"), "[not_equal [less_equal 1 2] [greater_equal 3 4]]");
}

#[test]
fn tuples_have_a_comma_and_projections_one_dot() {
    assert_eq!(expr_form("((), (1), (1,), (1, 2).0)"), "(() 1 (1) (1 2).0)");
    assert_eq!(expr_form("(1, 2 3 4,)"), "(1 2 3 4)", "only the first comma is needed");
    assert_eq!(problems("(1, 2).0.1"), ["1:8 relay-syntax: a field of a tuple is a whole number, not `0.1`"]);
    assert_eq!(problems("(1 2)"), ["1:4 relay-syntax: expected `,` or `)`, found `2`"]);
}

#[test]
fn statements_become_lets_and_numbered_variables_are_shared() {
    assert_eq!(expr_form("let %x = 1; 2; %x"), "let %x = 1; let % = 2; %x");
    let store = &mut Store::new();
    let id = read_expr(store, "%0 = (1, 2); %1 = (%0, %0); %1");
    let Expr::Tuple(fields) = store.expr(id) else { panic!() };
    assert_eq!(store.item(fields, 0), store.item(fields, 1));
}

#[test]
fn a_let_is_in_scope_in_its_own_value_and_hides_outer_ones() {
    let store = &mut Store::new();
    let id = read_expr(store, "let %f = fn () { %f }; let %f = 1; %f");
    let Expr::Let { var: outer, value, body } = store.expr(id) else { panic!() };
    let Expr::Function(f) = store.expr(value) else { panic!() };
    assert!(matches!(store.expr(store.function(f).body), Expr::Var(v) if v == outer));
    let Expr::Let { var: inner, body, .. } = store.expr(body) else { panic!() };
    assert!(matches!(store.expr(body), Expr::Var(v) if v == inner && v != outer));
}

#[test]
fn a_name_bound_twice_in_one_scope_keeps_its_first_meaning() {
    let store = &mut Store::new();
    let parsed = parse(store, "fn (%x) { let %x = 1; %x }");
    assert_eq!(parsed.diagnostics[0].code, "relay-rebound-var");
    let function = store.as_function(parsed.program.expr.unwrap()).unwrap();
    let Expr::Let { body, .. } = store.expr(function.body) else { panic!() };
    assert_eq!(body, store.use_var(store.item(function.params, 0)));
}

#[test]
fn scopes_end_with_their_braces() {
    assert_eq!(
        problems("if (True) { let %x = (); () } else { %x }"),
        ["1:38 relay-unbound-var: this local variable has not been previously declared: `%x`"]
    );
    assert_eq!(problems("((let %y = 1; %y), %y)").len(), 1);
}

#[test]
fn references_matches_and_calls_of_calls() {
    assert_eq!(expr_form("ref_write(ref(1), ref_read(ref(2)))"), "ref_write(ref(1), ref_read(ref(2)))");
    assert_eq!(expr_form("let %f = 1; %f(2)(3, 4)"), "let %f = 1; [[%f 2] 3 4]");
    assert_eq!(expr_form("let %x = match? ((1, 2)) { (_, %b) => %b, _ => { 3 } }; %x"), "let %x = match? (1 2) {%b, 3}; %x");
}

#[test]
fn constructors_without_fields_are_calls() {
    let list = "type List[A] { Cons(A, List[A]), Nil }\n";
    assert_eq!(
        body_form(&format!("{list}def @f() {{ match (Nil) {{ Cons(%h, Cons(_, _)) => Cons(%h, Nil), Nil => Cons, }} }}")),
        "match [Nil] {[Cons %h [Nil]], Cons}"
    );
}

#[test]
fn a_bare_expression_may_declare_free_variables() {
    assert_eq!(expr_form("free_var %base/x: int32;\n%base/x + 1"), "[add %base/x 1]");
}

#[test]
fn types_are_read_as_tvm_prints_them() {
    let store = &mut Store::new();
    let ty = parse_type(store, "fn [A](Tensor[(1, ?, 3i64), float32], (A,)) -> ref(A)").unwrap();
    let Type::Func { type_params, params, ret } = store.type_of_id(ty).clone() else { panic!() };
    let a = Type::Var(type_params[0]);
    let Type::Tensor { shape, .. } = store.type_of_id(params[0]).clone() else { panic!() };
    assert_eq!(*shape, [Dim::int(1), Dim::Any, Dim::Int { value: 3, bits: 64 }]);
    let a = store.ty(a);
    assert_eq!(*store.type_of_id(params[1]), Type::Tuple([a].into()));
    assert_eq!(*store.type_of_id(ret), Type::Ref(a));
    let storage = parse_type(store, "Storage[]").unwrap();
    assert_eq!(parse_type(store, "Storage").unwrap(), storage);
    assert_eq!(parse_type(store, "int").unwrap(), parse_type(store, "Tensor[(), int32]").unwrap());
    assert_eq!(parse_type(store, "flaot32[").unwrap_err()[0].code, "relay-syntax");
    assert_eq!(parse_type(store, "float33x").unwrap_err()[0].notes, ["did you mean `float32`?"]);
}

#[test]
fn a_chain_of_function_types_is_not_deeper_than_brackets_may_be() {
    let store = &mut Store::new();
    assert!(parse_type(store, &format!("{}int32", "fn () -> ".repeat(200))).is_ok());
    let error = &parse_type(store, &format!("{}int32", "fn () -> ".repeat(100_000))).unwrap_err()[0];
    assert_eq!(error.code, "relay-too-deep");
}

#[test]
fn functions_have_type_parameters_and_attributes() {
    let store = &mut Store::new();
    let f = read_function(store, "def @f[A](%x: A, Primitive=1, relay.reshape_only=True, Compiler=\"x\\\"y\") -> A { %x }");
    assert_eq!(f.type_params.len(), 1);
    assert_eq!(store.attr(f.attrs, "Primitive"), Some(&AttrValue::int(1)));
    assert_eq!(store.attr(f.attrs, "relay.reshape_only"), Some(&AttrValue::int(1)), "TVM reads True as 1");
    assert_eq!(store.attr_str(f.attrs, "Compiler"), Some("x\"y"));
    let f = read_function(store, "def @g(relay.reshape_only=1) { () }");
    assert_eq!(store.attr_int(f.attrs, "relay.reshape_only"), Some(1), "a dotted name may stand first");
}

#[test]
fn call_attributes_are_completed_and_converted() {
    let store = &mut Store::new();
    let id = read_expr(store, "clip(1f, a_min=-inff, a_max=6)");
    let call = store.call(id).unwrap();
    assert_eq!(store.attr_float(call.attrs, "a_min"), Some(f64::NEG_INFINITY));
    assert_eq!(store.attr(call.attrs, "a_max").and_then(AttrValue::as_float), Some(6.0));
    let id = read_expr(store, "nn.softmax(1f)");
    let attrs = store.call(id).unwrap().attrs;
    assert_eq!(store.attr_int(attrs, "axis"), Some(-1), "a default set, though none was written");
    let id = read_expr(store, "1 + 1");
    assert_eq!(store.call(id).unwrap().attrs, None);
}

#[test]
fn equal_attribute_texts_give_equal_attributes() {
    let store = &mut Store::new();
    let id = read_expr(store, "(nn.softmax(1f, axis=1), nn.softmax(2f, axis=1), nn.softmax(2f, axis=(2)))");
    let Expr::Tuple(fields) = store.expr(id) else { panic!() };
    let axes: Vec<_> = store.items(fields).map(|f| store.attr_int(store.call(f).unwrap().attrs, "axis")).collect();
    assert_eq!(axes, [Some(1), Some(1), Some(2)]);
}

#[test]
fn attributes_are_read_to_their_end_however_long_they_are() {
    let store = &mut Store::new();
    let pads = "1, ".repeat(300);
    let text = format!("(nn.conv2d(1, 2, data_layout=\")\"), nn.conv2d(1, 2), nn.conv2d(1, 2, padding=[{pads}]))");
    let id = read_expr(store, &text);
    let Expr::Tuple(fields) = store.expr(id) else { panic!() };
    let attrs: Vec<_> = store.items(fields).map(|f| store.call(f).unwrap().attrs).collect();
    assert_eq!(store.attr_str(attrs[0], "data_layout"), Some(")"));
    assert_eq!(store.attr_ints(attrs[2], "padding").map(|p| p.len()), Some(300));
}

#[test]
fn a_callee_without_schema_says_what_its_attributes_are() {
    let store = &mut Store::new();
    let id = read_expr(store, "@f(1f, attrs_type_key=\"relay.attrs.SoftmaxAttrs\", axis=2)");
    let attrs = store.call(id).unwrap().attrs;
    assert_eq!(store.attr_int(attrs, "axis"), Some(2));
    assert!(problems("@f(1f, axis=2)")[0].contains("unable to determine the 'attrs_type_key'"));
}

#[test]
fn wrong_attributes_are_named() {
    assert_eq!(
        problems("nn.softmax(1f, axes=1)"),
        ["1:16 relay-unknown-attr: relay.attrs.SoftmaxAttrs: does not have field 'axes'"]
    );
    assert_eq!(
        problems("nn.softmax(1f, axis=[1])"),
        ["1:16 relay-attr-type: attribute `axis` of `nn.softmax` must be an integer, not a list"]
    );
    assert_eq!(
        problems("expand_dims(1f)"),
        ["1:1 relay-missing-attr: relay.attrs.ExpandDimsAttrs: Cannot find required field 'axis' during initialization. \
             If the key is defined check that its type matches the declared type."]
    );
    assert_eq!(problems("cast(1f, dtype=\"flout32\")"), ["1:10 relay-type: unknown element type `flout32`"]);
    assert_eq!(problems("nn.max_pool2d(1f, pool_size=(1, 1))"), ["1:31 relay-syntax: expected `)`, found `,`"]);
}

#[test]
fn names_of_imported_models_are_read_back() {
    assert_eq!(
        body_form(
            "def @f(%input.1: int32, %a-b: int32, %onnx::Add_0: int32, %t:0: int32, %if: int32) { (%input.1, %a-b, %onnx::Add_0, %t:0, %if) }"
        ),
        "(%input.1 %a-b %onnx::Add_0 %t:0 %if)"
    );
    assert_eq!(body_form("def @f(%x.1: int32, %y: (int32,)) { (%x.1, %y.0) }"), "(%x.1 %y.0)");
    assert_eq!(body_form("def @f() { @g-1.x(1) }"), "[@g-1.x 1]");
}

#[test]
fn a_let_that_is_a_value_is_read_without_parentheses() {
    let text =
        "def @f(%x: int32) { let %a = let %b = abs(%x); %7 = abs(%b); add(%7, %b); let %c = let %d = let %e = %a; %e; %d; %c }";
    let same = "def @f(%x: int32) { let %a = (let %b = abs(%x); %7 = abs(%b); add(%7, %b)); let %c = (let %d = (let %e = %a; %e); %d); %c }";
    let store = &mut Store::new();
    let function = parse(store, &format!("{HEADER}{text}")).program.module.functions()[0].1;
    let body = store.as_function(function).expect("a function").body;
    assert_eq!(form(store, body), body_form(same));
    let deep = format!("def @f() {{ {} 1{} }}", (0..300).map(|i| format!("let %a{i} = ")).collect::<String>(), "; 1".repeat(300));
    let problems = module_problems(&deep);
    assert_eq!(problems[0], "1:22 relay-open-let: TVM cannot read a `let` here");
    assert!(problems[1].contains("nested too deeply"), "{}", problems[1]);
}

#[test]
fn one_bad_function_does_not_hide_the_others() {
    let source = "\
def @a(%x: int32) { %y }
def @b(%x: int32) { add(%x, }
def @c(%x: int32) { @a(%x) }
def @d(%x: Tensor[(1, 2] { %x }
def @e(%x: int32) {
  %0 = addd(%x, %x);
  %1 = nn.softmax(%0;
  let %z = %1 + ;
  %z + %w
}";
    let text = format!("{HEADER}{source}");
    let store = &mut Store::new();
    let program = parse(store, &text).program;
    let names: Vec<&str> = program.module.functions().iter().map(|(n, _)| store.str(*n)).collect();
    assert_eq!(names, ["c"]);
    let left_out: Vec<&str> = program.left_out.iter().map(|n| store.str(*n)).collect();
    assert_eq!(left_out, ["a", "b", "d", "e"]);
    assert_eq!(
        module_problems(source),
        [
            "1:21 relay-unbound-var: this local variable has not been previously declared: `%y`",
            "2:29 relay-syntax: expected an expression, found `}`",
            "4:24 relay-syntax: expected `,` or `)`, found `]`",
            "6:8 relay-unknown-op: operator `addd` not found, perhaps you forgot to register it?",
            "7:21 relay-syntax: expected `,` or `)`, found `;`",
            "8:17 relay-syntax: expected an expression, found `;`",
            "9:8 relay-unbound-var: this local variable has not been previously declared: `%w`",
        ]
    );
}

#[test]
fn a_forgotten_semicolon_is_one_error_and_the_binding_behind_it_counts() {
    assert_eq!(
        module_problems(
            "def @f(%x) {\n  %0 = add(%x, %x)\n  %1 = tanh(%0);\n  let %y = %1\n  let %z = %y;\n  tanh(%z)\n  %2 = %z;\n  %2 }"
        ),
        [
            "2:19 relay-syntax: expected `;`, found `%1`",
            "4:14 relay-syntax: expected `;`, found `let`",
            "6:11 relay-syntax: expected `;`, found `%2`",
        ]
    );
    let found = parse(&mut Store::new(), "{ %0 = 1; }").diagnostics;
    assert_eq!(found[0].notes, ["the last thing in a block is its value and has no `;` behind it"]);
}

#[test]
fn misspelt_names_get_a_suggestion() {
    let note = |source: &str| parse(&mut Store::new(), source).diagnostics[0].notes.join(" ");
    assert_eq!(note("nn.sofmax(1f)"), "did you mean `nn.softmax`?");
    assert_eq!(note("nn.softmax(1f, axsi=1)"), "did you mean `axis`? Possible fields: axis");
    assert_eq!(note("let %weight = 1; %wieght"), "did you mean `%weight`?");
    assert_eq!(note("1.5"), "a floating point number is written `1.5f`");
    assert_eq!(note("1-2"), "write blanks around `+` and `-`");
}

#[test]
fn what_is_missing_at_the_end_is_named_with_the_bracket_that_is_open() {
    let text = format!("{HEADER}def @main(%x: int32) {{\n  add(%x, 1");
    let parsed = parse(&mut Store::new(), &text);
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(parsed.diagnostics[0].message, "expected `,` or `)`, found the end of the text");
    assert_eq!(parsed.diagnostics[0].notes, ["`(` in line 3, column 6 is not closed"]);
}

#[test]
fn a_module_needs_its_version() {
    let unsaid = "1:1 relay-version: the text does not say its version: it is read as version 0.0.5";
    assert_eq!(problems("def @main() { 1 }"), [unsaid]);
    assert_eq!(problems("#[version = \"0.0.6\"]\n1"), ["1:1 relay-version: invalid semantic version `\"0.0.6\"`"]);
    for head in ["v0.0.4", "#[version = \"0.0.4\"]"] {
        let old = "1:1 relay-version: this is the head of an older TVM; today it is `#[version = \"0.0.5\"]`";
        assert_eq!(problems(&format!("{head}\ndef @main() {{ 1 }}")), [old]);
    }
    assert!(read(&mut Store::new(), HEADER).program.module.functions().is_empty());
}

#[test]
fn types_and_constructors_are_defined_once() {
    assert_eq!(
        module_problems("type A { X }\ntype A { Y }\ntype B { X }"),
        [
            "2:6 relay-duplicate: a type with the name `A` was previously defined",
            "3:10 relay-duplicate: a constructor with the name `X` was previously defined",
        ]
    );
}

#[test]
fn constructors_of_a_broken_type_are_no_further_errors() {
    assert_eq!(module_problems("type A { X(, Y }\ndef @f() { X(1) }"), ["1:12 relay-syntax: expected a type, found `,`"]);
}

#[test]
fn numbered_variables_are_seen_by_later_functions_and_may_not_leak_their_variables() {
    let found = module_problems("def @f(%x) { %0 = (%x,); %0 }\ndef @g() { %0 }");
    assert_eq!(found, ["2:5 relay-free-var: function `@g` has free variables: `%x`"]);
    assert_eq!(module_problems("def @f() { %0 = (1,); %0 }\ndef @g() { %0 }"), [""; 0]);
}

#[test]
fn ten_thousand_brackets_are_one_error() {
    for bracket in ["(", "{", "[", "fn (", "if (", "add(", "match (", "ref(", "nn.softmax(1, axis=["] {
        let found = problems(&bracket.repeat(10_000));
        assert!((1..3).contains(&found.len()), "{bracket}: {found:?}");
    }
    let text = format!("{HEADER}def @f() {{ {} 1 {} }} def @g() {{ 1 }}", "(".repeat(300), ")".repeat(300));
    let parsed = parse(&mut Store::new(), &text);
    assert_eq!(parsed.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["relay-too-deep"]);
    assert_eq!(parsed.program.module.functions().len(), 1);
}

#[test]
fn the_call_stack_holds_the_deepest_nesting_in_a_megabyte() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(250), close.repeat(250));
    let texts = [deep("(", ")"), deep("{", "}"), deep("fn () {", "}"), deep("if (True) {", "} else {1}"), deep("add(1, ", ")")];
    let run = move || texts.iter().all(|t| !parse(&mut Store::new(), t).has_errors());
    assert!(std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap());
}

#[test]
fn long_programs_are_read_without_recursion() {
    let n = 100_000;
    let graph: String = (0..n).map(|i| format!("%{} = tanh(%{i});\n", i + 1)).collect();
    let lets: String = (0..n).map(|i| format!("let %v{} = tanh(%v{i});\n", i + 1)).collect();
    let sum = "1 + ".repeat(n);
    for text in [format!("%0 = 1f;\n{graph}%{n}"), format!("let %v0 = 1f;\n{lets}%v{n}"), format!("{sum}1")] {
        let store = &mut Store::new();
        let id = read_expr(store, &text);
        assert!(walk::post_order(store, id).len() >= n);
    }
}
