//! The law that lowering keeps the results of tensor programs: programs of TVM's tests with arguments
//! (`../shared/cases/tir`) and the models in `../shared/corpus/relax` after LegalizeOps, before and after each pass of
//! TVM's lowering, one after the other; and the law that schedules keep them: those of the cases and of the project's own suite,
//! before and after. Without those folders the tests say so.

mod beside;

use beside::beside;
use passlab::check::compare::{Agreement, Tolerance, compare};
use passlab::cli::json::value_from_json;
use passlab::eval::{EvalOptions, Value, eval_function};
use passlab::ir::{Dialect, Expr, Module, PrimExpr, PrimParam, Store};
use passlab::parse::trace::parse_trace;
use passlab::pass::PassContext;
use passlab::pass::call::parse_calls;
use passlab::pass::manager::{Registry, Row, Runner, resolve_in};
use passlab::pass::trace::Trace;
use passlab::passes;
use passlab::schedule::{State, apply_trace};
use passlab::session::{open, seeded_args};
use std::collections::HashSet;
use std::path::PathBuf;

/// TVM's default lowering, up to where the arguments of functions become those of the packed convention. A pass that is not
/// there yet is left out.
const LOWERING: &[&str] = &[
    "s_tir.CanonicalizeLoop()",
    "s_tir.LowerCrossThreadReduction()",
    "s_tir.LowerInitBlock()",
    "s_tir.PlanAndUpdateBufferAllocationLocation()",
    "s_tir.ConvertBlocksToOpaque()",
    "s_tir.LiftThreadBinding()",
    "s_tir.ManifestSharedMemoryLocalStage()",
    "s_tir.CompactBufferAllocation()",
    "s_tir.LowerAutoCopy()",
    "s_tir.UnifyThreadBinding()",
    "s_tir.LowerMatchBuffer()",
    "s_tir.StmtSimplify()",
    "s_tir.InjectPermutedLayout()",
    "s_tir.AnnotateIrregularLoop()",
    "s_tir.InjectSoftwarePipeline()",
    "s_tir.TransformMmaBufferLayout()",
    "s_tir.LowerOpaqueBlock()",
    "tirx.FlattenBuffer()",
    "tirx.BF16ComputeLegalize()",
    "tirx.NarrowDataType()",
    "s_tir.LoopPartition()",
    "tirx.VectorizeLoop()",
    "s_tir.InjectVirtualThread()",
    "s_tir.InjectDoubleBuffer()",
    "tirx.StorageRewrite()",
    "s_tir.HoistIfThenElse()",
    "tirx.UnrollLoop()",
    "s_tir.RenormalizeSplitPattern()",
    "tirx.StmtSimplify()",
    "tirx.RemoveNoOp()",
    "s_tir.RewriteUnsafeSelect()",
    "s_tir.HoistExpression()",
    "tirx.CommonSubexprElim()",
    "s_tir.ThreadSync(\"shared\")",
    "s_tir.LowerThreadAllreduce()",
];

/// Steps are few, so that the test is quick; programs that need more are counted as skipped.
const FUEL: EvalOptions = EvalOptions { fuel: 20_000, work: u64::MAX };

/// Steps of a program that is scheduled, and of its schedule, which may compute more than once.
const SCHEDULED: EvalOptions = EvalOptions { fuel: 12_000, work: u64::MAX };
const MORE: EvalOptions = EvalOptions { fuel: 100_000, work: u64::MAX };

/// Elements of all arguments of a program that is run: its steps would not read more, and making them takes time.
const MAX_ELEMENTS: i64 = 1 << 20;

/// Makes the arguments of a tensor program that its steps can read.
fn readable_args(store: &mut Store, module: &Module, name: &str) -> Option<Vec<Value>> {
    let function = module.function(store.name(name))?;
    let Expr::PrimFunc(program) = store.expr(function) else { return None };
    let size = |param: &PrimParam| match *param {
        PrimParam::Buffer(buffer) => {
            store.buffer(buffer).shape.iter().fold(1, |all: i64, extent| match *store.prim_of_id(*extent) {
                PrimExpr::Int { value, .. } => all.saturating_mul(value),
                _ => all,
            })
        }
        PrimParam::Var(_) => 1,
    };
    let elements = store.prim_func(program).params.iter().map(size).fold(0, i64::saturating_add);
    (elements <= MAX_ELEMENTS).then(|| seeded_args(store, module, name, 1).ok()).flatten()
}

fn after(store: &mut Store, module: &Module, calls: &str) -> Option<Module> {
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let calls = parse_calls(calls).expect("calls");
    let rows: Vec<Row> =
        calls.iter().map(|call| Some(Row { pass: resolve_in(&registry, call).ok()?, enabled: true })).collect::<Option<_>>()?;
    let mut runner = Runner::new(registry, || 0.0, Trace::new(module.clone()));
    runner.enter(PassContext::default(), Vec::new()).expect("nothing refuses");
    runner.run_rows(store, &rows, 0, true);
    Some(runner.trace.last().clone())
}

fn agree(store: &Store, a: &Value, b: &Value) -> bool {
    matches!(compare(store, a, b, Tolerance::Type), Agreement::Equal | Agreement::Within(_))
}

#[derive(Default)]
struct Count {
    kept: usize,
    skipped: usize,
    wrong: Vec<String>,
}

/// Lowers a module step by step and runs these functions of it after each step that changed it.
fn lower(store: &mut Store, module: &Module, runs: &[(String, Vec<Value>)], what: &str, count: &mut Count) {
    let mut live: Vec<(&String, &Vec<Value>, Value)> = Vec::new();
    for (name, args) in runs {
        match eval_function(store, module, name, args, FUEL) {
            Ok(value) => live.push((name, args, value)),
            Err(_) => count.skipped += 1,
        }
    }
    let mut module = module.clone();
    for pass in LOWERING {
        let Some(next) = after(store, &module, pass) else { continue };
        live.retain(|(name, args, before)| {
            let id = store.name(name);
            let same = module.function(id) == next.function(id);
            let found = if same { Ok(before.clone()) } else { eval_function(store, &next, name, args, FUEL) };
            match found {
                Ok(value) if agree(store, before, &value) => {
                    count.kept += usize::from(!same);
                    return true;
                }
                Ok(_) => count.wrong.push(format!("{what} @{name}: {pass} changes what it computes")),
                // Loops that are written out take more steps.
                Err(failure) if failure.code == "eval-fuel" => count.skipped += 1,
                Err(failure) => count.wrong.push(format!("{what} @{name}: after {pass}: {}", failure.message)),
            }
            false
        });
        module = next;
    }
}

fn report(count: &Count, least: usize) {
    println!("{} kept, {} skipped", count.kept, count.skipped);
    assert!(count.wrong.is_empty(), "{} are wrong\n{}", count.wrong.len(), count.wrong.join("\n"));
    assert!(count.kept >= least, "only {} were evaluated", count.kept);
}

#[test]
fn lowering_keeps_what_the_programs_of_tests_compute() {
    let Some(folder) = beside("cases/tir") else { return };
    let text = std::fs::read_to_string(folder.join("eval.jsonl")).unwrap_or_default();
    let mut count = Count::default();
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case is JSON");
        let store = &mut Store::new();
        let opened = open(store, case["source"].as_str().unwrap_or_default());
        let args: Result<Vec<Value>, String> = case["args"].as_array().into_iter().flatten().map(value_from_json).collect();
        let runs = [(case["func"].as_str().unwrap_or_default().to_owned(), args.expect("arguments"))];
        lower(store, &opened.module, &runs, case["id"].as_str().unwrap_or_default(), &mut count);
    }
    report(&count, if text.is_empty() { 0 } else { 300 });
}

#[test]
fn lowering_keeps_what_legalised_models_compute() {
    let Some(folder) = beside("corpus/relax") else { return };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    let (mut count, mut seen) = (Count::default(), HashSet::new());
    for path in &paths {
        let store = &mut Store::new();
        let opened = open(store, &std::fs::read_to_string(path).unwrap_or_default());
        let Some(module) = after(store, &opened.module, "LegalizeOps()") else { continue };
        let mut runs = Vec::new();
        for (name, function) in module.functions().to_vec() {
            let text = passlab::print::expr(store, function, &passlab::print::PrintOptions::default());
            if !matches!(store.expr(function), Expr::PrimFunc(_)) || !seen.insert(text) {
                continue;
            }
            let name = store.str(name).to_owned();
            match readable_args(store, &module, &name) {
                Some(args) => runs.push((name, args)),
                None => count.skipped += 1,
            }
        }
        lower(store, &module, &runs, &path.display().to_string(), &mut count);
    }
    report(&count, 0);
}

/// Schedules of the own suite that change what is computed in TVM, too, whose result is the same as ours, each with what
/// TVM does not check.
const CHANGED: &[(&str, &str)] = &[
    // Each part has the `T.init()` of the whole, so that the later ones forget the earlier ones.
    ("schedule-36.2", "loop_partition of the reduction `rk`"),
    ("schedule-119.1", "loop_partition of the reduction `rk`"),
    ("schedule-144.2", "loop_partition of the reduction `rk`"),
    ("schedule-289.1", "loop_partition of the reduction `rk` of `matmul`"),
    ("schedule-323.1", "loop_partition of the reduction `k`"),
    ("schedule-345.3", "loop_partition of the reduction `rk`"),
    ("schedule-354.3", "loop_partition of the reduction `k`"),
    (
        "schedule-290.3",
        "reverse_compute_at puts `conv` under `ax1`, the reduction of `matmul`: it adds up sums that are not complete",
    ),
    (
        "schedule-317.1",
        "reverse_compute_at puts `pad` under loops of `T_add`: the border, which reads nothing of it, is not written",
    ),
    ("units-87.1", "decompose_padding at a loop under which compute_at has put `pad` drops `Z`, which stands there as well"),
    ("units-90.1", "decompose_padding at a loop under which compute_at has put `pad` drops `Z`, which stands there as well"),
];

/// Schedules with a program before, and their names: of the cases beside the project and of the own suite.
fn schedules() -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let text = |json: &serde_json::Value| json.as_str().unwrap_or_default().to_owned();
    let cases = beside("cases/tir").map(|folder| std::fs::read_to_string(folder.join("schedule.jsonl")).unwrap_or_default());
    for line in cases.unwrap_or_default().lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case is JSON");
        if case["scope"] == "whole" {
            found.push((text(&case["id"]), text(&case["before"]), text(&case["trace"])));
        }
    }
    for kind in ["schedule", "units"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/conformance/{kind}.jsonl.z"));
        let lines = miniz_oxide::inflate::decompress_to_vec_zlib(&std::fs::read(path).expect("the suite")).expect("zlib");
        for line in std::str::from_utf8(&lines).expect("the suite is text").lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a program is JSON");
            for (at, pair) in line["pairs"].as_array().into_iter().flatten().enumerate() {
                if pair["trace"] == true && pair["error"].is_null() {
                    let before = &line["texts"][pair["from"].as_u64().unwrap_or_default() as usize];
                    found.push((format!("{}.{at}", text(&line["id"])), text(before), text(&pair["call"])));
                }
            }
        }
    }
    found
}

#[test]
fn a_whole_schedule_keeps_what_its_program_computes() {
    let mut count = Count::default();
    for (id, before, trace) in schedules() {
        let Ok(trace) = parse_trace(&trace) else { continue };
        let store = &mut Store::new();
        let module = open(store, &before).module;
        let mut state = State::new(store, &module);
        if apply_trace(&mut state, &trace).is_err() {
            continue;
        }
        let after = state.module();
        for (name, function) in module.functions().to_vec() {
            let name = store.str(name).to_owned();
            if !matches!(store.expr(function), Expr::PrimFunc(_)) {
                continue;
            }
            let runs = readable_args(store, &module, &name).and_then(|args| {
                let value = eval_function(store, &module, &name, &args, SCHEDULED).ok()?;
                Some((value, eval_function(store, &after, &name, &args, MORE)))
            });
            match runs {
                None => count.skipped += 1,
                Some((value, Ok(found))) if agree(store, &value, &found) => count.kept += 1,
                Some(_) if CHANGED.iter().any(|(known, _)| *known == id) => count.skipped += 1,
                Some((_, Ok(_))) => count.wrong.push(format!("{id} @{name}: the schedule changes what it computes")),
                // Matrix units and functions from outside are not run.
                Some((_, Err(_))) => count.skipped += 1,
            }
        }
    }
    report(&count, 400);
}
