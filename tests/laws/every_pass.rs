//! Tests every pass over programs made up from a seed: none changes the results of a program, every result type-checks
//! and is parsed again, none panics, and they refuse only programs that TVM refuses.
//!
//! `PASSLAB_SEEDS=1000..2000` takes other programs, and more, than those of every day; `PASSLAB_PASS=FuseOps` some of
//! the passes.

use crate::close;
use passlab::check::relay::{Shape, program};
use passlab::eval::{self, EvalOptions, Value};
use passlab::infer::infer_module;
use passlab::ir::{Module, Store, equal};
use passlab::pass::PassContext;
use passlab::pass::call::parse_calls;
use passlab::pass::instrument;
use passlab::pass::manager::{Registry, Row, Runner, resolve_in};
use passlab::pass::trace::Trace;
use passlab::passes;
use passlab::print::{self, PrintOptions};
use passlab::session::{open, seeded_args};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The programs on which a pass must keep the result: all (`Any`), those where a rounding does not change the result
/// (`Smooth`), those without references (`Pure`), none, so that only the program's types are checked (`Type`).
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    Any,
    Smooth,
    Pure,
    Type,
}

use Keeps::{Any, Pure, Smooth, Type};

const RUNS: &[(&str, Keeps)] = &[
    ("InferType()", Any),
    ("SimplifyInference()", Smooth),
    ("FoldConstant()", Any),
    ("FoldConstant(fold_qnn=True)", Any),
    ("SimplifyExpr()", Smooth),
    ("SimplifyExprPostAlterOp()", Smooth),
    ("BackwardFoldScaleAxis()", Smooth),
    ("ForwardFoldScaleAxis()", Smooth),
    ("FoldScaleAxis()", Smooth),
    ("DeadCodeElimination()", Any),
    ("DeadCodeElimination(inline_once=True)", Any),
    ("DeadCodeElimination(inline_once=True, ignore_impurity=True)", Pure),
    ("EliminateCommonSubexpr()", Any),
    ("CanonicalizeOps()", Any),
    ("FastMath()", Type),
    ("CanonicalizeCast()", Any),
    ("SimplifyInference(), FuseOps(fuse_opt_level=0)", Smooth),
    ("SimplifyInference(), FuseOps(fuse_opt_level=2)", Smooth),
    ("SimplifyInference(), FuseOps(fuse_opt_level=2), DefuseOps()", Smooth),
    ("SimplifyInference(), FoldConstant(), FuseOps(), ToANormalForm()", Smooth),
    ("CombineParallelConv2D(min_num_branches=2)", Smooth),
    ("CombineParallelDense(min_num_branches=2)", Smooth),
    ("CombineParallelDense(min_num_branches=2, to_batch=False)", Smooth),
    ("CombineParallelBatchMatmul(min_num_branches=2)", Smooth),
    ("FoldExplicitPadding()", Smooth),
    ("FlattenAtrousConv()", Smooth),
    ("FoldConstant(), DivToMul()", Smooth),
    ("ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})", Smooth),
    ("ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"], \"nn.max_pool2d\": [\"NHWC\"]})", Smooth),
    ("ToMixedPrecision()", Type),
    ("DynamicToStatic()", Any),
    ("SplitArgs(max_function_args=2)", Any),
    ("ToANormalForm()", Any),
    ("ToBasicBlockNormalForm()", Any),
    ("ToGraphNormalForm()", Pure),
    ("ToANormalForm(), ToGraphNormalForm()", Pure),
    ("RemoveUnusedFunctions()", Any),
    ("Inline()", Any),
    ("EtaExpand(expand_constructor=True)", Any),
    ("EtaExpand(expand_global_var=True)", Any),
    ("FakeQuantizationToInteger()", Type),
    ("AnnotateSpans()", Any),
    ("AnnotateTarget([\"default\"])", Any),
    ("ToANormalForm(), InferType(), ManifestLifetimes()", Any),
    ("PlanDevices(), SimplifyInference(), FuseOps(), ToANormalForm(), InferType(), ManifestAlloc()", Smooth),
    ("MemoryPlan()", Any),
    ("MergeCompilerRegions(), PartitionGraph()", Any),
    ("CapturePostDfsIndexInSpans()", Any),
    ("ToANormalForm(), InferType(), LambdaLift()", Any),
    ("ToANormalForm(), PartialEvaluate()", Any),
    ("ToANormalForm(), PartialEvaluate(), InferType(), DeadCodeElimination(inline_once=True)", Any),
    ("PartialEvaluate()", Pure),
    ("LazyGradientInit()", Any),
    ("FirstOrderGradient()", Type),
    ("LabelOps()", Any),
    ("ToANormalForm(), InferType(), ToCPS()", Type),
    ("ToANormalForm(), InferType(), ToCPS(), ApplyPassToFunction(UnCPS(), \"main$\")", Any),
    ("Defunctionalization()", Any),
    ("CombineParallelOpBatch(\"add\", \"add\", 2)", Any),
    ("RemoveStandaloneReshapes()", Any),
    ("SimplifyInference(), FuseOps(), ToANormalForm(), InferType(), AnnotateUsedMemory()", Smooth),
    ("ExtractFusedFunctions()", Type),
    ("MergeComposite([[\"sum\", \"(x + y) | is_op('tanh')(x)\"]])", Any),
];

/// Programs that TVM refuses, too: the pass, and a part of TVM's message.
const REFUSED: &[(&str, &str)] = &[
    ("AnnotateUsedMemory", "AnnotateUsedMemory does not support dynamic shapes."),
    ("AnnotateUsedMemory", "Do not have a default for bindings and references inside of a value"),
    ("AnnotateUsedMemory", "Expect top-level functions to be primitive."),
    ("AnnotateUsedMemory", "only tensors have a size"),
    // Layer normalisation has no pattern; SimplifyInference takes it away before.
    ("CanonicalizeCast", "Attribute TOpPattern has not been registered for nn.layer_norm"),
    // Patterns' variables are lost when the clauses are made anew.
    ("CapturePostDfsIndexInSpans", "contains free variables"),
    // The uses of a combinable call must have an operator, which a call of a function does not have.
    ("CombineParallel", "what uses the result of a call that may be combined must be a call of an operator"),
    ("CombineParallelOpBatch", "one of the calls that are combined is computed from another"),
    // Functions are bound by `let`.
    ("Defunctionalization", "expected type call"),
    // Functions lose their return types, and polymorphic or recursive ones cannot be typed then.
    ("DynamicToStatic", "unable to infer a type"),
    ("DynamicToStatic", "unable to show the following types match"),
    // TVM takes what is called for an operator.
    ("FakeQuantizationToInteger", "an operator was expected, but a function is called"),
    ("FirstOrderGradient", "AD has unsupported feature"),
    ("FirstOrderGradient", "first-order AD does not support polymorphism yet."),
    ("FirstOrderGradient", "does not have a registered gradient."),
    // Wrapping only some of the values gives types that do not fit.
    ("LazyGradientInit", ""),
    ("ManifestLifetimes", "Do not have a default for bindings and references inside of a value"),
    ("ManifestLifetimes", "all Let exprs should be mapped in the CFG"),
    ("PartialEvaluate", "has unsupported feature: [fGraph, ]"),
    ("PlanDevices", "have the same device"),
    // Data types must not hold functions.
    ("ToCPS", "unable to show the following types match"),
    // Annotations of functions, and branches, keep the types that they had.
    ("ToMixedPrecision", "unable to show the following types match"),
    ("ToMixedPrecision", "unable to infer a type"),
    ("ToMixedPrecision", "we don't know how to cast for arguments!"),
    ("ToMixedPrecision", "Expected float"),
];

/// Texts of TVM that cannot be parsed again: the pass, and a part of the message.
const UNREADABLE: &[(&str, &str)] = &[
    // The type parameters of a global function are those of the literal, too, which is in itself: two for the text.
    ("EtaExpand(expand_global_var=True)", "differs"),
    ("EtaExpand(expand_global_var=True)", "another variable"),
    // A function and its version have the same type parameters.
    ("ToCPS()", "type of the variable differs"),
    // A let that several use, which an inlined body may be, stands in the text once for each.
    ("DefuseOps", "one side uses a value twice"),
    // An argument of a function that is called in place also stands there once for each use.
    ("Defunctionalization()", "one side uses a value twice"),
    // A function literal called in place has the bindings of its arguments before those of its body.
    ("", "has not been defined before"),
];

#[derive(Debug)]
enum Outcome {
    Unchanged,
    Same,
    /// It is not asked for.
    Typed,
    Refused(String),
    Wrong(&'static str, String),
}

fn attempt(source: &str, calls: &str, keeps: bool, seed: u64) -> Outcome {
    use Outcome::{Refused, Same, Typed, Unchanged, Wrong};
    let store = &mut Store::new();
    let opened = open(store, source);
    let module = opened.module;
    let registry = Registry::from(passes::ALL).of(module.dialect());
    let rows: Vec<Row> = (parse_calls(calls).expect("well formed").iter())
        .map(|call| Row { pass: resolve_in(&registry, call).expect("a pass"), enabled: true })
        .collect();
    let mut runner = Runner::new(registry, || 0.0, Trace::new(module.clone()));
    let instruments = vec![instrument::resolve("VerifyEach", "").expect("it is built in")];
    runner.enter(PassContext { opt_level: 4, ..PassContext::default() }, instruments).expect("VerifyEach enters");
    runner.run_rows(store, &rows, 0, true);
    if !runner.trace.is_complete() {
        return Refused(runner.trace.failures().first().map_or(String::new(), |d| d.message.clone()));
    }
    let after = runner.trace.last().clone();
    if after == module {
        return Unchanged;
    }
    let typed = match infer_module(store, &after) {
        Ok(typed) => typed,
        Err(errors) => return Wrong("types", errors.first().map_or(String::new(), |d| d.message.clone())),
    };
    if let Err(why) = reads_back(store, &typed) {
        return Wrong("text", why);
    }
    if !keeps {
        return Typed;
    }
    match (value(store, &module, seed), value(store, &typed, seed)) {
        (Err(why), _) => Wrong("generator", why),
        (_, Err(why)) => Wrong("evaluation", why),
        (Ok(before), Ok(after)) if close(&before, &after) => Same,
        (Ok(before), Ok(after)) => Wrong("value", format!("{} became {}", eval::show(store, &before), eval::show(store, &after))),
    }
}

fn reads(source: &str) -> Result<(), String> {
    let store = &mut Store::new();
    let opened = open(store, source);
    match opened.is_ok() {
        true => value(store, &opened.module, 0).map(|_| ()),
        false => Err(opened.diagnostics.first().map_or(String::new(), |d| d.message.clone())),
    }
}

fn value(store: &mut Store, module: &Module, seed: u64) -> Result<Value, String> {
    let args = seeded_args(store, module, "main", seed).map_err(|e| e.message)?;
    eval::eval_function(store, module, "main", &args, EvalOptions::default()).map_err(|e| e.message)
}

fn reads_back(store: &mut Store, module: &Module) -> Result<(), String> {
    let text = print::module(store, module, &PrintOptions::default());
    let again = open(store, &text);
    if !again.is_ok() {
        return Err(again.diagnostics.first().map_or(String::new(), |d| d.message.clone()));
    }
    let options = equal::EqualOptions { map_free_vars: false, scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
    equal::modules(store, module, &again.module, options).map_err(|e| e.to_string())
}

fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("PASSLAB_SEEDS").unwrap_or_default();
    let range = given.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(0..30)
}

#[test]
fn no_pass_changes_a_value_of_a_made_up_program() {
    let mut found: BTreeMap<(String, &str, String), Vec<u64>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let wanted = std::env::var("PASSLAB_PASS").unwrap_or_default();
    let talks = std::env::var_os("PASSLAB_SEEDS").is_some();
    for seed in seeds() {
        let shape = Shape { smooth: seed % 2 == 0, pure: seed % 3 == 0, first_order: seed % 5 == 0 };
        let source = program(seed, shape);
        let unread = reads(&source);
        if let Err(why) = &unread {
            found.entry(("reading".to_owned(), "generator", why.clone())).or_default().push(seed);
        }
        for (calls, keeps) in RUNS.iter().filter(|_| unread.is_ok()).filter(|(calls, _)| calls.contains(&wanted)) {
            let keeps = match keeps {
                Any => true,
                Smooth => shape.smooth,
                Pure => shape.pure || shape.first_order,
                Type => false,
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&source, calls, keeps, seed)));
            let outcome = outcome.unwrap_or_else(|e| {
                let text = e.downcast_ref::<String>().cloned().or_else(|| e.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                Outcome::Wrong("panic", text.unwrap_or_default())
            });
            let row = counts.entry(calls).or_default();
            let (kind, why) = match outcome {
                Outcome::Unchanged => {
                    row[0] += 1;
                    continue;
                }
                Outcome::Same | Outcome::Typed => {
                    row[1] += 1;
                    continue;
                }
                Outcome::Refused(why) => {
                    row[2] += 1;
                    if !talks && REFUSED.iter().any(|(pass, words)| calls.contains(pass) && why.contains(words)) {
                        continue;
                    }
                    ("refused", why)
                }
                Outcome::Wrong("text", why)
                    if UNREADABLE.iter().any(|(pass, words)| calls.contains(pass) && why.contains(words)) =>
                {
                    continue;
                }
                Outcome::Wrong(kind, why) => {
                    row[3] += 1;
                    (kind, why)
                }
            };
            let why: String = why.chars().filter(|c| !c.is_ascii_digit()).take(140).collect();
            found.entry((calls.to_string(), kind, why)).or_default().push(seed);
        }
    }
    let mut text = String::new();
    for ((calls, kind, why), seeds) in &found {
        text += &format!("{calls}: {kind} ({}: {:?}): {why}\n", seeds.len(), &seeds[..seeds.len().min(4)]);
    }
    if talks {
        for (calls, [unchanged, same, refused, wrong]) in &counts {
            println!("{calls}: {unchanged} unchanged, {same} same, {refused} refused, {wrong} wrong");
        }
        println!("{text}");
        if let Some(folder) = std::env::var_os("PASSLAB_SHOW") {
            for seed in seeds() {
                let shape = Shape { smooth: seed % 2 == 0, pure: seed % 3 == 0, first_order: seed % 5 == 0 };
                let path = std::path::Path::new(&folder).join(format!("{seed}.relay"));
                std::fs::write(path, program(seed, shape)).expect("it can be written");
            }
        }
    }
    assert!(text.is_empty(), "{text}");
}
