//! Programs whose results are computed by hand.

use super::*;
use crate::ir::Expr;

/// Runs the only function of a text on `0, 1, 2, ...`; one output.
fn on_counting(source: &str, input: &[i64], output: &[i64]) -> Result<Vec<f64>, EvalFailure> {
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
    let (_, function) = parsed.program.module.functions().first().copied().expect("a function");
    let Expr::PrimFunc(function) = store.expr(function) else { panic!("not a PrimFunc") };
    let function = store.prim_func(function).clone();
    let values: Vec<f64> = (0..input.iter().product::<i64>()).map(|x| x as f64).collect();
    let tensor = write(DType::F32, input, &values).expect("a tensor");
    let made =
        run_prim_func(store, &function, &[Given::Tensor(tensor), Given::Output(DType::F32, output.to_vec())], &[1], 10_000)?;
    Ok(read::<f64>(&made[0]).expect("values"))
}

fn program(body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("        {line}\n")).collect();
    let head = "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f(A: T.Buffer((2, 3), \"float32\"), B: \
                T.Buffer((2,), \"float32\")):\n";
    format!("{head}{lines}")
}

#[test]
fn a_sum_begins_anew_for_each_row() {
    let source = program(
        "for i, k in T.grid(2, 3):\n    with T.sblock(\"sum\"):\n        vi, vk = T.axis.remap(\"SR\", [i, k])\n        with \
         T.init():\n            B[vi] = T.float32(10.0)\n        B[vi] = B[vi] + A[vi, vk]",
    );
    // 10 + 0 + 1 + 2 and 10 + 3 + 4 + 5.
    assert_eq!(on_counting(&source, &[2, 3], &[2]), Ok(vec![13.0, 22.0]));
}

#[test]
fn what_a_choice_does_not_take_may_lie_beyond_the_end() {
    let source = program(
        "for i in range(2):\n    with T.sblock(\"pad\"):\n        vi = T.axis.spatial(2, i)\n        B[vi] = \
         T.if_then_else(1 <= vi, A[vi - 1, 2], T.float32(-1.0))",
    );
    assert_eq!(on_counting(&source, &[2, 3], &[2]), Ok(vec![-1.0, 2.0]));
}

#[test]
fn a_store_beyond_the_end_is_an_error() {
    let source =
        program("for i in range(2):\n    with T.sblock(\"b\"):\n        vi = T.axis.spatial(2, i)\n        B[vi + 1] = A[vi, 0]");
    let failure = on_counting(&source, &[2, 3], &[2]).expect_err("it ends with an error");
    assert!(failure.message.contains("beyond the end"), "{}", failure.message);
}

#[test]
fn a_loop_that_does_not_end_uses_up_its_fuel() {
    let source = program(
        "for i in range(1000000000):\n    with T.sblock(\"b\"):\n        vi = T.axis.spatial(1000000000, i)\n        B[0] = \
         A[0, 0]",
    );
    assert_eq!(on_counting(&source, &[2, 3], &[2]).expect_err("it ends with an error").code, "eval-fuel");
}

#[test]
fn threads_are_not_run() {
    let source = program(
        "for i in T.thread_binding(2, thread=\"threadIdx.x\"):\n    with T.sblock(\"b\"):\n        vi = T.axis.spatial(2, \
         i)\n        B[vi] = A[vi, 0]",
    );
    assert_eq!(on_counting(&source, &[2, 3], &[2]).expect_err("it ends with an error").code, "eval-no-kernel");
}
