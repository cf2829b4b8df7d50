//! ConvertLayout: converts convolutions and the operators between them to the desired layouts.
//!
//! [`super::support::layout`] rewrites the calls around them and inserts `layout_transform`.
//!
//! Known divergences: `nn.sparse_dense`, to which TVM passes arguments in any layout, gets the old ones, and
//! `fixed_point_multiply_per_axis` keeps its layout.
//!
//! Source: `src/relay/transforms/convert_layout.cc`.

mod desired;

use super::support::layout::{Layouts, Site, relayout, with_padding};
use super::support::legalizer::OpRule;
use crate::diag::Diagnostic;
use crate::ir::{Dialect, ExprId, Module, Store};
use crate::ops::build::call_attrs;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::any::desired_layouts::{DesiredLayouts, desired_layouts, unknown_operators};

/// Converts operators to the desired layouts and inserts `layout_transform` between layouts.
pub static SPEC: PassSpec = PassSpec {
    name: "ConvertLayout",
    info_name: "ConvertLayout",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType", "CanonicalizeOps"],
    params: &[
        Param {
            name: "desired_layouts",
            default: "",
            doc: explained("For each operator the layouts of data and weight: {\"nn.conv2d\": [\"NHWC\", \"default\"]}."),
        },
        Param {
            name: "skip_layers",
            default: "[]",
            doc: explained("Numbers of convolutions that keep their layouts, counted from 0 in the order of evaluation."),
        },
    ],
    config: &[],
    summary: "Converts convolutions to other layouts, and what is between them.",
    doc: explained(
        "Every operator named in `desired_layouts` gets its data and weight in these layouts; `\"default\"` is the usual \
layout of weights for that of the data. What follows goes along: each operator says which layouts it takes when its \
arguments have changed, and how its attributes change. `layout_transform` stands where layouts differ, at weights, \
before operators that cannot go along, and at the result.",
    ),
    example_before: explained(
        "\
// ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32]) -> Tensor[(1, 6, 6, 6), float32] {
  %0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[3, 3]);
  nn.relu(%0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32]) -> Tensor[(1, 6, 6, 6), float32] {
  %0 = layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\");
  %1 = layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"HWIO\");
  %2 = nn.conv2d(%0, %1, padding=[0, 0, 0, 0], channels=6, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWIO\");
  %3 = nn.relu(%2);
  layout_transform(%3, src_layout=\"NHWC\", dst_layout=\"NCHW\")
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let mut desired = Desired::of(arguments)?;
    cx.diagnostics.extend(unknown_operators(&desired.layouts, Dialect::Relay));
    relayout(cx.store, function, &mut desired)
}

/// Runs the pass with rules from outside for some operators (TVM's `FTVMConvertOpLayout`), which take the place of its own.
pub fn with_rules(
    store: &mut Store,
    function: ExprId,
    arguments: &Args,
    operators: &[String],
    rule: OpRule<'_>,
) -> Result<ExprId, PassError> {
    relayout(store, function, &mut Hooked { operators, rule, desired: Desired::of(arguments)? })
}

struct Hooked<'a> {
    operators: &'a [String],
    rule: OpRule<'a>,
    desired: Desired,
}

impl Layouts for Hooked<'_> {
    fn rule(&self) -> &'static str {
        self.desired.rule()
    }

    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String> {
        let is_named = self.desired.layouts.iter().any(|(name, _)| name == site.op);
        if is_named && self.operators.iter().any(|known| known == site.op) {
            return (self.rule)(store, site.pre, site.attrs, site.args);
        }
        self.desired.replaced(store, site)
    }
}

struct Desired {
    layouts: DesiredLayouts,
    /// Numbers of convolutions that keep their layouts.
    skipped: Vec<i64>,
    /// The number of convolutions so far.
    seen: i64,
}

impl Desired {
    fn of(arguments: &Args) -> Result<Desired, PassError> {
        let layers = arguments.get("skip_layers");
        let wrong = || vec![Diagnostic::error("pass-argument", format!("skip_layers is a list of integers, not {layers}"), None)];
        Ok(Desired { layouts: desired_layouts(arguments)?, skipped: layers.ints().ok_or_else(wrong)?, seen: 0 })
    }
}

impl Layouts for Desired {
    fn rule(&self) -> &'static str {
        "another layout"
    }

    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String> {
        let Some((_, desired)) = self.layouts.iter().find(|(name, _)| name == site.op) else { return Ok(None) };
        let Some(data) = site.args.first() else { return Ok(None) };
        if matches!(site.op, "nn.conv2d" | "nn.deformable_conv2d") {
            self.seen += 1;
            if self.skipped.contains(&(self.seen - 1)) {
                let attrs = with_padding(store, site.attrs);
                return Ok(Some(call_attrs(store, site.op, site.args, attrs)));
            }
        }
        let converted = desired::converted(store, site.op, site.attrs, *data, site.types, desired)?;
        Ok(converted.map(|(op, attrs)| call_attrs(store, op, site.args, attrs)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, read, run, unchanged};

    const NHWC: &str = "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})";

    #[test]
    fn a_quantisation_that_is_simulated_keeps_the_layout_of_its_data() {
        let made = after(
            NHWC,
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %s: float32, %a: float32, %b: float32) {
               %0 = nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]);
               nn.relu(relay.op.annotation.simulated_quantize(%0, %s, %a, %b, kind=1))
             }",
        );
        assert!(made.ends_with("layout_transform(%4, src_layout=\"NHWC\", dst_layout=\"NCHW\")\n}\n"), "{made}");
    }

    #[test]
    fn the_padding_of_a_quantised_pool_stays_as_it_is_written() {
        let made = after(
            "ConvertLayout(desired_layouts={\"qnn.avg_pool2d\": [\"NCHW\"]})",
            "def @main(%x: Tensor[(1, 8, 8, 4), int8]) {
               qnn.avg_pool2d(%x, 1f, 1, 1f, 1, pool_size=[3, 3], padding=[1, 1], layout=\"NHWC\", out_layout=\"NHWC\")
             }",
        );
        assert!(made.contains("padding=[1, 1], out_layout=\"NCHW\""), "{made}");
    }

    #[test]
    fn a_bias_goes_along_and_gets_the_axes_that_it_lacks() {
        check(
            NHWC,
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(6, 1, 1), float32]) {
               add(nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]), %b)
             }",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(6, 1, 1), float32]) {
               %0 = nn.conv2d(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"),
                 layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"HWIO\"), padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1],
                 data_layout=\"NHWC\", kernel_layout=\"HWIO\");
               %1 = layout_transform(expand_dims(%b, axis=0), src_layout=\"NCHW\", dst_layout=\"NHWC\");
               layout_transform(add(%0, %1), src_layout=\"NHWC\", dst_layout=\"NCHW\")
             }",
        );
    }

    #[test]
    fn the_axis_of_a_sum_is_found_where_it_stands_now() {
        check(
            NHWC,
            "def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(1, 1, 4, 6), float32]) {
               sum(nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1], data_layout=\"NHWC\",
                 kernel_layout=\"HWIO\"), axis=[3])
             }",
            "def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(1, 1, 4, 6), float32]) {
               sum(nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1], data_layout=\"NHWC\",
                 kernel_layout=\"HWIO\"), axis=[3])
             }",
        );
    }

    #[test]
    fn what_is_not_asked_for_stays() {
        unchanged(
            "ConvertLayout(desired_layouts={})",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32]) { reshape(%x, newshape=[4, -1]) }",
        );
    }

    #[test]
    fn a_layout_that_no_kernel_goes_with_is_an_error() {
        let message = failure(
            "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NWHC\", \"default\"]})",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32]) {
               nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1])
             }",
        );
        assert!(message.contains("NWHC is not yet supported"), "{message}");
    }

    #[test]
    fn arguments_that_are_not_understood_are_refused() {
        let program = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }";
        for (call, about) in [
            ("ConvertLayout(desired_layouts={\"nn.conv2d\": \"NHWC\"})", "desired_layouts: a list of layouts for each operator"),
            ("ConvertLayout(desired_layouts=[\"NHWC\"])", "desired_layouts: a list of layouts for each operator"),
            ("ConvertLayout(desired_layouts={}, skip_layers=[\"first\"])", "skip_layers is a list of integers"),
        ] {
            let message = failure(call, program);
            assert!(message.contains(about), "{call}: {message}");
        }
    }

    #[test]
    fn a_name_that_is_no_operators_gets_a_warning_with_the_nearest() {
        let mut store = crate::ir::Store::new();
        let module = read(&mut store, "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }");
        let trace = run(&mut store, module, "ConvertLayout(desired_layouts={\"nn.con2d\": [\"NHWC\"]})");
        let found: Vec<_> = trace.steps.iter().flat_map(|step| &step.reported).collect();
        let [warning] = found[..] else { panic!("{found:?}") };
        assert!(warning.message.contains("no operator `nn.con2d`") && warning.notes[0].contains("`nn.conv2d`"), "{warning:?}");
    }

    #[test]
    fn a_convolution_that_is_left_out_keeps_its_layout() {
        check(
            "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]}, skip_layers=[0])",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32]) {
               nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1])
             }",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32]) {
               nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1])
             }",
        );
    }

    #[test]
    fn a_tensor_with_one_element_fits_every_layout() {
        check(
            NHWC,
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(1, 1), float32]) {
               add(nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]), %b)
             }",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(1, 1), float32]) {
               %0 = nn.conv2d(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"),
                 layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"HWIO\"), padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1],
                 data_layout=\"NHWC\", kernel_layout=\"HWIO\");
               layout_transform(add(%0, %b), src_layout=\"NHWC\", dst_layout=\"NCHW\")
             }",
        );
    }
}
