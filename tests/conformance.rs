//! Compares passlab with results of real TVM, case by case.
//!
//! The suite of the project is in `tests/conformance/`, recorded by `cargo xtask record`. More cases may stand outside, in
//! `../shared/cases` (or `$PASSLAB_CASES`), a folder for each dialect; without them the test says so. A case counts as
//! *equal* when our result is structurally equal to TVM's, as *text* when it prints the same too. A case with an operator
//! or pass that passlab does not have yet counts as *unsupported*, never as equal.
//!
//! `--check` fails when a count of `tests/conformance.txt` drops; `--update` writes that file; `--failures` lists the
//! cases that are neither equal nor unsupported; other words filter by file or id.

mod case;

use case::{Case, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    cases: usize,
    equal: usize,
    text: usize,
    unsupported: usize,
}

const BASELINE: &str = "tests/conformance.txt";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let filters: Vec<&String> = args.iter().filter(|a| !a.starts_with("--")).collect();
    let folder = std::env::var_os("PASSLAB_CASES").map_or_else(|| PathBuf::from("../shared/cases"), PathBuf::from);
    let beside = folder.is_dir().then_some(folder.as_path());
    if beside.is_none() {
        println!("skipped: there are no cases at {}; the suite of the project alone is compared", folder.display());
    }
    let cases = case::read_all(beside, &filters);
    let verdicts = judge_all(&cases, beside);
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut failures = Vec::new();
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let row = counts.entry(&case.group).or_default();
        row.cases += 1;
        match verdict {
            Verdict::Equal { text } => {
                row.equal += 1;
                row.text += usize::from(*text);
            }
            Verdict::Unsupported(_) => row.unsupported += 1,
            Verdict::Different(_) => {}
        }
        match verdict {
            Verdict::Different(why) if flag("--failures") => {
                failures.push(format!("{} {} {}: {why}", case.group, case.id, case.call))
            }
            Verdict::Equal { text: false } if flag("--texts") => {
                failures.push(format!("{} {} {}: text differs", case.group, case.id, case.call))
            }
            Verdict::Unsupported(why) if flag("--unsupported") => {
                failures.push(format!("{} {} {}: unsupported: {why}", case.group, case.id, case.call));
            }
            _ => {}
        }
    }
    for failure in &failures {
        println!("{failure}");
    }
    let table = table(&counts);
    print!("{table}");
    if flag("--update") && beside.is_none() {
        println!("conformance: {BASELINE} is left as it is, because it counts the cases at {}, too", folder.display());
    } else if flag("--update") {
        std::fs::write(BASELINE, table).expect("the baseline can be written");
    } else if flag("--check") {
        check(&counts);
    }
}

fn judge_all(cases: &[Case], folder: Option<&Path>) -> Vec<Verdict> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let next = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|_| {}));
    let mut verdicts: Vec<(usize, Verdict)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(i) else { return done };
                let verdict = std::panic::catch_unwind(|| case::judge(case, folder));
                done.push((i, verdict.unwrap_or_else(|e| Verdict::Different(format!("PANIC: {}", panic_message(&*e))))));
            }
        };
        let handles: Vec<_> = (0..threads)
            .map(|_| std::thread::Builder::new().stack_size(4 << 20).spawn_scoped(scope, work).expect("a thread starts"))
            .collect();
        handles.into_iter().flat_map(|h| h.join().expect("a worker catches the panics of its cases")).collect()
    });
    verdicts.sort_by_key(|(i, _)| *i);
    verdicts.into_iter().map(|(_, v)| v).collect()
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn table(counts: &BTreeMap<&str, Counts>) -> String {
    let mut out = format!("{:<32}{:>7}{:>7}{:>7}{:>13}\n", "pass", "cases", "equal", "text", "unsupported");
    let mut sum = Counts::default();
    for (name, row) in counts {
        let _ = writeln!(out, "{name:<32}{:>7}{:>7}{:>7}{:>13}", row.cases, row.equal, row.text, row.unsupported);
        sum.cases += row.cases;
        sum.equal += row.equal;
        sum.text += row.text;
        sum.unsupported += row.unsupported;
    }
    let _ = writeln!(out, "{:<32}{:>7}{:>7}{:>7}{:>13}", "all", sum.cases, sum.equal, sum.text, sum.unsupported);
    out
}

fn check(counts: &BTreeMap<&str, Counts>) {
    let baseline = std::fs::read_to_string(BASELINE).unwrap_or_default();
    let mut dropped = Vec::new();
    for line in baseline.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, _, equal, text, _] = fields.as_slice() else { continue };
        let Some(now) = counts.get(name) else { continue };
        let (equal, text): (usize, usize) = (equal.parse().unwrap_or(0), text.parse().unwrap_or(0));
        if now.equal < equal || now.text < text {
            dropped
                .push(format!("{name}: {equal} equal and {text} with the same text before, {} and {} now", now.equal, now.text));
        }
    }
    let total: usize = counts.values().map(|c| c.cases).sum();
    if dropped.is_empty() {
        println!("conformance: no count dropped over {total} cases");
    } else {
        println!("conformance dropped:\n{}", dropped.join("\n"));
        std::process::exit(1);
    }
}
