//! Limits and unsupported programs, which the cases of `tests/eval` do not cover.

use crate::eval::{EvalOptions, Value, eval_function, show};
use crate::ir::{DType, Store};
use crate::ops::kernel::write;

fn evaluated(source: &str, args: &[Value], fuel: u64) -> Result<String, (String, &'static str)> {
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
    let module = crate::infer::relax::infer_module(store, &parsed.program.module).expect("it is typed");
    let made = eval_function(store, &module, "main", args, EvalOptions { fuel, ..EvalOptions::default() });
    made.map(|value| show(store, &value)).map_err(|failure| (failure.message, failure.code))
}

fn main_of(head: &str, body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("        {line}\n")).collect();
    format!(
        "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def main({head}) -> R.Any:\n        cls = Module\n{lines}"
    )
}

fn vector(values: &[f32]) -> Value {
    Value::Tensor(write(DType::F32, &[values.len() as i64], values).expect("a tensor"))
}

#[test]
fn a_linked_function_is_said_to_be_not_evaluated() {
    let source = main_of("x: R.Tensor((2,), \"float32\")", "gv = R.call_packed(\"my.fun\", x)\nreturn gv");
    let (message, code) = evaluated(&source, &[vector(&[1.0, 2.0])], 1000).unwrap_err();
    assert_eq!((message.as_str(), code), ("`my.fun` is a linked function, which is not evaluated here", "eval-no-kernel"));
}

#[test]
fn a_constant_without_value_is_named_by_its_number() {
    let body = "lv: R.Tensor((2,), \"float32\") = metadata[\"ir.GenericConst\"][0]\nlv1: R.Tensor((2,), \"float32\") = R.add(x, \
                lv)\nreturn lv1";
    let (message, _) = evaluated(&main_of("x: R.Tensor((2,), \"float32\")", body), &[vector(&[1.0, 2.0])], 1000).unwrap_err();
    assert!(message.contains("`metadata[\"ir.GenericConst\"][0]`, float32[2], is a constant without value"), "{message}");
}

#[test]
fn an_endless_recursion_uses_up_its_fuel_and_no_call_stack() {
    let source = main_of("x: R.Tensor((2,), \"float32\")", "gv: R.Any = cls.main(x)\ngv1: R.Any = cls.main(x)\nreturn gv1");
    let (_, code) = evaluated(&source, &[vector(&[1.0, 2.0])], 200_000).unwrap_err();
    assert_eq!(code, "eval-fuel");
}

#[test]
fn a_function_has_the_extents_of_its_own_call_and_not_those_of_its_caller() {
    let source = "@I.ir_module
class Module:
    @R.function
    def half(x: R.Tensor((\"n\",), \"float32\")) -> R.Shape(ndim=1):
        n = T.int64()
        cls = Module
        c = R.less(R.size(x), R.const(2, \"int64\"))
        if c:
            r: R.Shape([n]) = R.shape([n])
            y: R.Shape(ndim=1) = r
        else:
            z = R.strided_slice(x, axes=[0], begin=[1], end=[n])
            r1: R.Shape(ndim=1) = cls.half(z)
            y: R.Shape(ndim=1) = r1
        return y
    @R.function
    def main(x: R.Tensor((\"n\",), \"float32\")) -> R.Shape(ndim=1):
        cls = Module
        gv: R.Shape(ndim=1) = cls.half(x)
        return gv
";
    assert_eq!(evaluated(source, &[vector(&[1.0, 2.0, 3.0])], 1000), Ok("shape[1]".to_owned()));
}

#[test]
fn a_lowered_program_writes_into_the_memory_that_it_allocates() {
    let source = "@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def twice(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        for i in range(2):
            with T.sblock(\"b\"):
                vi = T.axis.spatial(2, i)
                B[vi] = A[vi] * T.float32(2)
    @R.function(pure=False)
    def main(x: R.Tensor((2,), \"float32\")) -> R.Tensor((2,), \"float32\"):
        cls = Module
        alloc: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), \
                  R.prim_value(0), R.str(\"global\"))
        _: R.Tuple = cls.twice(x, alloc)
        return alloc
";
    assert_eq!(evaluated(source, &[vector(&[1.0, 2.5])], 1000), Ok("float32[2] [2, 5]".to_owned()));
}

#[test]
fn an_assertion_that_does_not_hold_says_what_it_says() {
    let body = "gv = R.assert_op(R.const(False, \"bool\"), format=\"too small\")\nreturn gv";
    let (message, _) = evaluated(&main_of("x: R.Tensor((2,), \"float32\")", body), &[vector(&[1.0, 2.0])], 1000).unwrap_err();
    assert_eq!(message, "AssertionError: too small");
}

#[test]
fn an_assertion_shows_its_values() {
    let said = |call: &str| {
        let source = main_of("x: R.Tensor((), \"float32\")", &format!("gv = {call}\nreturn gv"));
        let five = Value::Tensor(write(DType::F32, &[], &[5.0f32]).expect("a tensor"));
        evaluated(&source, &[five], 1000).unwrap_err().0
    };
    assert_eq!(said("R.assert_op(R.const(False, \"bool\"), x, format=\"Number: {}!\")"), "AssertionError: Number: 5.0!");
    assert_eq!(said("R.assert_op(R.const(False, \"bool\"), [x, x])"), "AssertionError: 5.0, 5.0");
    assert_eq!(said("R.assert_op(R.const(False, \"bool\"))"), "AssertionError: Assertion Failed");
}

#[test]
fn functions_that_lowering_writes_are_run() {
    let calls = [
        ("R.call_packed(\"vm.builtin.to_device\", x, R.prim_value(1), R.prim_value(0))", "float32[2] [1, 2.5]"),
        ("R.call_packed(\"relax.run.shape_to_tensor\", R.shape([3, 4]))", "int64[2] [3, 4]"),
    ];
    for (call, result) in calls {
        let source = main_of("x: R.Tensor((2,), \"float32\")", &format!("gv = {call}\nreturn gv"));
        assert_eq!(evaluated(&source, &[vector(&[1.0, 2.5])], 1000), Ok(result.to_owned()));
    }
}

/// Four bytes further in the same memory; numbers of 64 bits over it (their value by Python's `struct`).
#[test]
fn a_view_is_run_before_it_is_lowered_and_after() {
    let views = [
        "R.memory.view(x, R.shape([1]), R.null_value(), R.prim_value(4))",
        "R.call_packed(\"runtime.TVMTensorCreateView\", x, R.shape([1]), R.dtype(\"float32\"), R.prim_value(4))",
    ];
    for view in views {
        let source = main_of("x: R.Tensor((2,), \"float32\")", &format!("gv = {view}\nreturn gv"));
        assert_eq!(evaluated(&source, &[vector(&[1.0, 2.5])], 1000), Ok("float32[1] [2.5]".to_owned()));
    }
    let double =
        main_of("x: R.Tensor((2,), \"float32\")", "gv = R.memory.view(x, R.shape([1]), R.dtype(\"float64\"))\nreturn gv");
    assert_eq!(evaluated(&double, &[vector(&[0.0, 1.75])], 1000), Ok("float64[1] [0.5]".to_owned()));
    let beyond = main_of(
        "x: R.Any",
        "gv = R.call_packed(\"runtime.TVMTensorCreateView\", x, R.shape([9]), R.tuple(), R.tuple())\nreturn gv",
    );
    let (message, _) = evaluated(&beyond, &[vector(&[1.0])], 1000).unwrap_err();
    assert_eq!(message, "a view of 36 bytes at 0 exceeds the 4 of the tensor");
}
