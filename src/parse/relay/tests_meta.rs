//! The metadata section, and texts without it.

use crate::diag::Diagnostic;
use crate::ir::{AttrValue, DType, Dim, Expr, ExprId, PrimExpr, PrimOp, Store, Type};
use crate::parse::{parse, parse_type};
use base64::Engine;

/// Makes a section with these nodes behind the null node, and the entries `keys` in it.
fn section(keys: &[(&str, &[usize])], nodes: &[&str], arrays: &[String]) -> String {
    let first = nodes.len() + 1;
    let names: Vec<String> = keys.iter().map(|(k, _)| format!("\"{k}\"")).collect();
    let lists: Vec<String> =
        keys.iter().map(|(_, entries)| format!("{{\"type_key\": \"Array\", \"data\": {entries:?}}}")).collect();
    let data: Vec<usize> = (first..first + keys.len()).collect();
    let all: Vec<String> = std::iter::once("{\"type_key\": \"\"}".to_string())
        .chain(nodes.iter().map(|n| n.to_string()))
        .chain(lists)
        .chain([format!("{{\"type_key\": \"Map\", \"keys\": [{}], \"data\": {data:?}}}", names.join(", "))])
        .collect();
    let arrays: Vec<String> = arrays.iter().map(|a| format!("\"{a}\"")).collect();
    format!(
        "\n#[metadata]\n{{\"root\": {}, \"nodes\": [{}], \"b64ndarrays\": [{}], \"attrs\": {{\"tvm_version\": \"0.19.0\"}}}}",
        first + keys.len(),
        all.join(", "),
        arrays.join(", ")
    )
}

/// Returns `[1, 2]` of type int16, as TVM saves it.
fn tensor() -> String {
    let mut bytes = 0xDD5E_40F0_96B4_A13F_u64.to_le_bytes().to_vec();
    bytes.extend([0; 8]);
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 16, 1, 0]);
    bytes.extend(2_i64.to_le_bytes());
    bytes.extend(4_i64.to_le_bytes());
    bytes.extend([1, 0, 2, 0]);
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

const CONSTANT: &str = r#"{"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}}"#;
const TYPED: &str = r#"{"type_key": "relay.Constant", "attrs": {"_checked_type_": "4", "data": "0", "span": "0"}}"#;

fn read(store: &mut Store, text: &str) -> ExprId {
    let parsed = parse(store, text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{:#?}", parsed.diagnostics);
    parsed.program.expr.expect("an expression")
}

fn fields(store: &Store, id: ExprId) -> Vec<ExprId> {
    match store.expr(id) {
        Expr::Tuple(fields) => store.items(fields).collect(),
        other => panic!("{other:?}"),
    }
}

fn problem(text: &str) -> Diagnostic {
    parse(&mut Store::new(), text).diagnostics.into_iter().next().unwrap_or_else(|| panic!("no problem in {text}"))
}

#[test]
fn constants_have_their_elements_and_entries_used_twice_are_one_node() {
    let store = &mut Store::new();
    let refs = "(meta[relay.Constant][0], meta[relay.Constant][1], meta[relay.Constant][0])";
    let id = read(store, &format!("{refs}{}", section(&[("relay.Constant", &[1, 2])], &[CONSTANT, CONSTANT], &[tensor()])));
    let [a, b, c] = fields(store, id)[..] else { panic!() };
    assert!(a == c && a != b);
    let Expr::Constant(t) = store.expr(a) else { panic!() };
    let t = store.tensor(t);
    assert_eq!((t.dtype, &*t.shape, t.data.as_deref()), (DType::I16, &[2][..], Some(&[1, 0, 2, 0][..])));
    assert_eq!(store.checked_type(a), None);
}

#[test]
fn a_checked_type_of_the_section_is_kept() {
    let store = &mut Store::new();
    let nodes = [
        TYPED,
        r#"{"type_key": "IntImm", "attrs": {"dtype": "int64", "value": "2"}}"#,
        r#"{"type_key": "Array", "data": [2]}"#,
        r#"{"type_key": "relay.TensorType", "attrs": {"dtype": "int16", "shape": "3", "span": "0"}}"#,
    ];
    let id = read(store, &format!("meta[relay.Constant][0]{}", section(&[("relay.Constant", &[1])], &nodes, &[tensor()])));
    assert_eq!(store.checked_type(id), Some(parse_type(store, "Tensor[(2i64), int16]").unwrap()));
}

#[test]
fn symbolic_extents_keep_their_identity_inside_arithmetic() {
    let store = &mut Store::new();
    let nodes = [
        r#"{"type_key": "tir.SizeVar", "attrs": {"dtype": "int32", "name": "2", "span": "0", "type_annotation": "0"}}"#,
        r#"{"type_key": "runtime.String", "repr_str": "n"}"#,
        r#"{"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "1"}}"#,
        r#"{"type_key": "tir.Add", "attrs": {"a": "1", "b": "3", "dtype": "int32", "span": "0"}}"#,
    ];
    let text = "fn (%x: Tensor[(meta[tir.SizeVar][0], meta[tir.Add][0]), float32]) { %x }";
    let id = read(store, &format!("{text}{}", section(&[("tir.SizeVar", &[1]), ("tir.Add", &[4])], &nodes, &[])));
    let function = store.as_function(id).unwrap();
    let ty = store.var_data(store.item(function.params, 0)).annotation.unwrap();
    let Type::Tensor { shape, .. } = store.type_of_id(ty) else { panic!() };
    let [Dim::Symbol(n), Dim::Expr(sum)] = shape[..] else { panic!("{shape:?}") };
    assert!(store.symbol(n).size && store.str(store.symbol(n).name) == "n");
    let PrimExpr::Binary { op: PrimOp::Add, a, b } = *store.prim_of_id(sum) else { panic!() };
    assert_eq!([a, b].map(|operand| store.dim_of_prim(operand)), [Dim::Symbol(n), Dim::int(1)]);
}

#[test]
fn boxed_numbers_and_devices_are_objects_with_an_identity() {
    let store = &mut Store::new();
    let nodes = [
        r#"{"type_key": "runtime.BoxInt", "repr_str": "3"}"#,
        r#"{"type_key": "VirtualDevice", "attrs": {"device_type_int": "1", "memory_scope": "3", "target": "0", "virtual_device_id": "-1"}}"#,
        r#"{"type_key": "runtime.String"}"#,
    ];
    let section = section(&[("runtime.BoxInt", &[1]), ("VirtualDevice", &[2])], &nodes, &[]);
    let text = "fn (%x {virtual_device=meta[VirtualDevice][0]}: int32, virtual_device=meta[VirtualDevice][0]) { \
                split(%x, indices_or_sections=meta[runtime.BoxInt][0], axis=0) }";
    let id = read(store, &format!("{text}{section}"));
    let function = store.as_function(id).unwrap();
    assert_eq!(function.attrs, None);
    let device = function.device.expect("a device");
    assert_eq!(store.var_data(store.item(function.params, 0)).device, Some(device));
    let device_type = store.name("device_type_int");
    let device = store.object(device);
    assert_eq!(device.fields.iter().find(|(n, _)| *n == device_type).map(|(_, v)| v), Some(&AttrValue::int(1)));
    let call = store.call(function.body).unwrap();
    assert_eq!(store.attr_int(call.attrs, "indices_or_sections"), Some(3));
}

#[test]
fn an_entry_may_be_all_the_attributes_of_a_call() {
    let store = &mut Store::new();
    let nodes = [
        r#"{"type_key": "relay.attrs.SoftmaxAttrs", "attrs": {"axis": "2"}}"#,
        r#"{"type_key": "relay.attrs.NotHere", "attrs": {"compiler": "ccompiler"}}"#,
    ];
    let text = "(@f(1, meta[relay.attrs.SoftmaxAttrs][0]), @f(meta[relay.attrs.NotHere][0] /* x */ ))";
    let section = section(&[("relay.attrs.SoftmaxAttrs", &[1]), ("relay.attrs.NotHere", &[2])], &nodes, &[]);
    let id = read(store, &format!("{text}{section}"));
    let calls: Vec<_> = fields(store, id).into_iter().map(|f| store.call(f).unwrap()).collect();
    assert_eq!(store.attr_int(calls[0].attrs, "axis"), Some(2));
    assert_eq!(calls[0].args.len(), 1);
    assert_eq!(store.attr_str(calls[1].attrs, "compiler"), Some("ccompiler"));
}

#[test]
fn without_a_section_constants_have_the_type_of_their_comment_and_no_value() {
    let store = &mut Store::new();
    let text = "(meta[relay.Constant][3] /* ty=Tensor[(2, 3), int8] span=a:1:2 */, meta[relay.Constant][3], \
                meta[relay.Constant][4] /* ty=Tensor[(2, 3), int8] */)";
    let parsed = parse(store, text);
    assert_eq!(parsed.diagnostics.iter().map(|d| d.is_error()).collect::<Vec<_>>(), [false]);
    let [a, b, c] = fields(store, parsed.program.expr.unwrap())[..] else { panic!() };
    assert!(a == b && a != c);
    let Expr::Constant(t) = store.expr(a) else { panic!() };
    assert_eq!((&*store.tensor(t).shape, store.tensor(t).data.is_none()), (&[2, 3][..], true));
    assert_eq!(problem("meta[relay.Constant][0]").code, "relay-metadata");
    assert_eq!(problem("meta[relay.Constant][0] /* ty=Tensor[( */").code, "relay-metadata");
}

#[test]
fn a_section_that_does_not_match_is_reported_where_it_is_used() {
    let section = section(&[("relay.Constant", &[1])], &[CONSTANT], &[]);
    assert_eq!(
        problem(&format!("meta[relay.Constant][1]{section}")).message,
        "the node index `1` is out of bounds for `relay.Constant`"
    );
    assert_eq!(problem(&format!("meta[tir.Var][0]{section}")).message, "no entry in the meta table for `tir.Var`");
    let missing = problem(&format!("meta[relay.Constant][0]{section}"));
    assert_eq!(missing.message, "meta[relay.Constant][0] is damaged: there is no tensor with the index `0`");
    assert_eq!(missing.span.map(|s| (s.start, s.end)), Some((0, 23)));
}

#[test]
fn circles_and_wrong_indices_are_reported() {
    let ring = [r#"{"type_key": "Array", "data": [2]}"#, r#"{"type_key": "Array", "data": [1]}"#];
    let text = |nodes: &[&str]| format!("nn.pad(1, 1, pad_width=meta[Array][0]){}", section(&[("Array", &[1])], nodes, &[]));
    assert!(problem(&text(&ring)).message.ends_with("in a circle"));
    assert!(problem(&text(&[r#"{"type_key": "Array", "data": [99]}"#])).message.contains("not the index of an object"));
    assert!(problem(&text(&[r#"{"type_key": "IntImm", "attrs": {"value": "x"}}"#])).message.contains("not a number"));
    let chain: Vec<String> = (2..1000).map(|i| format!(r#"{{"type_key": "Array", "data": [{i}]}}"#)).collect();
    let chain: Vec<&str> = chain.iter().map(String::as_str).collect();
    assert!(problem(&text(&chain)).message.ends_with("nested too deeply"));
}

#[test]
fn a_section_that_is_not_json_is_reported_in_its_place_even_when_nothing_uses_it() {
    let found = problem("1\n#[metadata]\n{\n  \"root\": 1,,\n}");
    assert_eq!((found.code, found.span.map(|s| s.start)), ("relay-metadata", Some(28)));
    assert!(problem("1\n#[metadata]\n[]").message.contains("is not an object"));
    assert!(problem("1\n#[metadata]\n{\"root\": 7, \"nodes\": []}").message.contains("no root"));
}
