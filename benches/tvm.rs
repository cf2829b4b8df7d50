//! The engine beside TVM itself, in one run: reading programs of Relax, and each pass over them. `cargo xtask bench tvm`.
//!
//! It needs a Python with `apache-tvm` 0.27, which $PASSLAB_PYTHON names, and programs: those of `../shared/corpus/relax` or
//! of the folder $PASSLAB_CORPUS. A program is read once; then each pass runs over it again and again, in one process here
//! and in one there (`benches/beside_tvm.py`), and the best time of each counts. With arguments only what has one of them in its
//! name is run (`cargo xtask bench tvm FuseOps vit`). Where `cargo xtask build` has made the page's engine and there is a Node,
//! a second column says how long a pass takes there (`benches/in_wasm.mjs`).
//!
//! TVM does next to nothing where it takes less than 20 µs; such rows are in the table and not in the summary.

use passlab::ir::{Dialect, Module, Store};
use passlab::pass::call::PassCall;
use passlab::pass::manager::{Registry, Runner, resolve_in};
use passlab::pass::trace::Trace;
use passlab::session::open;
use passlab::{parse, passes};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A time in milliseconds: the best of at least `LEAST` runs, of as many as fit into `SECONDS`, of at most `MOST`.
const SECONDS: f64 = 0.2;
const LEAST: usize = 2;
const MOST: usize = 500;

/// A time in milliseconds: a row in which TVM takes less does not count in the summary.
const NOTHING: f64 = 0.02;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let Some(python) = std::env::var_os("PASSLAB_PYTHON") else {
        println!("tvm: skipped, because $PASSLAB_PYTHON does not name a Python with apache-tvm 0.27");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = std::env::var_os("PASSLAB_CORPUS").map_or_else(|| root.join("../shared/corpus/relax"), PathBuf::from);
    let names: Vec<&str> = passes::ALL.iter().filter(|spec| spec.dialects == [Dialect::Relax]).map(|spec| spec.name).collect();
    let mut all = BTreeMap::<String, Vec<Row>>::new();
    let columns = ("TVM ms", "ours ms", "times", "wasm ms", "times");
    println!(
        "{:30} {:30} {:>10} {:>10} {:>8} {:>10} {:>8}",
        "program", "what", columns.0, columns.1, columns.2, columns.3, columns.4
    );
    for path in programs(&corpus) {
        let program = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let chosen = |what: &str| wanted.is_empty() || wanted.iter().any(|part| what.contains(part) || program.contains(part));
        let names: Vec<&str> = names.iter().copied().filter(|name| chosen(name)).collect();
        let script = Command::new(&python).arg(root.join("benches/beside_tvm.py")).arg(&path).args(&names).output();
        let theirs = match script {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                println!("{program:30} {}", why.lines().last().unwrap_or_default());
                continue;
            }
            Err(error) => return println!("tvm: {} does not run: {error}", python.to_string_lossy()),
        };
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let in_wasm = in_wasm(root, &path, &names);
        for (what, tvm) in theirs.lines().filter_map(|line| line.split_once('\t')).filter(|(what, _)| chosen(what)) {
            let (tvm, ours) = (tvm.parse().unwrap_or(f64::NAN), ours(&text, what));
            let Some(ours) = ours else {
                println!("{program:30} {what:30} {tvm:>10.3}     does not run");
                continue;
            };
            let wasm = in_wasm.get(what).copied();
            let beside = wasm.map_or(String::new(), |wasm| format!(" {wasm:>10.4} {:>8.1}", tvm / wasm));
            println!("{program:30} {what:30} {tvm:>10.3} {ours:>10.4} {:>8.1}{beside}", tvm / ours);
            all.entry(what.to_owned()).or_default().push(Row { program: program.clone(), tvm, ours, wasm });
        }
    }
    if wanted.is_empty() || wanted.iter().any(|part| part == "lower") {
        lowering(&python, root, &corpus, &mut all);
    }
    summary(&all);
}

/// TVM's lowering of a legalised, fused model to flat loops, as `www` has it for a plain CPU.
const LOWERING: &str = "s_tir.CanonicalizeLoop s_tir.LowerCrossThreadReduction s_tir.LowerInitBlock \
s_tir.PlanAndUpdateBufferAllocationLocation s_tir.ConvertBlocksToOpaque s_tir.LiftThreadBinding \
s_tir.ManifestSharedMemoryLocalStage s_tir.CompactBufferAllocation s_tir.LowerAutoCopy s_tir.UnifyThreadBinding \
s_tir.LowerMatchBuffer s_tir.StmtSimplify s_tir.InjectPermutedLayout s_tir.AnnotateIrregularLoop s_tir.InjectSoftwarePipeline \
s_tir.TransformMmaBufferLayout s_tir.LowerOpaqueBlock tirx.FlattenBuffer tirx.BF16ComputeLegalize s_tir.LoopPartition \
tirx.VectorizeLoop s_tir.InjectVirtualThread s_tir.InjectDoubleBuffer tirx.StorageRewrite s_tir.HoistIfThenElse tirx.UnrollLoop \
s_tir.RenormalizeSplitPattern tirx.StmtSimplify tirx.RemoveNoOp s_tir.RewriteUnsafeSelect s_tir.HoistExpression \
tirx.CommonSubexprElim";

/// Passes of TIR over ResNet-18 after LegalizeOps, FuseOps and FuseTIR: each over what the one before made.
fn lowering(python: &std::ffi::OsStr, root: &Path, corpus: &Path, all: &mut BTreeMap<String, Vec<Row>>) {
    let Some(path) = programs(corpus)
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("resnet18.")))
    else {
        return;
    };
    let script =
        Command::new(python).arg(root.join("benches/beside_tvm.py")).arg("--lower").arg(&path).args(LOWERING.split(' ')).output();
    let theirs = script.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    let theirs: BTreeMap<&str, f64> =
        theirs.lines().filter_map(|line| line.split_once('\t')).filter_map(|(what, ms)| Some((what, ms.parse().ok()?))).collect();
    let mut store = Store::new();
    let mut module = open(&mut store, &std::fs::read_to_string(&path).unwrap_or_default()).module;
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let (mut sum, program) = (0.0, "resnet18, lowered".to_owned());
    for what in "LegalizeOps AnnotateTIROpPattern FuseOps FuseTIR".split(' ').chain(LOWERING.split(' ')) {
        let Ok(pass) = resolve_in(&registry, &PassCall { name: what.to_owned(), args: Vec::new() }) else { continue };
        let run = |store: &mut Store| {
            let mut runner = Runner::new(registry.clone(), || 0.0, Trace::new(module.clone()));
            runner.call(store, &pass, &module).ok()
        };
        let start = Instant::now();
        let Some(next) = run(&mut store) else {
            println!("{program:30} {what:45}     does not run");
            continue;
        };
        sum += start.elapsed().as_secs_f64() * 1e3;
        if let Some(tvm) = theirs.get(what).copied() {
            // Nodes of the runs before would make the last ones slow: each begins with the same memory. A copy has
            // no room to grow, so the first run over it, which copies it once more, is not counted.
            let ours = best_of(|| {
                let mut own = store.clone();
                drop(black_box(run(&mut own)));
                let start = Instant::now();
                drop(black_box(run(&mut own)));
                start.elapsed().as_secs_f64() * 1e3
            });
            println!("{program:30} {what:45} {tvm:>10.3} {ours:>10.4} {:>8.1}", tvm / ours);
            all.entry(what.to_owned()).or_default().push(Row { program: program.clone(), tvm, ours, wasm: None });
        }
        module = next;
    }
    println!("{program:30} {:45} {:>10} {sum:>10.1} ms, each pass for the first time", "all of it", "");
}

struct Row {
    program: String,
    /// Milliseconds.
    tvm: f64,
    ours: f64,
    wasm: Option<f64>,
}

fn summary(all: &BTreeMap<String, Vec<Row>>) {
    let head = ("times faster", "n", "least", "median", "of sums", "in wasm");
    println!(
        "\n{:30} {:>4} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  least at",
        head.0, head.1, head.2, head.3, head.4, head.5, head.3, head.4
    );
    for (what, rows) in all {
        let mut rows: Vec<&Row> = rows.iter().filter(|row| row.tvm >= NOTHING).collect();
        rows.sort_by(|a, b| (a.tvm / a.ours).total_cmp(&(b.tvm / b.ours)));
        let Some(least) = rows.first() else {
            println!("{what:30}      TVM does next to nothing");
            continue;
        };
        let times = |row: &Row| row.tvm / row.ours;
        let sums = rows.iter().map(|row| row.tvm).sum::<f64>() / rows.iter().map(|row| row.ours).sum::<f64>();
        let median = times(rows[rows.len() / 2]);
        // The same of the engine of the page, over the programs that it ran.
        let both: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row.tvm, row.wasm?))).collect();
        let mut each: Vec<f64> = both.iter().map(|(tvm, wasm)| tvm / wasm).collect();
        each.sort_by(f64::total_cmp);
        let in_wasm = each.first().map_or(" ".repeat(26), |least| {
            let sums = both.iter().map(|(tvm, _)| tvm).sum::<f64>() / both.iter().map(|(_, wasm)| wasm).sum::<f64>();
            format!("{least:>8.1} {:>8.1} {sums:>8.1}", each[each.len() / 2])
        });
        let (count, place) = (rows.len(), &least.program);
        println!("{what:30} {count:>4} {:>8.1} {median:>8.1} {sums:>8.1} {in_wasm}  {place}", times(least));
    }
}

/// The programs of the corpus, each with its constants where a file has them.
fn programs(corpus: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(corpus).into_iter().flatten().flatten().map(|entry| entry.path());
    let with_constants = |path: &Path| path.with_extension("meta.py");
    let mut found: Vec<PathBuf> =
        found.filter(|path| path.extension().is_some_and(|end| end == "py") && !with_constants(path).exists()).collect();
    found.sort();
    found
}

/// The best times of passes in the engine of the page; none where it is not built.
fn in_wasm(root: &Path, program: &Path, passes: &[&str]) -> BTreeMap<String, f64> {
    let package = root.join("www/pkg");
    if !package.join("passlab_second.wasm").exists() {
        return BTreeMap::new();
    }
    let script = Command::new("node").arg(root.join("benches/in_wasm.mjs")).arg(package).arg(program).args(passes).output();
    let lines = script.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    let times = lines.lines().filter_map(|line| line.split_once('\t'));
    times.filter_map(|(what, time)| Some((what.to_owned(), time.parse().ok()?))).collect()
}

/// The best time of parsing or of a pass; nothing when it fails.
fn ours(text: &str, what: &str) -> Option<f64> {
    if what == "parse" {
        return Some(best(|| drop(black_box(parse::parse(&mut Store::new(), text)))));
    }
    let mut store = Store::new();
    let module = open(&mut store, text).module;
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let pass = resolve_in(&registry, &PassCall { name: what.to_owned(), args: Vec::new() }).ok()?;
    let mut run = || -> Option<Module> {
        let mut runner = Runner::new(registry.clone(), || 0.0, Trace::new(module.clone()));
        runner.call(&mut store, &pass, &module).ok()
    };
    run()?;
    Some(best(|| drop(black_box(run()))))
}

/// The least of the times that runs give.
fn best_of(mut run: impl FnMut() -> f64) -> f64 {
    let begin = Instant::now();
    let mut best = run();
    while begin.elapsed().as_secs_f64() < 2.0 * SECONDS {
        best = best.min(run());
    }
    best
}

fn best(mut run: impl FnMut()) -> f64 {
    run();
    let (mut best, mut runs, begin) = (f64::MAX, 0, Instant::now());
    while runs < LEAST || runs < MOST && begin.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        runs += 1;
    }
    best
}
