//! `passlab opt`: run passes over a program.

use super::{Output, clock, finish, read};
use crate::check::step::{Difference, Report, Verdict};
use crate::diag::{Diagnostic, render, tame};
use crate::parse::Options;
use crate::pass::Literal;
use crate::pass::call::parse_literal;
use crate::pass::trace::{LogKind, Outcome, Role, Trace};
use crate::passes;
use crate::print::Numbering;
use crate::repro::{self, Document};
use crate::session::{Session, document};
use crate::trust::{Checked, Trust};
use serde_json::json;

/// Arguments of `passlab opt`.
#[allow(missing_docs, reason = "each is documented where the command line declares it")]
pub struct OptOptions<'a> {
    pub file: &'a str,
    pub passes: Option<&'a str>,
    pub pipeline: Option<&'a str>,
    pub opt_level: Option<i64>,
    pub required: &'a [String],
    pub disabled: &'a [String],
    pub config: &'a [String],
    pub direct: bool,
    pub print_changed: bool,
    pub verify_each: bool,
    pub instruments: &'a [String],
    pub dump_ir: Option<&'a str>,
    pub timing: bool,
    pub json: bool,
    pub check: bool,
    pub reading: Options,
}

/// Runs the passes. On a failure the result is the version before the failed pass.
pub fn opt(options: &OptOptions<'_>) -> Output {
    finish(run(options))
}

fn run(options: &OptOptions<'_>) -> Result<Output, Output> {
    let Ran { mut session, head, warnings, source } = started(options)?;
    let checked = if options.check { check_steps(&mut session) } else { Vec::new() };
    let mut output = report(options, &session, &checked, &source);
    output.stderr = render(&warnings, options.file, &source) + &output.stderr;
    if let Some(folder) = options.dump_ir {
        write_dump(&session, std::path::Path::new(folder)).map_err(|e| Output::usage(format!("{folder}: {e}")))?;
    }
    if !head.script.is_empty() {
        output.stderr += "note: the file holds passes written in JavaScript, which only the page runs\n";
    }
    Ok(output)
}

/// A run of what the options say.
pub(super) struct Ran {
    /// With the run in it.
    pub session: Session,
    /// The document that the head of the file describes.
    pub head: Document,
    /// Warnings about that head.
    pub warnings: Vec<Diagnostic>,
    /// The text of the file.
    pub source: String,
}

/// Reads the file and runs the passes.
pub(super) fn started(options: &OptOptions<'_>) -> Result<Ran, Output> {
    let source = read(options.file)?;
    // The head of a reproducer file has the passes and settings to run; the command line overrides them.
    let (head, warnings) = repro::text::read(&source).map_err(|found| Output::wrong(&[found], options.file, &source))?;
    let mut context = head.context.clone();
    let calls = match (options.passes, options.pipeline) {
        (Some(calls), _) => Some(calls.to_owned()),
        (None, Some(name)) => {
            let pipeline = passes::pipeline(name).ok_or_else(|| {
                let names: Vec<&str> = passes::PIPELINES.iter().map(|p| p.name).collect();
                Output::usage(format!("there is no pipeline `{name}`; there are {}", names.join(", ")))
            })?;
            context.opt_level = pipeline.opt_level;
            Some(pipeline.calls().join(", "))
        }
        (None, None) => None,
    };
    context.opt_level = options.opt_level.unwrap_or(context.opt_level);
    context.required.extend_from_slice(options.required);
    context.disabled.extend_from_slice(options.disabled);
    for entry in options.config {
        let (key, value) = entry.split_once('=').ok_or_else(|| Output::usage(format!("--config {entry}: write key=value")))?;
        // An empty text is no value; a text that is no literal is a string without its quotes.
        let value = match parse_literal(value) {
            Some(value) => value,
            None if value.is_empty() => Literal::None,
            None => Literal::Str(value.to_owned()),
        };
        context.config.insert(key.to_owned(), value);
    }
    // The whole text is the program: the head is comments, so spans stay correct.
    let mut document = match calls {
        Some(calls) => document(&source, &calls, context).map_err(|e| Output::misused(&e))?,
        None => {
            let (rows, files) = (head.rows.clone(), head.files.clone());
            Document { source: source.clone(), context, rows, files, ..Document::default() }
        }
    };
    document.reading = options.reading.clone();
    document.instruments.clone_from(&head.instruments);
    if options.verify_each {
        document.instruments.push("VerifyEach".to_owned());
    }
    document.instruments.extend(options.instruments.iter().cloned());
    if options.dump_ir.is_some() {
        document.instruments.push("DumpIR".to_owned());
    }
    let mut session = Session::new(clock);
    session.run(&document, options.direct);
    if !session.is_ok() {
        let problems = session.problems();
        let usage = problems.iter().find(|p| p.code.starts_with("pass-"));
        return Err(usage.map_or_else(|| Output::wrong(problems, options.file, &source), Output::misused));
    }
    Ok(Ran { session, head, warnings, source })
}

/// Writes the program after each pass, as TVM's `DumpIR` does.
fn write_dump(session: &Session, folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (file, text) in session.dump() {
        let name = file.rsplit('/').next().unwrap_or(&file);
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Checks every step that changed the program by running it.
fn check_steps(session: &mut Session) -> Vec<(usize, Checked)> {
    let mut trust = Trust::default();
    let steps = session.trace().steps.iter().enumerate().filter(|(_, step)| step.changed());
    let steps: Vec<usize> = steps.map(|(index, _)| index).collect();
    steps.into_iter().map(|step| (step, trust.check(session, step))).collect()
}

fn report(options: &OptOptions<'_>, session: &Session, checked: &[(usize, Checked)], source: &str) -> Output {
    let trace = session.trace();
    let mut stderr = String::new();
    if options.print_changed {
        for step in trace.steps.iter().filter(|s| s.changed()) {
            let text = session.text(step.after, Numbering::Exact).unwrap_or_default();
            stderr += &format!("// after {}\n{text}", step.id);
        }
    }
    for entry in trace.log.iter().filter(|entry| entry.kind == LogKind::Printed) {
        stderr += entry.text.trim_end_matches('\n');
        stderr.push('\n');
    }
    if options.timing {
        stderr += &trace.render_timing();
    }
    for (step, found) in checked {
        stderr += &format!("{}: {}\n", trace.steps[*step].id, tame(&found.sentence()));
    }
    // A pipeline has passes for higher levels on purpose; a user who names a pass wants it to run.
    if options.pipeline.is_none() {
        stderr.extend(trace.steps.iter().filter(|step| step.role == Role::Listed).filter_map(|step| match &step.outcome {
            Outcome::Skipped(reason) => Some(format!("note: {} did not run: {reason}\n", step.id)),
            _ => None,
        }));
    }
    let problems: Vec<Diagnostic> = session.problems().iter().cloned().chain(trace.reported()).collect();
    stderr += &render(&problems, options.file, source);
    if let Some(step) = trace.steps.iter().find(|s| matches!(s.outcome, Outcome::Failed(_))) {
        stderr += &format!("error: {} failed\n", step.name);
        stderr += &render(&trace.failures(), options.file, source);
    }
    // A step that runs others continues after them.
    let last = trace.steps.iter().rev().find(|step| step.parent.is_none()).map_or(0, |step| step.after);
    let text = session.text(last, Numbering::Exact).unwrap_or_default();
    let stdout = if options.json { format!("{}\n", trace_json(trace, checked, &text)) } else { text };
    let differs = |(_, found): &(usize, Checked)| matches!(found.report.verdict, Verdict::Different(_));
    let failed = !trace.is_complete() || checked.iter().any(differs) || problems.iter().any(Diagnostic::is_error);
    Output { stdout, stderr, status: i32::from(failed) }
}

fn checked_json(found: &Checked) -> serde_json::Value {
    let difference = |found: &Difference| {
        let inputs: Vec<_> = found.inputs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({
            "function": found.function, "inputs": inputs, "place": found.spot.place, "before": found.spot.before,
            "after": found.spot.after, "from": found.from,
        })
    };
    let Report { verdict, except, runs, .. } = &found.report;
    let (mut ulps, mut different, mut reason) = (None, None, None);
    match verdict {
        Verdict::Equal => {}
        Verdict::Within(most) => ulps = Some(*most),
        Verdict::Different(found) => different = Some(difference(found)),
        Verdict::NotRun(why) => reason = Some(why.clone()),
    }
    json!({
        "outcome": verdict.word().word(), "ulps": ulps, "difference": different, "reason": reason,
        "except": except.as_deref().map(difference), "runs": runs, "smaller_by": found.smaller_by,
    })
}

fn trace_json(trace: &Trace, checked: &[(usize, Checked)], text: &str) -> serde_json::Value {
    let steps: Vec<_> = trace
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let found = checked.iter().find(|(step, _)| *step == index).map(|(_, found)| checked_json(found));
            let (outcome, reason) = step.outcome_words();
            json!({
                "id": step.id, "name": step.name, "depth": step.depth, "row": step.row, "outcome": outcome.word(),
                "reason": reason, "before": step.before, "after": step.after, "micros": step.micros,
                "rewrites": step.rewrites.len(), "check": found,
                "reported": step.reported.iter().map(|d| json!({
                    "severity": d.severity.word(), "code": d.code, "message": d.message,
                    "from": d.span.map(|s| s.start), "to": d.span.map(|s| s.end),
                })).collect::<Vec<_>>(),
            })
        })
        .collect();
    let log: Vec<_> = trace.log.iter().map(|e| json!({ "kind": e.kind.word(), "step": e.step, "text": e.text })).collect();
    json!({ "steps": steps, "versions": trace.versions.len(), "text": text, "log": log, "timing": trace.render_timing() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(file: &str) -> OptOptions<'_> {
        OptOptions {
            file,
            passes: None,
            pipeline: None,
            opt_level: None,
            required: &[],
            disabled: &[],
            config: &[],
            direct: false,
            print_changed: false,
            verify_each: false,
            instruments: &[],
            dump_ir: None,
            timing: false,
            json: false,
            check: false,
            reading: Options::default(),
        }
    }

    /// The command line printed the message alone, and what was meant stood in a note.
    #[test]
    fn a_pass_that_there_is_not_is_refused_with_the_nearest_one() {
        let path = std::env::temp_dir().join(format!("passlab-{}-nearest.relay", std::process::id()));
        std::fs::write(&path, "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n").expect("writable");
        let file = path.to_string_lossy().into_owned();
        let refused = opt(&OptOptions { passes: Some("FoldConstants()"), ..options(&file) });
        assert_eq!(refused.stderr, "error: there is no pass called `FoldConstants`\n  did you mean `FoldConstant`?\n");
        assert_eq!(refused.status, 2);
        let argument = opt(&OptOptions { passes: Some("FuseOps(max=2)"), ..options(&file) });
        assert!(argument.stderr.contains("it takes fuse_opt_level"), "{}", argument.stderr);
        std::fs::remove_file(path).expect("it was written");
    }

    #[test]
    fn a_pass_that_is_gated_says_so() {
        let path = std::env::temp_dir().join(format!("passlab-{}-gated.relay", std::process::id()));
        std::fs::write(&path, "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n").expect("writable");
        let file = path.to_string_lossy().into_owned();
        let call = Some("FoldConstant(), FastMath()");
        let low = opt(&OptOptions { passes: call, ..options(&file) });
        assert_eq!(low.stderr, "note: FastMath#1 did not run: needs opt level 4\n");
        let high = opt(&OptOptions { passes: call, opt_level: Some(4), ..options(&file) });
        assert_eq!(high.stderr, "");
        std::fs::remove_file(path).expect("it was written");
    }

    #[test]
    fn the_pipelines_of_tensor_programs_run_to_their_end() {
        let text = "@T.prim_func\ndef main(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    \
                    for i in range(16):\n        with T.sblock(\"B\"):\n            vi = T.axis.spatial(16, i)\n            \
                    B[vi] = A[vi] + T.float32(1)\n";
        let path = std::env::temp_dir().join(format!("passlab-{}-lower.py", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        let file = path.to_string_lossy().into_owned();
        // Functions are bound to a host, without which MakePackedAPI leaves them as they are.
        let lowered = opt(&OptOptions { pipeline: Some("s_tir.default"), ..options(&file) });
        assert!(lowered.status == 0 && lowered.stdout.contains("T.tvm_struct_get"), "{}", lowered.stderr);
        let flat = opt(&OptOptions { pipeline: Some("relax.flat_loops"), ..options(&file) });
        assert!(flat.status == 0 && !flat.stdout.contains("sblock"), "{}{}", flat.stdout, flat.stderr);
        std::fs::remove_file(path).expect("it was written");
    }

    #[test]
    fn a_reproducer_file_runs_what_its_head_says_unless_told_otherwise() {
        let text = "// passlab 1\n// pass: FastMath()\n// opt_level: 4\n#[version = \"0.0.5\"]\n\
                    def @main(%x: Tensor[(3), float32]) { tanh(%x) }\n";
        let path = std::env::temp_dir().join(format!("passlab-{}-opt.relay", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        let file = path.to_string_lossy().into_owned();
        assert!(opt(&options(&file)).stdout.contains("fast_tanh"));
        let lower = opt(&OptOptions { opt_level: Some(2), ..options(&file) });
        assert!(!lower.stdout.contains("fast_tanh"), "FastMath is of level 4");
        let other = opt(&OptOptions { passes: Some("InferType()"), ..options(&file) });
        assert!(!other.stdout.contains("fast_tanh"));
        std::fs::remove_file(path).expect("it was there");
    }

    #[test]
    fn what_a_text_does_not_say_is_given_on_the_command_line() {
        let text = "@R.function\ndef main(x: R.Tensor((n,), \"float32\")):\n    return x\n";
        let path = std::env::temp_dir().join(format!("passlab-{}-define.py", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        let file = path.to_string_lossy().into_owned();
        let reading = crate::cli::reading(None, &["n=7".to_owned()]).expect("it is written well");
        assert_eq!(opt(&options(&file)).status, 1);
        let given = opt(&OptOptions { reading: reading.clone(), passes: Some("Normalize()"), ..options(&file) });
        assert!(given.stdout.contains("R.Tensor((7,), dtype=\"float32\")"), "{}{}", given.stdout, given.stderr);
        assert!(crate::cli::fmt(&file, &reading).stdout.contains("(7,)"));
        std::fs::write(&path, format!("# define: n=5\n{text}")).expect("the temporary folder is writable");
        assert!(crate::cli::fmt(&file, &crate::parse::Options::default()).stdout.contains("(5,)"));
        std::fs::remove_file(path).expect("it was there");
    }

    /// `relay.build.O4` used to run at level 2, and so without FastMath, unless the user gave a level.
    #[test]
    fn a_pipeline_runs_at_its_level_unless_told_otherwise() {
        let path = std::env::temp_dir().join(format!("passlab-{}-level.relay", std::process::id()));
        let file = path.to_string_lossy().into_owned();
        std::fs::write(&path, "fn (%x: Tensor[(3), float32]) { tanh(%x) }").expect("the temporary folder is writable");
        let ran = opt(&OptOptions { pipeline: Some("relay.build.O4"), ..options(&file) });
        assert!(ran.status == 0 && ran.stdout.contains("fast_tanh"), "{} {}", ran.stdout, ran.stderr);
        let lower = opt(&OptOptions { pipeline: Some("relay.build.O4"), opt_level: Some(3), ..options(&file) });
        assert!(!lower.stdout.contains("fast_tanh"), "{}", lower.stdout);
        std::fs::remove_file(path).expect("it was there");
    }

    /// The command line used to leave the files out, so it ran something other than the page.
    #[test]
    fn a_reproducer_with_files_is_stepped_through_and_its_rows_are_checked() {
        let text = |row: &str| {
            format!(
                "// passlab 1\n{row}// file: 1_Theirs.relay\n// file:|#[version = \"0.0.5\"]\n// file:|def @main(%x: int32) {{ %x }}\n\
                 #[version = \"0.0.5\"]\ndef @main(%y: int32) {{ add(%y, 0) }}\n"
            )
        };
        let path = std::env::temp_dir().join(format!("passlab-{}-files.relay", std::process::id()));
        let file = path.to_string_lossy().into_owned();
        std::fs::write(&path, text("")).expect("the temporary folder is writable");
        let ran = opt(&options(&file));
        assert!(ran.status == 0 && !ran.stdout.contains("add"), "{} {}", ran.stdout, ran.stderr);
        std::fs::write(&path, text("// pass: __import__('os').system('true')\n")).expect("the temporary folder is writable");
        let refused = opt(&options(&file));
        assert!(refused.status == 2 && refused.stdout.is_empty(), "{}", refused.stderr);
        std::fs::remove_file(path).expect("it was there");
    }
}
