//! Programs whose results are computed by hand.

use super::*;
use crate::eval::{EvalOptions, Value};
use crate::ir::Expr;
use crate::ops::kernel::{read, write};

/// Runs the only function of a text on `0, 1, 2, ...`, with one output.
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
fn threads_see_what_the_others_have_written() {
    // Each thread writes one element of shared memory and reads its neighbour's.
    let source = program(
        "for t in T.thread_binding(2, thread=\"threadIdx.x\"):\n    S = T.alloc_buffer((2,), scope=\"shared\")\n    S[t] = A[0, t] + \
         T.float32(5.0)\n    B[t] = S[1 - t]",
    );
    assert_eq!(on_counting(&source, &[2, 3], &[2]), Ok(vec![6.0, 5.0]));
}

#[test]
fn a_read_of_nothing_is_an_error_at_its_statement() {
    let source = program("S = T.alloc_buffer((2,))\nS[0] = T.float32(1.0)\nB[0] = S[1]");
    let failure = on_counting(&source, &[2, 3], &[2]).expect_err("it ends with an error");
    assert!(failure.message.contains("element 1 of `S`, which nothing was written to"), "{}", failure.message);
    assert_eq!(failure.span.map(|span| &source[span.start as usize..span.end as usize]), Some("B[0] = S[1]"));
}

#[test]
fn vectors_are_loaded_whole_before_they_are_stored() {
    let source = program("B[T.Ramp(0, 1, 2)] = A[1, T.Ramp(2, -1, 2)] * T.Broadcast(T.float32(2.0), 2)");
    assert_eq!(on_counting(&source, &[2, 3], &[2]), Ok(vec![10.0, 8.0]));
}

#[test]
fn loops_are_left_early_and_rounds_are_skipped() {
    let source = program(
        "B[0] = T.float32(0.0)\nfor i in range(6):\n    if i == 1:\n        continue\n    if i == 4:\n        break\n    B[0] = \
         B[0] + A[0, 1] * T.Cast(\"float32\", i)",
    );
    // 0 + 2 + 3
    assert_eq!(on_counting(&source, &[2, 3], &[2]).map(|values| values[0]), Ok(5.0));
}

#[test]
fn what_a_program_does_is_counted() {
    let source = program("for i in range(2):\n    if i < 1:\n        B[i] = A[i, 0] * A[i, 1 + i] + A[i, 0]");
    let store = &mut Store::new();
    let module = crate::parse::parse(store, &source).program.module;
    let Expr::PrimFunc(function) = store.expr(module.functions()[0].1) else { panic!("not a PrimFunc") };
    let tensor = |shape: &[i64]| write(DType::F32, shape, &vec![1.0; shape.iter().product::<i64>() as usize]).expect("a tensor");
    let args = [Value::Tensor(tensor(&[2, 3])), Value::Tensor(tensor(&[2]))];
    let applied =
        apply(store, &module, function, &args, EvalOptions::default(), (Some(CacheShape::default()), false)).expect("it runs");
    let cost = applied.cost.expect("it is counted");
    // The one round that takes the branch has a product and a sum; `A[i, 0]` occurs there twice and is read once.
    assert_eq!((cost.arithmetic, cost.index_arithmetic), (2 + 2, 1), "with the comparison of both rounds");
    let of = |at: usize| (cost.buffers[at].loads, cost.buffers[at].stores, cost.buffers[at].bytes, cost.buffers[at].touched);
    assert_eq!((of(0), of(1)), ((2, 0, 8, 8), (0, 1, 4, 4)));
}

#[test]
fn a_packed_function_is_run_on_the_arguments_that_it_unpacks() {
    let source = "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f(self_handle: T.handle, args: T.handle, num_args: \
                  T.int32, result: T.handle) -> T.int32:\n        T.func_attr({\"calling_conv\": 1})\n        assert num_args == 2, \
                  (\"TypeError\", [\"two\"])\n        x: T.let[T.handle] = T.tvm_struct_get(args, 0, 15, \"handle\")\n        n: \
                  T.let[T.int64] = T.tvm_struct_get(args, 1, 15, \"int64\")\n        assert T.tvm_struct_get(x, 0, 4, \"int32\") == 1, \
                  (\"ValueError\", [\"rank\"])\n        A = T.decl_buffer((2,), data=T.tvm_struct_get(x, 0, 1, T.handle(\"float32\", \
                  \"global\").ty))\n        A[1] = A[0] + T.Cast(\"float32\", n)\n        return 0\n";
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
    let module = parsed.program.module;
    let Expr::PrimFunc(function) = store.expr(module.functions()[0].1) else { panic!("not a PrimFunc") };
    let args = [
        Value::Tensor(write(DType::F32, &[2], &[1.5, 0.0]).expect("a tensor")),
        Value::Prim(write(DType::I64, &[], &[4i64]).expect("a number")),
    ];
    let applied = apply(store, &module, function, &args, EvalOptions::default(), (None, false)).expect("it runs");
    let Value::Tuple(fields) = applied.value else { panic!("a tuple of what was written") };
    let tensor = fields.items()[0].as_tensor().expect("a tensor");
    assert_eq!(read::<f64>(tensor).expect("values"), [1.5, 5.5]);
}
