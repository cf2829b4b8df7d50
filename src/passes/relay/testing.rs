//! Running passes on programs as text, for tests.

use crate::eval::{EvalOptions, Value, eval_expr};
use crate::infer::infer_module;
use crate::ir::equal::{self, EqualOptions};
use crate::ir::{DType, Module, Store, Tensor};
use crate::ops::build::elements;
use crate::parse::parse;
use crate::pass::PassContext;
use crate::pass::PassSpec;
use crate::pass::call::parse_calls;
use crate::pass::manager::{Row, Runner, resolve};
use crate::pass::trace::Trace;
use crate::passes;
use crate::passes::verified::verified;
use crate::print::{self, PrintOptions};

/// Reads a program and infers its types, as TVM does when it reads one.
pub fn read(store: &mut Store, source: &str) -> Module {
    // Programs of tests and examples are written without the header.
    let source = if source.starts_with('#') { source.to_owned() } else { format!("#[version = \"0.0.5\"]\n{source}") };
    let parsed = parse(store, &source);
    assert!(!parsed.has_errors(), "{:?}\n{source}", parsed.diagnostics);
    infer_module(store, &parsed.program.module).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"))
}

/// Runs calls directly, as TVM does when a pass is called.
pub fn run(store: &mut Store, module: Module, calls: &str) -> Trace {
    let rows: Vec<Row> = parse_calls(calls)
        .expect("the calls are well formed")
        .iter()
        .map(|call| Row { pass: resolve(passes::ALL, call).unwrap_or_else(|e| panic!("{}", e.message)), enabled: true })
        .collect();
    let mut runner = Runner::new(passes::ALL, || 0.0, Trace::new(module));
    runner.enter(PassContext::default(), Vec::new()).expect("there is no instrument that fails");
    runner.run_rows(store, &rows, 0, true);
    verified(store, &runner.trace);
    runner.trace
}

/// A program as it prints without its types in comments.
pub fn show(store: &Store, module: &Module) -> String {
    print::module(store, module, &PrintOptions { types: false, metadata: false, header: false, ..PrintOptions::default() })
}

/// The program after the calls, as text without types in comments.
pub fn after(calls: &str, before: &str) -> String {
    let store = &mut Store::new();
    let module = read(store, before);
    let trace = run(store, module, calls);
    assert!(trace.is_complete(), "{calls}: {:?}", trace.failures());
    show(store, trace.last())
}

/// Asserts that the calls turn one program into another: structurally, types inferred on both sides.
pub fn check(calls: &str, before: &str, expected: &str) {
    let store = &mut Store::new();
    let module = read(store, before);
    let trace = run(store, module, calls);
    assert!(trace.is_complete(), "{calls}: {:?}", trace.failures());
    let got = infer_module(store, trace.last()).unwrap_or_else(|errors| panic!("{calls}: {errors:?}"));
    let wanted = read(store, expected);
    let options = EqualOptions { scalar_tolerance: true, ..EqualOptions::TEXTS };
    if let Err(difference) = equal::modules(store, &got, &wanted, options) {
        panic!("{calls}: {difference}\n--- got\n{}\n--- expected\n{}", show(store, &got), show(store, &wanted));
    }
}

/// Asserts that the calls leave a program as it is: the very same nodes.
pub fn unchanged(calls: &str, program: &str) {
    let store = &mut Store::new();
    let module = read(store, program);
    let trace = run(store, module.clone(), calls);
    assert!(trace.is_complete(), "{calls}: {:?}", trace.failures());
    assert_eq!(*trace.last(), module, "{calls} made\n{}", show(store, trace.last()));
}

/// Asserts that the calls fail, and returns their message.
pub fn failure(calls: &str, program: &str) -> String {
    let store = &mut Store::new();
    let module = read(store, program);
    let trace = run(store, module, calls);
    assert!(!trace.is_complete(), "{calls} did not fail");
    trace.failures()[0].message.clone()
}

/// Makes a tensor of numbers that look random.
pub fn data(dtype: DType, shape: &[i64]) -> Tensor {
    let count = shape.iter().product::<i64>();
    let values: Vec<u8> = (0..count).map(|i| (i * 37 + i * i * 11 + 5) as u8).collect();
    let bytes = match dtype {
        DType::F32 => values.iter().flat_map(|v| (f32::from(*v as i8) / 16.0).to_le_bytes()).collect(),
        DType::I32 => values.iter().flat_map(|v| (i32::from(*v) * 300 - 20_000).to_le_bytes()).collect(),
        _ => values,
    };
    Tensor::new(dtype, shape, bytes)
}

/// Runs `@main` and returns the elements of all tensors of its result.
pub fn values(store: &mut Store, module: &Module, inputs: &[Tensor]) -> Vec<f64> {
    let main = store.name("main");
    let main = module.function(main).expect("there is a main");
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
    let value = eval_expr(store, module, main, &inputs, EvalOptions::default()).unwrap_or_else(|e| panic!("{}", e.message));
    let (mut found, mut stack) = (Vec::new(), vec![value]);
    while let Some(value) = stack.pop() {
        match value {
            Value::Tensor(tensor) => found.extend(elements(&tensor).expect("numbers")),
            Value::Tuple(fields) => stack.extend(fields.items().iter().rev().cloned()),
            other => panic!("{other:?}"),
        }
    }
    found
}

/// The passes of Relay.
fn ours() -> impl Iterator<Item = &'static PassSpec> {
    passes::ALL.iter().copied().filter(|spec| spec.dialects.contains(&crate::ir::Dialect::Relay))
}

#[test]
fn every_documented_example_is_what_the_pass_makes() {
    let mut wrong = String::new();
    for spec in ours().filter(|spec| !spec.example_before.is_empty()) {
        let got = after(spec.example_call(), spec.example_before);
        if got.trim() != spec.example_after.trim() {
            wrong += &format!("{} makes of its example\n{got}\n", spec.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn documented_examples_stay_as_they_are_when_the_pass_runs_again() {
    // ToANormalForm and PartialEvaluate bind again the bindings of the first run, ToMixedPrecision casts its casts
    // again, and ToBasicBlockNormalForm makes every node anew, without types, as in TVM. PartitionGraph puts the
    // prefix before names that have it. ManifestLifetimes ends lives again. AnnotateTarget makes annotations for
    // `default` anew. QuantizePartition ends regions again. Gradient makes gradients of gradients, ToCPS
    // continuations of continuations, which UnCPS gives.
    let not = [
        "ToANormalForm",
        "ToMixedPrecision",
        "ToBasicBlockNormalForm",
        "PartitionGraph",
        "ManifestLifetimes",
        "AnnotateTarget",
        "PartialEvaluate",
        "QuantizePartition",
        "Gradient",
        "ToCPS",
        "UnCPS",
    ];
    for spec in ours().filter(|spec| !spec.example_after.is_empty() && !not.contains(&spec.name)) {
        let store = &mut Store::new();
        let module = read(store, spec.example_before);
        let once = run(store, module, &format!("{}, InferType()", spec.example_call())).last().clone();
        let twice = run(store, once.clone(), spec.example_call()).last().clone();
        assert_eq!(once, twice, "{} made\n{}", spec.name, show(store, &twice));
    }
}
