//! One case made by real TVM, and how it is judged.

use passlab::cli::json::value_from_json;
use passlab::diag::Diagnostic;
use passlab::eval::{self, EvalOptions, Value};
use passlab::ir::{DType, DTypeCode, Store, Tensor, equal};
use passlab::pass::call::parse_literal;
use passlab::pass::{Literal, PassContext};
use passlab::print::{self, PrintOptions};
use passlab::session::{Opened, Session, document, open};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

mod own;
mod tir;
mod wild;

/// A case as its file has it.
pub struct Case {
    /// The row of the table it counts in: the pass, or the file.
    pub group: String,
    /// Its stable name.
    pub id: String,
    /// The pass call, if it is about one.
    pub call: String,
    json: Json,
}

/// The outcome of a case.
pub enum Verdict {
    /// Structurally equal to TVM's result, and perhaps in text too.
    Equal {
        /// True if the text is the same.
        text: bool,
    },
    /// It needs a feature that passlab does not have yet.
    Unsupported(String),
    /// Differs from TVM's result.
    Different(String),
}

/// Reads the cases whose group or id is one of the filters: those of the project itself, whose groups begin with `own:`,
/// and those of a folder. There groups of Relax begin with `relax:`, those of TIR with `tir:`, programs as people paste
/// them with `wild:`.
pub fn read_all(folder: Option<&Path>, filters: &[&String]) -> Vec<Case> {
    let mut cases = own::read(filters);
    let Some(folder) = folder else { return cases };
    cases.extend(read_folder(&folder.join("relay"), filters));
    let relax = read_folder(&folder.join("relax"), filters);
    let matches = |case: &Case| filters.is_empty() || filters.iter().any(|f| case.group == **f);
    // The programs of all other cases are material for the round trip too, each text once.
    let mut seen = HashSet::new();
    for case in read_folder(&folder.join("relax"), &[]) {
        for key in ["before", "after"] {
            if let Some(text) = case.json[key].as_str()
                && seen.insert(text.to_owned())
            {
                let json = serde_json::json!({ "printed": text });
                let text = Case { group: "relax:texts".to_owned(), id: case.id.clone(), call: key.to_owned(), json };
                cases.extend(Some(text).filter(&matches));
            }
        }
    }
    cases.extend(relax);
    cases.extend(tir::read(&folder.join("tir"), filters));
    cases.extend(wild::read(&folder.join("wild"), filters));
    cases
}

fn read_folder(folder: &Path, filters: &[&String]) -> Vec<Case> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.sort();
    let is_relax = folder.ends_with("relax");
    let mut cases = Vec::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "jsonl")) {
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        for line in std::fs::read_to_string(file).expect("the file can be read").lines() {
            let json: Json = serde_json::from_str(line).expect("a case is JSON");
            let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
            let group = match stem.as_str() {
                "corpus" if text("call").starts_with("Sequential") => format!("corpus:O{}", json["context"]["opt_level"]),
                "corpus" => format!("corpus:{}", text("pass")),
                other if is_relax => format!("relax:{other}"),
                other => other.to_owned(),
            };
            let case = Case { group, id: text("id"), call: text("call"), json };
            if filters.is_empty() || filters.iter().any(|f| case.group == **f || stem == **f || case.id.starts_with(f.as_str())) {
                cases.push(case);
            }
        }
    }
    cases
}

/// Runs a case and compares.
pub fn judge(case: &Case, folder: Option<&Path>) -> Verdict {
    let text = |key: &str| case.json[key].as_str();
    match case.group.as_str() {
        "tir:parse" => tir::judge_parse(case),
        "tir:eval" => tir::judge_eval(case),
        "tir:schedule" => tir::judge_schedule(case),
        "tir:roundtrip" | "tir:texts" => judge_round_trip(case),
        "parse" | "own:read" => judge_parse(case),
        "eval" => judge_eval(case),
        "own:schedule" => tir::judge_schedule(case),
        "relax:roundtrip" | "relax:texts" | "own:texts" => judge_round_trip(case),
        group if group.starts_with("wild:") => wild::judge(case),
        _ => {
            let before = match text("before_file") {
                Some(path) => {
                    let folder = folder.expect("a case that names a file came from a folder");
                    std::fs::read_to_string(folder.join("..").join(path)).expect("the corpus is beside the cases")
                }
                None => text("before").unwrap_or_default().to_owned(),
            };
            judge_pass(case, &before)
        }
    }
}

const UNSUPPORTED: &[&str] = &["relay-unknown-op", "pass-unknown", "pass-dialect", "relay-op-unsupported", "eval-no-kernel"];

fn explain(found: &[Diagnostic]) -> Verdict {
    let words: Vec<String> = found.iter().filter(|d| d.is_error()).map(|d| format!("[{}] {}", d.code, d.message)).collect();
    let words = words.join("; ");
    if found.iter().any(|d| UNSUPPORTED.contains(&d.code)) { Verdict::Unsupported(words) } else { Verdict::Different(words) }
}

fn context(json: &Json) -> PassContext {
    let names = |key: &str| -> Vec<String> {
        json[key].as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    let config = json["config"].as_object().into_iter().flatten().map(|(key, value)| (key.clone(), literal(value))).collect();
    let opt_level = json["opt_level"].as_i64().unwrap_or(2);
    PassContext { opt_level, required: names("required"), disabled: names("disabled"), config }
}

fn literal(value: &Json) -> Literal {
    match value {
        Json::Bool(b) => Literal::Bool(*b),
        Json::String(s) => Literal::Str(s.clone()),
        Json::Object(fields) => {
            Literal::Dict(fields.iter().map(|(key, value)| (Literal::Str(key.clone()), literal(value))).collect())
        }
        other => parse_literal(&other.to_string()).unwrap_or(Literal::None),
    }
}

/// A value as Python writes it.
fn python(value: &Json) -> String {
    match value {
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Json::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\": {}", python(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

fn judge_pass(case: &Case, before: &str) -> Verdict {
    let mut call = case.call.clone();
    if let (true, Some(target)) =
        (call.contains("DefaultSchedule(") || call.contains("GPUSchedule("), case.json["context"]["target"].as_str())
    {
        // The target in scope in TVM is an argument here.
        let comma = if call.contains("GPUSchedule()") { "" } else { ", " };
        call = format!("{}{comma}target={})", &call[..call.len() - 1], python(&serde_json::from_str(target).unwrap_or_default()));
    }
    let document = match document(before, &call, context(&case.json["context"])) {
        Ok(document) => document,
        Err(error) => return explain(&[error]),
    };
    let expects_error = case.json["error"].is_string();
    let mut session = Session::new(|| 0.0);
    // Passes of the project's own suite ran as a Sequential, which asks for their levels.
    if !session.run(&document, !case.group.starts_with("own:relax")) {
        // TVM refuses a missing argument, too.
        return match session.problems() {
            [problem] if expects_error && problem.code == "pass-argument" => Verdict::Equal { text: true },
            problems => explain(problems),
        };
    }
    if !session.trace().is_complete() {
        let failures = session.trace().failures();
        return match explain(&failures) {
            Verdict::Different(_) if expects_error => Verdict::Equal { text: true },
            verdict => verdict,
        };
    }
    if expects_error {
        return Verdict::Different("TVM reports an error".to_owned());
    }
    let after = case.json["after"].as_str().unwrap_or_default();
    let mut store = session.store().clone();
    let mut module = session.trace().last().clone();
    let mut ours = print::module(&store, &module, &PrintOptions::default());
    let mut after = Cow::Borrowed(after);
    if after.contains(LIFTED) {
        (ours, after) = (lifted_in_order(&ours), Cow::Owned(lifted_in_order(&after)));
        module = open(&mut store, &ours).module;
    }
    let expected = open(&mut store, &after);
    if !expected.is_ok() {
        return explain(&expected.diagnostics);
    }
    let typed = match passlab::infer::infer_module(&mut store, &module) {
        Ok(typed) => typed,
        Err(found) => return explain(&found),
    };
    let options = equal::EqualOptions { scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
    match equal::modules(&store, &typed, &expected.module, options) {
        Ok(()) => Verdict::Equal { text: without_spans(&ours) == without_spans(&after) },
        // An attribute's loop variable is one variable after a pass, and two after parsing. Also TVM parses some of its
        // own output differently: `a and b` of vectors as `a & b`.
        Err(_) if without_spans(&ours) == without_spans(&after) => Verdict::Equal { text: true },
        Err(difference) => Verdict::Different(difference.to_string()),
    }
}

/// The name that Relay's LambdaLift gives functions: this and a hash. TVM hashes the addresses of captured variables,
/// too, so the name changes whenever TVM runs.
const LIFTED: &str = "@lifted_name";

/// Returns the text with such functions numbered as they are reached from `@main`, so that names count as equal when
/// they are consistent.
fn lifted_in_order(text: &str) -> String {
    let name_at =
        |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '@').map(|end| rest[..end].to_owned());
    let used = |part: &str| part.match_indices(LIFTED).filter_map(|(at, _)| name_at(&part[at..])).collect::<Vec<String>>();
    let definition = |name: &str| text.find(&format!("def {name}(")).or_else(|| text.find(&format!("def {name}[")));
    let mut order: Vec<String> = Vec::new();
    let mut waiting = vec!["@main".to_owned()];
    while let Some(name) = waiting.pop() {
        let body = definition(&name).map_or("", |start| text[start..].split("\n}").next().unwrap_or_default());
        for next in used(body) {
            if !order.contains(&next) {
                order.push(next.clone());
                waiting.push(next);
            }
        }
    }
    let named = |text: String, (index, name): (usize, &String)| text.replace(name, &format!("@lifted{index}"));
    order.iter().enumerate().fold(text.to_owned(), named)
}

fn judge_parse(case: &Case) -> Verdict {
    let source = case.json["source"].as_str().unwrap_or_default();
    let mut store = Store::new();
    let Opened { module, expr, diagnostics, .. } = open(&mut store, source);
    let mut wrong = diagnostics.iter().any(Diagnostic::is_error);
    if case.json["error"].is_string() {
        // TVM's parser checks well-formedness, too.
        wrong |= passlab::verify::verify(&mut store, &module).iter().any(Diagnostic::is_error);
        return if wrong { Verdict::Equal { text: true } } else { Verdict::Different("TVM reports an error".to_owned()) };
    }
    if wrong {
        return explain(&diagnostics);
    }
    let printed = case.json["printed"].as_str().unwrap_or_default();
    let ours = match expr {
        Some(expr) => print::expr(&store, expr, &PrintOptions::default()),
        None => print::module(&store, &module, &PrintOptions::default()),
    };
    let again = open(&mut store, printed);
    if !again.is_ok() {
        return explain(&again.diagnostics);
    }
    let options = equal::EqualOptions { scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
    let result = match (expr, again.expr) {
        (Some(a), Some(b)) => equal::exprs(&store, a, b, options),
        (None, None) => equal::modules(&store, &module, &again.module, options),
        _ => return Verdict::Different("one is a module, the other an expression".to_owned()),
    };
    match result {
        Ok(()) => Verdict::Equal { text: without_spans(&ours) == without_spans(printed) },
        Err(difference) => Verdict::Different(difference.to_string()),
    }
}

/// Tests that a text as TVM prints it is parsed, prints the same, and is the same program when it is parsed again.
fn judge_round_trip(case: &Case) -> Verdict {
    let printed = case.json["printed"].as_str().unwrap_or_default();
    let mut store = Store::new();
    let Opened { module, expr, diagnostics, .. } = open(&mut store, printed);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return explain(&diagnostics);
    }
    // Cases of the round trip are programs; results of passes need not be, nor the inputs of TVM's tests of the rules.
    let broken = case.json["test"].as_str().is_some_and(|test| test.starts_with("test_analysis_well_formed"));
    let ill_formed = passlab::verify::verify(&mut store, &module);
    if case.group == "relax:roundtrip" && !broken && !ill_formed.is_empty() {
        return explain(&ill_formed);
    }
    let options = PrintOptions { metadata: printed.starts_with("metadata ="), ..PrintOptions::default() };
    let ours = match expr {
        Some(expr) => print::expr(&store, expr, &options),
        None => print::module(&store, &module, &options),
    };
    let again = open(&mut store, &ours);
    if !again.is_ok() {
        return explain(&again.diagnostics);
    }
    let options = equal::EqualOptions::TEXTS;
    let result = match (expr, again.expr) {
        (Some(a), Some(b)) => equal::exprs(&store, a, b, options),
        _ => equal::modules(&store, &module, &again.module, options),
    };
    match result {
        Ok(()) => Verdict::Equal { text: without_spans(&ours) == without_spans(printed) },
        Err(difference) => Verdict::Different(difference.to_string()),
    }
}

fn judge_eval(case: &Case) -> Verdict {
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
    let only = opened.module.functions().first().map(|(name, _)| store.str(*name).to_owned()).unwrap_or_default();
    let main = store.name("main");
    let function = if opened.module.function(main).is_some() { "main".to_owned() } else { only };
    match eval::eval_function(&mut store, &opened.module, &function, &args, EvalOptions::default()) {
        Err(error) => explain(&[error.to_diagnostic()]),
        Ok(value) => match compare_values(&value, &expected) {
            Ok(()) => Verdict::Equal { text: true },
            Err(why) => Verdict::Different(why),
        },
    }
}

fn compare_values(a: &Value, b: &Value) -> Result<(), String> {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => compare_tensors(a, b),
        (Value::Tuple(a), Value::Tuple(b)) if a.items().len() == b.items().len() => {
            a.items().iter().zip(b.items()).try_for_each(|(a, b)| compare_values(a, b))
        }
        _ => Err("another kind of value".to_owned()),
    }
}

/// Integers must be equal, floats close to within the error of another order of summation.
fn compare_tensors(a: &Tensor, b: &Tensor) -> Result<(), String> {
    if a.dtype != b.dtype || a.shape != b.shape {
        return Err(format!("{}{:?} where TVM has {}{:?}", a.dtype, a.shape, b.dtype, b.shape));
    }
    let tolerance = match (a.dtype.code, a.dtype.bits) {
        (DTypeCode::Float, 64) => 1e-9,
        (DTypeCode::Float, 32) => 1e-4,
        (code, _) if code != DTypeCode::Int && code != DTypeCode::UInt => 1e-2,
        _ => 0.0,
    };
    let (x, y) = (numbers(a), numbers(b));
    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
        let close = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()));
        if !close {
            return Err(format!("element {i} is {x} where TVM has {y}"));
        }
    }
    Ok(())
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    let size = tensor.dtype.bytes();
    let data = tensor.data.as_ref().expect("results have values");
    data.chunks_exact(size).map(|bytes| number(tensor.dtype, bytes)).collect()
}

fn number(dtype: DType, bytes: &[u8]) -> f64 {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 64) => f64::from_bits(raw),
        (DTypeCode::Float, 32) => f64::from(f32::from_bits(raw as u32)),
        (DTypeCode::Float, 16) => half::f16::from_bits(raw as u16).to_f64(),
        (DTypeCode::BFloat, 16) => half::bf16::from_bits(raw as u16).to_f64(),
        (DTypeCode::Int, _) => ((raw << unused) as i64 >> unused) as f64,
        _ => raw as f64,
    }
}

/// Returns the text without span comments, which passlab does not print, and without the constants before or behind it,
/// which hold the places where TVM read them.
fn without_spans(text: &str) -> String {
    let text = text.split("\n#[metadata]").next().unwrap_or_default();
    let text = text.split_once("\n}\"\"\")\n").map_or(text, |(_, program)| program);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("span=") {
        let end = start + rest[start..].find(" */").unwrap_or(rest.len() - start);
        out += rest[..start].trim_end();
        if out.ends_with("/*") {
            out.truncate(out.len() - 2);
            out.truncate(out.trim_end().len());
            rest = rest[end..].strip_prefix(" */").unwrap_or(&rest[end..]);
        } else {
            rest = &rest[end..];
        }
    }
    (out + rest).trim_end().to_owned()
}
