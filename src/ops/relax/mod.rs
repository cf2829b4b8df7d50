//! What Relax says about operators: its names, arguments and attributes.
//!
//! A row whose `relay` names an operator of Relay is about the same operator, which then has both
//! names and one id. Attributes stand in the order in which TVM registers the fields of their C++ struct,
//! which is the order in which they print; all of them print.

mod binary;
mod conv;
mod create;
mod datatype;
pub mod deduce;
mod distributed;
mod grad;
pub mod gradient;
mod image;
mod index;
pub mod layout;
mod linear_algebra;
mod manipulate;
mod nn;
mod pool;
mod runtime;
mod search;
mod statistic;
mod unary;
mod vision;

use super::AttrsSchema;

/// What a text may write for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A tensor or any other value.
    Value,
    /// A shape: `R.shape([2, 3])`, also a tuple or list of extents.
    Shape,
    /// A scalar: a number or symbolic arithmetic.
    Prim,
    /// A tuple of values, also a list.
    Tuple,
    /// A string, `R.str("global")`.
    Str,
    /// An element type, `R.dtype("float32")`.
    DType,
}

/// An argument of an operator.
#[derive(Clone, Copy, Debug)]
pub struct RelaxArg {
    /// Its name in Python.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgKind,
    /// Whether it may be left out.
    pub optional: bool,
}

impl RelaxArg {
    const fn new(name: &'static str, kind: ArgKind) -> RelaxArg {
        RelaxArg { name, kind, optional: false }
    }

    const fn or_none(self) -> RelaxArg {
        RelaxArg { optional: true, ..self }
    }
}

const fn value(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Value)
}

const fn shape(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Shape)
}

const fn prim(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Prim)
}

const fn tuple(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Tuple)
}

const fn string(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Str)
}

const fn dtype(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::DType)
}

/// What ToMixedPrecision does with an operator (TVM's `TMixedPrecisionPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedPrecision {
    /// Always in the lower precision.
    Always,
    /// In the lower precision when its inputs are.
    Follow,
    /// Never in the lower precision.
    Never,
}

/// An operator of Relax.
#[derive(Clone, Copy, Debug)]
pub struct RelaxOp {
    /// TVM's name without `relax.`; so it stands behind `R.`.
    pub name: &'static str,
    /// The operator of Relay that it is; empty when Relay has none.
    pub relay: &'static str,
    /// One sentence for its users; empty where Relay's row has it.
    pub doc: &'static str,
    /// Arguments.
    pub args: &'static [RelaxArg],
    /// Any number of arguments, of which `args` has the first.
    pub variadic: bool,
    /// Attributes.
    pub attrs: Option<&'static AttrsSchema>,
    /// Arguments and attributes in the order in which Python takes them by position, where that is not
    /// arguments and then attributes.
    pub order: &'static [&'static str],
    /// Whether a call has no side effects.
    pub pure: bool,
    /// What mixed precision does with it; none is [`MixedPrecision::Never`] said by nobody.
    pub mixed_precision: Option<MixedPrecision>,
    /// What type a call has (TVM's `FInferType`); where there is none, it may be anything.
    pub deduce: Option<deduce::DeduceRule>,
    /// Which layouts it takes (TVM's `FRelaxInferLayout`); where there is none, those that tensors start in.
    pub layout: Option<layout::LayoutRule>,
    /// What it adds to the gradients of its arguments (TVM's `FPrimalGradient`); without it, it cannot be differentiated.
    pub gradient: Option<gradient::GradientRule>,
}

impl RelaxOp {
    /// An operator without anything, for `..RelaxOp::BASE` in tables.
    pub const BASE: RelaxOp = RelaxOp {
        name: "",
        relay: "",
        doc: "",
        args: &[],
        variadic: false,
        attrs: None,
        order: &[],
        pure: true,
        mixed_precision: None,
        deduce: None,
        layout: None,
        gradient: None,
    };
}

/// The families, each in a file of its own.
pub(super) static FAMILIES: &[&[RelaxOp]] = &[
    unary::OPS,
    binary::OPS,
    create::OPS,
    datatype::OPS,
    manipulate::OPS,
    index::OPS,
    search::OPS,
    statistic::OPS,
    linear_algebra::OPS,
    nn::OPS,
    conv::OPS,
    pool::OPS,
    image::OPS,
    vision::OPS,
    grad::OPS,
    runtime::OPS,
    distributed::OPS,
];

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn an_operator_of_both_dialects_has_one_id() {
        assert_eq!(lookup("nn.conv2d"), lookup_relax("nn.conv2d"));
        assert_eq!(lookup("nn.leaky_relu"), lookup_relax("nn.leakyrelu"));
        let op = lookup_relax("nn.rms_norm").expect("Relax has it");
        assert_eq!(lookup("nn.rms_norm"), None);
        assert_eq!(info(op).relax.map(|op| op.name), Some("nn.rms_norm"));
    }

    #[test]
    fn every_row_names_an_operator_of_relay_or_says_what_it_is() {
        for op in relax::FAMILIES.iter().copied().flatten() {
            assert_eq!(op.relay.is_empty(), !op.doc.is_empty(), "{}", op.name);
            assert!(op.relay.is_empty() || lookup(op.relay).is_some(), "{}", op.name);
            let known = |name: &&str| {
                op.args.iter().any(|arg| arg.name == *name) || op.attrs.is_some_and(|attrs| attrs.field(name).is_some())
            };
            assert!(op.order.iter().all(known), "{}", op.name);
        }
    }
}
