use super::super::testing::{self, after, failure, run};
use crate::eval::{EvalOptions, Value, eval_function};
use crate::ir::{DType, Store};
use crate::ops::kernel::{read, write};

#[test]
fn gradients_of_what_is_used_twice_add_up() {
    let made = after("FirstOrderGradient()", "def @main(%x: Tensor[(4), float32]) { multiply(%x, %x) }");
    assert!(made.contains("collapse_sum_like(%1, %x_0)") && made.contains("let %x_5 = add(%x_4, "), "{made}");
}

#[test]
fn gradients_have_the_types_of_what_they_are_of() {
    let shapes = [
        ("nn.batch_matmul(%x, %y, transpose_b=True)", "(2, 3, 4)", "(2, 5, 4)"),
        ("nn.matmul(%x, %y, units=None)", "(2, 3)", "(3, 4)"),
        ("concatenate((atan(%x), erf(%y)))", "(2, 3)", "(1, 3)"),
        ("multiply(mean(nn.avg_pool2d(%x, pool_size=[2, 2]), axis=[2, 3]), %y)", "(1, 2, 4, 4)", "(2)"),
    ];
    for (body, x, y) in shapes {
        let program = format!("def @main(%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {body} }}");
        let made = after("FirstOrderGradient(), InferType()", &program);
        assert!(made.contains(&format!(", (Tensor[{x}, float32], Tensor[{y}, float32])) {{")), "{made}");
    }
}

/// Returns the gradient of the first parameter, an array of float32; the second one, if there is one, is an array of int32.
fn gradient(body: &str, x: &[f32], indices: &[i64]) -> Vec<f32> {
    let (n, m) = (x.len(), indices.len());
    let program = format!("def @main(%x: Tensor[({n}), float32], %i: Tensor[({m}), int32]) {{ {body} }}");
    let store = &mut Store::new();
    let module = testing::read(store, &program);
    let trace = run(store, module, "FirstOrderGradient(), InferType()");
    assert!(trace.is_complete(), "{body}: {:?}", trace.failures());
    let x = write(DType::F32, &[n as i64], x).map(Value::Tensor).unwrap();
    let indices = write(DType::I32, &[m as i64], indices).map(Value::Tensor).unwrap();
    let made = eval_function(store, trace.last(), "main", &[x, indices], EvalOptions::default());
    let Ok(Value::Tuple(pair)) = made else { panic!("{body}: {made:?}") };
    let [_, Value::Tuple(gradients)] = pair.items() else { panic!("{body}: no gradients") };
    let Value::Tensor(first) = &gradients.items()[0] else { panic!("{body}: no tensor") };
    read::<f32>(first).unwrap()
}

#[test]
fn gradients_are_those_of_calculus() {
    assert_eq!(gradient("take(%x, %i, axis=0)", &[1.0, 2.0, 3.0], &[0, 0, 2]), [2.0, 0.0, 1.0]);
    assert_eq!(gradient("max(%x)", &[1.0, 3.0, 3.0], &[]), [0.0, 0.5, 0.5]);
    let slice = "strided_slice(%x, begin=[1], end=[4], strides=[2], axes=None)";
    assert_eq!(gradient(slice, &[1.0, 2.0, 3.0, 4.0], &[]), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(gradient("stack((%x, negative(%x), %x), axis=0)", &[1.0, 2.0], &[]), [1.0, 1.0]);
    // 2 / 3 times the distance from the mean, 3.
    let variance = gradient("variance(%x, mean(%x, keepdims=True), axis=None)", &[1.0, 2.0, 6.0], &[]);
    for (ours, wanted) in variance.iter().zip([-4.0 / 3.0, -2.0 / 3.0, 2.0]) {
        assert!((ours - wanted).abs() < 1e-5, "{variance:?}");
    }
}

#[test]
fn a_function_that_is_called_in_place_is_its_body() {
    let cube = "%0 = fn (%a: Tensor[(2), float32]) { multiply(multiply(%a, %a), %a) }; %0(%x)";
    assert_eq!(gradient(cube, &[1.0, 2.0], &[]), [3.0, 12.0]);
}

#[test]
fn what_has_no_gradient_is_an_error() {
    let message = failure("FirstOrderGradient()", "def @main(%x: Tensor[(4), float32]) { floor(%x) }");
    assert!(message.contains("the operator floor does not have a registered gradient"), "{message}");
    let message = failure("FirstOrderGradient()", "def @main(%x: Tensor[(4), float32]) { let %y = exp(%x); %y }");
    assert!(message.contains("fLet"), "{message}");
}

#[test]
fn the_gradient_of_a_tuple_of_one_is_a_split_without_places() {
    let made = after("FirstOrderGradient(), InferType()", "def @main(%x: Tensor[(4), float32]) { concatenate((%x,)) }");
    assert!(made.contains("indices_or_sections=[]"), "{made}");
}

#[test]
fn the_gradient_of_an_average_has_the_attributes_of_the_average() {
    let program = "def @main(%x: Tensor[(1, 1, 4, 4), float32]) { nn.avg_pool2d(%x, pool_size=[2, 2]) }";
    let made = after("FirstOrderGradient()", program);
    assert!(made.contains("meta[relay.attrs.AvgPool2DAttrs][0]"), "{made}");
}
