//! The properties of an operator, and the builder for rows of the tables.
//!
//! ```text
//! op("nn.leaky_relu", "The element, multiplied by `alpha` where it is negative.")
//!     .pattern(ElemWise)
//!     .kernel(leaky_relu_kernel)
//!     .relay(relay(&["data"], identity).attrs(&LEAKY_RELU))
//!     .relax(relax(&[value("data")], deduce::unary::float_arith).named("nn.leakyrelu").attrs(&RELAX_LEAKY_RELU).follows())
//! ```

use super::relax::{deduce::DeduceRule, gradient::GradientRule, layout::LayoutRule};
use super::{AttrsSchema, Kernel, TypeRule};
use crate::ir::Dialect;
use std::panic::Location;

/// The fusion pattern of an operator (TVM's `TOpPattern`). The order matters: FuseOps compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpPattern {
    /// Each output element depends on the input elements at the same index.
    ElemWise = 0,
    /// The same after broadcasting.
    Broadcast = 1,
    /// Each output element depends on one input element at any index.
    Injective = 2,
    /// A reduction over some axes.
    CommReduce = 3,
    /// A complex operator that element-wise ones can be fused into behind it.
    OutEWiseFusable = 4,
    /// A tuple; only FuseOps itself uses it.
    Tuple = 7,
    /// Never fused.
    Opaque = 8,
}

/// Everything that is known about an operator.
#[derive(Clone, Copy)]
pub struct OpInfo {
    /// The name in Relay; the one in Relax when only Relax has the operator.
    pub name: &'static str,
    /// One or two sentences for its users.
    pub doc: &'static str,
    /// File and line of the row.
    pub source: &'static Location<'static>,
    /// Its fusion pattern; `None` where TVM has not registered one.
    pub pattern: Option<OpPattern>,
    /// TVM's `TOpIsStateful`: calls must not be folded, merged or dropped.
    pub stateful: bool,
    /// TVM's `TNonComputational`.
    pub non_computational: bool,
    /// TVM's `TReshapeOp`: only the shape changes, not the elements.
    pub reshape: bool,
    /// Computes the result from constant inputs.
    pub kernel: Option<Kernel>,
    /// Its properties in Relay, if Relay has it.
    pub relay: Option<RelayOp>,
    /// Its properties in Relax, if Relax has it.
    pub relax: Option<RelaxOp>,
}

/// An operator of Relay.
#[derive(Clone, Copy)]
pub struct RelayOp {
    /// Names of the inputs.
    pub args: &'static [&'static str],
    /// Attributes; `None` for an operator that takes none.
    pub attrs: Option<&'static AttrsSchema>,
    /// The type relation over inputs and output; without one, a call has no type.
    pub rule: Option<TypeRule>,
}

/// An operator of Relax.
#[derive(Clone, Copy, Debug)]
pub struct RelaxOp {
    /// TVM's name without `relax.`, as it stands after `R.`.
    pub name: &'static str,
    /// Arguments.
    pub args: &'static [RelaxArg],
    /// True if it takes any number of arguments; `args` has the first of them.
    pub variadic: bool,
    /// Attributes, in the order of the fields of TVM's C++ struct. All of them are printed, in this order.
    pub attrs: Option<&'static AttrsSchema>,
    /// Arguments and attributes in the order in which Python takes them by position, where that differs from arguments
    /// followed by attributes.
    pub order: &'static [&'static str],
    /// True if a call has no side effects.
    pub pure: bool,
    /// True if the kernel of the row takes these arguments and attributes.
    pub same_kernel: bool,
    /// Its category in mixed precision; none counts as [`MixedPrecision::Never`].
    pub mixed_precision: Option<MixedPrecision>,
    /// The type of a call (TVM's `FInferType`); without a rule it may be anything.
    pub deduce: Option<DeduceRule>,
    /// Its layouts (TVM's `FRelaxInferLayout`); without a rule it takes the initial layouts of tensors.
    pub layout: Option<LayoutRule>,
    /// The gradients of its arguments (TVM's `FPrimalGradient`); without a rule it cannot be differentiated.
    pub gradient: Option<GradientRule>,
}

/// The kind of value that a text may have as an argument.
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

/// An argument of an operator of Relax.
#[derive(Clone, Copy, Debug)]
pub struct RelaxArg {
    /// Its name in Python.
    pub name: &'static str,
    /// Its kind.
    pub kind: ArgKind,
    /// True if it may be left out.
    pub optional: bool,
}

/// Category of an operator in ToMixedPrecision (TVM's `TMixedPrecisionPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedPrecision {
    /// Always in the lower precision.
    Always,
    /// In the lower precision when its inputs are.
    Follow,
    /// Never in the lower precision.
    Never,
}

/// Begins a row: an operator with this name, Relay's where Relay has it.
#[track_caller]
pub(super) const fn op(name: &'static str, doc: &'static str) -> OpInfo {
    OpInfo {
        name,
        doc,
        source: Location::caller(),
        pattern: None,
        stateful: false,
        non_computational: false,
        reshape: false,
        kernel: None,
        relay: None,
        relax: None,
    }
}

impl OpInfo {
    pub(super) const fn pattern(mut self, pattern: OpPattern) -> OpInfo {
        self.pattern = Some(pattern);
        self
    }

    pub(super) const fn kernel(mut self, kernel: Kernel) -> OpInfo {
        self.kernel = Some(kernel);
        self
    }

    pub(super) const fn stateful(mut self) -> OpInfo {
        self.stateful = true;
        self
    }

    pub(super) const fn non_computational(mut self) -> OpInfo {
        self.non_computational = true;
        self
    }

    pub(super) const fn reshape(mut self) -> OpInfo {
        self.reshape = true;
        self
    }

    pub(super) const fn relay(mut self, relay: RelayOp) -> OpInfo {
        self.relay = Some(relay);
        self
    }

    /// Adds the properties in Relax; the name is the same unless it is [named](RelaxOp::named) otherwise.
    pub(super) const fn relax(mut self, mut relax: RelaxOp) -> OpInfo {
        if relax.name.is_empty() {
            relax.name = self.name;
        }
        self.relax = Some(relax);
        self
    }

    /// Returns the name as written in programs of this dialect: `nn.conv2d`, `R.nn.conv2d`.
    pub fn written_in(&self, dialect: Dialect) -> String {
        match self.relax.filter(|_| dialect == Dialect::Relax) {
            Some(row) => format!("R.{}", row.name),
            None => self.name.to_owned(),
        }
    }

    /// Returns the names of its inputs in Relay.
    pub fn relay_args(&self) -> &'static [&'static str] {
        self.relay.map_or(&[], |row| row.args)
    }

    /// Returns its type relation in Relay.
    pub fn relay_rule(&self) -> Option<TypeRule> {
        self.relay.and_then(|row| row.rule)
    }

    /// Returns its attributes in Relay.
    pub fn relay_attrs(&self) -> Option<&'static AttrsSchema> {
        self.relay.and_then(|row| row.attrs)
    }

    /// Returns its attributes in Relax.
    pub fn relax_attrs(&self) -> Option<&'static AttrsSchema> {
        self.relax.as_ref().and_then(|row| row.attrs)
    }
}

/// Declares an operator of Relay with these inputs and this relation over their types.
pub(super) const fn relay(args: &'static [&'static str], rule: TypeRule) -> RelayOp {
    RelayOp { args, attrs: None, rule: Some(rule) }
}

/// Declares an operator of Relay with these inputs, without a relation, as in TVM.
pub(super) const fn relay_untyped(args: &'static [&'static str]) -> RelayOp {
    RelayOp { args, attrs: None, rule: None }
}

impl RelayOp {
    pub(super) const fn attrs(mut self, attrs: &'static AttrsSchema) -> RelayOp {
        self.attrs = Some(attrs);
        self
    }
}

/// Declares an operator of Relax with these arguments and a rule for the type of a call.
pub(super) const fn relax(args: &'static [RelaxArg], deduce: DeduceRule) -> RelaxOp {
    RelaxOp { deduce: Some(deduce), ..relax_untyped(args) }
}

/// Declares an operator of Relax with these arguments, whose calls may have any type.
pub(super) const fn relax_untyped(args: &'static [RelaxArg]) -> RelaxOp {
    RelaxOp {
        name: "",
        args,
        variadic: false,
        attrs: None,
        order: &[],
        pure: true,
        same_kernel: false,
        mixed_precision: None,
        deduce: None,
        layout: None,
        gradient: None,
    }
}

impl RelaxOp {
    pub(super) const fn named(mut self, name: &'static str) -> RelaxOp {
        self.name = name;
        self
    }

    pub(super) const fn attrs(mut self, attrs: &'static AttrsSchema) -> RelaxOp {
        self.attrs = Some(attrs);
        self
    }

    pub(super) const fn order(mut self, order: &'static [&'static str]) -> RelaxOp {
        self.order = order;
        self
    }

    pub(super) const fn variadic(mut self) -> RelaxOp {
        self.variadic = true;
        self
    }

    pub(super) const fn impure(mut self) -> RelaxOp {
        self.pure = false;
        self
    }

    pub(super) const fn same_kernel(mut self) -> RelaxOp {
        self.same_kernel = true;
        self
    }

    pub(super) const fn mixed(mut self, category: MixedPrecision) -> RelaxOp {
        self.mixed_precision = Some(category);
        self
    }

    /// [`MixedPrecision::Follow`]
    pub(super) const fn follows(self) -> RelaxOp {
        self.mixed(MixedPrecision::Follow)
    }

    pub(super) const fn layout(mut self, layout: LayoutRule) -> RelaxOp {
        self.layout = Some(layout);
        self
    }

    pub(super) const fn gradient(mut self, gradient: GradientRule) -> RelaxOp {
        self.gradient = Some(gradient);
        self
    }
}

impl RelaxArg {
    const fn new(name: &'static str, kind: ArgKind) -> RelaxArg {
        RelaxArg { name, kind, optional: false }
    }

    pub(super) const fn or_none(self) -> RelaxArg {
        RelaxArg { optional: true, ..self }
    }
}

/// An argument that is a tensor or any other value.
pub(super) const fn value(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Value)
}

/// An argument that is a shape.
pub(super) const fn shape(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Shape)
}

/// An argument that is a scalar.
pub(super) const fn prim(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Prim)
}

/// An argument that is a tuple of values.
pub(super) const fn tuple(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Tuple)
}

/// An argument that is a string.
pub(super) const fn string(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::Str)
}

/// An argument that is an element type.
pub(super) const fn dtype(name: &'static str) -> RelaxArg {
    RelaxArg::new(name, ArgKind::DType)
}
