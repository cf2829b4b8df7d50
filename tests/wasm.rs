//! The boundary to JavaScript, run as the page runs it: requests of `src/boundary` in, answers out.
//!
//! Natively it is compiled for clippy alone: there is no JavaScript to run it with.

use js_sys::{JSON, Object, Reflect};
use passlab::wasm::Session;
use wasm_bindgen::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn handle(session: &mut Session, request: &str) -> JsValue {
    let request = JSON::parse(request).expect("the request is JSON");
    session.handle(request).expect("the engine answers")
}

fn get(value: &JsValue, path: &str) -> JsValue {
    path.split('.').fold(value.clone(), |value, key| Reflect::get(&value, &key.into()).expect("an object"))
}

/// Makes a `run` request for a program and a list of passes.
fn run(source: &str, passes: &[&str]) -> String {
    run_with(source, passes, "")
}

fn run_with(source: &str, passes: &[&str], script: &str) -> String {
    let source = JSON::stringify(&source.into()).expect("a string").as_string().expect("a string");
    let passes: Vec<String> = passes.iter().map(|p| format!("{{\"call\":\"{p}\",\"enabled\":true}}")).collect();
    format!(
        "{{\"type\":\"run\",\"document\":{{\"source\":{source},\"passes\":[{}],\"optLevel\":3,\"required\":[],\"disabled\":[],\
         \"config\":{{}},\"instruments\":[\"VerifyEach\"],\"script\":\"{script}\"}}}}",
        passes.join(",")
    )
}

const PROGRAM: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  add(%x, multiply(2f, 3f))\n}\n";

#[test]
fn a_run_answers_with_steps_and_their_texts_and_diffs_are_pulled() {
    let session = &mut Session::new();
    let answer = handle(session, &run(PROGRAM, &["FoldConstant()"]));
    assert_eq!(get(&answer, "ok"), JsValue::TRUE);
    assert_eq!(get(&answer, "steps.0.name"), JsValue::from("FoldConstant"));
    assert_eq!(get(&answer, "steps.0.outcome"), JsValue::from("changed"));
    let (before, after) = (get(&answer, "steps.0.before"), get(&answer, "steps.0.after"));
    let version = after.as_f64().expect("a number");
    let text = handle(session, &format!("{{\"type\":\"text\",\"version\":{version},\"stable\":false}}"));
    assert!(text.as_string().expect("text").contains("add(%x, 6f"), "{text:?}");
    let before = before.as_f64().expect("a number");
    let diff = handle(session, &format!("{{\"type\":\"diff\",\"before\":{before},\"after\":{version}}}"));
    assert!(get(&diff, "rows.length").as_f64() > Some(0.0));
}

#[test]
fn problems_have_places_in_utf16_units() {
    let session = &mut Session::new();
    let source = "#[version = \"0.0.5\"]\n// \u{1f600}\ndef @main() { %nowhere }\n";
    let answer = handle(session, &run(source, &[]));
    assert_eq!(get(&answer, "ok"), JsValue::FALSE);
    let place = source.encode_utf16().count() - "%nowhere }\n".len();
    assert_eq!(get(&answer, "problems.0.from").as_f64(), Some(place as f64));
    assert_eq!(get(&answer, "problems.0.line").as_f64(), Some(3.0));
}

#[test]
fn a_link_brings_the_document_back() {
    let session = &mut Session::new();
    let request = run(PROGRAM, &["FoldConstant()"]).replace("\"type\":\"run\"", "\"type\":\"encode\"");
    let link = handle(session, &request).as_string().expect("a link");
    let answer = handle(session, &format!("{{\"type\":\"decode\",\"link\":\"#{link}\"}}"));
    assert_eq!(get(&answer, "document.source"), JsValue::from(PROGRAM));
    assert_eq!(get(&answer, "document.optLevel").as_f64(), Some(3.0));
    let hash = handle(session, "{\"type\":\"hash\"}").as_string().expect("a hash");
    assert_eq!(hash.len(), 6, "{hash}");
    let broken = handle(session, "{\"type\":\"decode\",\"link\":\"#1.AAAA\"}");
    assert!(get(&broken, "error").as_string().is_some_and(|e| e.starts_with("link-")));
}

#[test]
fn the_catalogue_lists_what_the_page_offers() {
    let catalogue = handle(&mut Session::new(), "{\"type\":\"catalogue\"}");
    for list in ["passes", "pipelines", "ops", "config", "instruments"] {
        assert!(get(&catalogue, list).is_instance_of::<Object>(), "{list}");
        assert!(get(&catalogue, &format!("{list}.length")).as_f64() > Some(5.0), "{list}");
    }
    // The engine of the page has no examples, but the calls above them.
    let of = |index: usize| get(&catalogue, &format!("passes.{index}.call")).as_string().expect("a call");
    let layout = (0..).map(of).find(|call| call.starts_with("ConvertLayout")).expect("it is listed");
    assert!(layout.starts_with("ConvertLayout(desired_layouts={"), "{layout}");
}

#[test]
fn a_request_that_is_not_in_the_protocol_throws() {
    let request = JSON::parse("{\"type\":\"dance\"}").expect("JSON");
    assert!(Session::new().handle(request).is_err());
}

/// The default stack of a wasm module is one megabyte: recursion over the program would trap here, where unoptimised
/// frames are large. `tests/deep.rs` has chains eight times as long, on a release build.
#[test]
fn a_chain_of_many_thousand_calls_goes_through_everything() {
    let mut source = String::from("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = negative(%x);\n");
    for i in 1..12_000 {
        source += &format!("  %{i} = negative(%{});\n", i - 1);
    }
    source += "  %11999\n}\n";
    let session = &mut Session::new();
    let catalogue = handle(session, "{\"type\":\"catalogue\"}");
    let n_passes = get(&catalogue, "passes.length").as_f64().expect("a number") as usize;
    for i in 0..n_passes {
        let pass = get(&catalogue, &format!("passes.{i}"));
        let needs = (0..get(&pass, "params.length").as_f64().expect("a number") as usize)
            .any(|p| get(&pass, &format!("params.{p}.default")) == "");
        // The chain is a program of Relay.
        if needs || get(&pass, "dialects.0") != "relay" {
            continue;
        }
        let name = get(&pass, "name").as_string().expect("a name");
        // There is no continuation to take away; and of the chain few kernels differ.
        if matches!(name.as_str(), "UnCPS" | "ExtractFusedFunctions") {
            continue;
        }
        let answer = handle(session, &run(&source, &[&name]));
        assert_eq!(get(&answer, "ok"), JsValue::TRUE, "{name}");
        let last = get(&answer, "versions").as_f64().expect("a number") - 1.0;
        let text = handle(session, &format!("{{\"type\":\"text\",\"version\":{last},\"stable\":false}}"));
        assert!(text.as_string().expect("text").len() > 120_000, "{name}");
    }
    let value = handle(session, "{\"type\":\"eval\",\"version\":0,\"func\":\"main\",\"seed\":1,\"given\":{},\"node\":null}");
    assert_eq!(get(&value, "problem"), "");
    // An even number of negations changes nothing.
    let first = get(&value, "result.0.data.0");
    assert!(first.as_f64().is_some() && first == get(&value, "args.0.data.0"));
}

/// Calls the functions that the user's code can reach, in the place of a pass.
fn host(f: impl Fn(&str, js_sys::Uint32Array) -> Result<JsValue, JsValue> + 'static) {
    let call = Closure::<dyn Fn(String, u32, js_sys::Uint32Array) -> Result<JsValue, JsValue>>::new(
        move |what: String, _: u32, words: js_sys::Uint32Array| f(&what, words),
    );
    passlab::wasm::user_host(call.into_js_value().unchecked_into());
}

/// Runs a program with one function pass, which is the host function.
fn run_mine(session: &mut Session) -> JsValue {
    session.begin_script(PROGRAM);
    let desc = "[{\"kind\":\"function\",\"name\":\"Mine\",\"optLevel\":0,\"required\":[],\"index\":0,\"call\":\"\",\
                \"passes\":[],\"listed\":true}]";
    let passes = JSON::parse(desc).expect("JSON");
    session.script_loaded(passes, js_sys::Array::new().into()).expect("one pass");
    handle(session, &run_with(PROGRAM, &["Mine()"], "//"))
}

#[test]
fn ids_of_the_user_are_looked_up_before_they_are_used() {
    use passlab::wasm::*;
    let session = &mut Session::new();
    assert!(user_expr(0).is_err(), "nothing is lent");
    host(|_, words| {
        let function = words.get_index(0);
        for id in [u32::MAX, u32::MAX - 1, 1 << 20] {
            assert!(user_expr(id).is_err() && user_type(id).is_err() && user_pattern(id).is_err());
            assert!(user_attrs(id).is_err() && user_name(id).is_err() && user_constant(id).is_err());
            assert!(user_text(id).is_err() && user_walk(0, id).is_err() && user_record(id, function).is_err());
            assert!(user_var("x", id, 0, false).is_err() && user_var("x", 0, id, false).is_err());
            for kind in 0..20 {
                for words in [&[][..], &[id], &[id; 3], &[function, 0, id], &[function, 0, 0, id], &[id; 9]] {
                    // A tuple and a shape may be empty.
                    let made = words.is_empty() && [5, 16].contains(&kind);
                    assert!(user_build(kind, 0, words).is_err() || made, "{kind} {words:?}");
                }
                assert!(user_make_type(&[kind, id]).is_err(), "type {kind} {id}");
                assert!(user_make_pattern(&[kind, id]).is_err() || kind == 0, "pattern {kind} {id}");
            }
            assert!(user_module_text(&[0, 0, 0, 1, 0, id, 0]).is_err() && user_module_text(&[0, 0, 0, id]).is_err());
        }
        Ok(function.into())
    });
    let answer = run_mine(session);
    assert_eq!(get(&answer, "steps.0.outcome"), JsValue::from("unchanged"), "{:?}", get(&answer, "steps.0.reason"));
}

#[test]
fn what_a_pass_throws_is_its_failure_and_the_memory_is_back() {
    let session = &mut Session::new();
    host(|_, _| Err(js_sys::Error::new("no").into()));
    let answer = run_mine(session);
    assert_eq!(get(&answer, "steps.0.outcome"), JsValue::from("failed"));
    assert_eq!(get(&answer, "steps.0.reason"), JsValue::from("no"));
    host(|_, _| Ok(JsValue::from("not a number")));
    assert_eq!(get(&run_mine(session), "steps.0.reason"), JsValue::from("a function pass must return a function"));
    let plain = handle(session, &run(PROGRAM, &["FoldConstant()"]));
    assert_eq!(get(&plain, "steps.0.outcome"), JsValue::from("changed"));
}

#[test]
fn while_a_script_is_loaded_no_request_is_answered() {
    let session = &mut Session::new();
    session.begin_script(PROGRAM);
    let request = JSON::parse("{\"type\":\"text\",\"version\":0,\"stable\":false}").expect("JSON");
    assert!(session.handle(request).is_err());
    let nothing = || js_sys::Array::new().into();
    session.script_loaded(nothing(), nothing()).expect("nothing was made");
    assert!(session.script_loaded(nothing(), nothing()).is_err());
    assert_eq!(get(&handle(session, &run(PROGRAM, &[])), "ok"), JsValue::TRUE);
}
