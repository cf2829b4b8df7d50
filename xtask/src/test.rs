//! `cargo xtask test`: everything that is checked, stage by stage. Some stages run beside an earlier one, and say what they
//! found in their turn. A failed stage does not hide the later ones; the last line counts them.

use crate::build;
use crate::engine::{Goal, engine, explanations, of_page};
use crate::setup::{self, WASM_TARGET};
use crate::sh::{Result, Sh, cargo, npm, root, sh, target_dir, without_lines};
use std::process::Child;
use std::time::Instant;

/// The outcome of a stage that did not fail.
enum Done {
    Passed,
    /// It passed; these parts of it had nothing to check, for this reason.
    Partly(Vec<String>),
    /// Not run, and why that is in order.
    Skipped(String),
}

use Done::{Partly, Passed, Skipped};

struct Stage {
    /// The name on the command line and in the summary.
    name: &'static str,
    /// One line about its contents.
    about: &'static str,
    run: fn() -> Result<Done>,
    /// An earlier stage that this one runs side by side with. It leaves a processor free, or this one would run alone later; what
    /// both build is in different folders, or one waits for the other by cargo's lock.
    beside: Option<&'static str>,
}

impl Stage {
    const fn new(name: &'static str, about: &'static str, run: fn() -> Result<Done>) -> Stage {
        Stage { name, about, run, beside: None }
    }

    const fn beside(self, earlier: &'static str) -> Stage {
        Stage { beside: Some(earlier), ..self }
    }
}

const STAGES: &[Stage] = &[
    Stage::new("format", "rustfmt changes nothing, ruff finds nothing in Python", format),
    Stage::new("clippy", "no warnings, also in the half for the page and in the documentation", clippy),
    Stage::new("native", "unit, file, property and tidy tests", native),
    Stage::new("conformance", "no pass agrees with TVM less than before", agrees),
    Stage::new("engine", "the optimised engine in www/pkg", wasm_engine).beside("format"),
    Stage::new("texts", "the long texts about passes in www/pkg", texts),
    Stage::new("wasm-node", "the boundary of the engine, in Node", wasm_node),
    Stage::new("wasm-browser", "the same in a worker of a browser", wasm_browser),
    Stage::new("types", "tsc finds no type errors in the page", types),
    Stage::new("lint", "biome finds nothing in the page", lint),
    Stage::new("unit", "unit tests of the page", unit),
    Stage::new("site", "production build, within budget.json", site),
    Stage::new("python", "tests in Python: our own, and each eighth file of TVM's as before", python_tests).beside("types"),
    Stage::new("deep", "programs 100,000 nodes deep, over the engine in Node", deep).beside("native"),
    Stage::new("e2e", "the built page, used in a real browser", e2e),
];

/// Runs all stages, or those named.
pub fn test(names: &[String]) -> Result {
    if let Some(unknown) = names.iter().find(|name| STAGES.iter().all(|s| s.name != **name)) {
        let known: Vec<_> = STAGES.iter().map(|stage| stage.name).collect();
        return Err(format!("there is no stage {unknown}; stages are {}", known.join(", ")));
    }
    let wanted = |stage: &&Stage| names.is_empty() || names.iter().any(|name| name == stage.name);
    let stages: Vec<_> = STAGES.iter().filter(wanted).collect();
    let mut lines = Vec::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut started = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        for later in stages.iter().filter(|later| later.beside == Some(stage.name)) {
            started.extend(start_beside(later.name).map(|child| (later.name, child)));
        }
        println!("\n=== {}/{} {}: {}", index + 1, stages.len(), stage.name, stage.about);
        let start = Instant::now();
        let outcome = match started.iter_mut().find(|(name, _)| *name == stage.name) {
            Some((_, child)) => outcome_of(stage.name, child),
            None => (stage.run)(),
        };
        let seconds = start.elapsed().as_secs_f32();
        let (word, why) = match outcome {
            Ok(Passed) => {
                passed += 1;
                ("passed", String::new())
            }
            Ok(Partly(parts)) => {
                passed += 1;
                skipped += parts.len();
                parts.iter().for_each(|part| println!("skipped: {part}"));
                ("passed", format!("{} skipped", parts.len()))
            }
            Ok(Skipped(why)) => {
                skipped += 1;
                ("skipped", why)
            }
            Err(why) => {
                failed += 1;
                ("FAILED", why)
            }
        };
        let line = format!("{word:8}{:13}{seconds:7.1} s  {why}", stage.name);
        println!("--- {}", line.trim_end());
        lines.push(line);
    }
    println!("\n=== summary");
    for line in lines {
        println!("{}", line.trim_end());
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err("not everything passed".to_owned()) }
}

/// Runs `cargo xtask conformance`: the runner over the cases that TVM made. As an edit is compiled soonest: two thousand
/// cases take three seconds that way.
pub fn conformance(args: &[String]) -> Result {
    compared(args).run()
}

fn compared(args: &[String]) -> Sh {
    of_engine().args(["--quiet", "--test", "conformance", "--"]).args(args)
}

/// Runs `cargo xtask record`: programs of our own through TVM, written to `tests/conformance`.
pub fn record(kinds: &[String]) -> Result {
    let relay = kinds.iter().any(|kind| kind == "relay");
    if relay && kinds.len() > 1 {
        return Err("relay is recorded by another Python than the other kinds, so by itself: cargo xtask record relay".to_owned());
    }
    let (name, version) = if relay { ("PASSLAB_RELAY_PYTHON", "0.19") } else { ("PASSLAB_PYTHON", "0.27") };
    let Some(python) = std::env::var_os(name) else {
        return Err(format!("${name} does not name a Python with TVM {version}"));
    };
    sh(python).arg("tests/conformance/record.py").args(kinds).run()
}

/// Runs `cargo xtask bench page`: the built page in a real browser, timed.
pub fn bench_page() -> Result {
    setup::npm_packages()?;
    npm().args(["run", "--silent", "bench"]).env("CHROME", setup::browser()?.chrome).run()
}

fn format() -> Result<Done> {
    cargo().args(["fmt", "--all", "--", "--check"]).run()?;
    let Some(ruff) = setup::ruff() else {
        return Ok(Partly(vec!["ruff could not be installed, and what is written in Python is not checked".to_owned()]));
    };
    sh(ruff).args(["check", "--quiet"]).run()?;
    Ok(Passed)
}

fn clippy() -> Result<Done> {
    // The engine of the page is checked along, natively: for wasm all of the rest would be checked once more.
    for targets in [vec!["--all-targets".to_owned()], files_of_tests(true)?] {
        let command = cargo().args(["clippy", "--package", "passlab", "--features", "page"]);
        command.args(targets).args(["--", "-D", "warnings"]).run()?;
    }
    let docs = ["doc", "--no-deps", "--document-private-items", "--package", "passlab", "--lib", "--features", "page"];
    cargo().args(docs).env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Passed)
}

fn native() -> Result<Done> {
    let files = of_engine().arg("--bins").args(files_of_tests(false)?);
    let engine = counted(vec![of_engine().arg("--lib"), files, of_engine().arg("--doc")]);
    // Apart, because together they would share features, and xtask's dependencies be compiled again.
    cargo().args(["test", "--quiet", "--package", "xtask"]).run()?;
    engine
}

/// Tests of the engine are compiled as for an edit: their run takes a minute of a processor more than optimised a little, and
/// their compilation four less.
fn of_engine() -> Sh {
    cargo().args(["test", "--package", "passlab", "--no-fail-fast"])
}

/// Selects the files in `tests` that cargo runs by itself, or those `apart` of which `Cargo.toml` says `test = false`: other
/// stages run them, and cargo leaves them out of `--all-targets`.
fn files_of_tests(apart: bool) -> Result<Vec<String>> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let tables = manifest.split("\n[[test]]\n").skip(1).map(|table| table.split("\n[").next().unwrap_or_default());
    let left_out: Vec<&str> = tables.filter(|table| table.contains("test = false")).collect();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root().join("tests")).map_err(|error| format!("tests: {error}"))?.flatten() {
        let path = entry.path();
        let is_test = if path.is_dir() { path.join("main.rs").exists() } else { path.extension().is_some_and(|it| it == "rs") };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if is_test && apart == left_out.iter().any(|table| table.contains(&format!("name = \"{name}\""))) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names.into_iter().flat_map(|name| ["--test".to_owned(), name]).collect())
}

/// Runs tests of the engine, and tells what they skipped for want of something to read. A failure does not hide later ones.
fn counted(runs: Vec<Sh>) -> Result<Done> {
    let said = target_dir().join("skipped.txt");
    let _ = std::fs::remove_file(&said);
    let mut outcome = Ok(());
    for run in runs {
        outcome = outcome.and(without_lines(run).env("PASSLAB_SKIPPED", &said).run());
    }
    outcome?;
    let lines = std::fs::read_to_string(said).unwrap_or_default();
    let parts: Vec<String> = lines.lines().map(|line| line.trim_start_matches("skipped: ").to_owned()).collect();
    Ok(if parts.is_empty() { Passed } else { Partly(parts) })
}

fn agrees() -> Result<Done> {
    without_lines(compared(&["--check".to_owned()])).run()?;
    if std::env::var_os("PASSLAB_CASES").is_none() && !root().join("../shared/cases").exists() {
        return Ok(Partly(vec!["no cases beside the suite of the project (../shared/cases, or $PASSLAB_CASES)".to_owned()]));
    }
    Ok(Passed)
}

/// Returns the command for tests over the library that the page has. Their runner is this program, as [`run_wasm_tests`].
fn of_wasm() -> Result<Sh> {
    setup::wasm_target()?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let runner = format!("target.{WASM_TARGET}.runner=[{:?}, \"{RUNNER}\"]", program.display().to_string());
    // A test has 20 seconds otherwise.
    Ok(of_page("test", Goal::Release).args(["--config", &runner]).env("WASM_BINDGEN_TEST_TIMEOUT", "900"))
}

/// The command of this program for [`run_wasm_tests`], which cargo uses.
pub const RUNNER: &str = "run-wasm-tests";

/// Runs tests for wasm as wasm-bindgen's own runner, with a module and its arguments from cargo.
pub fn run_wasm_tests() -> Result {
    let args = std::env::args_os().skip(1);
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(args).map_err(|error| format!("{error:?}"))
}

fn wasm_node() -> Result<Done> {
    of_wasm()?.args(["--test", "wasm"]).run()?;
    Ok(Passed)
}

fn deep() -> Result<Done> {
    of_wasm()?.args(["--test", "deep"]).run()?;
    Ok(Passed)
}

fn wasm_browser() -> Result<Done> {
    let browser = match setup::browser() {
        Ok(browser) => browser,
        Err(why) => return without_browser(why),
    };
    let Some(driver) = browser.driver else {
        return without_browser("no chromedriver found (set CHROMEDRIVER)".to_owned());
    };
    of_wasm()?.args(["--test", "wasm"]).env("WASM_BINDGEN_USE_DEDICATED_WORKER", "1").env("CHROMEDRIVER", driver).run()?;
    Ok(Passed)
}

/// A missing browser is excused on a developer's machine, never in CI.
fn without_browser(why: String) -> Result<Done> {
    if std::env::var("CI").is_ok_and(|ci| ci == "true") { Err(why) } else { Ok(Skipped(why)) }
}

fn wasm_engine() -> Result<Done> {
    setup::npm_packages()?;
    engine(Goal::Release)?;
    Ok(Passed)
}

fn texts() -> Result<Done> {
    explanations()?;
    Ok(Passed)
}

/// Starts a stage as a process of its own. Its output goes to a file. Tools that both may install are installed before.
fn start_beside(name: &str) -> Option<Child> {
    setup::wasm_target().and_then(|()| setup::npm_packages()).ok()?;
    let log = std::fs::File::create(log_of(name)).ok()?;
    let program = std::env::current_exe().ok()?;
    sh(program).args(["test", name]).spawn_into(log).ok()
}

fn log_of(name: &str) -> std::path::PathBuf {
    target_dir().join(format!("stage-{name}.log"))
}

/// Waits for a stage that was started before, says what it said, and reads its outcome from its last lines.
fn outcome_of(name: &str, child: &mut Child) -> Result<Done> {
    let status = child.wait().map_err(|error| format!("{name}: {error}"))?;
    let log = std::fs::read_to_string(log_of(name)).unwrap_or_default();
    print!("{log}");
    if !status.success() {
        return Err("see its lines above".to_owned());
    }
    if let Some(line) = log.lines().find_map(|line| line.strip_prefix("--- skipped")) {
        return Ok(Skipped(line.split_once(" s  ").map_or("", |(_, why)| why).to_owned()));
    }
    let parts: Vec<String> = log.lines().filter_map(|line| line.strip_prefix("skipped: ")).map(str::to_owned).collect();
    Ok(if parts.is_empty() { Passed } else { Partly(parts) })
}

fn npm_script(name: &str) -> Result<Done> {
    setup::npm_packages()?;
    npm().args(["run", "--silent", name]).run()?;
    Ok(Passed)
}

fn types() -> Result<Done> {
    npm_script("typecheck")
}

fn lint() -> Result<Done> {
    npm_script("lint")
}

fn unit() -> Result<Done> {
    npm_script("test:unit")?;
    if root().join("www/pkg").exists() {
        return Ok(Passed);
    }
    Ok(Partly(vec!["there is no engine in www/pkg, and passes written by the user are not run".to_owned()]))
}

fn site() -> Result<Done> {
    setup::npm_packages()?;
    build::site()?;
    Ok(Passed)
}

fn e2e() -> Result<Done> {
    setup::npm_packages()?;
    match setup::browser() {
        Err(why) => without_browser(why),
        Ok(browser) => {
            npm().args(["run", "--silent", "e2e"]).env("CHROME", browser.shell.unwrap_or(browser.chrome)).run()?;
            Ok(Passed)
        }
    }
}

/// Our own tests of the package, and a part of TVM's.
fn python_tests() -> Result<Done> {
    let mut files: Vec<String> = std::fs::read_dir(root().join("tests/python"))
        .map_err(|error| format!("tests/python: {error}"))?
        .filter_map(|entry| Some(entry.ok()?.path().display().to_string()))
        .filter(|path| path.ends_with(".py"))
        .collect();
    files.sort();
    let arguments: Vec<String> = std::iter::once("--pytest".to_owned()).chain(files).collect();
    crate::python::python(&arguments)?;
    if std::env::var_os("PASSLAB_PYTHON_TESTS").is_none() && !root().join("../shared/python").exists() {
        return Ok(Skipped(
            "our own passed; no tests of TVM beside the project (../shared/python, or $PASSLAB_PYTHON_TESTS)".to_owned(),
        ));
    }
    crate::python::python(&["--table", "--check", "--sample"].map(str::to_owned))?;
    Ok(Passed)
}
