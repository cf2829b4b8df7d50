use super::*;
use crate::pass::PassContext;
use crate::session::document;

fn checked(source: &str, calls: &str) -> Vec<(String, String)> {
    let mut session = Session::new(|| 0.0);
    let context = PassContext { opt_level: 4, ..PassContext::default() };
    assert!(session.run(&document(source, calls, context).expect("passes"), false), "{:?}", session.problems());
    let mut trust = Trust::default();
    let changed: Vec<usize> = (0..session.trace().steps.len()).filter(|step| session.trace().steps[*step].changed()).collect();
    changed.into_iter().map(|step| (session.trace().steps[step].id.clone(), trust.check(&mut session, step).sentence())).collect()
}

fn one(source: &str, calls: &str) -> String {
    checked(source, calls).swap_remove(0).1
}

#[test]
fn a_step_that_keeps_what_is_computed_is_equal() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32]) { add(%x, add(1f, 2f)) }";
    assert_eq!(one(source, "FoldConstant"), "equal");
}

#[test]
fn an_approximation_is_within_its_tolerance() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(64), float32]) { tanh(%x) }";
    let found = one(source, "FastMath");
    assert!(found.starts_with("equal within"), "{found}");
}

#[test]
fn a_step_that_changes_what_is_computed_is_different_and_says_where() {
    let relax = |sign: &str| {
        format!(
            "# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    \
             gv = R.{sign}(x, R.const(1.0, \"float32\"))\n    return gv\n"
        )
    };
    let mut session = Session::new(|| 0.0);
    assert!(session.run(&document(&relax("add"), "Normalize", PassContext::default()).expect("passes"), false));
    let (store, versions) = session.split();
    let before = versions[0].clone();
    let (after, _) = crate::session::open(store, &relax("subtract")).into_module(store);
    let report = Checker::default().check(store, &before, &after, Keeps::Values);
    let found = report.verdict.sentence();
    assert_eq!(found, "different: @main: result[0] is 1 before and -1 after, from `subtract`, for x = float32[2] [0, 0]");
}

#[test]
fn arguments_of_all_kinds_are_made_up() {
    let source = "#[version = \"0.0.5\"]\n
        type List[A] { Cons(A, List[A]), Nil, }
        def @main(%f: fn (int32) -> int32, %l: List[int32], %n: Tensor[(?, 2), float32]) {
          let %k = match (%l) { Cons(%h, _) => { %f(add(%h, add(1, 2))) }, Nil => { 0 }, };
          (%k, nn.relu(%n))
        }";
    assert_eq!(one(source, "FoldConstant"), "equal");
}

#[test]
fn lowering_is_checked_program_by_program() {
    let source = "# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((\"n\", 3), \"float32\")):\n    \
                  with R.dataflow():\n        lv = R.exp(x)\n        gv = R.sum(lv, axis=1)\n        R.output(gv)\n    return gv\n";
    for (step, found) in
        checked(source, "LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR, s_tir.LowerInitBlock, s_tir.ConvertBlocksToOpaque")
    {
        assert!(found.starts_with("equal"), "{step}: {found}");
    }
}

#[test]
fn a_large_program_is_checked_on_a_smaller_one() {
    let source = "#[version = \"0.0.5\"]
        def @main(%x: Tensor[(1, 256, 224, 224), float32], %w: Tensor[(256, 256, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w, padding=[1, 1], channels=256, kernel_size=[3, 3]);
          add(%0, add(1f, 2f))
        }";
    let found = one(source, "FoldConstant");
    assert!(found.starts_with("equal") && found.ends_with("on a smaller program, extents divided by 32"), "{found}");
}

#[test]
fn functions_that_take_something_else_on_purpose_are_compared_all_the_same() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(%x, %x) }";
    assert_eq!(one(source, "FirstOrderGradient"), "equal");
    let relax = "# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2, 3), \"float32\"), w: R.Tensor((4, 3), \"float32\")):\n    \
                 R.func_attr({\"num_input\": 1})\n    with R.dataflow():\n        lv = R.permute_dims(w)\n        gv = R.matmul(x, lv)\n        \
                 R.output(gv)\n    return gv\n";
    assert_eq!(one(relax, "LiftTransformParams"), "equal");
    assert_eq!(one(relax, "BundleModelParams"), "equal");
}
