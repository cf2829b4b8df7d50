//! Programs that each break a rule about types.

use super::typed::verify;
use crate::ir::{Binding, DType, Dialect, Dim, Expr, ExprId, Function, Module, Store, Symbol, TypeId};
use crate::ops;

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
fn a_constant_that_the_text_lacks_fits_a_tensor_program_and_a_function() {
    let lacked = "metadata[\"ir.GenericConst\"][0]";
    let head = "x: R.Tensor((2,), dtype=\"float32\")";
    let call = format!("gv = R.call_tir(cls.twice, ({lacked},), out_ty=R.Tensor((2,), dtype=\"float32\"))\nreturn gv");
    assert_eq!(messages(head, &call), Vec::<String>::new());
    let function = format!("gv: R.Tensor((2,), dtype=\"float32\") = cls.main({lacked})\nreturn gv");
    assert_eq!(messages(&format!("{head}) -> R.Tensor((2,), dtype=\"float32\""), &function), Vec::<String>::new());
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

/// Returns the errors of a function of one binding with arbitrary types for its variable and its value.
fn said(store: &mut Store, value: ExprId, variable: TypeId) -> Vec<String> {
    let var = store.relax_var("y", Some(variable), false);
    let block = store.add_block_of(&[Binding { var, value, cast: None }], false);
    let result = store.use_var(var);
    let body = store.add_seq(&[block], result);
    let (params, type_params) = (store.list(&[]), store.list(&[]));
    let function =
        store.add_function(Function { params, type_params, ret: Some(variable), body, attrs: None, device: None, pure: true });
    let function = store.add(Expr::Function(function));
    let mut module = Module::of(Dialect::Relax);
    let name = store.name("main");
    module.set_function(name, function);
    verify(store, &module).into_iter().map(|found| found.message).collect()
}

fn tensor(store: &mut Store, extent: i64) -> TypeId {
    store.tensor_type(&[Dim::Int { value: extent, bits: 64 }], DType::F32)
}

#[test]
fn the_type_of_a_call_is_one_that_it_can_have() {
    // Rule 19; TVM: "All information in Type annotations must be correct. However, while the expression R.exp(x) is annotated as
    // R.Tensor((3,), dtype="float32"), the expression outputs R.Tensor((2,), dtype="float32")".
    let store = &mut Store::new();
    let (two, three) = (tensor(store, 2), tensor(store, 3));
    let x = store.relax_var("x", Some(two), false);
    let x = store.use_var(x);
    let exp = store.add(Expr::Op(ops::lookup_relax("exp").expect("an operator")));
    let args = store.list(&[x]);
    let call = |store: &mut Store, ty| store.add_typed(Expr::Call { callee: exp, args, info: None }, Some(ty));
    let wrong = call(store, three);
    assert_eq!(
        said(store, wrong, three),
        ["All information in Type annotations must be correct. However, while the expression is annotated as R.Tensor((3,), \
          dtype=\"float32\"), the expression outputs R.Tensor((2,), dtype=\"float32\")"]
    );
    let right = call(store, two);
    assert_eq!(said(store, right, two), Vec::<String>::new());
}

#[test]
fn a_value_is_of_the_type_of_its_variable() {
    // Rule 20; TVM: "Expression of type R.Tensor((2,), dtype="float32") cannot be assigned to a variable of type
    // R.Tensor((3,), dtype="float32")".
    let store = &mut Store::new();
    let (two, three) = (tensor(store, 2), tensor(store, 3));
    let x = store.relax_var("x", Some(two), false);
    let x = store.use_var(x);
    assert_eq!(
        said(store, x, three),
        ["Expression of type R.Tensor((2,), dtype=\"float32\") cannot be assigned to a variable of type R.Tensor((3,), \
          dtype=\"float32\")"]
    );
    assert_eq!(said(store, x, two), Vec::<String>::new());
}

#[test]
fn extents_of_a_shape_are_integers() {
    // Rule 22; TVM: "Shape expressions must be of integer type, but got float32".
    let store = &mut Store::new();
    let name = store.name("n");
    let shape = |store: &mut Store, dtype| {
        let n = Dim::Symbol(store.add_symbol(Symbol { name, dtype, size: false }));
        let dims = store.dims(&[n]);
        let ty = store.ty(crate::ir::Type::Shape(crate::ir::Extents::Rank(1)));
        let value = store.add_typed(Expr::Shape(dims), Some(ty));
        said(store, value, ty)
    };
    assert_eq!(shape(store, DType::F32), ["Shape expressions must be of integer type, but got float32"]);
    assert_eq!(shape(store, DType::I64), Vec::<String>::new());
}

#[test]
fn a_dataflow_variable_stands_in_no_type() {
    // TVM: "DataflowVar cannot be used as a dependent type expression."
    let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), \"float32\")):\n        with R.dataflow():\n            \
                s = R.shape([2])\n            y = R.zeros(s, \"float32\")\n            z = R.add(x, x)\n            R.output(z)\n        return z\n";
    let store = &mut Store::new();
    let module = crate::parse::parse(store, text).program.module;
    let module = crate::infer::infer_module(store, &module).expect("types");
    let said: Vec<String> = super::verify(store, &module).into_iter().map(|found| found.message).collect();
    assert_eq!(said, ["DataflowVar cannot be used as a dependent type expression."]);
}
