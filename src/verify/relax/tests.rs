//! Programs that break a rule about types each.

use super::typed::verify;
use crate::ir::Store;

const PROGRAM: &str = "    @T.prim_func(s_tir=True)
    def twice(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        for i in range(2):
            with T.sblock(\"b\"):
                vi = T.axis.spatial(2, i)
                B[vi] = A[vi] * T.float32(2)
";

fn messages(head: &str, body: &str) -> Vec<String> {
    let lines: String = body.lines().map(|line| format!("        {line}\n")).collect();
    let source =
        format!("@I.ir_module\nclass Module:\n{PROGRAM}    @R.function\n    def main({head}):\n        cls = Module\n{lines}");
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, &source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
    let module = crate::infer::relax::infer_module(store, &parsed.program.module).expect("it is typed");
    verify(store, &module).into_iter().map(|found| found.message).collect()
}

#[test]
fn a_variable_may_say_less_than_its_value_has() {
    let head = "x: R.Tensor(ndim=1, dtype=\"float32\")";
    assert_eq!(messages(head, "y: R.Tensor(dtype=\"float32\") = x\nreturn y"), Vec::<String>::new());
}

#[test]
fn the_output_of_a_tensor_program_is_what_the_program_writes() {
    let head = "x: R.Tensor((2,), dtype=\"float32\")";
    let call = |ty: &str| format!("gv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor({ty}))\nreturn gv");
    assert_eq!(messages(head, &call("(2,), dtype=\"float32\"")), Vec::<String>::new());
    let found = messages(head, &call("(3,), dtype=\"float32\""));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("implies that the output should be R.Tensor((2,), dtype=\"float32\")"), "{found:?}");
}

#[test]
fn a_tensor_program_takes_no_more_than_it_has_parameters_for_and_of_their_types() {
    let head = "x: R.Tensor((2,), dtype=\"float32\"), y: R.Tensor((4,), dtype=\"float32\")";
    let call = |args: &str| format!("gv = R.call_tir(cls.twice, ({args}), out_ty=R.Tensor((2,), dtype=\"float32\"))\nreturn gv");
    let found = messages(head, &call("x, x, x"));
    assert!(found[0].contains("using 3 explicit arguments. However, the callee only accepts 2 arguments"), "{found:?}");
    let found = messages(head, &call("y,"));
    assert!(found[0].contains("(FValidate) for R.call_tir identified error: Argument 0 type mismatch"), "{found:?}");
}

#[test]
fn arguments_of_a_tensor_program_stand_there_as_a_tuple() {
    let head = "x: R.Tuple(R.Tensor((2,), dtype=\"float32\"))";
    let found = messages(head, "gv = R.call_tir(cls.twice, x, out_ty=R.Tensor((2,), dtype=\"float32\"))\nreturn gv");
    assert!(found[0].contains("must hold its arguments as an in-line tuple"), "{found:?}");
}
