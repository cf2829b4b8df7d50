//! The speed of the engine. `cargo bench` prints a table; figures that documents quote come from here.
//!
//! Programs: residual networks of our own of growing size, and TVM's where they are at hand
//! (`../shared/corpus/relay`). The size in the name is in calls.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use passlab::diff;
use passlab::infer;
use passlab::ir::Store;
use passlab::parse;
use passlab::pass::PassContext;
use passlab::passes;
use passlab::print::{self, Naming, Numbering, PrintOptions};
use passlab::session::{Session, document, open};
use passlab::trust::{Property, Reducer, Trust, bisect};
use std::fmt::Write;

fn main() {
    divan::main();
}

const SIZES: &[usize] = &[1_000, 10_000, 100_000];

/// A chain of residual blocks: convolution, batch norm, relu, add.
fn network(calls: usize) -> String {
    let shape = "Tensor[(1, 8, 8, 8), float32]";
    let mut text = format!(
        "#[version = \"0.0.5\"]\ndef @main(%x: {shape}, %w: Tensor[(8, 8, 3, 3), float32], %s: Tensor[(8), float32]) {{\n"
    );
    let mut last = "%x".to_owned();
    for i in 0..calls / 4 {
        let n = i * 5;
        let _ = writeln!(text, "  %{n} = nn.conv2d({last}, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);");
        let _ = writeln!(text, "  %{} = nn.batch_norm(%{n}, %s, %s, %s, %s);", n + 1);
        let _ = writeln!(text, "  %{} = %{}.0;", n + 2, n + 1);
        let _ = writeln!(text, "  %{} = nn.relu(%{});", n + 3, n + 2);
        let _ = writeln!(text, "  %{} = add(%{}, {last});", n + 4, n + 3);
        last = format!("%{}", n + 4);
    }
    let _ = writeln!(text, "  {last}\n}}");
    text
}

fn typed(calls: usize) -> (Store, passlab::ir::Module) {
    let mut store = Store::new();
    let opened = open(&mut store, &network(calls));
    assert!(opened.is_ok(), "{:?}", opened.diagnostics);
    (store, opened.module)
}

#[divan::bench(args = SIZES)]
fn parse_text(bencher: Bencher<'_, '_>, calls: usize) {
    let text = network(calls);
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| parse::parse(&mut Store::new(), black_box(&text)));
}

#[divan::bench(args = SIZES)]
fn parse_typed_text(bencher: Bencher<'_, '_>, calls: usize) {
    let (store, module) = typed(calls);
    let text = print::module(&store, &module, &PrintOptions::default());
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| parse::parse(&mut Store::new(), black_box(&text)));
}

#[divan::bench(args = SIZES)]
fn print_text(bencher: Bencher<'_, '_>, calls: usize) {
    let (store, module) = typed(calls);
    bencher.bench_local(|| print::module(&store, black_box(&module), &PrintOptions::default()));
}

#[divan::bench(args = SIZES)]
fn infer_types(bencher: Bencher<'_, '_>, calls: usize) {
    let text = network(calls);
    bencher
        .with_inputs(|| {
            let mut store = Store::new();
            let module = parse::parse(&mut store, &text).program.module;
            (store, module)
        })
        .bench_local_values(|(mut store, module)| infer::infer_module(&mut store, &module).is_ok());
}

/// The whole of `relay.build` with the passes that are there.
#[divan::bench(args = SIZES, sample_count = 10)]
fn relay_build_o3(bencher: Bencher<'_, '_>, calls: usize) {
    let list = passes::pipeline("relay.build").expect("it exists").calls().join(", ");
    let document = document(&network(calls), &list, PassContext { opt_level: 3, ..PassContext::default() }).expect("a list");
    bencher.with_inputs(|| Session::new(|| 0.0)).bench_local_values(|mut session| session.run(&document, false));
}

/// Texts of a megabyte that are hard to recognise: a pattern that is repeated.
const PASTED: &[(&str, &str)] = &[
    ("brackets", "("),
    ("quotes", "\""),
    ("one line", "x"),
    ("JSON", "{\"cells\":["),
    ("colours", "\x1b["),
    ("functions", "@T.prim_func\ndef f():\n    pass\n"),
    ("Relay", "%x = add(%y, %z)\n"),
    ("Python", "import os\nfor i in range(10):\n    print(i)\n"),
    ("blank lines", "\n"),
    ("prompts", ">>> def @f(%x: int32) { %x }\n"),
    ("patch", "+def @f(%x: int32) { %x }\n"),
    ("escapes", "\x1b[31mdef @f(%x: int32) { %x }\x1b[0m\n"),
];

/// The kind of a text of a megabyte is said; at most 20 ms.
#[divan::bench(args = 0..PASTED.len(), sample_count = 20)]
fn recognise(bencher: Bencher<'_, '_>, text: usize) {
    let (_, pattern) = PASTED[text];
    let text = pattern.repeat(1_000_000 / pattern.len());
    bencher.bench_local(|| passlab::parse::recognise(black_box(&text)));
}

/// One keystroke on ResNet-18 at O3: parse, infer, run, and the diff that is looked at.
#[divan::bench(sample_count = 50)]
fn keystroke_resnet18(bencher: Bencher<'_, '_>) {
    let Ok(source) = std::fs::read_to_string("../shared/corpus/relay/resnet-18.relay") else { return };
    let list = passes::pipeline("relay.build").expect("it exists").calls().join(", ");
    let document = document(&source, &list, PassContext { opt_level: 3, ..PassContext::default() }).expect("a list");
    bencher.with_inputs(|| Session::new(|| 0.0)).bench_local_values(|mut session| {
        session.run(&document, false);
        let last = session.trace().steps.len().saturating_sub(1);
        let step = &session.trace().steps[last];
        session.diff(step.before, step.after)
    });
}

#[divan::bench(args = SIZES, sample_count = 10)]
fn diff_of_fusion(bencher: Bencher<'_, '_>, calls: usize) {
    let document = document(&network(calls), "SimplifyInference, FuseOps", PassContext::default()).expect("a list");
    let mut session = Session::new(|| 0.0);
    session.run(&document, false);
    let trace = session.trace();
    let (before, after) = (&trace.versions[0], trace.last());
    bencher.bench_local(|| diff::diff(session.store(), session.naming(0), black_box(before), black_box(after)));
}

#[divan::bench(args = SIZES)]
fn stable_text(bencher: Bencher<'_, '_>, calls: usize) {
    let (store, module) = typed(calls);
    let naming = Naming::of(&store, [&module]);
    let options = PrintOptions { numbering: Numbering::Stable(&naming), ..PrintOptions::default() };
    bencher.bench_local(|| print::module(&store, black_box(&module), &options));
}

/// A session in which a list ran over a program at a level.
fn ran(source: &str, list: &str, opt_level: i64) -> Session {
    let document = document(source, list, PassContext { opt_level, ..PassContext::default() }).expect("a list");
    let mut session = Session::new(|| 0.0);
    assert!(session.run(&document, false), "{:?}", session.problems());
    session
}

/// The culprit among 64 passes over 1,000 calls, by a text and by running every step; at most a second.
#[divan::bench(args = ["not:contains:Primitive", "check"], sample_count = 10)]
fn culprit_among_64_passes(bencher: Bencher<'_, '_>, property: &str) {
    let quiet = "InferType, FoldConstant, EliminateCommonSubexpr, RemoveUnusedFunctions, ".repeat(16);
    let list =
        quiet.trim_end_matches("EliminateCommonSubexpr, RemoveUnusedFunctions, ").to_owned() + "SimplifyInference, FuseOps";
    let property = Property::parse(property).expect("a property");
    let mut session = ran(&network(1_000), &list, 4);
    bencher.bench_local(|| bisect(&mut session, &mut Trust::default(), black_box(&property)));
}

/// A program of 200 bindings made small; at most ten seconds.
#[divan::bench(sample_count = 10)]
fn reduce_200_bindings(bencher: Bencher<'_, '_>) {
    let property = Property::parse("not:contains:Primitive").expect("a property");
    let mut session = ran(&network(160), "InferType, SimplifyInference, FoldConstant, FastMath, FuseOps", 4);
    bencher.bench_local(|| {
        let mut reducer = Reducer::new(&mut session, black_box(&property)).expect("it is lost");
        reducer.finish(&mut |_| true);
        reducer.tried
    });
}

/// Every step of ResNet-18 at O3 checked by running it, on smaller extents; beside it, the run of its passes, of which a check may
/// cost three times as much, and an evaluation of the network as it is.
#[divan::bench(args = ["check", "passes", "network"], sample_count = 5)]
fn checked_resnet18(bencher: Bencher<'_, '_>, what: &str) {
    let Ok(source) = std::fs::read_to_string("www/examples/resnet-18.relay") else { return };
    let list = passes::pipeline("relay.build").expect("it exists").calls().join(", ");
    let mut session = ran(&source, &list, 3);
    match what {
        "check" => bencher.bench_local(|| {
            let mut trust = Trust::default();
            let changed = (0..session.trace().steps.len()).filter(|step| session.trace().steps[*step].changed());
            changed.collect::<Vec<_>>().into_iter().map(|step| trust.check(&mut session, step).report.runs).sum::<usize>()
        }),
        "passes" => bencher.bench_local(|| ran(black_box(&source), &list, 3)),
        _ => bencher.bench_local(|| session.values(0, "main", 1, &[], None).is_ok()),
    }
}
