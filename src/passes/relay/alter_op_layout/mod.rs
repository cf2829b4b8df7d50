//! AlterOpLayout: gives convolutions and dense layers the layouts that the kernels of a target take.
//!
//! [`super::support::layout`] rewrites the calls around them and inserts `layout_transform`. Without a target no rule of TVM
//! replaces anything.
//!
//! Known divergences: TVM passes arguments in any layout to an operator that has a rule here and none for its layouts; here it
//! gets the old ones. Targets other than processors of x86 are refused, because their rules are not here.
//!
//! Source: `src/relay/transforms/alter_op_layout.cc`.

mod x86;

use super::support::layout::{Layouts, Site, relayout};
use super::support::legalizer::OpRule;
use super::support::target::{Rules, TARGET_DOC, Target};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, Module, Store};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Packs channels of convolutions and rows of dense weights as kernels of the target read them.
pub static SPEC: PassSpec = PassSpec {
    name: "AlterOpLayout",
    info_name: "AlterOpLayout",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[Param { name: "target", default: "\"\"", doc: TARGET_DOC }],
    config: &[],
    summary: "Packs channels as the kernels of a target read them, and what is between them.",
    doc: explained(
        "For `llvm` on x86, `nn.conv2d` in `NCHW` becomes `nn.contrib_conv2d_NCHWc`, which reads blocks of channels, and \
`nn.dense` becomes `nn.contrib_dense_pack` over blocks of rows. Depthwise convolutions become \
`nn.contrib_depthwise_conv2d_NCHWc`; grouped ones, other layouts, and depthwise ones that are dilated stay. What follows goes \
along, and `layout_transform` stands where layouts differ; over weights, FoldConstant computes it.\n\n\
The sizes of blocks are those that TVM takes without records of tuning (`_fallback_schedule`): as many output channels as a \
vector register has lanes of 32 bits (4; 8 with AVX2; 16 with AVX-512), or the next smaller number that divides them, and at most \
as many input channels. Rows of a dense weight come in twice as many. Without a target nothing changes.",
    ),
    example_before: explained(
        "\
// AlterOpLayout(target=\"llvm -mcpu=core-avx2\")
def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(32, 16, 3, 3), float32]) -> Tensor[(1, 32, 6, 6), float32] {
  %0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(32, 16, 3, 3), float32]) -> Tensor[(1, 32, 6, 6), float32] {
  %0 = layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NCHW8c\");
  %1 = layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"OIHW8i8o\");
  %2 = nn.contrib_conv2d_NCHWc(%0, %1, padding=[0, 0, 0, 0], channels=32, kernel_size=[3, 3], data_layout=\"NCHW8c\", \
kernel_layout=\"OIHW8i8o\", out_layout=\"NCHW8c\");
  %3 = nn.relu(%2);
  layout_transform(%3, src_layout=\"NCHW8c\", dst_layout=\"NCHW\")
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    match target_of(arguments)? {
        Some(target) => relayout(cx.store, function, &mut ForTarget(target)),
        None => Ok(function),
    }
}

fn target_of(arguments: &Args) -> Result<Option<Target>, PassError> {
    let target = Target::read(arguments.get("target")).and_then(|target| match target {
        Some(target) if target.rules != Rules::Cpu => Err("its rules for other targets than llvm on x86 are not here".to_owned()),
        target => Ok(target),
    });
    target.map_err(|message| vec![Diagnostic::error("pass-argument", format!("AlterOpLayout: {message}"), None)])
}

/// Runs the pass with rules from outside for some operators (TVM's `FTVMAlterOpLayout`), which take the place of its own.
pub fn with_rules(
    store: &mut Store,
    function: ExprId,
    arguments: &Args,
    operators: &[String],
    rule: OpRule<'_>,
) -> Result<ExprId, PassError> {
    let target = target_of(arguments)?.map(ForTarget);
    relayout(store, function, &mut Hooked { operators, rule, target })
}

struct Hooked<'a> {
    operators: &'a [String],
    rule: OpRule<'a>,
    target: Option<ForTarget>,
}

impl Layouts for Hooked<'_> {
    fn rule(&self) -> &'static str {
        "layout of a registered rule"
    }

    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String> {
        if self.operators.iter().any(|known| known == site.op) {
            return (self.rule)(store, site.pre, site.attrs, site.args);
        }
        self.target.as_mut().map_or(Ok(None), |target| target.replaced(store, site))
    }
}

/// The rules of TVM for a target.
struct ForTarget(Target);

impl Layouts for ForTarget {
    fn rule(&self) -> &'static str {
        "layout of a target's kernel"
    }

    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String> {
        match site.op {
            "nn.conv2d" => x86::conv2d(store, site, &self.0),
            "nn.dense" => x86::dense(store, site, &self.0),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure, unchanged};

    const LLVM: &str = "AlterOpLayout(target=\"llvm\")";

    #[test]
    fn a_pool_goes_along_and_a_bias_is_split_where_its_channels_are() {
        let made = after(
            LLVM,
            "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(6, 3, 1, 1), float32], %b: Tensor[(6, 1, 1), float32]) {
               nn.max_pool2d(add(nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]), %b), pool_size=[2, 2])
             }",
        );
        // 6 has no divisor 4; 3 divides both.
        assert!(made.contains("kernel_layout=\"OIHW3i3o\", out_layout=\"NCHW3c\""), "{made}");
        assert!(made.contains("expand_dims(%b, axis=0)"), "{made}");
        assert!(made.contains("layout=\"NCHW3c\")"), "{made}");
    }

    #[test]
    fn a_depthwise_convolution_keeps_one_channel_for_each_filter() {
        let made = after(
            LLVM,
            "def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(8, 1, 3, 3), float32]) {
               nn.conv2d(%x, %w, groups=8, channels=8, kernel_size=[3, 3])
             }",
        );
        assert!(made.contains("nn.contrib_depthwise_conv2d_NCHWc(") && made.contains("kernel_layout=\"OIHW1i4o\""), "{made}");
    }

    #[test]
    fn rows_of_a_dense_weight_come_in_two_registers() {
        let made = after(
            "AlterOpLayout(target=\"llvm -mcpu=skylake-avx512\")",
            "def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(48, 8), float32]) { nn.dense(%x, %w, units=48) }",
        );
        // Of 48 rows at most 32 at once: 24.
        assert!(made.contains("src_layout=\"NC\", dst_layout=\"NC24n\""), "{made}");
        assert!(
            made.contains("nn.contrib_dense_pack(%x, %0, units=None, out_dtype=\"float32\", weight_layout=\"NC24n\")"),
            "{made}"
        );
    }

    #[test]
    fn grouped_convolutions_other_layouts_and_no_target_change_nothing() {
        let grouped = "def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(8, 4, 3, 3), float32]) {
           nn.conv2d(%x, %w, groups=2, channels=8, kernel_size=[3, 3])
         }";
        unchanged(LLVM, grouped);
        unchanged(
            LLVM,
            "def @main(%x: Tensor[(1, 8, 8, 8), float32], %w: Tensor[(3, 3, 8, 8), float32]) {
               nn.conv2d(%x, %w, channels=8, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWIO\")
             }",
        );
        unchanged(
            "AlterOpLayout()",
            "def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) { nn.dense(%x, %w, units=8) }",
        );
    }

    #[test]
    fn eight_bit_channels_that_are_no_multiple_of_a_register_are_refused() {
        let message = failure(
            "AlterOpLayout(target=\"llvm -mcpu=nehalem\")",
            "def @main(%x: Tensor[(1, 8, 8, 8), uint8], %w: Tensor[(8, 8, 1, 1), int8]) {
               nn.conv2d(%x, %w, channels=8, kernel_size=[1, 1], out_dtype=\"int32\")
             }",
        );
        assert!(message.contains("wkl.out_filter=8, int32_lanes=16"), "{message}");
    }

    #[test]
    fn another_kind_of_processor_is_refused() {
        let program = "def @main(%x: float32) { %x }";
        assert!(failure("AlterOpLayout(target=\"cuda\")", program).contains("other targets"));
        assert!(failure("AlterOpLayout(target=\"llvm -mcpu=abacus\")", program).contains("abacus"));
    }
}
