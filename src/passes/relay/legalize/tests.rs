use super::super::testing::{after, check, failure, unchanged};

const VNNI: &str = "Legalize(target=\"llvm -mcpu=cascadelake\")";

#[test]
fn the_weight_of_a_transposed_convolution_is_transposed() {
    check(
        "Legalize()",
        "def @main(%x: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(2, 3, 3, 3), float32]) {
           nn.conv2d_transpose(%x, %w, channels=2, kernel_size=[3, 3], kernel_layout=\"OIHW\", padding=[1, 1, 1, 1])
         }",
        "def @main(%x: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(2, 3, 3, 3), float32]) {
           nn.conv2d_transpose(%x, transpose(%w, axes=[1, 0, 2, 3]), channels=2, kernel_size=[3, 3], kernel_layout=\"IOHW\",
             padding=[1, 1, 1, 1])
         }",
    );
    unchanged(
        "Legalize()",
        "def @main(%x: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(3, 2, 3, 3), float32]) {
           nn.conv2d_transpose(%x, %w, channels=2, kernel_size=[3, 3], kernel_layout=\"IOHW\", padding=[1, 1, 1, 1])
         }",
    );
}

#[test]
fn channels_behind_take_other_places_in_three_dimensions() {
    let made = after(
        "Legalize()",
        "def @main(%x: Tensor[(1, 4, 4, 4, 3), float32], %w: Tensor[(3, 3, 3, 2, 3), float32]) {
           nn.conv3d_transpose(%x, %w, channels=2, kernel_size=[3, 3, 3], data_layout=\"NDHWC\", kernel_layout=\"DHWOI\",
             padding=[0, 0, 0, 0, 0, 0])
         }",
    );
    assert!(made.contains("transpose(%w, axes=[4, 3, 0, 1, 2])") && made.contains("axes=[0, 2, 3, 4, 1]"), "{made}");
}

#[test]
fn the_gradient_of_a_weight_is_a_convolution_in_groups() {
    let made = after(
        "Legalize()",
        "def @main(%g: Tensor[(2, 4, 3, 3), float32], %x: Tensor[(2, 3, 8, 8), float32]) {
           nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], strides=[2, 2], padding=[0, 0, 0, 0], channels=4,
             kernel_layout=\"NCHW\", out_layout=\"OIHW\")
         }",
    );
    // (8 - 2 * 2 - 1) + 1 = 4 rows, one more than the weight has.
    assert!(made.contains("dilation=[2, 2], groups=6") && made.contains("newshape=[2, 3, 4, 4, 4]"), "{made}");
    assert!(made.contains("end=[4, 3, 3, 3]"), "{made}");
}

#[test]
fn a_take_from_unknown_extents_is_not_fused_with_what_makes_them() {
    let made = after("Legalize()", "def @main(%x: Tensor[(?, 4), float32], %i: Tensor[(2), int32]) { take(%x, %i, axis=0) }");
    assert!(made.contains("annotation.stop_fusion(%x)"), "{made}");
    unchanged("Legalize()", "def @main(%x: Tensor[(3, 4), float32], %i: Tensor[(2), int32]) { take(%x, %i, axis=0) }");
}

#[test]
fn eight_bit_convolutions_are_shifted_and_filled_up() {
    let made = after(
        VNNI,
        "def @main(%x: Tensor[(1, 3, 8, 8), int8], %w: Tensor[(10, 3, 3, 3), int8]) {
           nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=10, kernel_size=[3, 3], out_dtype=\"int32\")
         }",
    );
    for part in [
        "add(%0, 128)",
        "pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]",
        "pad_width=[[0, 0], [0, 1], [0, 0], [0, 0]]",
        "pad_width=[[0, 6], [0, 0], [0, 0], [0, 0]]",
        "channels=16",
        "end=[1, 10, 8, 8]",
        "sum(%8, axis=[1, 2, 3])",
    ] {
        assert!(made.contains(part), "no {part} in\n{made}");
    }
    unchanged(
        VNNI,
        "def @main(%x: Tensor[(1, 4, 8, 8), uint8], %w: Tensor[(16, 4, 3, 3), int8]) {
           nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3], out_dtype=\"int32\")
         }",
    );
}

#[test]
fn eight_bit_products_are_shifted_and_filled_up() {
    check(
        VNNI,
        "def @main(%x: Tensor[(2, 6), int8], %w: Tensor[(10, 6), int8]) { nn.dense(%x, %w, units=None, out_dtype=\"int32\") }",
        "def @main(%x: Tensor[(2, 6), int8], %w: Tensor[(10, 6), int8]) {
           %0 = cast(add(cast(%x, dtype=\"int32\"), 128), dtype=\"uint8\");
           %1 = nn.pad(%0, 0, pad_width=[[0, 0], [0, 2]]);
           %2 = nn.pad(%w, 0, pad_width=[[0, 6], [0, 2]]);
           %3 = nn.dense(%1, %2, units=None, out_dtype=\"int32\");
           %4 = strided_slice(%3, begin=[0, 0], end=[2, 10], strides=[1], slice_mode=\"size\", axes=None);
           %5 = multiply(128, sum(cast(%w, dtype=\"int32\"), axis=[-1]));
           subtract(%4, %5)
         }",
    );
    let batched = after(
        VNNI,
        "def @main(%x: Tensor[(1, 2, 8), int8], %w: Tensor[(1, 16, 8), int8]) { nn.batch_matmul(%x, %w, out_dtype=\"int32\", transpose_b=True) }",
    );
    assert!(batched.contains("expand_dims(") && !batched.contains("nn.pad"), "{batched}");
}

#[test]
fn erf_of_another_type_is_computed_in_float32() {
    check(
        "Legalize(target=\"llvm\")",
        "def @main(%x: Tensor[(4), float16]) { erf(%x) }",
        "def @main(%x: Tensor[(4), float16]) { cast(erf(cast(%x, dtype=\"float32\")), dtype=\"float16\") }",
    );
    unchanged("Legalize()", "def @main(%x: Tensor[(4), float16]) { erf(%x) }");
}

#[test]
fn other_targets_and_unknown_rules_are_refused() {
    let program = "def @main(%x: float32) { %x }";
    assert!(failure("Legalize(target=\"cuda\")", program).contains("other targets than llvm on x86"));
    assert!(failure("Legalize(\"FTVMLegalise\")", program).contains("there are FTVMLegalize"));
}
