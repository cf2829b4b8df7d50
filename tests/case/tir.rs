//! Cases of TIR: texts that are read and printed back, sources as tests write them, passes, and programs that
//! are run.

use super::{Case, Verdict, compare_values, explain, judge_parse as judge_any_parse};
use passlab::cli::json::value_from_json;
use passlab::eval::{self, EvalOptions, Value};
use passlab::ir::{Expr, Store, equal};
use passlab::parse::trace::parse_trace;
use passlab::print::{self, PrintOptions};
use passlab::schedule::{State, apply_trace};
use passlab::session::open;
use serde_json::Value as Json;
use std::collections::HashSet;
use std::path::Path;

fn lines(file: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

/// Returns the cases of `../shared/cases/tir`: `tir:roundtrip`, `tir:parse`, `tir:eval`, those of each pass, and
/// `tir:texts`: each program of a case of passes or schedules, once.
pub fn read(folder: &Path, filters: &[&String]) -> Vec<Case> {
    let wanted = |group: &str, id: &str| {
        let stem = group.trim_start_matches("tir:");
        let bare = stem.rsplit('.').next().unwrap_or(stem);
        filters.is_empty()
            || filters.iter().any(|f| [group, stem, bare, "tir"].contains(&f.as_str()) || id.starts_with(f.as_str()))
    };
    let mut cases = Vec::new();
    let mut add = |group: &str, id: &str, call: &str, json: Json| {
        if wanted(group, id) {
            cases.push(Case { group: group.to_owned(), id: id.to_owned(), call: call.to_owned(), json });
        }
    };
    for kind in ["roundtrip", "parse", "eval", "schedule"] {
        for json in lines(&folder.join(format!("{kind}.jsonl"))) {
            let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
            add(&format!("tir:{kind}"), &text("id"), &text("test"), json);
        }
    }
    let mut files = vec![folder.join("schedule.jsonl")];
    files.extend(std::fs::read_dir(folder.join("passes")).into_iter().flatten().flatten().map(|entry| entry.path()));
    files.sort();
    let mut seen = HashSet::new();
    for file in files {
        for json in lines(&file) {
            if let Some(pass) = json["pass"].as_str() {
                let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
                add(&format!("tir:{pass}"), &text("id"), &text("call"), json.clone());
            }
            for key in ["before", "after"] {
                if let Some(text) = json[key].as_str()
                    && seen.insert(text.to_owned())
                {
                    let id = json["id"].as_str().unwrap_or_default();
                    add("tir:texts", id, key, serde_json::json!({ "printed": text }));
                }
            }
        }
    }
    cases
}

/// Tests that a source is read as TVM reads it, or refused if TVM refuses it.
pub fn judge_parse(case: &Case) -> Verdict {
    judge_any_parse(case)
}

/// Tests that a schedule gives TVM's result, or is refused if TVM refuses it.
pub fn judge_schedule(case: &Case) -> Verdict {
    let text = |key: &str| case.json[key].as_str().unwrap_or_default();
    let mut store = Store::new();
    let opened = open(&mut store, text("before"));
    if !opened.is_ok() {
        return explain(&opened.diagnostics);
    }
    let trace = match parse_trace(text("trace")) {
        Ok(trace) => trace,
        Err(found) => return explain(&found),
    };
    let mut state = State::new(&mut store, &opened.module);
    let result = apply_trace(&mut state, &trace);
    let module = state.module();
    let expects_error = case.json["error"].is_string();
    match result {
        Err(failure) if failure.message.starts_with("NotImplemented") => return Verdict::Unsupported(failure.message),
        Err(failure) if expects_error && failure.done + 1 == trace.len() => return Verdict::Equal { text: true },
        Err(failure) => return Verdict::Different(format!("refused: {}", failure.message)),
        Ok(()) if expects_error => return Verdict::Different("TVM reports an error".to_owned()),
        Ok(()) => {}
    }
    let expected = open(&mut store, text("after"));
    if !expected.is_ok() {
        return explain(&expected.diagnostics);
    }
    let ours = print::module(&store, &module, &PrintOptions::default());
    let options = equal::EqualOptions { scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
    match equal::modules(&store, &module, &expected.module, options) {
        Ok(()) => Verdict::Equal { text: ours == text("after") },
        Err(difference) => Verdict::Different(difference.to_string()),
    }
}

/// Tests that a function gives the arguments that it writes, in their order.
pub fn judge_eval(case: &Case) -> Verdict {
    let mut store = Store::new();
    let opened = open(&mut store, case.json["source"].as_str().unwrap_or_default());
    if !opened.is_ok() {
        return explain(&opened.diagnostics);
    }
    let args: Result<Vec<Value>, String> = case.json["args"].as_array().into_iter().flatten().map(value_from_json).collect();
    let (args, expected) = match (args, value_from_json(&case.json["out"])) {
        (Ok(args), Ok(expected)) => (args, expected),
        (Err(e), _) | (_, Err(e)) => return Verdict::Different(format!("the case itself: {e}")),
    };
    let function = case.json["func"].as_str().unwrap_or_default();
    let name = store.name(function);
    let Some(Expr::PrimFunc(program)) = opened.module.function(name).map(|id| store.expr(id)) else {
        return Verdict::Different(format!("`{function}` is no tensor program"));
    };
    match eval::apply_prim_func(&store, &opened.module, program, &args, EvalOptions::default(), (None, true)) {
        Err(error) => explain(&[error.to_diagnostic()]),
        Ok(applied) => match compare_values(&applied.value, &expected) {
            Ok(()) => Verdict::Equal { text: true },
            Err(why) => Verdict::Different(why),
        },
    }
}
