use super::super::testing::{after, data, failure, read, run, unchanged, values};
use crate::infer::infer_module;
use crate::ir::{DType, Store, Tensor};

/// Asserts that nothing quantised is left and that values stay, but for one step where `within` is 1.
fn lowered(call: &str, source: &str, inputs: &[Tensor], within: f64) -> String {
    let store = &mut Store::new();
    let module = read(store, source);
    let before = values(store, &module, inputs);
    let after = run(store, module, call).last().clone();
    let after = infer_module(store, &after).unwrap_or_else(|errors| panic!("{errors:?}"));
    let text = super::super::testing::show(store, &after);
    assert!(!text.contains("qnn."), "{text}");
    let got = values(store, &after, inputs);
    assert_eq!(before.len(), got.len());
    let worst = before.iter().zip(&got).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= within, "{worst} of {before:?} and {got:?} in\n{text}");
    text
}

const CALL: &str = "qnn.Legalize()";

#[test]
fn all_four_terms_of_a_convolution_keep_its_values() {
    for (zeros, terms) in [("0, 0", 0), ("3, 0", 1), ("0, 5", 1), ("3, 5", 3)] {
        let source = format!(
            "def @main(%x: Tensor[(1, 3, 6, 6), uint8], %w: Tensor[(4, 3, 3, 3), int8]) {{
               qnn.conv2d(%x, %w, {zeros}, 0.5f, 0.25f, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype=\"int32\")
             }}"
        );
        let inputs = [data(DType::U8, &[1, 3, 6, 6]), data(DType::I8, &[4, 3, 3, 3])];
        let text = lowered(CALL, &source, &inputs, 0.0);
        assert_eq!(text.matches("subtract(").count(), if terms == 3 { 2 } else { terms }, "{text}");
        assert_eq!(text.contains("nn.avg_pool2d("), zeros.ends_with('5'), "{text}");
    }
}

#[test]
fn depthwise_strided_and_dilated_convolutions_keep_their_values() {
    let x = data(DType::U8, &[1, 4, 6, 6]);
    let depthwise = |rest: &str| {
        format!(
            "def @main(%x: Tensor[(1, 4, 6, 6), uint8], %w: Tensor[(4, 1, 3, 3), uint8]) {{
               qnn.conv2d(%x, %w, 3, 5, 0.5f, 0.25f, groups=4, channels=4, kernel_size=[3, 3], out_dtype=\"int32\"{rest})
             }}"
        )
    };
    let w = data(DType::U8, &[4, 1, 3, 3]);
    lowered(CALL, &depthwise(", padding=[0, 0, 0, 0], strides=[2, 2]"), &[x.clone(), w.clone()], 0.0);
    // Dilated sums of the data have no pooling, so the zero points are subtracted first.
    let text = lowered(CALL, &depthwise(", padding=[0, 0, 0, 0], dilation=[2, 2]"), &[x, w], 0.0);
    assert!(!text.contains("avg_pool2d") && text.contains("subtract("), "{text}");
    let pointwise = "def @main(%x: Tensor[(1, 6, 6, 4), uint8], %w: Tensor[(1, 1, 4, 2), uint8]) {
           qnn.conv2d(%x, %w, 3, 5, 0.5f, 0.25f, padding=[0, 0, 0, 0], strides=[2, 2], channels=2, kernel_size=[1, 1],
             data_layout=\"NHWC\", kernel_layout=\"HWIO\", out_dtype=\"int32\")
         }";
    lowered(CALL, pointwise, &[data(DType::U8, &[1, 6, 6, 4]), data(DType::U8, &[1, 1, 4, 2])], 0.0);
}

#[test]
fn zero_points_of_a_variable_make_every_term() {
    let source = "def @main(%x: Tensor[(1, 3, 4, 4), uint8], %w: Tensor[(2, 3, 3, 3), uint8], %z: int32) {
           qnn.conv2d(%x, %w, %z, 5, 0.5f, 0.25f, padding=[0, 0, 0, 0], channels=2, kernel_size=[3, 3], out_dtype=\"int32\")
         }";
    let zero = Tensor::new(DType::I32, [], 7i32.to_le_bytes().to_vec());
    lowered(CALL, source, &[data(DType::U8, &[1, 3, 4, 4]), data(DType::U8, &[2, 3, 3, 3]), zero], 0.0);
}

#[test]
fn products_of_matrices_keep_their_values() {
    let dense = "def @main(%x: Tensor[(3, 5), uint8], %w: Tensor[(4, 5), int8]) {
           qnn.dense(%x, %w, 3, 5, 0.5f, 0.25f, units=4, out_dtype=\"int32\")
         }";
    lowered(CALL, dense, &[data(DType::U8, &[3, 5]), data(DType::I8, &[4, 5])], 0.0);
    let batched = "def @main(%x: Tensor[(2, 3, 5), int8], %y: Tensor[(2, 4, 5), int8]) {
           qnn.batch_matmul(%x, %y, 3, 5, 0.5f, 0.25f, out_dtype=\"int32\", transpose_b=True)
         }";
    lowered(CALL, batched, &[data(DType::I8, &[2, 3, 5]), data(DType::I8, &[2, 4, 5])], 0.0);
}

#[test]
fn requantizing_keeps_values_in_every_rounding_and_type() {
    for how in ["", ", rounding=\"UPWARD\"", ", rounding=\"TONEAREST\"", ", rounding=\"TONEAREST\", compute_dtype=\"float64\""] {
        for scale in ["0.5f, 3, 0.37f, -4", "0.25f, 0, 4f, 0", "8f, 1, 0.5f, 2", "0.5f, 3, 0.5f, 4"] {
            let source = format!(
                "def @main(%x: Tensor[(4, 8), int32]) {{ qnn.requantize(%x, {scale}, axis=1, out_dtype=\"int8\"{how}) }}"
            );
            lowered(CALL, &source, &[data(DType::I32, &[4, 8])], 0.0);
        }
        // A vector of scales is a constant, which folding makes.
        let channels = format!(
            "def @main(%x: Tensor[(4, 2), int32]) {{
               %0 = (0.25f, 3f);
               qnn.requantize(%x, stack(%0, axis=0), 1, 0.5f, 2, axis=1, out_dtype=\"int8\"{how})
             }}"
        );
        lowered("FoldConstant(), qnn.Legalize()", &channels, &[data(DType::I32, &[4, 2])], 0.0);
    }
    // Floats on an x86 are at most one step from integers.
    let source = "def @main(%x: Tensor[(4, 8), int32]) { qnn.requantize(%x, 0.5f, 3, 0.37f, -4, axis=1, out_dtype=\"int8\") }";
    let text = lowered("qnn.Legalize(target=\"llvm -mcpu=core-avx2\")", source, &[data(DType::I32, &[4, 8])], 1.0);
    assert!(text.contains("floor(") && text.contains("dtype=\"float32\""), "{text}");
}

#[test]
fn operators_over_elements_keep_their_values() {
    let two = [data(DType::U8, &[2, 6]), data(DType::U8, &[2, 6])];
    for op in ["add", "subtract", "mul"] {
        for scales in ["0.5f, 3, 0.25f, 5, 0.75f, 7", "0.5f, 3, 0.5f, 3, 0.5f, 3"] {
            let source =
                format!("def @main(%x: Tensor[(2, 6), uint8], %y: Tensor[(2, 6), uint8]) {{ qnn.{op}(%x, %y, {scales}) }}");
            lowered(CALL, &source, &two, 0.0);
        }
    }
    let joined = "def @main(%x: Tensor[(2, 6), uint8], %y: Tensor[(2, 6), uint8]) {
           %0 = (%x, %y);
           %1 = (0.5f, 0.25f);
           %2 = (3, 5);
           qnn.concatenate(%0, %1, %2, 0.5f, 3, axis=1)
         }";
    let text = lowered(CALL, joined, &two, 0.0);
    assert_eq!(text.matches("fixed_point_multiply").count(), 1, "the first has the scale already\n{text}");
    for call in ["qnn.leaky_relu(%x, 0.5f, 3, 0.25f, 5, alpha=0.3f)", "qnn.softmax(%x, 0.5f, 3, 0.0078125f, -128, axis=1)"] {
        let source = format!("def @main(%x: Tensor[(2, 6), int8]) {{ {call} }}");
        lowered(CALL, &source, &[data(DType::I8, &[2, 6])], 0.0);
    }
    let pool = "def @main(%x: Tensor[(1, 2, 4, 4), int8]) {
           qnn.avg_pool2d(%x, 0.5f, 3, 0.25f, 5, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
         }";
    lowered(CALL, pool, &[data(DType::I8, &[1, 2, 4, 4])], 0.0);
    let there = "def @main(%x: Tensor[(2, 6), float32]) {
           qnn.dequantize(qnn.quantize(%x, 0.5f, 3, out_dtype=\"int8\"), 0.5f, 3, out_dtype=\"float32\")
         }";
    lowered(CALL, there, &[data(DType::F32, &[2, 6])], 0.0);
}

#[test]
fn a_function_of_one_tensor_becomes_a_table() {
    for name in ["tanh", "exp", "sqrt", "rsqrt", "erf", "sigmoid", "hardswish", "log", "abs"] {
        let source = format!("def @main(%x: Tensor[(2, 6), int8]) {{ qnn.{name}(%x, 0.05f, -128, 0.05f, 5) }}");
        let text = lowered(CALL, &source, &[data(DType::I8, &[2, 6])], 0.0);
        assert!(text.contains("reinterpret(%x, dtype=\"uint8\")") && text.contains("mode=\"fast\""), "{text}");
        let floats = after("Legalize(\"FTVMQnnCanonicalize\")", &source);
        assert!(!floats.contains("take(") && floats.contains("round("), "{floats}");
    }
}

#[test]
fn a_transposed_convolution_becomes_one_of_sixteen_bits() {
    let source = "def @main(%x: Tensor[(1, 2, 4, 4), uint8], %w: Tensor[(2, 3, 3, 3), uint8]) {
           qnn.conv2d_transpose(%x, %w, 3, 5, 0.5f, 0.25f, channels=3, kernel_size=[3, 3], kernel_layout=\"IOHW\",
             out_dtype=\"int32\")
         }";
    let text = lowered(CALL, source, &[data(DType::U8, &[1, 2, 4, 4]), data(DType::U8, &[2, 3, 3, 3])], 0.0);
    assert_eq!(text.matches("dtype=\"int16\"").count(), 4, "{text}");
}

const DENSE: &str = "def @main(%x: Tensor[(10, 3), int8], %w: Tensor[(20, 3), uint8]) {
   qnn.dense(%x, %w, 1, 2, 1f, 1f, units=20, out_dtype=\"int32\")
 }";

#[test]
fn targets_get_the_types_that_they_compute_fast() {
    let legalize = |target: &str| after(&format!("Legalize(\"FTVMQnnLegalize\", \"{target}\")"), DENSE);
    let x86 = legalize("llvm -mcpu=cascadelake");
    // Both are shifted by half of the range, with their zero points.
    assert!(x86.contains("add(%0, 128)") && x86.contains("add(%2, -128)") && x86.contains("129, -126, 1f, 1f"), "{x86}");
    let old = legalize("llvm");
    assert!(old.contains("nn.dense(") && !old.contains("qnn."), "{old}");
    assert_eq!(legalize("llvm -device=arm_cpu -mtriple=aarch64-linux-gnu"), old);
    let arm = legalize("llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod");
    assert!(arm.contains("129, 2, 1f, 1f") && arm.matches("cast(").count() == 2, "{arm}");
    assert!(legalize("cuda").contains("1, -126, 1f, 1f"));
    unchanged("Legalize(\"FTVMQnnLegalize\")", DENSE);
    unchanged("Legalize(\"FTVMQnnLegalize\", \"metal\")", DENSE);
}

#[test]
fn what_has_no_rule_is_refused_with_its_operator() {
    assert!(failure("Legalize(\"FTVMQnnLegalize\", \"hexagon\")", DENSE).contains("qnn.dense: the rules for hexagon"));
    let variable = "def @main(%x: Tensor[(2, 6), int8], %s: float32) { qnn.tanh(%x, %s, 0, 0.05f, 5) }";
    assert!(failure(CALL, variable).contains("qnn.tanh: the scales and zero points must be constants"));
    let layout = "def @main(%x: Tensor[(1, 3, 6, 6), uint8], %w: Tensor[(4, 3, 3, 3), int8], %s: float32) {
           qnn.requantize(qnn.conv2d(%x, %w, 0, 0, 0.5f, 0.25f, channels=4, kernel_size=[3, 3], out_dtype=\"int32\"),
             1f, 0, %s, 0, axis=1, out_dtype=\"int8\")
         }";
    assert!(failure(CALL, layout).contains("qnn.requantize: Expr must be a constant expr"));
}
