//! Random programs through our passes and through TVM's own: `cargo xtask cross`.
//!
//! It needs a Python with `apache-tvm` 0.27, which $PASSLAB_PYTHON names, and for programs of Relay (`--relay`) one with TVM 0.19,
//! $PASSLAB_RELAY_PYTHON. `cross.py` makes programs and runs TVM; its head
//! documents its options. It starts this program again with `--serve`, which answers a line of JSON with a line of JSON:
//! the request holds a program, the calls of passes, their opt level and TVM's result or refusal; the answer compares it
//! with our result. With `--tensor` first, `tensor.py` makes tensor programs and takes them through TVM's lowering.

use passlab::diag::Diagnostic;
use passlab::ir::{Store, equal};
use passlab::pass::PassContext;
use passlab::print::{self, PrintOptions};
use passlab::session::{Session, document, open};
use passlab::verify;
use serde_json::{Value as Json, json};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--serve") {
        serve();
        return ExitCode::SUCCESS;
    }
    let relay = args.iter().any(|arg| arg == "--relay");
    let (name, version) = if relay { ("PASSLAB_RELAY_PYTHON", "0.19") } else { ("PASSLAB_PYTHON", "0.27") };
    let Some(python) = std::env::var_os(name) else {
        println!("cross: skipped, because ${name} does not name a Python with TVM {version}");
        return ExitCode::SUCCESS;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cross");
    let engine = std::env::current_exe().expect("a program has a path");
    let mut command = Command::new(&python);
    match args.split_first() {
        Some((first, rest)) if first == "--tensor" => {
            let number = |at: usize, default: &str| rest.get(at).cloned().unwrap_or_else(|| default.to_owned());
            command.arg(folder.join("tensor.py")).arg(engine).args([number(0, "200"), number(1, "0")]);
        }
        _ => {
            command.arg(folder.join("cross.py")).arg("--engine").arg(engine).args(&args);
        }
    }
    let status = command.status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cross: {} does not run: {error}", python.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}

fn serve() {
    std::panic::set_hook(Box::new(|_| {}));
    for line in std::io::stdin().lock().lines() {
        let request: Json = serde_json::from_str(&line.expect("requests are text")).expect("a request is JSON");
        // A thread for each, with the stack that a program of ours has.
        let answer =
            std::thread::Builder::new().stack_size(8 << 20).spawn(move || judge(&request)).expect("a thread starts").join();
        let answer = answer.unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
            json!({ "verdict": "panic", "why": text })
        });
        println!("{answer}");
        std::io::stdout().flush().expect("answers are read");
    }
}

/// Compares our result: `equal`, `text` (only the text differs), `structure`, `refuses`, `unread` (a text of a result
/// is not read back), or `accepts` where TVM refuses.
fn judge(request: &Json) -> Json {
    let text = |key: &str| request[key].as_str();
    let (program, theirs) = (text("program").unwrap_or_default(), text("theirs"));
    let context = PassContext { opt_level: request["level"].as_i64().unwrap_or(2), ..PassContext::default() };
    let refuses = |found: &[Diagnostic]| json!({ "verdict": "refuses", "why": words(found) });
    let document = match document(program, text("calls").unwrap_or_default(), context) {
        Ok(document) => document,
        Err(found) => return refuses(&[found]),
    };
    let mut session = Session::new(|| 0.0);
    if !session.run(&document, false) {
        return refuses(session.problems());
    }
    if !session.trace().is_complete() {
        return refuses(&session.trace().failures());
    }
    let mut store = session.store().clone();
    // TVM's parser checks well-formedness, too.
    let found = if session.trace().steps.is_empty() { verify::verify(&mut store, session.trace().last()) } else { Vec::new() };
    if found.iter().any(Diagnostic::is_error) {
        return refuses(&found);
    }
    let ours = print::module(&store, session.trace().last(), &PrintOptions { metadata: true, ..PrintOptions::default() });
    let Some(theirs) = theirs else { return json!({ "verdict": "accepts", "ours": ours }) };
    let unread = |whose: &str, found: &[Diagnostic]| json!({ "verdict": "unread", "why": format!("{whose}: {}", words(found)), "ours": ours });
    let (ours, theirs) = (named_by_order(&ours), named_by_order(theirs));
    let (ours, theirs) = (ours.as_str(), theirs.as_str());
    let expected = open(&mut store, theirs);
    if !expected.is_ok() {
        return unread("TVM's", &expected.diagnostics);
    }
    let mut fresh = Store::new();
    let again = open(&mut fresh, ours);
    if !again.is_ok() {
        return unread("ours", &again.diagnostics);
    }
    let again = open(&mut store, ours);
    match equal::modules(&store, &again.module, &expected.module, equal::EqualOptions::TEXTS) {
        Err(difference) => json!({ "verdict": "structure", "why": difference.to_string(), "ours": ours }),
        Ok(()) if without_metadata(ours) != without_metadata(theirs) => json!({ "verdict": "text", "ours": ours }),
        Ok(()) => json!({ "verdict": "equal" }),
    }
}

fn words(found: &[Diagnostic]) -> String {
    let errors = found.iter().filter(|found| found.is_error());
    errors.map(|found| format!("[{}] {}", found.code, found.message)).collect::<Vec<_>>().join("; ")
}

/// Returns a text with the functions that LambdaLift named by hashes, which differ from build to build of TVM, named by their order
/// of use: from `@main` on, as definitions are sorted by name.
fn named_by_order(text: &str) -> String {
    const LIFTED: &str = "lifted_name";
    let hash = |at: usize| text[at..].find(|c: char| !c.is_ascii_digit()).map_or(&text[at..], |end| &text[at..at + end]);
    let main = text.find("def @main").unwrap_or_default();
    let (before, after): (Vec<_>, Vec<_>) = text.match_indices(LIFTED).map(|(at, _)| at).partition(|at| *at < main);
    let mut named = text.to_owned();
    let mut seen = Vec::new();
    for hash in after.into_iter().chain(before).map(|at| hash(at + LIFTED.len())) {
        if !seen.contains(&hash) {
            named = named.replace(&format!("{LIFTED}{hash}"), &format!("{LIFTED}_{}", seen.len()));
            seen.push(hash);
        }
    }
    named
}

/// Returns a text without its constants, whose notation holds the places where TVM read them: before a script, and after a
/// program of Relay.
fn without_metadata(text: &str) -> &str {
    let program = text.split_once("\n}\"\"\")\n").map_or(text, |(_, program)| program);
    program.split_once("\n#[metadata]").map_or(program, |(program, _)| program).trim_end()
}
