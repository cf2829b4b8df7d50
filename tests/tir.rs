//! Functions of TIR in everything that TVM 0.27 printed: each is read, prints back byte for byte, and is
//! structurally equal to itself read again. The counts stand in `tir.txt`.

mod beside;

use beside::beside;
use passlab::ir::{Expr, ExprId, Id, Name, Store, equal};
use passlab::parse::parse;
use passlab::print::{self, PrintOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let Some(folder) = beside(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == extension));
    paths.sort();
    paths
}

/// Returns the functions of TIR in a text, by name, without the indentation of the module.
fn functions(text: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = BTreeMap::new();
    let mut at = 0;
    while at < lines.len() {
        let indent = lines[at].len() - lines[at].trim_start().len();
        if !lines[at].trim_start().starts_with("@T.prim_func") {
            at += 1;
            continue;
        }
        let end = (at + 2..lines.len()).find(|i| lines[*i].trim().is_empty() || !lines[*i][indent..].starts_with(' '));
        let end = end.unwrap_or(lines.len());
        let text: String = lines[at..end].iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{}", &line[indent..]);
            text
        });
        let head = lines.get(at + 1).unwrap_or(&"").trim_start().trim_start_matches("def ");
        out.insert(head.split('(').next().unwrap_or("").to_string(), text);
        at = end;
    }
    out
}

#[derive(Default)]
struct Count {
    seen: BTreeSet<String>,
    functions: usize,
    read: usize,
    identical: usize,
    equal: usize,
}

fn measure(name: &str, text: &str, count: &mut Count, wrong: &mut Vec<String>) {
    let wanted = functions(text);
    // Most texts repeat functions of others. The declarations around a function are part of it.
    let declared: String = text.lines().filter(|line| line.contains("TypeVar(")).collect();
    let mut new = false;
    for function in wanted.values() {
        new |= count.seen.insert(format!("{declared}{function}"));
    }
    if !new {
        return;
    }
    let mut store = Store::new();
    let parsed = parse(&mut store, text);
    let module = &parsed.program.module;
    count.functions += wanted.len();
    let mut read: Vec<(Id<Name>, ExprId)> = module.functions().to_vec();
    read.retain(|(_, id)| matches!(store.expr(*id), Expr::PrimFunc(_)));
    count.read += read.len() + usize::from(parsed.program.expr.is_some());
    if let Some(problem) = parsed.diagnostics.first() {
        wrong.push(format!("{name}: {}", passlab::diag::render(std::slice::from_ref(problem), "text", text)));
    }
    let printed = match parsed.program.expr {
        Some(alone) => functions(&print::expr(&store, alone, &PrintOptions::default())),
        None => functions(&print::module(&store, module, &PrintOptions::default())),
    };
    for (function, wanted) in &wanted {
        match printed.get(function) {
            Some(found) if found == wanted => count.identical += 1,
            Some(found) => {
                let lines = wanted.lines().zip(found.lines()).find(|(a, b)| a != b);
                let (a, b) = lines.unwrap_or(("", "(another number of lines)"));
                wrong.push(format!("{name} {function}\n  wanted {a}\n  found  {b}"));
            }
            None => {}
        }
    }
    let again = parse(&mut store, text);
    let alone = parsed.program.expr.zip(again.program.expr);
    let pairs = read.into_iter().filter_map(|(name, first)| Some((first, again.program.module.function(name)?)));
    for (first, second) in pairs.chain(alone) {
        match equal::exprs(&store, first, second, equal::EqualOptions::default()) {
            Ok(()) => count.equal += 1,
            Err(difference) => wrong.push(format!("{name}: {difference:?}")),
        }
    }
}

#[test]
fn every_function_prints_as_tvm_printed_it() {
    let (mut count, mut wrong) = (Count::default(), Vec::new());
    for folder in ["corpus/relax", "corpus/relax/expected"] {
        for path in files(folder, "py") {
            measure(&path.display().to_string(), &fs::read_to_string(&path).unwrap(), &mut count, &mut wrong);
        }
    }
    for path in files("cases/relax", "jsonl") {
        for line in fs::read_to_string(&path).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            for key in ["before", "after", "printed"] {
                if let Some(text) = case[key].as_str() {
                    let name = format!("{} {} {key}", path.display(), case["id"]);
                    measure(&name, text, &mut count, &mut wrong);
                }
            }
        }
    }
    if count.functions == 0 {
        return;
    }
    let Count { functions, read, identical, equal, .. } = count;
    let found = format!("functions {functions}\nread {read}\nidentical {identical}\nequal {equal}\n");
    let shown = wrong.len().min(std::env::var("SHOW").ok().and_then(|n| n.parse().ok()).unwrap_or(3));
    println!("{found}{}", wrong[..shown].join("\n"));
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tir.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&known, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(&known).unwrap_or_default(), "BLESS=1 writes the counts anew");
}
