//! Tests that LegalizeOps keeps the results of programs: runs the tensor programs, element by element, against the
//! kernels of the operators.

use passlab::eval::{self, EvalOptions};
use passlab::ir::Store;
use passlab::pass::trace::Trace;
use passlab::session::seeded_args;

/// Parameters and an expression.
const PROGRAMS: &[(&str, &str)] = &[
    ("x: R.Tensor((2, 3), \"float32\"), y: R.Tensor((3,), \"float32\")", "R.divide(R.add(x, y), R.const(3.0, \"float32\"))"),
    ("x: R.Tensor((2, 3), \"float32\"), y: R.Tensor((2, 1), \"float32\")", "R.where(R.less(x, y), R.exp(x), R.negative(x))"),
    ("x: R.Tensor((2, 3), \"int32\"), y: R.Tensor((3,), \"int32\")", "R.bitwise_xor(R.floor_mod(x, R.const(3, \"int32\")), y)"),
    ("x: R.Tensor((3, 4), \"float32\")", "R.nn.softmax(R.nn.silu(x), axis=0)"),
    ("x: R.Tensor((3, 4), \"float32\")", "R.nn.log_softmax(R.nn.gelu_tanh(x), axis=-1)"),
    ("x: R.Tensor((2, 3, 4), \"float32\")", "R.variance(x, axis=[0, 2], keepdims=True)"),
    ("x: R.Tensor((2, 3, 4), \"float32\")", "R.argmax(x, axis=1)"),
    ("x: R.Tensor((2, 3, 4), \"float32\")", "R.reshape(R.permute_dims(x, axes=[2, 0, 1]), R.shape([6, 4]))"),
    ("x: R.Tensor((2, 3), \"float32\"), y: R.Tensor((2, 2), \"float32\")", "R.concat((x, y, x), axis=1)"),
    ("x: R.Tensor((5, 4), \"float32\")", "R.strided_slice(x, axes=[0, 1], begin=[4, 0], end=[-6, 4], strides=[-2, 3])"),
    ("x: R.Tensor((2, 3), \"float32\")", "R.flip(R.tile(R.repeat(x, repeats=2, axis=1), repeats=[2, 1]), axis=0)"),
    ("x: R.Tensor((2, 3, 4), \"float32\"), y: R.Tensor((2, 4, 2), \"float32\")", "R.matmul(x, y)"),
    ("x: R.Tensor((4,), \"float32\"), y: R.Tensor((3, 4, 2), \"float32\")", "R.matmul(x, y)"),
    (
        "x: R.Tensor((1, 4, 6, 6), \"float32\"), w: R.Tensor((2, 2, 3, 3), \"float32\")",
        "R.nn.conv2d(x, w, strides=[2, 1], padding=[1, 0, 1, 2], groups=2)",
    ),
    (
        "x: R.Tensor((1, 5, 5, 2), \"float32\"), w: R.Tensor((3, 3, 2, 3), \"float32\")",
        "R.nn.conv2d(x, w, padding=[1, 1, 1, 1], dilation=[2, 2], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
    ),
    (
        "x: R.Tensor((1, 2, 4, 4), \"float32\"), w: R.Tensor((2, 3, 3, 3), \"float32\")",
        "R.nn.conv2d_transpose(x, w, strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1])",
    ),
    ("x: R.Tensor((1, 2, 5, 5), \"float32\")", "R.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])"),
    ("x: R.Tensor((1, 2, 5, 5), \"float32\")", "R.nn.avg_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])"),
    ("x: R.Tensor((1, 2, 6, 4), \"float32\")", "R.nn.adaptive_avg_pool2d(x, output_size=[3, 2])"),
    (
        "x: R.Tensor((2, 3, 4), \"float32\"), g: R.Tensor((4,), \"float32\"), b: R.Tensor((4,), \"float32\")",
        "R.nn.layer_norm(x, g, b, axes=[-1])",
    ),
    (
        "x: R.Tensor((2, 4, 3), \"float32\"), g: R.Tensor((4,), \"float32\"), b: R.Tensor((4,), \"float32\")",
        "R.nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[2])",
    ),
    ("x: R.Tensor((1, 1, 4, 4), \"float32\")", "R.image.resize2d(x, R.shape([6, 8]), method=\"linear\")"),
    (
        "x: R.Tensor((1, 2, 3, 4, 5), \"float32\")",
        "R.image.resize3d(x, R.shape([4, 3, 7]), roi=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], method=\"linear\")",
    ),
    (
        "x: R.Tensor((1, 2, 4, 5), \"float32\"), g: R.Tensor((1, 2, 3, 3), \"float32\")",
        "R.image.grid_sample(x, g, method=\"bilinear\", padding_mode=\"border\")",
    ),
    (
        "x: R.Tensor((1, 2, 4, 5), \"float32\"), g: R.Tensor((1, 2, 3, 3), \"float32\")",
        "R.image.grid_sample(x, g, method=\"bicubic\", padding_mode=\"reflection\", align_corners=True)",
    ),
    ("x: R.Tensor((2, 3), \"float32\"), y: R.Tensor((3, 4), \"float32\")", "R.einsum((x, y), subscripts=\"ij,jk->ki\")"),
    ("x: R.Tensor((2, 3), \"float32\")", "R.nn.pad(x, pad_width=[1, 0, 2, 1], pad_value=1.5)"),
];

/// Operators without a kernel: an expression, and its value, counted by hand.
const COUNTED: &[(&str, &str)] = &[
    // From 1 to 5, TVM's program would read the third of two elements, and drop it; that is an error here.
    (
        "R.slice_scatter(R.zeros(R.shape([5]), \"float32\"), R.ones(R.shape([3]), \"float32\"), R.prim_value(0), \
         R.prim_value(5), R.prim_value(2), axis=0)",
        "[1, 0, 1, 0, 1]",
    ),
    (
        "R.index_put(R.ones(R.shape([4]), \"float32\"), (R.full(R.shape([2]), R.const(-1, \"int64\"), dtype=\"int64\"),), \
         R.full(R.shape([2]), R.const(2.0, \"float32\"), dtype=\"float32\"), accumulate=True)",
        "[1, 1, 1, 5]",
    ),
    // Windows of two by two that do not overlap: of equal elements the first one gets all.
    (
        "R.grad.max_pool2d_backward(R.ones(R.shape([1, 1, 1, 2]), \"float32\"), R.ones(R.shape([1, 1, 2, 4]), \"float32\"), \
         pool_size=[2, 2], strides=[2, 2])",
        "[[[[1, 0, 1, 0], [0, 0, 0, 0]]]]",
    ),
    // The first of the windows covers one element only.
    (
        "R.grad.avg_pool2d_backward(R.ones(R.shape([1, 1, 1, 2]), \"float32\"), R.ones(R.shape([1, 1, 1, 3]), \"float32\"), \
         pool_size=[1, 2], strides=[1, 2], padding=[0, 1, 0, 0])",
        "[[[[1, 0.5, 0.5]]]]",
    ),
    // Two boxes, each with a score above the threshold.
    (
        "R.vision.get_valid_counts(R.full(R.shape([1, 2, 3]), R.const(0.75, \"float32\"), dtype=\"float32\"), \
         score_threshold=0.5, id_index=-1, score_index=0)",
        "[2]",
    ),
    // A region of no size is taken as one of a single element.
    (
        "R.vision.roi_align(R.ones(R.shape([1, 1, 4, 4]), \"float32\"), R.zeros(R.shape([1, 5]), \"float32\"), pooled_size=[1, 2], \
         spatial_scale=1.0, sample_ratio=1)",
        "[[[[1, 1]]]]",
    ),
    (
        "R.vision.roi_pool(R.ones(R.shape([1, 1, 4, 4]), \"float32\"), R.zeros(R.shape([1, 5]), \"float32\"), pooled_size=[1, 1], \
         spatial_scale=1.0)",
        "[[[[1]]]]",
    ),
    // Windows that open and close at 0.08.
    (
        "R.hamming_window(R.prim_value(3), R.prim_value(False), R.prim_value(0.54), R.prim_value(0.46), dtype=\"float32\")",
        "0.08, 1, 0.08",
    ),
];

#[test]
fn what_has_no_kernel_computes_what_is_counted_by_hand() {
    for (expr, wanted) in COUNTED {
        let source = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main() -> R.Any:\n        gv = {expr}\n        return gv\n"
        );
        let mut store = Store::new();
        let module = super::opened(&mut store, &source).module;
        let trace = super::run(&mut store, Trace::new(module), "LegalizeOps()");
        let value = eval::eval_function(&mut store, &trace.last().clone(), "main", &[], EvalOptions::default());
        let value = value.unwrap_or_else(|error| panic!("{expr}: {error:?}"));
        let shown = eval::show(&store, &value);
        assert!(shown.contains(wanted), "{expr}: {shown}");
    }
}

#[test]
fn a_lowered_program_computes_what_its_operators_do() {
    for (params, expr) in PROGRAMS {
        let source = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main({params}) -> R.Any:\n        gv = {expr}\n        return gv\n"
        );
        let mut store = Store::new();
        let module = super::opened(&mut store, &source).module;
        let args = seeded_args(&mut store, &module, "main", 7).expect("the parameters are tensors");
        let before = eval::eval_function(&mut store, &module, "main", &args, EvalOptions::default());
        let before = before.unwrap_or_else(|error| panic!("{expr}: {error:?}"));
        let trace = super::run(&mut store, Trace::new(module), "LegalizeOps()");
        let text = passlab::print::module(&store, trace.last(), &passlab::print::PrintOptions::default());
        assert!(text.contains("R.call_tir"), "{text}");
        let after = eval::eval_function(&mut store, &trace.last().clone(), "main", &args, EvalOptions::default());
        let after = after.unwrap_or_else(|error| panic!("{expr}: {error:?}\n{text}"));
        let (shown, wanted) = (eval::show(&store, &after), eval::show(&store, &before));
        assert!(super::close(&before, &after), "{expr}: {wanted} became {shown}\n{text}");
    }
}
