//! ConvertLayout: converts convolutions and the operators between them to the desired layouts.
//!
//! [`super::support::layout`] rewrites the calls around them and inserts `layout_transform`.
//!
//! Known divergences: `nn.sparse_dense`, to which TVM passes arguments in any layout, gets the old ones, and
//! `fixed_point_multiply_per_axis` keeps its layout; layouts that a `LayoutConfig` leaves out cannot be named.
//!
//! Source: `src/relay/transforms/convert_layout.cc`.

mod desired;

use super::support::layout::{Layouts, Site, relayout};
use crate::ir::{ExprId, Module, Store};
use crate::ops::build::call_attrs;
use crate::pass::spec::Literal;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Converts operators to the desired layouts and inserts `layout_transform` between layouts.
pub static SPEC: PassSpec = PassSpec {
    name: "ConvertLayout",
    info_name: "ConvertLayout",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType", "CanonicalizeOps"],
    params: &[Param {
        name: "desired_layouts",
        default: "",
        doc: explained("For each operator the layouts of data and weight: {\"nn.conv2d\": [\"NHWC\", \"default\"]}."),
    }],
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
    let mut desired = Vec::new();
    if let Literal::Dict(entries) = arguments.get("desired_layouts") {
        for (name, layouts) in entries {
            let (Literal::Str(name), Literal::List(layouts)) = (name, layouts) else { continue };
            let layouts = layouts.iter().filter_map(|layout| match layout {
                Literal::Str(layout) => Some(layout.clone()),
                _ => None,
            });
            desired.push((name.clone(), layouts.collect()));
        }
    }
    relayout(cx.store, function, &mut Desired { desired })
}

struct Desired {
    desired: Vec<(String, Vec<String>)>,
}

impl Layouts for Desired {
    fn rule(&self) -> &'static str {
        "another layout"
    }

    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String> {
        let Some((_, desired)) = self.desired.iter().find(|(name, _)| name == site.op) else { return Ok(None) };
        let Some(data) = site.args.first() else { return Ok(None) };
        let converted = desired::converted(store, site.op, site.attrs, *data, site.types, desired)?;
        Ok(converted.map(|(op, attrs)| call_attrs(store, op, site.args, attrs)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

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
}
