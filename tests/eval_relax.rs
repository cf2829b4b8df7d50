//! Programs of Relax and calls of its operators, with the values that TVM 0.27 computes for them (`tests/eval`), and
//! the law that passes keep the results of programs.

use passlab::eval::{EvalFailure, EvalOptions, Value, eval_function};
use passlab::ir::{DType, Dialect, Store, Tensor};
use passlab::ops::kernel::{read, write};
use passlab::pass::PassContext;
use passlab::pass::call::parse_calls;
use passlab::pass::manager::{Registry, Row, Runner, resolve_in};
use passlab::pass::trace::Trace;
use passlab::passes;
use passlab::session::{open, seeded_args};
use serde_json::Value as Json;

fn tensor(json: &Json) -> Option<Tensor> {
    let dtype = DType::parse(json.get("dtype")?.as_str()?)?;
    let shape: Vec<i64> = json["shape"].as_array()?.iter().filter_map(Json::as_i64).collect();
    let values = json["values"].as_array()?;
    let number = |value: &Json| match value {
        Json::Bool(truth) => f64::from(u8::from(*truth)),
        Json::String(text) => text.parse().unwrap_or(f64::NAN),
        other => other.as_f64().unwrap_or(f64::NAN),
    };
    if dtype.is_float() || dtype == DType::BOOL {
        return write(dtype, &shape, &values.iter().map(number).collect::<Vec<f64>>()).ok();
    }
    write(dtype, &shape, &values.iter().filter_map(Json::as_i64).collect::<Vec<i64>>()).ok()
}

fn value(json: &Json) -> Value {
    if let Some(fields) = json.get("tuple").and_then(Json::as_array) {
        return Value::tuple(fields.iter().map(value).collect());
    }
    if let Some(extents) = json.get("extents").and_then(Json::as_array) {
        return Value::Shape(extents.iter().filter_map(Json::as_i64).collect());
    }
    Value::Tensor(tensor(json).expect("a tensor"))
}

/// True if the values agree, floats to the precision of their type.
fn agree(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.items().len() == b.items().len() && a.items().iter().zip(b.items()).all(|(a, b)| agree(a, b))
        }
        (Value::Shape(a), Value::Shape(b)) => a == b,
        (Value::Tensor(a), Value::Tensor(b)) => {
            if a.dtype != b.dtype || a.shape != b.shape {
                return false;
            }
            let (Ok(xs), Ok(ys)) = (read::<f64>(a), read::<f64>(b)) else { return false };
            let near = |x: f64, y: f64| (x - y).abs() <= if a.dtype.bits < 32 { 2e-3 } else { 1e-5 } * y.abs().max(1.0);
            xs.iter().zip(&ys).all(|(x, y)| x == y || (x.is_nan() && y.is_nan()) || (a.dtype.is_float() && near(*x, *y)))
        }
        _ => false,
    }
}

fn computed(source: &str, row: &Json) -> Result<(Value, String), String> {
    let store = &mut Store::new();
    let parsed = passlab::parse::parse(store, source);
    if let Some(found) = parsed.diagnostics.iter().find(|found| found.is_error()) {
        return Err(found.message.clone());
    }
    let module = passlab::infer::relax::infer_module(store, &parsed.program.module);
    let module = module.map_err(|found| found.iter().map(|found| found.message.clone()).collect::<String>())?;
    let args: Vec<Value> = row["args"].as_array().expect("arguments").iter().map(value).collect();
    let made: Result<Value, EvalFailure> = eval_function(store, &module, "main", &args, EvalOptions::default());
    let made = made.map_err(|failure| failure.message)?;
    let shown = passlab::eval::show(store, &made);
    Ok((made, shown))
}

fn check(source: &str, row: &Json) -> Result<(), String> {
    match (computed(source, row), row["error"].as_str()) {
        (Ok((made, _)), None) if agree(&made, &value(&row["out"])) => Ok(()),
        (Ok((_, shown)), _) => Err(format!("gave {shown} for {}", row["out"])),
        (Err(message), Some(wanted)) if message.contains(wanted.trim_end_matches('.')) => Ok(()),
        (Err(message), _) => Err(message),
    }
}

fn rows(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

#[test]
fn operators_compute_what_tvm_computes() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("eval/relax_operators.jsonl")) {
        let (params, body) = (row["params"].as_str().unwrap_or(""), row["body"].as_str().unwrap_or(""));
        let source = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        gv = {body}\n        return gv\n"
        );
        wrong.extend(check(&source, &row).err().map(|why| format!("{body}: {why}\n")));
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.concat());
}

#[test]
fn programs_compute_what_tvm_computes_and_fail_with_its_words() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("eval/relax_programs.jsonl")) {
        let (name, source) = (&row["name"], row["source"].as_str().unwrap_or(""));
        wrong.extend(check(source, &row).err().map(|why| format!("{name}: {why}\n")));
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.concat());
}

/// Passes that must keep the results of a program.
const MEANING_PRESERVING: &[&str] = &[
    "AdjustMatmulOrder()",
    "AnnotateTIROpPattern()",
    "AttachGlobalSymbol()",
    "CallTIRRewrite()",
    "CanonicalizeBindings()",
    "CombineParallelMatmul()",
    "ComputePrimValue()",
    "ConvertLayout({\"nn.conv2d\": [\"NHWC\", \"OHWI\"]})",
    "ConvertToDataflow()",
    "DeadCodeElimination()",
    "DecomposeOpsForInference()",
    "EliminateCommonSubexpr()",
    "ExpandMatmulOfSum()",
    "ExpandTupleArguments()",
    "FoldBatchnormToConv2D()",
    "FoldConstant()",
    "FuseOps()",
    "InlinePrivateFunctions()",
    "LambdaLift()",
    "Normalize()",
    "RemovePurityChecking()",
    "RemoveRedundantReshape()",
    "RemoveUnusedOutputs()",
    "RemoveUnusedParameters()",
    "ReorderPermuteDimsAfterConcat()",
    "ReorderTakeAfterMatmul()",
    "StaticPlanBlockMemory()",
    "ToNonDataflow()",
    "ToNonDataflow(), RemovePurityChecking(), CallTIRRewrite(), StaticPlanBlockMemory()",
    "FuseOps(), FuseTIR()",
    "TopologicalSort()",
];

#[test]
fn passes_keep_what_a_program_computes() {
    let programs = rows(include_str!("eval/relax_programs.jsonl"));
    let programs = programs.iter().filter(|row| row.get("out").is_some()).filter_map(|row| row["source"].as_str());
    let of_relax = passes::ALL.iter().filter(|spec| !spec.dialects.contains(&Dialect::Relay));
    let sources: Vec<&str> = programs.chain(of_relax.map(|spec| spec.example_before)).collect();
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let (mut kept, mut wrong) = (0, Vec::new());
    for source in sources {
        let store = &mut Store::new();
        let opened = open(store, source);
        let Ok(args) = seeded_args(store, &opened.module, "main", 1) else { continue };
        let Ok(before) = eval_function(store, &opened.module, "main", &args, EvalOptions::default()) else { continue };
        for calls in MEANING_PRESERVING {
            let parsed = parse_calls(calls).expect("calls");
            let rows: Vec<Row> =
                parsed.iter().map(|call| Row { pass: resolve_in(&registry, call).expect("a pass"), enabled: true }).collect();
            let mut runner = Runner::new(registry.clone(), || 0.0, Trace::new(opened.module.clone()));
            runner.enter(PassContext::default(), Vec::new()).expect("nothing refuses");
            runner.run_rows(store, &rows, 0, true);
            // A refused pass leaves the module unchanged.
            let module = runner.trace.last().clone();
            // A private function without calls may be removed.
            if module.function(store.name("main")).is_none() {
                continue;
            }
            match eval_function(store, &module, "main", &args, EvalOptions::default()) {
                Ok(after) if agree(&after, &before) => kept += 1,
                Ok(after) => wrong.push(format!("{calls}: {}\n{source}\n", passlab::eval::show(store, &after))),
                Err(failure) if failure.code == "eval-no-kernel" => {}
                Err(failure) => wrong.push(format!("{calls}: {}\n{source}\n", failure.message)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.concat());
    assert!(kept > 1000, "only {kept} were evaluated");
}
