//! The commands of the command line, as functions from arguments to text, so that tests can call them.
//!
//! Text goes to standard output, findings to standard error. Status 0: success; 1: an error in the program or a
//! failed check; 2: wrong usage.

pub mod json;
pub mod link;
mod opt;
mod trust;

pub use opt::{OptOptions, opt};
pub use trust::{bisect, check_passes, reduce};

use crate::diag::{Diagnostic, render, tame};
use crate::eval::CacheShape;
use crate::ir::{Expr, Store, equal};
use crate::parse::Options;
use crate::parse::trace::parse_trace;
use crate::print::{self, PrintOptions};
use crate::repro::{Document, DocumentRow};
use crate::schedule::{State, apply_trace};
use crate::session::{Opened, Session, open_with, seeded_args};
use crate::{eval as evaluator, ops as operators, passes as all_passes, verify};
use serde_json::json;
use std::io::Read;

/// The output of a command and its exit status.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Text for standard output.
    pub stdout: String,
    /// Text for standard error.
    pub stderr: String,
    /// Exit status.
    pub status: i32,
}

impl Output {
    fn text(stdout: String) -> Output {
        Output { stdout, ..Output::default() }
    }

    fn usage(message: impl std::fmt::Display) -> Output {
        Output { stderr: format!("error: {}\n", tame(&message.to_string())), status: 2, ..Output::default() }
    }

    /// A mistake in the command itself, which has no place in a file.
    fn misused(found: &Diagnostic) -> Output {
        let notes: String = found.notes.iter().map(|note| format!("\n  {note}")).collect();
        Output::usage(format!("{}{notes}", found.message))
    }

    fn wrong(diagnostics: &[Diagnostic], file: &str, source: &str) -> Output {
        Output { stderr: render(diagnostics, file, source), status: 1, ..Output::default() }
    }
}

/// Returns microseconds since the first call.
fn clock() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64() * 1e6
}

fn read(file: &str) -> Result<String, Output> {
    let result = if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = result.map_err(|e| Output::usage(format!("{file}: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let stderr = format!("error: {} is not UTF-8 from byte {}\n", tame(file), e.utf8_error().valid_up_to());
        Output { stderr, status: 1, ..Output::default() }
    })
}

/// A program that was parsed without errors.
struct Loaded {
    store: Store,
    opened: Opened,
    source: String,
}

fn load(file: &str, reading: &Options) -> Result<Loaded, Output> {
    let source = read(file)?;
    let mut store = Store::new();
    let opened = open_with(&mut store, &source, reading);
    if opened.is_ok() { Ok(Loaded { store, opened, source }) } else { Err(Output::wrong(&opened.diagnostics, file, &source)) }
}

/// Parses the options of the parser: `--pick NAME` and `--define n=128`.
pub fn reading(pick: Option<&str>, defines: &[String]) -> Result<Options, Output> {
    let mut options = Options { pick: pick.map(str::to_owned), defines: Vec::new() };
    for define in defines {
        let Some((name, value)) = define.split_once('=') else {
            return Err(Output::usage(format!("--define {define}: write name=value")));
        };
        options.defines.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(options)
}

fn print_opened(store: &Store, opened: &Opened) -> String {
    match opened.expr {
        Some(expr) => print::expr(store, expr, &PrintOptions::default()),
        None => print::module(store, &opened.module, &PrintOptions::default()),
    }
}

fn finish(result: Result<Output, Output>) -> Output {
    result.unwrap_or_else(|output| output)
}

/// `passlab check FILE`
pub fn check(file: &str, reading: &Options) -> Output {
    finish(load(file, reading).map(|Loaded { mut store, opened, source }| {
        let (module, mut found) = opened.into_module(&mut store);
        found.extend(verify::verify(&mut store, &module));
        let roots: Vec<_> = module.functions().iter().map(|(_, function)| *function).collect();
        found.extend(verify::impossible_casts(&mut store, &roots));
        let status = i32::from(found.iter().any(Diagnostic::is_error));
        Output { stderr: render(&found, file, &source), status, ..Output::default() }
    }))
}

/// `passlab fmt FILE`
pub fn fmt(file: &str, reading: &Options) -> Output {
    finish(load(file, reading).map(|Loaded { store, opened, .. }| Output::text(print_opened(&store, &opened))))
}

/// `passlab infer FILE`
pub fn infer(file: &str, reading: &Options) -> Output {
    finish(load(file, reading).and_then(|Loaded { mut store, mut opened, source }| {
        if let Some(expr) = opened.expr {
            let typed = crate::infer::infer_expr(&mut store, &opened.module, expr);
            opened.expr = Some(typed.map_err(|found| Output::wrong(&found, file, &source))?);
        }
        Ok(Output::text(print_opened(&store, &opened)))
    }))
}

/// `passlab equal A B`
pub fn equal(a: &str, b: &str, reading: &Options) -> Output {
    finish(equal_files(a, b, reading))
}

fn equal_files(a: &str, b: &str, reading: &Options) -> Result<Output, Output> {
    let Loaded { mut store, opened: left, .. } = load(a, reading)?;
    let source = read(b)?;
    let right = open_with(&mut store, &source, reading);
    if !right.is_ok() {
        return Err(Output::wrong(&right.diagnostics, b, &source));
    }
    let options = equal::EqualOptions::TEXTS;
    let result = match (left.expr, right.expr) {
        (None, None) => equal::modules(&store, &left.module, &right.module, options),
        (Some(x), Some(y)) => equal::exprs(&store, x, y, options),
        _ => {
            return Ok(Output {
                stdout: "different: one is a module, the other an expression\n".into(),
                status: 1,
                ..Output::default()
            });
        }
    };
    Ok(match result {
        Ok(()) => Output::text("equal\n".to_owned()),
        Err(difference) => Output { stdout: format!("different: {difference}\n"), status: 1, ..Output::default() },
    })
}

/// Parses the cache of `--cost` and `--cost=32768/64`: bytes of the whole cache, and of a line.
pub fn cache(text: &str) -> Result<CacheShape, Output> {
    if text.is_empty() {
        return Ok(CacheShape::default());
    }
    let numbers = text.split_once('/').and_then(|(size, line)| Some((size.parse().ok()?, line.parse().ok()?)));
    let shape = numbers.and_then(|(size, line)| CacheShape::new(line, size));
    shape.ok_or_else(|| {
        let says = "write the bytes of the cache and of a line, a power of two from 4 to 4096, as in `--cost=32768/64`";
        Output::usage(format!("--cost={text}: {says}"))
    })
}

/// `passlab schedule FILE TRACE`
pub fn schedule(file: &str, trace: &str, cost: Option<CacheShape>, reading: &Options) -> Output {
    finish(match cost {
        None => schedule_file(file, trace, reading),
        Some(cache) => schedule_cost(file, trace, cache, reading),
    })
}

/// Prints the cost of the program after each instruction of a trace that changes it, one line each.
fn schedule_cost(file: &str, path: &str, cache: CacheShape, reading: &Options) -> Result<Output, Output> {
    let text = read(path)?;
    parse_trace(&text).map_err(|found| Output::wrong(&found, path, &text))?;
    let call = format!("Schedule(trace={})", crate::pass::Literal::Str(text));
    let rows = vec![DocumentRow { call, enabled: true }];
    let document = Document { source: read(file)?, rows, reading: reading.clone(), ..Document::default() };
    let mut session = Session::new(clock);
    if !session.run(&document, true) {
        return Err(Output::wrong(session.problems(), file, &document.source));
    }
    let steps = session.trace().steps.clone();
    let mut function = String::new();
    if let Some(step) = steps.first() {
        function = session.changed_functions(step).first().map_or(function, |name| (*name).to_owned());
    }
    let mut stdout = format!(
        "{:<24}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}{:>8}  results\n",
        "instruction", "loads", "stores", "arithmetic", "misses", "intensity", "parallel", "vector"
    );
    let mut known = 0;
    for (name, version) in [("", 0)].into_iter().chain(steps.iter().skip(1).map(|step| (step.name.as_str(), step.after))) {
        let found = session.measure(version, known, &function, 0, cache);
        known = version;
        let Some(cost) = found.cost else {
            stdout += &format!("{name:<24}{}\n", found.problem);
            continue;
        };
        let intensity = cost.intensity().map_or(String::new(), |intensity| format!("{intensity:.2}"));
        let results = if found.difference.is_empty() { "equal" } else { &found.difference };
        stdout += &format!(
            "{name:<24}{:>12}{:>12}{:>12}{:>12}{intensity:>12}{:>10}{:>8}  {results}\n",
            cost.loads(),
            cost.stores(),
            cost.arithmetic,
            cost.misses(),
            found.parallel,
            found.vector
        );
    }
    let failures = session.trace().failures();
    match failures.is_empty() {
        true => Ok(Output::text(stdout)),
        false => Err(Output { stdout, ..Output::wrong(&failures, path, "") }),
    }
}

/// Prints the program after the instructions of a trace; if one is refused, those before it are applied, and the status is 1.
fn schedule_file(file: &str, path: &str, reading: &Options) -> Result<Output, Output> {
    let Loaded { mut store, opened, .. } = load(file, reading)?;
    let text = read(path)?;
    let trace = parse_trace(&text).map_err(|found| Output::wrong(&found, path, &text))?;
    let (module, _) = opened.into_module(&mut store);
    let mut state = State::new(&mut store, &module);
    let result = apply_trace(&mut state, &trace);
    let module = state.module();
    let stdout = print::module(&store, &module, &PrintOptions::default());
    Ok(match result {
        Ok(()) => Output::text(stdout),
        Err(failure) => {
            let found = Diagnostic::error("schedule-refused", failure.message, failure.span);
            Output { stdout, ..Output::wrong(&[found], path, &text) }
        }
    })
}

/// `passlab eval FILE`
pub fn eval(
    file: &str,
    function: &str,
    args: Option<&str>,
    seed: u64,
    as_json: bool,
    cost: Option<CacheShape>,
    reading: &Options,
) -> Output {
    finish(eval_file(file, function, args, seed, as_json, cost, reading))
}

fn eval_file(
    file: &str,
    function: &str,
    args: Option<&str>,
    seed: u64,
    as_json: bool,
    cost: Option<CacheShape>,
    reading: &Options,
) -> Result<Output, Output> {
    let Loaded { mut store, opened, source } = load(file, reading)?;
    let wrong = |found: Diagnostic| Output::wrong(&[found], file, &source);
    let failed = |e: evaluator::EvalFailure| wrong(e.to_diagnostic());
    let options = evaluator::EvalOptions::default();
    let given = args.map(read_args).transpose()?;
    let name = store.name(function);
    let mut warnings = Vec::new();
    let value = match (opened.expr, opened.expr.or(opened.module.function(name)).map(|id| store.expr(id))) {
        (alone, Some(Expr::PrimFunc(program))) => {
            let args = match (given, alone) {
                (Some(args), _) => args,
                (None, Some(alone)) => {
                    let making = evaluator::Making::random(seed);
                    evaluator::made_args(&mut store, &opened.module, alone, making).map_err(failed)?
                }
                (None, None) => seeded_args(&mut store, &opened.module, function, seed).map_err(wrong)?,
            };
            // An invalid access is reported, and the run continues.
            let applied = evaluator::apply_prim_func(&store, &opened.module, program, &args, options, (cost, true));
            let applied = applied.map_err(failed)?;
            let warned =
                applied.warnings.iter().map(|found| Diagnostic::warning("eval-access", found.message.clone(), found.span));
            warnings.extend(warned);
            if let Some(cost) = applied.cost {
                return Ok(Output { stderr: render(&warnings, file, &source), ..Output::text(cost.table()) });
            }
            applied.value
        }
        _ if cost.is_some() => {
            return Err(Output::usage(format!("`--cost` counts what a tensor program does, and `{function}` is none")));
        }
        (Some(expr), _) => {
            let typed = crate::infer::infer_expr(&mut store, &opened.module, expr);
            let typed = typed.map_err(|found| Output::wrong(&found, file, &source))?;
            evaluator::eval_expr(&mut store, &opened.module, typed, &[], options).map_err(failed)?
        }
        (None, _) => {
            let args = match given {
                Some(args) => args,
                None => seeded_args(&mut store, &opened.module, function, seed).map_err(wrong)?,
            };
            evaluator::eval_function(&mut store, &opened.module, function, &args, options).map_err(failed)?
        }
    };
    let text = if as_json { json::value_to_json(&store, &value).to_string() } else { evaluator::show(&store, &value) };
    Ok(Output { stderr: render(&warnings, file, &source), ..Output::text(format!("{text}\n")) })
}

/// Reads the arguments in a file.
fn read_args(path: &str) -> Result<Vec<evaluator::Value>, Output> {
    let text = read(path)?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|e| Output::usage(format!("{path}: {e}")))?;
    let list = json.as_array().ok_or_else(|| Output::usage(format!("{path}: not a list of arguments")))?;
    let values: Result<Vec<_>, String> = list.iter().map(json::value_from_json).collect();
    values.map_err(|e| Output::usage(format!("{path}: {e}")))
}

/// `passlab passes`
pub fn passes(as_json: bool) -> Output {
    let mut out = String::new();
    let mut rows = Vec::new();
    for pass in all_passes::ALL {
        let params: Vec<String> = pass.params.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
        rows.push(json!({
            "name": pass.name, "info_name": pass.info_name, "dialects": pass.dialects.iter().map(|d| d.word()).collect::<Vec<_>>(), "kind": pass.run.kind().word(),
            "opt_level": pass.opt_level, "required": pass.required, "config": pass.config,
            "params": pass.params.iter().map(|p| json!({"name": p.name, "default": p.default, "doc": p.doc})).collect::<Vec<_>>(),
            "summary": pass.summary, "doc": pass.doc, "example": { "before": pass.example_before, "after": pass.example_after },
        }));
        let call = format!("{}({})", pass.name, params.join(", "));
        out += &format!("{call}\n    {} pass, opt level {}: {}\n", pass.run.kind().word(), pass.opt_level, pass.summary);
    }
    Output::text(if as_json { format!("{}\n", serde_json::Value::from(rows)) } else { out })
}

/// `passlab ops`
pub fn ops(as_json: bool) -> Output {
    let mut out = String::new();
    let mut rows = Vec::new();
    for op in operators::all() {
        let names = |schema: Option<&operators::AttrsSchema>| -> Vec<&str> {
            schema.map_or(Vec::new(), |schema| schema.fields.iter().map(|f| f.name).collect())
        };
        let attrs = names(op.relay_attrs());
        let relax = op.relax.map(|op| {
            let args: Vec<&str> = op.args.iter().map(|arg| arg.name).collect();
            json!({ "name": op.name, "args": args, "attrs": names(op.attrs), "pure": op.pure })
        });
        let dialects: Vec<&str> =
            [(op.relay.is_some(), "relay"), (relax.is_some(), "relax")].iter().filter(|d| d.0).map(|d| d.1).collect();
        rows.push(json!({
            "name": op.name, "dialects": dialects, "args": op.relay_args(), "attrs": attrs,
            "pattern": op.pattern.map(|p| format!("{p:?}")), "type_rule": op.relay_rule().is_some(),
            "kernel": op.kernel.is_some(), "gradient": false, "doc": op.doc, "relax": relax,
        }));
        if op.relay.is_some() {
            let inputs = op.relay_args().iter().chain(attrs.iter()).copied().collect::<Vec<_>>().join(", ");
            out += &format!("{}({inputs})\n", op.name);
        }
        if let Some(relax) = op.relax {
            let args = relax.args.iter().map(|arg| arg.name);
            out += &format!("R.{}({})\n", relax.name, args.chain(names(relax.attrs)).collect::<Vec<_>>().join(", "));
        }
        out += &format!("    {}\n", op.doc);
    }
    Output::text(if as_json { format!("{}\n", serde_json::Value::from(rows)) } else { out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_stands_alone_is_scheduled_by_its_name() {
        let file = |name: &str, text: &str| {
            let path = std::env::temp_dir().join(format!("passlab-{}-{name}", std::process::id()));
            std::fs::write(&path, text).expect("the temporary folder is writable");
            path.to_string_lossy().into_owned()
        };
        let program = "@T.prim_func\ndef main(A: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        \
                       with T.sblock(\"B\"):\n            vi = T.axis.spatial(16, i)\n            A[vi] = T.float32(1)\n";
        let program = file("alone.py", program);
        let trace = file(
            "trace.py",
            "b0 = sch.get_sblock(name=\"B\", func_name=\"main\")\nl1, = sch.get_loops(block=b0)\nsch.vectorize(loop=l1)\n",
        );
        let done = schedule(&program, &trace, None, &Options::default());
        assert!(done.status == 0 && done.stdout.contains("for i in T.vectorized(16):"), "{}{}", done.stdout, done.stderr);
        [program, trace].iter().for_each(|path| std::fs::remove_file(path).expect("it was written"));
    }

    /// A lone function used not to be checked, so a side effect in one that is marked as pure went unreported.
    #[test]
    fn a_function_that_stands_alone_is_checked_like_a_module() {
        let path = std::env::temp_dir().join(format!("passlab-{}-bare.py", std::process::id()));
        let file = path.to_string_lossy().into_owned();
        let text = "# from tvm.script import relax as R\n\n@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    \
                    gv = R.call_packed(\"vm.show\", x, ty_args=R.Tensor((2,), \"float32\"))\n    return gv\n";
        std::fs::write(&path, text).expect("the temporary folder is writable");
        let found = check(&file, &Options::default());
        assert!(found.status == 1 && found.stderr.contains("relax-purity"), "{}", found.stderr);
        std::fs::remove_file(path).expect("it was there");
    }
}
