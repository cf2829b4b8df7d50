//! Passes that change on purpose what a function takes or gives, and how its values are compared then.

/// How the functions of a program before and after a pass are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keeps {
    /// They take and give the same, but for the rounding of another order of operations.
    Values,
    /// Results may be away by this share of the largest element, and of another element type.
    Roughly(f64),
    /// The old result is the first field of the new one.
    FirstField,
    /// All parameters that are no inputs became one tuple.
    Bundled,
    /// Some parameters are computed beforehand, by a function of the same name with `_transform_params` behind it.
    Lifted,
    /// They cannot be compared where they take something else, for this reason.
    Other(&'static str),
}

/// Names of `PassInfo`s with what they keep. All others keep values.
static NOT_VALUES: &[(&str, Keeps)] = &[
    ("FastMath", Keeps::Roughly(0.02)),
    ("FastMathTransform", Keeps::Roughly(0.02)),
    ("ToMixedPrecision", Keeps::Roughly(0.05)),
    ("FakeQuantizationToInteger", Keeps::Roughly(0.1)),
    ("FirstOrderGradient", Keeps::FirstField),
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

/// What a pass keeps, by the name in its `PassInfo`.
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
