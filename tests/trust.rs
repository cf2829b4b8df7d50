//! Deliberately broken variants of passes: each is caught by the check or by verification, found by bisecting, and its program
//! made small. A variant runs the real passes and spoils what it made, in the text of the program.

use passlab::ir::{Dialect, Module, Store};
use passlab::pass::PassContext;
use passlab::pass::call::parse_calls;
use passlab::pass::manager::{Pass, Runner, resolve_in};
use passlab::pass::user::UserRun;
use passlab::pass::{PassError, PassInfo};
use passlab::print::{self, PrintOptions};
use passlab::repro::{Document, DocumentRow};
use passlab::session::{Session, User, open};
use passlab::trust::{Property, Reducer, Trust, bisect};
use std::rc::Rc;

/// A pass that is broken: what it really runs, and what is wrong with what it leaves, as text and what stands for it. Of a text
/// that stands several times all are replaced.
struct Broken {
    real: &'static str,
    wrong: &'static str,
    instead: &'static str,
}

const fn broken(real: &'static str, wrong: &'static str, instead: &'static str) -> Broken {
    Broken { real, wrong, instead }
}

/// One of each statement that the variants below spoil.
const RELAY: &str = r#"#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v_var: Tensor[(4), float32], %c: bool) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %b, %m, %v_var);
  %2 = %1.0;
  %3 = nn.relu(%2);
  %4 = multiply(add(2f, 3f), %3);
  %5 = nn.max_pool2d(%4, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %6 = nn.bias_add(%5, %b);
  %7 = tanh(%6);
  %8 = exp(%7);
  %9 = add(%8, %7);
  %10 = subtract(%9, %6);
  %11 = nn.batch_flatten(%10);
  %12 = transpose(%11, axes=[1, 0]);
  %13 = sum(%12, axis=[1]);
  %14 = if (%c) { %13 } else { negative(%13) };
  (%14, nn.softmax(%11))
}
"#;

const RELAX: &str = r#"# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float32"), b: R.Tensor((3,), dtype="float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.exp(lv2)
            lv4 = R.divide(lv3, R.const(2.0, "float32"))
            lv5 = R.sum(lv4, axis=[1], keepdims=True)
            lv6 = R.multiply(lv4, lv5)
            lv7 = R.permute_dims(lv6, axes=[1, 0])
            lv8 = R.concat((lv7, lv7), axis=1)
            gv = R.subtract(lv8, R.max(lv8, axis=[1], keepdims=True))
            R.output(gv)
        return gv
"#;

const TIR: &str = r#"# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 4), "float32")):
        for i, j, k in T.grid(8, 4, 6):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(8, 4):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0)) + T.float32(1)
"#;

const VARIANTS: &[(&str, &[Broken])] = &[
    (
        RELAY,
        &[
            broken("FoldConstant()", "5f", "6f"),
            broken("SimplifyInference()", " sqrt(", " rsqrt("),
            broken("SimplifyInference()", "1e-05f", "0.5f"),
            broken("FuseOps()", "nn.relu(", "negative("),
            broken("FastMath()", "fast_exp(", "fast_tanh("),
            broken("CanonicalizeOps()", "negative(", "nn.relu("),
            broken("ToANormalForm()", "subtract(", "add("),
            broken("EliminateCommonSubexpr()", "padding=[1, 1, 1, 1]", "padding=[0, 0, 2, 2]"),
            broken("DeadCodeElimination()", "nn.softmax(", "nn.log_softmax("),
        ],
    ),
    (
        RELAX,
        &[
            broken("FoldConstant()", "R.multiply(", "R.maximum("),
            broken("CanonicalizeBindings()", "R.subtract(", "R.add("),
            broken("LegalizeOps()", "T.float32(0.0)", "T.float32(1.0)"),
            broken("DeadCodeElimination()", "R.max(", "R.min("),
            broken("ConvertToDataflow()", "R.divide(", "R.multiply("),
            broken("EliminateCommonSubexpr()", "R.exp(", "R.log("),
            broken("LegalizeOps()", "T.max(", "T.min("),
        ],
    ),
    (
        TIR,
        &[
            broken("s_tir.LowerInitBlock()", "T.float32(0.0)", "T.float32(2.0)"),
            broken("s_tir.LowerInitBlock(), s_tir.ConvertBlocksToOpaque()", "T.max(", "T.min("),
            broken(
                "s_tir.LowerInitBlock(), s_tir.ConvertBlocksToOpaque(), s_tir.CompactBufferAllocation()",
                "A[i, k]",
                "A[i, 0]",
            ),
            broken("s_tir.LowerInitBlock()", "vk == 0", "vk == 1"),
            broken("tirx.StmtSimplify()", "T.grid(8, 4, 6)", "T.grid(8, 4, 5)"),
        ],
    ),
];

/// Passes around it, which are right.
fn list(dialect: Dialect, program: &str) -> [&'static str; 4] {
    match (dialect, program == TIR) {
        (Dialect::Relay, _) => ["InferType()", "RemoveUnusedFunctions()", "CanonicalizeCast()", "InferType()"],
        (_, true) => ["s_tir.CanonicalizeLoop()", "tirx.RemoveAssume()", "tirx.SkipAssert()", "tirx.RemoveNoOp()"],
        _ => ["Normalize()", "TopologicalSort()", "Normalize()", "ToNonDataflow()"],
    }
}

fn spoiled(real: &'static str, wrong: &'static str, instead: &'static str, dialect: Dialect) -> Pass {
    let run = move |runner: &mut Runner, store: &mut Store, module: &Module| -> Result<Module, PassError> {
        let mut made = module.clone();
        for call in parse_calls(real).expect("calls") {
            let pass = resolve_in(&runner.registry().clone().of(dialect), &call).expect("a pass");
            made = runner.call(store, &pass, &made)?;
        }
        let text = print::module(store, &made, &PrintOptions::default());
        let text = text.replace(wrong, instead);
        let opened = open(store, &text);
        if opened.is_ok() { Ok(opened.module) } else { Err(opened.diagnostics) }
    };
    Pass::user(PassInfo { name: "Spoiled".to_owned(), ..PassInfo::default() }, UserRun::Module(Rc::new(run)))
}

#[test]
fn twenty_broken_passes_are_caught_found_and_their_programs_made_small() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (program, variants) in VARIANTS {
        for variant in *variants {
            count += 1;
            let Broken { real, wrong: from, instead } = *variant;
            let dialect = if *program == RELAY { Dialect::Relay } else { Dialect::Relax };
            let around = list(dialect, program);
            let calls = [around[0], around[1], "Spoiled()", around[2], around[3]];
            let rows = calls.map(|call| DocumentRow { call: call.to_owned(), enabled: true }).to_vec();
            let context = PassContext { opt_level: 4, ..PassContext::default() };
            // A script keeps the passes that it made.
            let document = Document { source: program.to_string(), rows, context, script: "//".into(), ..Document::default() };
            let mut session = Session::new(|| 0.0);
            session.set_user(User { passes: vec![spoiled(real, from, instead, dialect)], ..User::default() });
            assert!(session.run(&document, false), "{:?}", session.problems());
            let what = format!("{real} with {from} as {instead}");
            if !session.trace().is_complete() {
                wrong.push(format!("{what}: {:?}", session.trace().failures()));
                continue;
            }
            let culprit = bisect(&mut session, &mut Trust::default(), &Property::Check);
            if culprit.as_ref().is_none_or(|culprit| culprit.name != "Spoiled") {
                wrong.push(format!("{what}: {culprit:?} is blamed"));
                continue;
            }
            let Some(mut reducer) = Reducer::new(&mut session, &Property::Check) else {
                wrong.push(format!("{what}: nothing to reduce"));
                continue;
            };
            let mut left = 3000;
            reducer.finish(&mut |_| {
                left -= 1;
                left > 0
            });
            let statements = reducer.bindings();
            if statements > 10 || reducer.best.rows.len() != 1 {
                wrong.push(format!("{what}: {statements} bindings, {:?}\n{}", reducer.best.rows, reducer.best.source));
            }
            println!("{what}: {statements} bindings, {} candidates, {}", reducer.tried, reducer.culprit);
        }
    }
    assert!(count >= 20, "{count} variants");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
