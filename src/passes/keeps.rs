//! Passes that deliberately change the parameters or results of a function, and the comparison of values for each.

/// The way to compare the functions of a program before and after a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keeps {
    /// Parameters and results are the same, but for rounding in another order of operations.
    Values,
    /// Results may differ by this share of the largest element, and have another element type.
    Roughly(f64),
    /// The old result is the first field of the new one.
    FirstField,
    /// All parameters other than inputs became one tuple.
    Bundled,
    /// Some parameters are computed beforehand, by a function of the same name with the suffix `_transform_params`.
    Lifted,
    /// Functions with other parameters or results, which cannot be compared for this reason.
    Other(&'static str),
}

/// Names of `PassInfo`s with their comparison. All other passes keep values.
static NOT_VALUES: &[(&str, Keeps)] = &[
    ("FastMath", Keeps::Roughly(0.02)),
    ("FastMathTransform", Keeps::Roughly(0.02)),
    ("ToMixedPrecision", Keeps::Roughly(0.05)),
    ("FakeQuantizationToInteger", Keeps::Roughly(0.1)),
    ("FirstOrderGradient", Keeps::FirstField),
    ("HigherOrderGradient", Keeps::FirstField),
    ("ToCPS", Keeps::Other("results are handed to continuations")),
    ("UnCPS", Keeps::Other("continuations are no parameters any more")),
    ("SimplifyFCTranspose", Keeps::Other("weights have become parameters that are transposed")),
    ("DenseToSparse", Keeps::Other("weights have become parameters in another format")),
    ("Conv2dToSparse", Keeps::Other("weights have become parameters in another format")),
    ("ExtractFusedFunctions", Keeps::Other("only the kernels of the program are left")),
    ("QuantizeAnnotate", Keeps::Other("scales and bounds have become parameters")),
    ("QuantizeCalibrate", Keeps::Other("scales and bounds have become constants")),
    ("QuantizeRealize", Keeps::Roughly(0.1)),
    ("LazyGradientInit", Keeps::Other("some values are wrapped as gradients that are made when they are needed")),
    ("BundleModelParams", Keeps::Bundled),
    ("LiftTransformParams", Keeps::Lifted),
    ("PartitionTransformParams", Keeps::Lifted),
    ("LazyTransformParams", Keeps::Other("parameters are fetched by calls of linked functions")),
    ("LazyGetInput", Keeps::Other("parameters are fetched by a function that is given")),
    ("LazySetOutput", Keeps::Other("results are handed to a function that is given")),
    ("BindParams", Keeps::Other("parameters have become constants")),
    ("relax.BindSymbolicVars", Keeps::Other("symbolic extents have become numbers")),
    ("UpdateParamType", Keeps::Other("parameters have other types")),
];

/// Returns the comparison for a pass, by the name in its `PassInfo`.
pub fn keeps(info_name: &str) -> Keeps {
    NOT_VALUES.iter().find(|(name, _)| *name == info_name).map_or(Keeps::Values, |(_, keeps)| *keeps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_table_is_that_of_a_pass() {
        // One is a part of LiftTransformParams.
        for (name, _) in NOT_VALUES.iter().filter(|(name, _)| *name != "PartitionTransformParams") {
            assert!(crate::passes::ALL.iter().any(|spec| spec.info_name == *name), "{name}");
        }
    }
}
