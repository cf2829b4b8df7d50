//! `passlab opt`: run passes over a program.

use super::{Output, clock, finish, read};
use crate::diag::render;
use crate::pass::PassContext;
use crate::pass::call::parse_literal;
use crate::pass::trace::{LogKind, Outcome, Trace};
use crate::passes;
use crate::print::Numbering;
use crate::repro;
use crate::session::{Session, document};
use serde_json::json;

/// Arguments of `passlab opt`.
#[allow(missing_docs, reason = "each is documented where the command line declares it")]
pub struct OptOptions<'a> {
    pub file: &'a str,
    pub passes: Option<&'a str>,
    pub pipeline: Option<&'a str>,
    pub opt_level: i64,
    pub required: &'a [String],
    pub disabled: &'a [String],
    pub config: &'a [String],
    pub direct: bool,
    pub print_changed: bool,
    pub verify_each: bool,
    pub timing: bool,
    pub json: bool,
}

/// Runs the passes. On a failure the result is the version before the pass that failed.
pub fn opt(options: &OptOptions<'_>) -> Output {
    finish(run(options))
}

fn run(options: &OptOptions<'_>) -> Result<Output, Output> {
    let calls = match (options.passes, options.pipeline) {
        (Some(calls), _) => calls.to_owned(),
        (None, Some(name)) => {
            let pipeline = passes::pipeline(name).ok_or_else(|| {
                let names: Vec<&str> = passes::PIPELINES.iter().map(|p| p.name).collect();
                Output::usage(format!("there is no pipeline `{name}`; there are {}", names.join(", ")))
            })?;
            pipeline.calls().join(", ")
        }
        (None, None) => String::new(),
    };
    let mut context = PassContext {
        opt_level: options.opt_level,
        required: options.required.to_vec(),
        disabled: options.disabled.to_vec(),
        ..PassContext::default()
    };
    for entry in options.config {
        let (key, value) = entry.split_once('=').ok_or_else(|| Output::usage(format!("--config {entry}: write key=value")))?;
        let value = parse_literal(value).unwrap_or_else(|| crate::pass::Literal::Str(value.to_owned()));
        context.config.insert(key.to_owned(), value);
    }
    let source = read(options.file)?;
    let mut document = document(&source, &calls, context).map_err(|e| Output::usage(e.message))?;
    if options.verify_each {
        document.instruments.push("VerifyEach".to_owned());
    }
    let mut session = Session::new(clock);
    session.run(&document, options.direct);
    if !session.is_ok() {
        let problems = session.problems();
        let usage = problems.iter().find(|p| p.code.starts_with("pass-"));
        return Err(usage.map_or_else(|| Output::wrong(problems, options.file, &source), |p| Output::usage(&p.message)));
    }
    let mut output = report(options, &session, &source);
    if repro::text::read(&source).is_ok_and(|(document, _)| !document.script.is_empty()) {
        output.stderr += "note: the file holds passes written in JavaScript, which only the page runs\n";
    }
    Ok(output)
}

fn report(options: &OptOptions<'_>, session: &Session, source: &str) -> Output {
    let trace = session.trace();
    let mut stderr = String::new();
    if options.print_changed {
        for step in trace.steps.iter().filter(|s| s.changed()) {
            let text = session.text(step.after, Numbering::Exact).unwrap_or_default();
            stderr += &format!("// after {}\n{text}", step.id);
        }
    }
    for entry in trace.log.iter().filter(|entry| entry.kind == LogKind::Printed) {
        stderr += &entry.text;
    }
    if options.timing {
        stderr += &trace.render_timing();
    }
    let failures = trace.failures();
    if let Some(step) = trace.steps.iter().find(|s| matches!(s.outcome, Outcome::Failed(_))) {
        stderr += &format!("error: {} failed\n", step.name);
        stderr += &render(&failures, options.file, source);
    }
    let last = trace.steps.last().map_or(0, |s| s.after);
    let text = session.text(last, Numbering::Exact).unwrap_or_default();
    let stdout = if options.json { format!("{}\n", trace_json(trace, &text)) } else { text };
    Output { stdout, stderr, status: i32::from(!trace.is_complete()) }
}

fn trace_json(trace: &Trace, text: &str) -> serde_json::Value {
    let steps: Vec<_> = trace
        .steps
        .iter()
        .map(|step| {
            let (outcome, reason) = step.outcome_words();
            json!({
                "id": step.id, "name": step.name, "depth": step.depth, "row": step.row, "outcome": outcome,
                "reason": reason, "before": step.before, "after": step.after, "micros": step.micros,
                "rewrites": step.rewrites.len(),
            })
        })
        .collect();
    json!({ "steps": steps, "versions": trace.versions.len(), "text": text })
}
