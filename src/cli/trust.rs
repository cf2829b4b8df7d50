//! `passlab bisect`, `passlab reduce`, `passlab check-passes`.

use super::opt::{Ran, started};
use super::{OptOptions, Output, finish};
use crate::diag::{render, tame};
use crate::parse::Options;
use crate::repro::{Made, link, text};
use crate::trust::sweep::{self, Finding};
use crate::trust::{Culprit, Property, Reducer, Trust, bisect as bisect_run};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// `passlab bisect`: status 1 when something is to blame, which stands on standard output.
pub fn bisect(options: &OptOptions<'_>, property: &str) -> Output {
    finish(find(options, property).map(|(ran, culprit, _)| {
        let stderr = render(&ran.warnings, options.file, &ran.source);
        let status = i32::from(culprit.is_some());
        let stdout = match &culprit {
            _ if options.json => format!("{}\n", culprit.as_ref().map_or(json!(null), culprit_json)),
            Some(culprit) => format!("{}\n", tame(&culprit.to_string())),
            None => "the property holds after every step\n".to_owned(),
        };
        Output { stdout, stderr, status }
    }))
}

fn find(options: &OptOptions<'_>, property: &str) -> Result<(Ran, Option<Culprit>, Property), Output> {
    let property = read_property(property)?;
    let mut ran = started(options)?;
    let culprit = bisect_run(&mut ran.session, &mut Trust::default(), &property);
    Ok((ran, culprit, property))
}

fn read_property(text: &str) -> Result<Property, Output> {
    let Some(command) = text.strip_prefix("command:").map(str::to_owned) else {
        return Property::parse(text).map_err(|found| Output::usage(format!("{}: {}", found.message, found.notes.join("; "))));
    };
    Ok(Property::Predicate(Rc::new(move |program| {
        let shell = Command::new("sh").args(["-c", &command]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let Ok(mut shell) = shell else { return false };
        if let Some(mut input) = shell.stdin.take() {
            // A program that does not read it to its end is fine, too.
            let _ = input.write_all(program.as_bytes());
        }
        shell.wait().is_ok_and(|status| status.success())
    })))
}

fn culprit_json(culprit: &Culprit) -> serde_json::Value {
    json!({
        "step": culprit.step, "id": culprit.id, "pass": culprit.name, "row": culprit.row, "why": culprit.why,
        "rewrite": culprit.rewrite, "rule": culprit.rule, "rewrites": culprit.rewrites,
    })
}

/// `passlab reduce`: the smallest reproducer file found stands on standard output, who is to blame and its link on standard error.
pub fn reduce(options: &OptOptions<'_>, property: &str, seconds: u64) -> Output {
    finish(read_property(property).and_then(|property| {
        let mut ran = started(options)?;
        let Some(mut reducer) = Reducer::new(&mut ran.session, &property) else {
            let stderr = "error: the property is not lost in any step; there is nothing to reduce\n".to_owned();
            return Ok(Output { stderr, status: 1, ..Output::default() });
        };
        let end = Instant::now() + Duration::from_secs(seconds);
        reducer.finish(&mut |_| Instant::now() < end);
        let mut document = reducer.best.clone();
        document.made = Made::default();
        let mut stderr = format!("{}\n", tame(&reducer.culprit.to_string()));
        stderr += &format!("{} bindings, {} candidates\n#{}\n", reducer.bindings(), reducer.tried, link::encode(&document));
        let stdout = match options.json {
            true => format!(
                "{}\n",
                json!({
                    "culprit": culprit_json(&reducer.culprit), "bindings": reducer.bindings(), "tried": reducer.tried,
                    "source": document.source, "passes": document.rows.iter().map(|row| &row.call).collect::<Vec<_>>(),
                    "link": format!("#{}", link::encode(&document)),
                })
            ),
            false => text::write(&document),
        };
        Ok(Output { stdout, stderr, status: 0 })
    }))
}

/// `passlab check-passes`: status 1 when a pass is found to be wrong; each finding is a line on standard output.
pub fn check_passes(file: Option<&str>, random: u64, seed: u64, only: &str, reading: &Options) -> Output {
    finish(check_programs(file, random, seed, only, reading))
}

fn check_programs(file: Option<&str>, random: u64, seed: u64, only: &str, reading: &Options) -> Result<Output, Output> {
    let mut output = Output::default();
    let (mut programs, mut steps, mut findings) = (0, 0, 0);
    let mut run = |name: String, source: &str| {
        programs += 1;
        let heard = &mut |found: Finding| {
            let small = found.small.as_ref().map_or(String::new(), |document| format!("\n{}", text::write(document)));
            let line = format!("{name}: {}: {}: {}{small}\n", found.call, found.kind, tame(&found.why));
            // Refusals go to standard error: many programs are no input for the pass.
            if found.kind == "failed" {
                output.stderr += &line;
            } else {
                findings += 1;
                output.stdout += &line;
            }
        };
        match sweep::sweep(source, reading, only, heard) {
            Ok(more) => steps += more,
            Err(why) => {
                findings += 1;
                output.stdout += &format!("{name}: it cannot be read: {}\n", tame(&why));
            }
        }
    };
    match file {
        Some(file) => run(file.to_owned(), &super::read(file)?),
        None => (seed..seed.saturating_add(random)).for_each(|seed| run(format!("seed {seed}"), &sweep::made_up(seed))),
    }
    output.stderr += &format!("{programs} programs, {steps} steps, {findings} findings\n");
    output.status = i32::from(findings > 0);
    Ok(output)
}
