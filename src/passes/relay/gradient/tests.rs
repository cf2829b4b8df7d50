use super::super::testing::{data, failure, read, run, values};
use crate::infer::infer_module;
use crate::ir::{DType, Store, Tensor};

fn gradients(calls: &str, source: &str, inputs: &[Tensor]) -> Vec<f64> {
    let store = &mut Store::new();
    let module = read(store, source);
    let trace = run(store, module, calls);
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let module = trace.last().clone();
    let module = infer_module(store, &module).unwrap_or_else(|errors| panic!("{errors:?}"));
    values(store, &module, inputs)
}

#[test]
fn a_graph_of_operators_has_the_gradients_of_the_first_order() {
    let source = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
           %0 = multiply(tanh(%x), %y);
           add(exp(%y), sigmoid(%0))
         }";
    let inputs = [data(DType::F32, &[2, 3]), data(DType::F32, &[3])];
    let first = gradients("FirstOrderGradient()", source, &inputs);
    let higher = gradients("ToANormalForm(), InferType(), Gradient()", source, &inputs);
    assert_eq!(first.len(), 15);
    assert!(first.iter().zip(&higher).all(|(a, b)| (a - b).abs() <= 1e-4 * a.abs().max(1.0)), "{first:?}\n{higher:?}");
}

fn scalar(value: f32) -> Tensor {
    Tensor::new(DType::F32, [], value.to_le_bytes().to_vec())
}

#[test]
fn only_the_branch_that_was_taken_counts() {
    let source = "def @main(%c: bool, %x: float32) -> float32 { if (%c) { negative(%x) } else { multiply(%x, %x) } }";
    let run = |taken: u8, x: f32| {
        let inputs = [Tensor::new(DType::BOOL, [], vec![taken]), scalar(x)];
        gradients("ToANormalForm(), InferType(), Gradient()", source, &inputs)
    };
    // x * x at 3, and -x at -2; the gradient by the condition is zero.
    assert_eq!(run(0, 3.0), [9.0, 0.0, 6.0]);
    assert_eq!(run(1, -2.0), [2.0, 0.0, -1.0]);
}

#[test]
fn closures_and_tuples_are_followed() {
    let source = "def @main(%x: float32, %y: float32) -> float32 {
           let %f = fn (%z: float32) -> float32 { multiply(%z, %y) };
           let %t = (%f(%x), %y);
           add(%t.0, %t.1)
         }";
    // x * y + y, by x and by y.
    assert_eq!(gradients("ToANormalForm(), InferType(), Gradient()", source, &[scalar(3.0), scalar(5.0)]), [20.0, 5.0, 4.0]);
}

#[test]
fn functions_of_the_module_get_versions_of_their_own() {
    let source = "def @square(%x: float32) -> float32 { multiply(%x, %x) }
         def @main(%x: float32) -> float32 { @square(@square(%x)) }";
    // x to the fourth.
    assert_eq!(gradients("ToANormalForm(), InferType(), Gradient()", source, &[scalar(2.0)]), [16.0, 32.0]);
}

#[test]
fn sharing_missing_gradients_and_other_parameters_are_refused() {
    let shared = "def @main(%x: float32) { %0 = exp(%x); add(%0, %0) }";
    assert!(failure("Gradient()", shared).contains("fGraph"));
    let missing = "def @main(%x: Tensor[(4), float32]) { argmax(%x) }";
    assert!(failure("ToANormalForm(), InferType(), Gradient()", missing).contains("missing gradients: argmax"));
    let tuple = "def @main(%x: (float32,)) { %x.0 }";
    assert!(failure("Gradient()", tuple).contains("need to be tensor, and %x"));
    assert!(failure("Gradient(func_name=\"f\")", tuple).contains("there is no function @f"));
}
