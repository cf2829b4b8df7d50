//! Programs as people paste them: from documentation, courses, threads and repositories of all years.

use super::{Case, Verdict, explain};
use passlab::diag::Diagnostic;
use passlab::ir::Store;
use passlab::print::{self, PrintOptions};
use passlab::session::{Opened, open};
use std::path::Path;

/// Returns the cases of `../shared/cases/wild`, a group `wild:KIND` for each place that they come from.
pub fn read(folder: &Path, filters: &[&String]) -> Vec<Case> {
    let text = std::fs::read_to_string(folder.join("programs.jsonl")).unwrap_or_default();
    let cases = text.lines().map(|line| {
        let json: serde_json::Value = serde_json::from_str(line).expect("a case is JSON");
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let call = format!("{}: {}", text("name"), text("class"));
        Case { group: format!("wild:{}", text("kind")), id: text("id"), call, json }
    });
    let wanted = |case: &Case| {
        filters.is_empty() || filters.iter().any(|f| *f == "wild" || case.group == **f || case.id.starts_with(f.as_str()))
    };
    cases.filter(wanted).collect()
}

/// Counts a text that reads as *equal*, and as *text* when its print is read again to the same print; one that is
/// refused counts as both when it has exactly one error.
pub fn judge(case: &Case) -> Verdict {
    let source = case.json["text"].as_str().unwrap_or_default();
    let mut store = Store::new();
    let opened = open(&mut store, source);
    let errors = opened.diagnostics.iter().filter(|d| d.is_error()).count();
    if case.json["expect"] == "refused" {
        return match errors {
            1 => Verdict::Equal { text: true },
            0 => Verdict::Different("it is read".to_owned()),
            _ => explain(&opened.diagnostics),
        };
    }
    if errors > 0 {
        return explain(&opened.diagnostics);
    }
    let printed = printed(&store, &opened);
    let again = open(&mut store, &printed);
    let text = !again.diagnostics.iter().any(Diagnostic::is_error) && self::printed(&store, &again) == printed;
    Verdict::Equal { text }
}

fn printed(store: &Store, opened: &Opened) -> String {
    match opened.expr {
        Some(expr) => print::expr(store, expr, &PrintOptions::default()),
        None => print::module(store, &opened.module, &PrintOptions::default()),
    }
}
