//! Checks rules that no compiler enforces: layering, file sizes, lists, names that belong to one place, and
//! independence of the machine that the project was written on. One test, one message with all findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, iter};

/// The modules of `src/` in layers; each may use itself and those above it. Modules on one line do not use each other.
const LAYERS: &[&[&str]] = &[
    &["words"],
    &["diag"],
    &["ir"],
    &["tir"],
    &["ops"],
    &["print"],
    &["parse"],
    &["infer"],
    &["build"],
    &["topi"],
    &["pattern"],
    &["verify"],
    &["eval"],
    &["schedule"],
    &["pass"],
    &["passes"],
    &["check"],
    &["diff"],
    &["repro"],
    &["session"],
    &["trust"],
    &["boundary"],
    &["cli"],
    &["wasm", "bin"],
];

/// Names that may stand only in the folders beside them: the engine knows nothing of the page, and
/// data formats are the business of those who read and write them.
const PLACES: &[(&str, &[&str])] = &[
    ("wasm_bindgen", &["src/boundary/wire.rs", "src/wasm/"]),
    ("js_sys", &["src/boundary/wire.rs", "src/wasm/"]),
    ("web_sys", &["src/wasm/"]),
    ("serde", &["src/boundary/", "src/wasm/"]),
    ("serde_wasm_bindgen", &["src/wasm/"]),
    ("serde_json", &["src/cli/", "src/parse/script/", "src/wasm/"]),
];

/// The most lines of a file: a pass with its tests, and any other file.
const PASS_LINES: usize = 400;
const FILE_LINES: usize = 600;

/// Files that `cargo xtask codegen` writes, whatever their length.
const WRITTEN: &[&str] = &["www/engine/protocol.ts", "www/sandbox/answers.ts", "www/user/calls.ts"];

/// The places of violations, by the advice about them.
type Findings = BTreeMap<String, Vec<String>>;

#[test]
fn the_project_is_tidy() {
    let files = tracked_files();
    let mut found = Findings::new();
    for (path, text) in &files {
        size(path, text, &mut found);
        machine(path, text, &mut found);
        if path.starts_with("src/") && path.ends_with(".rs") {
            let code = code_only(text);
            places(path, &code, &mut found);
            sorts(path, &code, &mut found);
            layering(path, &code, &mut found);
        }
    }
    modules_have_layers(&files, &mut found);
    passes_are_listed(&files, &mut found);
    unsafe_is_forbidden(&files, &mut found);
    lock_files(&files, &mut found);
    promises_have_tests(&files, &mut found);
    let mut message = String::new();
    for (advice, places) in &found {
        let _ = write!(message, "\n{advice}\n");
        for place in places {
            let _ = writeln!(message, "    {place}");
        }
    }
    assert!(message.is_empty(), "the project is not tidy:\n{message}");
}

fn note(found: &mut Findings, advice: impl Into<String>, place: impl Into<String>) {
    found.entry(advice.into()).or_default().push(place.into());
}

/// Returns every text file that git tracks or would track, by its path from the root, with forward slashes.
fn tracked_files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // Outside a repository (an unpacked archive) there are no untracked files to leave out, except build outputs.
    let paths: Vec<String> = listing.map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_else(|| walk(root));
    assert!(paths.iter().any(|path| path == "Cargo.toml"), "no files found below {root:?}");
    let read = |path: String| fs::read_to_string(root.join(&path)).ok().map(|text| (path, text));
    paths.into_iter().filter_map(read).collect()
}

fn walk(root: &Path) -> Vec<String> {
    let mut folders = vec![root.to_path_buf()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if ["target", "dist", "node_modules", "pkg", ".git"].iter().any(|built| name == *built) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                paths.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    paths
}

fn size(path: &str, text: &str, found: &mut Findings) {
    let rust = path.ends_with(".rs");
    let page = path.starts_with("www/") && (path.ends_with(".ts") || path.ends_with(".tsx"));
    if !rust && !page || WRITTEN.contains(&path) {
        return;
    }
    let limit = if path.starts_with("src/passes/") { PASS_LINES } else { FILE_LINES };
    let lines = text.lines().count();
    if lines > limit {
        note(
            found,
            "Too long (a pass 400 lines with its tests, other files 600). Split by theme:",
            format!("{path}: {lines} lines, {limit} allowed"),
        );
    }
}

/// Finds paths of one machine, and addresses from which packages were downloaded.
fn machine(path: &str, text: &str, found: &mut Findings) {
    // Put together here, so that this file does not find itself.
    let folders = ["tmp", "root", "work", "home"].map(|name| format!("/{name}/"));
    for (number, line) in text.lines().enumerate() {
        for folder in &folders {
            let absolute = line.match_indices(folder).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-/)}*".contains(c))
            });
            if absolute {
                note(
                    found,
                    "A path of one machine. Say it relative to the project, or ask the system \
                     (std::env::temp_dir):",
                    format!("{path}:{}: {}", number + 1, line.trim()),
                );
            }
        }
    }
}

fn lock_files(files: &BTreeMap<String, String>, found: &mut Findings) {
    let advice = "A lock file names where packages came from. Set omit-lockfile-registry-resolved \
                  (npm) or no source replacement (cargo), and write it again:";
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let foreign = match path.as_str() {
                "package-lock.json" => line.starts_with("\"resolved\": \"http"),
                "Cargo.lock" => {
                    line.starts_with("source = ") && !line.contains("\"registry+https://github.com/rust-lang/crates.io-index\"")
                }
                _ => false,
            };
            if foreign {
                note(found, advice, format!("{path}:{}", number + 1));
            }
        }
    }
}

fn places(path: &str, code: &str, found: &mut Findings) {
    for (name, folders) in PLACES {
        let allowed =
            folders.iter().any(|folder| path.starts_with(folder) || path == format!("{}.rs", folder.trim_end_matches('/')));
        if !allowed {
            for line in lines_naming(code, name) {
                note(
                    found,
                    format!("`{name}` belongs into {}. Pass plain data there:", folders.join(", ")),
                    format!("{path}:{line}"),
                );
            }
        }
    }
}

/// The library's sorts are copied for every type and every order, and the page loads all of it.
fn sorts(path: &str, code: &str, found: &mut Findings) {
    if path == "src/ir/sort.rs" || path.starts_with("src/bin/") || path.starts_with("src/cli/") {
        return;
    }
    for (number, line) in code.lines().enumerate() {
        if line.contains(".sort") {
            note(found, "Sort with crate::ir::sort, which is compiled once:", format!("{path}:{}: {}", number + 1, line.trim()));
        }
    }
}

/// Returns the layer of [`LAYERS`] that a module is in.
fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&module))
}

/// Returns the module of `src/` that a file is part of; `None` for `src/lib.rs`.
fn module_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib").then_some(name)
}

fn layering(path: &str, code: &str, found: &mut Findings) {
    let Some(module) = module_of(path) else {
        return;
    };
    // A module's tests may use any layer; so may a file with tests alone.
    if path.ends_with("tests.rs") || path.contains("/tests/") {
        return;
    }
    let Some(own) = layer(module) else { return };
    for (line, used) in crate_paths(code) {
        let Some(theirs) = layer(&used) else { continue };
        if used != module && theirs >= own {
            note(
                found,
                "Layers: a module uses only those before it (the list LAYERS in tests/tidy.rs). \
                 Move what is shared down, or pass it in:",
                format!("{path}:{line}: {module} uses {used}"),
            );
        }
    }
}

fn modules_have_layers(files: &BTreeMap<String, String>, found: &mut Findings) {
    let modules: BTreeSet<&str> = files.keys().filter(|path| path.ends_with(".rs")).filter_map(|p| module_of(p)).collect();
    for module in modules {
        if layer(module).is_none() {
            note(
                found,
                "A module without a layer. Give it one in LAYERS (tests/tidy.rs) and in src/lib.rs:",
                format!("src/{module}"),
            );
        }
    }
}

/// Tests that every declared pass stands in the list of `src/passes/mod.rs`. Files without a declaration are shared by
/// passes.
fn passes_are_listed(files: &BTreeMap<String, String>, found: &mut Findings) {
    let list = files.get("src/passes/mod.rs").map(|text| code_only(text)).unwrap_or_default();
    for (path, text) in files {
        let Some(inside) = path.strip_prefix("src/passes/").and_then(|rest| rest.strip_suffix(".rs")) else { continue };
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        let Some((_, pass)) = inside.rsplit_once('/') else { continue };
        if declares_pass(&code_only(text)) && lines_naming(&list, pass).next().is_none() {
            note(found, "A pass that nobody can run. List it in src/passes/mod.rs:", path.as_str());
        }
    }
}

/// Does the code say `static NAME: PassSpec`?
fn declares_pass(code: &str) -> bool {
    code.lines().any(|line| line.contains("static ") && line.contains(": PassSpec"))
}

/// Every package of the workspace forbids unsafe code for all of its targets.
fn unsafe_is_forbidden(files: &BTreeMap<String, String>, found: &mut Findings) {
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        if !text.contains("unsafe_code = \"forbid\"") {
            note(found, "Write `unsafe_code = \"forbid\"` under [lints.rust] in:", path);
        }
    }
}

/// Every promise of the threat model names a test that is there: a file or folder in backticks, a test in backticks or quotes.
fn promises_have_tests(files: &BTreeMap<String, String>, found: &mut Findings) {
    const MODEL: &str = "docs/threat-model.md";
    let model = files.get(MODEL).map_or("", String::as_str);
    for (at, line) in model.lines().enumerate() {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [promise, _, shown] = cells[..] else { continue };
        if promise.trim_start_matches("| ").starts_with("promise") {
            continue;
        }
        let place = || format!("{MODEL}:{}", at + 1);
        let words: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        let (paths, names): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| word.contains('/'));
        let is_there = |path: &&str| files.keys().any(|known| known == path || path.ends_with('/') && known.starts_with(path));
        let is_test =
            |name: &str| files.iter().any(|(path, text)| path.ends_with(".rs") && text.contains(&format!("fn {name}()")));
        let titled =
            |title: &str| paths.iter().any(|path| files.get(*path).is_some_and(|text| text.contains(&format!("\"{title}\""))));
        if paths.is_empty() && names.is_empty() {
            note(found, "A promise without a test. Name the test that shows it:", place());
        }
        let missing = paths.iter().filter(|path| !is_there(path)).chain(names.iter().filter(|name| !is_test(name)));
        let titles = shown.split('"').skip(1).step_by(2);
        for name in missing.copied().chain(titles.filter(|title| !titled(title))) {
            note(found, "A test that the threat model names and that is not there:", format!("{}: {name}", place()));
        }
    }
}

/// True if `c` can be part of a Rust name.
fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the lines (from 1) on which `name` stands as a whole name.
fn lines_naming<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let names = move |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            !line[..at].chars().next_back().is_some_and(in_name) && !line[at + name.len()..].chars().next().is_some_and(in_name)
        })
    };
    code.lines().enumerate().filter(move |(_, line)| names(line)).map(|(number, _)| number + 1)
}

/// Returns the first names after `crate::` (and after `passlab::`, as the program in `src/bin` writes), those of a
/// braced list included, with their lines.
fn crate_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for start in ["crate::", "passlab::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].chars().next_back().is_some_and(in_name) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let rest = &code[at + start.len()..];
            let name = |text: &str| text.chars().take_while(|c| in_name(*c)).collect::<String>();
            if let Some(list) = rest.strip_prefix('{') {
                paths.extend(top_level(list).into_iter().map(|item| (line, name(&item))));
            } else {
                paths.push((line, name(rest)));
            }
        }
    }
    paths
}

/// Returns the items of a braced list whose opening brace was just read.
fn top_level(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            c if depth == 0 && !c.is_whitespace() => items.last_mut().expect("never empty").push(c),
            _ => {}
        }
    }
    items
}

/// Returns the code of a file: comments, the contents of strings and everything under `#[cfg(test)]` are blanked, line
/// ends stay.
fn code_only(text: &str) -> String {
    let code = without_comments_and_strings(text);
    let mut kept = String::with_capacity(code.len());
    let mut rest = code.as_str();
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        let length = item_length(&rest[at..]);
        kept.extend(rest[at..at + length].chars().filter(|c| *c == '\n'));
        rest = &rest[at + length..];
    }
    kept + rest
}

/// Returns the length of an item with its attribute: to the closing brace, or to a semicolon before any.
fn item_length(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let name_before = code.chars().next_back().is_some_and(in_name);
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if c == '"' {
            quoted(rest)
        } else if c == 'r' && !name_before {
            raw_string(rest)
        } else if c == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            rest = &rest[skipped..];
        }
    }
    code
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn quoted(text: &str) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a raw string, 0 if `text` does not begin with one.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end: String = iter::once('"').chain(iter::repeat_n('#', hashes)).collect();
    let body = 2 + hashes;
    text[body..].find(&end).map_or(text.len(), |at| body + at + end.len())
}

/// Returns the length of a character literal, 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let rest = 1 + at + escaped.len_utf8();
            text[rest..].find('\'').map_or(0, |end| rest + end + 1)
        }
        (Some(_), Some((at, '\''))) => 1 + at + 1,
        _ => 0,
    }
}

mod own {
    //! Tests that each rule finds its violations.
    use super::*;

    fn findings(check: impl FnOnce(&mut Findings)) -> usize {
        let mut found = Findings::new();
        check(&mut found);
        found.values().map(Vec::len).sum()
    }

    #[test]
    fn a_lower_layer_may_not_name_a_higher_one() {
        let uses = |path: &str, code: &str| findings(|f| layering(path, &code_only(code), f));
        assert_eq!(uses("src/ir/expr.rs", "use crate::passes::Pass;"), 1);
        assert_eq!(uses("src/ir/expr.rs", "fn f() { crate::eval::run() }"), 1);
        assert_eq!(uses("src/print/mod.rs", "use crate::{ir::Id, parse::{a, b}, diag};"), 1);
        assert_eq!(uses("src/passes/mod.rs", "use crate::{ir::Id, pass::Pass, passes::relay};"), 0);
        assert_eq!(uses("src/bin/passlab.rs", "use passlab::wasm::Session;"), 1);
    }

    #[test]
    fn comments_strings_and_tests_name_what_they_like() {
        let code = "// crate::wasm\n/* crate::wasm /* */ */ \"crate::wasm\\\"\" r#\"crate::wasm\"#\n\
                    '\\'' '\"' fn f<'a>() {}\n#[cfg(test)]\nmod tests { use crate::wasm::X; { } }\n\
                    use crate::pass::Y;";
        assert_eq!(crate_paths(&code_only(code)), [(6, "pass".to_owned())]);
    }

    #[test]
    fn names_of_the_boundary_stay_at_the_boundary() {
        let named = |path: &str, code: &str| findings(|f| places(path, code, f));
        assert_eq!(named("src/ir/mod.rs", "use serde::Serialize;"), 1);
        assert_eq!(named("src/cli/opt.rs", "serde_json::from_str(s)"), 0);
        assert_eq!(named("src/eval/mod.rs", "serde_json::from_str(s)"), 1);
        assert_eq!(named("src/wasm/mod.rs", "use wasm_bindgen::prelude::*;"), 0);
        assert_eq!(named("src/ir/mod.rs", "deserde"), 0);
    }

    #[test]
    fn a_promise_whose_test_is_gone_is_found() {
        let model = |shown: &str| {
            let row = format!("| promise | held by | shown by |\n|---|---|---|\n| It holds. | care | {shown} |\n");
            let files =
                [("docs/threat-model.md", row.as_str()), ("tests/a.rs", "fn it_holds() {}"), ("www/a.test.ts", "test(\"it\")")];
            let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
            findings(|found| promises_have_tests(&files, found))
        };
        assert_eq!(model("`tests/a.rs`, `it_holds`, `www/a.test.ts` (\"it\"), `tests/`"), 0);
        assert_eq!(model("care"), 1);
        assert_eq!(model("`tests/b.rs`, `it_breaks`, `www/a.test.ts` (\"is\")"), 3);
    }

    #[test]
    fn long_files_and_paths_of_a_machine_are_found() {
        let long = "x\n".repeat(401);
        assert_eq!(findings(|f| size("src/passes/relay/x.rs", &long, f)), 1);
        assert_eq!(findings(|f| size("src/ir/x.rs", &long, f)), 0);
        assert_eq!(findings(|f| machine("a.md", concat!("see /", "tmp/x"), f)), 1);
        assert_eq!(findings(|f| machine("a.md", "see target/tmp/x", f)), 0);
    }

    #[test]
    fn a_pass_outside_the_list_is_found() {
        let files = |list: &str| {
            BTreeMap::from([
                ("src/passes/mod.rs".to_owned(), list.to_owned()),
                ("src/passes/relay/support.rs".to_owned(), "pub fn f() {}".to_owned()),
                ("src/passes/relay/fold_constant.rs".to_owned(), "pub static SPEC: PassSpec = x();".to_owned()),
            ])
        };
        assert_eq!(findings(|f| passes_are_listed(&files("// fold_constant"), f)), 1);
        assert_eq!(findings(|f| passes_are_listed(&files("relay::fold_constant::PASS,"), f)), 0);
    }
}
