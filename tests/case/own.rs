//! The suite of this project (`tests/conformance/`): programs of our own generators with the results of TVM 0.27
//! (those of Relay: 0.19), recorded by `cargo xtask record`. The head of `record.py` documents the files.

use super::Case;
use serde_json::{Value as Json, json};
use std::path::Path;

/// Reads every pair, in the group `own:` and its kind and pass, and each text once as a round trip (`own:texts`).
pub fn read(filters: &[&String]) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut cases = Vec::new();
    for kind in ["relay", "relax", "tir", "schedule", "units", "copies"] {
        let packed = std::fs::read(folder.join(format!("{kind}.jsonl.z"))).expect("the suite is in the repository");
        let lines = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).expect("the suite is compressed by zlib");
        for line in std::str::from_utf8(&lines).expect("the suite is text").lines() {
            add(kind, &serde_json::from_str(line).expect("a program is JSON"), &mut cases);
        }
    }
    cases.retain(|case| {
        filters.is_empty() || filters.iter().any(|f| *f == "own" || case.group == **f || case.id.starts_with(f.as_str()))
    });
    cases
}

fn add(kind: &str, line: &Json, cases: &mut Vec<Case>) {
    let text = |at: &Json| at.as_u64().and_then(|at| line["texts"][at as usize].as_str());
    let mut put = |group: String, id: String, call: &str, json: Json| cases.push(Case { group, id, call: call.to_owned(), json });
    let name = line["id"].as_str().unwrap_or_default();
    let mut printed = Vec::new();
    for (at, pair) in line["pairs"].as_array().into_iter().flatten().enumerate() {
        let (before, after) = (text(&pair["from"]), text(&pair["to"]));
        let (call, id) = (pair["call"].as_str().unwrap_or_default(), format!("{name}.{at}"));
        if call.is_empty() {
            let json = json!({ "source": before, "printed": after, "error": pair["error"] });
            put("own:read".to_owned(), id, call, json);
        } else if pair["trace"] == true {
            let json = json!({ "before": before, "trace": call, "after": after, "error": pair["error"] });
            put("own:schedule".to_owned(), id, "schedule", json);
        } else {
            let pass = if call.matches("(").count() > 1 && call.contains("), ") {
                "sequences"
            } else {
                call.split('(').next().unwrap_or_default()
            };
            let json = json!({ "before": before, "after": after, "error": pair["error"], "context": pair["context"] });
            put(format!("own:{kind}:{pass}"), id, call, json);
            printed.extend(before);
        }
        printed.extend(after);
    }
    if kind == "relay" {
        // Constants stand in a section of their own, which a text that is printed again does not have.
        printed.clear();
    }
    printed.sort_unstable();
    printed.dedup();
    for (at, text) in printed.into_iter().enumerate() {
        put("own:texts".to_owned(), format!("{name}.text{at}"), "", json!({ "printed": text }));
    }
}
