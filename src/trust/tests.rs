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
fn a_step_that_changes_types_alone_is_equal_without_a_run() {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32]) { add(%x, add(1f, 2f)) }";
    let mut session = Session::new(|| 0.0);
    let list = document(source, "InferType, FoldConstant", PassContext::default()).expect("passes");
    assert!(session.run(&list, false));
    let mut trust = Trust::default();
    let mut runs = |step| {
        let report = trust.check(&mut session, step).report;
        (report.verdict, report.runs)
    };
    assert_eq!(runs(0), (Verdict::Equal, 0), "InferType");
    assert_eq!(runs(1), (Verdict::Equal, 10), "FoldConstant: five arguments, before and after");
    assert_eq!(runs(1), (Verdict::Equal, 0), "what was run is remembered");
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

const CHAIN: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {\n  %0 = exp(%x);\n  \
                     %1 = add(%0, add(1f, 2f));\n  %2 = multiply(%1, %y);\n  %3 = tanh(%2);\n  %4 = nn.relu(%3);\n  (%4, %2)\n}\n";

fn ran(source: &str, calls: &str) -> Session {
    let mut session = Session::new(|| 0.0);
    let context = PassContext { opt_level: 4, ..PassContext::default() };
    assert!(session.run(&document(source, calls, context).expect("passes"), false), "{:?}", session.problems());
    session
}

fn blamed(session: &mut Session, property: &str) -> String {
    let property = Property::parse(property).expect("a property");
    bisect(session, &mut Trust::default(), &property).map_or("nobody".to_owned(), |culprit| culprit.to_string())
}

#[test]
fn the_first_step_and_its_rewrite_are_blamed() {
    let mut session = ran(CHAIN, "FoldConstant, FastMath, FuseOps");
    assert_eq!(
        blamed(&mut session, "not:contains:fast_tanh"),
        "FastMath#1, rewrite 2 of 2 (exact function to fast approximation: tanh): the program has `fast_tanh`"
    );
    assert_eq!(
        blamed(&mut session, "count:add>=2"),
        "FoldConstant#1, rewrite 1 of 1 (constant folded: add): `add` is called 1 times"
    );
    assert_eq!(
        blamed(&mut session, "contains:Primitive"),
        "the program does not have it before any pass: the program has no `Primitive`"
    );
    assert_eq!(blamed(&mut session, "verify"), "nobody");
    assert_eq!(blamed(&mut session, "check"), "nobody");
}

#[test]
fn a_step_that_fails_is_blamed_for_its_diagnostic() {
    let mut session =
        ran("def @main(%x: Tensor[(2), float32]) { let %r = ref(%x); ref_read(%r) }", "InferType, ToGraphNormalForm");
    assert_eq!(blamed(&mut session, "diagnostic"), "nobody");
    let mut session = ran("def @main(%x: Tensor[(2), float32]) { floor(%x) }", "InferType, FirstOrderGradient");
    let found = blamed(&mut session, "diagnostic:gradient");
    assert!(found.starts_with("FirstOrderGradient#1") || found == "nobody", "{found}");
}

#[test]
fn properties_are_read_as_they_are_written_and_commands_are_not_among_them() {
    for text in [
        "check",
        "verify",
        "diagnostic",
        "diagnostic:type",
        "contains:x",
        "not:contains:a:b",
        "count:nn.conv2d>=2",
        "count:add==0",
    ] {
        assert!(Property::parse(text).is_ok(), "{text}");
    }
    // A property may come from a page or a file; a command is what a user types.
    for text in ["", "nothing", "contains:", "count:add", "count:>=2", "count:add>=x", "command:true", "check:x"] {
        assert!(Property::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_program_of_two_hundred_bindings_is_reduced_to_what_shows_it() {
    let mut source =
        String::from("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(8, 16), float32], %y: Tensor[(8, 16), float32]) {\n");
    for at in 0..200 {
        let before = if at == 0 { "%x".to_owned() } else { format!("%{}", at - 1) };
        let value = match at % 4 {
            0 => format!("add({before}, %y)"),
            1 => format!("nn.relu({before})"),
            2 if at == 102 => format!("tanh({before})"),
            2 => format!("multiply({before}, %y)"),
            _ => format!("negative({before})"),
        };
        source += &format!("  %{at} = {value};\n");
    }
    source += "  nn.relu(%199)\n}\n";
    let mut session = ran(&source, "InferType, SimplifyInference, FoldConstant, FastMath, FuseOps");
    let property = Property::parse("not:contains:fast_tanh").expect("a property");
    let mut reducer = Reducer::new(&mut session, &property).expect("it is lost");
    reducer.finish(&mut |_| true);
    assert_eq!(reducer.bindings(), 0, "{}", reducer.best.source);
    assert!(reducer.best.source.contains("  tanh("), "{}", reducer.best.source);
    assert_eq!(reducer.best.rows.iter().map(|row| row.call.as_str()).collect::<Vec<_>>(), ["FastMath()"]);
    assert!(reducer.tried < 200, "{} candidates", reducer.tried);
    // It can be left at any moment with what was found so far.
    let mut early = Reducer::new(&mut session, &property).expect("it is lost");
    early.finish(&mut |reducer| reducer.tried < 10);
    assert!(early.best.rows.len() < 5 && early.culprit.name == "FastMath");
}

#[test]
fn the_bindings_of_relax_and_the_statements_of_tensor_programs_are_taken_out() {
    let relax = "# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2, 3), \"float32\"), w: R.Tensor((3, 4), \"float32\")):\n    \
                 with R.dataflow():\n        a = R.matmul(x, w)\n        b = R.exp(a)\n        c = R.nn.gelu(b)\n        d = R.sum(c, axis=1)\n        \
                 R.output(d)\n    return d\n";
    let mut session = ran(relax, "Normalize, LegalizeOps, FuseOps");
    let property = Property::parse("count:nn.gelu>=1").expect("a property");
    let mut reducer = Reducer::new(&mut session, &property).expect("it is lost");
    reducer.finish(&mut |_| true);
    assert!(reducer.bindings() <= 2 && reducer.best.source.contains("R.nn.gelu("), "{}", reducer.best.source);
    assert_eq!(reducer.best.rows.len(), 1);
}

#[test]
fn a_private_function_that_its_callers_give_something_else_is_no_difference() {
    let source = "# from tvm.script import relax as R\n# from tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n    \
                  @T.prim_func(private=True, s_tir=True)\n    def p(a: T.handle, b: T.handle):\n        k = T.int64()\n        \
                  A = T.match_buffer(a, (k,))\n        B = T.match_buffer(b, (k,))\n        for i in range(k):\n            B[i] = A[i]\n\n    \
                  @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n        cls = Module\n        \
                  y = R.call_tir(cls.p, (x,), out_ty=R.Tensor((2,), \"float32\"))\n        return y\n";
    assert_eq!(one(source, "SpecializePrimFuncBasedOnCallSite"), "equal");
}
