//! QuantizeRealize: computes on integers what is simulated.
//!
//! Source: `src/relay/quantize/realize.cc`.

mod rules;

use super::support::forward::forward;
use super::support::quantizing::{dtype, number, word};
use crate::ir::{ExprId, Module};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rules::Realize;

/// Replaces simulated values by integers.
pub static SPEC: PassSpec = PassSpec {
    name: "QuantizeRealize",
    info_name: "QuantizeRealize",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[
        Param { name: "dtype_input", default: "\"int8\"", doc: "The type of inputs." },
        Param { name: "dtype_weight", default: "\"int8\"", doc: "The type of weights." },
        Param { name: "dtype_activation", default: "\"int32\"", doc: "The type of results." },
        Param { name: "nbit_activation", default: "32", doc: "Bits of results." },
        Param { name: "global_scale", default: "8.0", doc: "The largest value that is expected of a tuple of many results." },
        Param { name: "round_for_shift", default: "True", doc: "Adds a half before bits are shifted away." },
        Param { name: "rounding", default: "\"UPWARD\"", doc: "`UPWARD` or `TONEAREST`, where a scale is no power of two." },
    ],
    config: &[],
    summary: "Computes on integers what is simulated.",
    doc: explained(
        "The last step of `relay.quantize`. A simulated value becomes integers: divided by its scale, rounded, clipped and, where \
an operator takes them, cast to `int8`. A convolution of such gives `int32`, with the product of both scales; a sum brings both \
sides to the smaller scale; the next operator of few bits shifts bits away, with rounding. Where a value of few bits is needed \
as a real number it is multiplied with its scale.\n\n\
Parameters are those of TVM's `qconfig`.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
  %0 = relay.op.annotation.simulated_quantize(%x, 0.0625f, -127f, 127f, kind=1);
  %1 = relay.op.annotation.simulated_quantize(%w, 0.03125f, -127f, 127f, kind=2);
  nn.conv2d(%0, %1, channels=4, kernel_size=[1, 1])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) -> Tensor[(1, 4, 8, 8), float32] {
  %0 = multiply(%x, 16f);
  %1 = round(%0);
  %2 = clip(%1, a_min=-127f, a_max=127f);
  %3 = multiply(%w, 32f);
  %4 = round(%3);
  %5 = clip(%4, a_min=-127f, a_max=127f);
  %6 = cast(%2, dtype=\"int8\");
  %7 = cast(%5, dtype=\"int8\");
  %8 = nn.conv2d(%6, %7, channels=4, kernel_size=[1, 1], out_dtype=\"int32\");
  %9 = cast(%8, dtype=\"float32\");
  multiply(%9, 0.00195312f)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let of = |name: &str| dtype(SPEC.name, arguments, name);
    let mut rules = Realize {
        input: of("dtype_input")?,
        weight: of("dtype_weight")?,
        activation: of("dtype_activation")?,
        many_scale: number(SPEC.name, arguments, "global_scale")? / 2f64.powi(arguments.int("nbit_activation") as i32 - 1),
        round_for_shift: arguments.bool("round_for_shift"),
        is_upward: word(SPEC.name, arguments, "rounding", &["UPWARD", "TONEAREST"])? == "UPWARD",
    };
    forward(cx.store, function, &mut rules)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, data, failure, read, run, show, values};
    use crate::ir::{DType, Store};

    #[test]
    fn a_network_computes_nearly_the_same_on_integers() {
        let calls = crate::passes::pipeline("relay.quantize").expect("it is there").calls().join(", ");
        let calls = calls.replace("QuantizeAnnotate", "QuantizeAnnotate(skip_conv_layers=[])");
        let store = &mut Store::new();
        let source = "def @main(%x: Tensor[(1, 4, 6, 6), float32]) {
               %0 = nn.conv2d(%x, full(0.015625f, shape=[4, 4, 3, 3], dtype=\"float32\"), channels=4, kernel_size=[3, 3]);
               %1 = nn.relu(add(%0, full(0.5f, shape=[4, 1, 1], dtype=\"float32\")));
               %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
               %3 = nn.conv2d(%2, full(-0.25f, shape=[2, 4, 1, 1], dtype=\"float32\"), channels=2, kernel_size=[1, 1]);
               add(%3, %3)
             }";
        let module = read(store, source);
        let inputs = [data(DType::F32, &[1, 4, 6, 6])];
        let before = values(store, &module, &inputs);
        let after = run(store, module, &calls).last().clone();
        let text = show(store, &after);
        assert_eq!(text.matches("out_dtype=\"int32\"").count(), 2, "{text}");
        let got = values(store, &after, &inputs);
        let largest = before.iter().map(|value| value.abs()).fold(0.0, f64::max);
        assert!(before.iter().zip(&got).all(|(a, b)| (a - b).abs() <= 0.1 * largest), "{before:?}\n{got:?}\n{text}");
    }

    fn simulated(name: &str, scale: &str, kind: i64) -> String {
        format!("relay.op.annotation.simulated_quantize({name}, {scale}, -127f, 127f, kind={kind})")
    }

    fn program(body: &str) -> String {
        format!("def @main(%x: Tensor[(1, 4, 8, 8), float32], %y: Tensor[(1, 4, 8, 8), float32]) {{ {body} }}")
    }

    #[test]
    fn a_sum_brings_both_sides_to_the_smaller_scale() {
        let body = format!("add({}, {})", simulated("%x", "0.5f", 1), simulated("%y", "0.125f", 1));
        let made = after("QuantizeRealize()", &program(&body));
        // A quarter is two bits.
        assert!(made.contains("left_shift(") && made.contains(", 2)") && made.contains("0.125f)"), "{made}");
    }

    #[test]
    fn bits_are_shifted_away_with_rounding_for_the_next_operator() {
        let inner = format!("add({}, {})", simulated("%x", "0.5f", 1), simulated("%y", "0.5f", 1));
        let made = after("QuantizeRealize()", &program(&simulated(&inner, "2f", 1)));
        assert!(made.contains("add(") && made.contains(", 2)") && made.contains("right_shift("), "{made}");
        let plain = after("QuantizeRealize(round_for_shift=False)", &program(&simulated(&inner, "2f", 1)));
        assert!(plain.matches("add(").count() + 1 == made.matches("add(").count(), "{plain}");
        let other = after("QuantizeRealize()", &program(&simulated(&inner, "3f", 1)));
        assert!(other.contains("fixed_point_multiply(") && other.contains("dtype=\"int64\""), "{other}");
    }

    #[test]
    fn what_needs_real_numbers_gets_them() {
        let made = after("QuantizeRealize()", &program(&format!("sigmoid(nn.relu({}))", simulated("%x", "0.5f", 1))));
        assert!(made.contains("nn.relu(") && made.contains("multiply(") && made.contains("0.5f)"), "{made}");
        assert!(!made.contains("simulated"), "{made}");
    }

    #[test]
    fn scales_must_be_known() {
        let body = "def @main(%x: Tensor[(4), float32], %s: float32) {
               relay.op.annotation.simulated_quantize(%x, %s, -127f, 127f, kind=1)
             }";
        assert!(failure("QuantizeRealize()", body).contains("Expr must be a constant expr"));
        let program = "def @main(%x: float32) { %x }";
        assert!(failure("QuantizeRealize(dtype_input=\"integer\")", program).contains("dtype_input is an element type"));
    }
}
