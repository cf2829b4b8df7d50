//! What each operator is: one family a file, everything about an operator declared together.
//!
//! What Relax calls an operator, and how it takes its arguments, stands in [`relax`]; a row has both names where
//! both dialects have the operator.
//!
//! A family file exports `OPS`, a table of [`OpInfo`]; [`FAMILIES`] lists the tables. An [`OpId`] is
//! a row number over all of them, so it is stable only within one build.

pub mod build;
pub mod concrete;
pub mod kernel;
mod rule;
mod schema;

pub mod dynamic;
pub mod image;
pub mod layout;
pub mod nn;
pub mod qnn;
pub mod random;
pub mod relax;
pub mod special;
pub mod tensor;
pub mod vision;

pub use kernel::{EvalError, Kernel, KernelCx};
pub use relax::{ArgKind, MixedPrecision, RelaxArg, RelaxOp};
pub use rule::{
    RuleCx, RuleResult, TypeRule, Unify, broadcast, broadcast_compare, broadcast_shapes, dim_arith, dim_bits, identity,
    identity_compare, must_equal, tensor_of,
};
pub use schema::{AttrDefault, AttrField, AttrKind, AttrsSchema};

use crate::ir::OpId;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// How an operator may be fused (TVM's `TOpPattern`). The order matters: FuseOps compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpPattern {
    /// Each output element depends on the input elements at the same place.
    ElemWise = 0,
    /// The same after broadcasting.
    Broadcast = 1,
    /// Each output element depends on one input element somewhere.
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
    /// Relay's name; Relax's when only Relax has it.
    pub name: &'static str,
    /// One or two sentences for its users.
    pub doc: &'static str,
    /// Names of the inputs.
    pub args: &'static [&'static str],
    /// Attributes; `None` for an operator that takes none.
    pub attrs: Option<&'static AttrsSchema>,
    /// The type relation over inputs and output.
    pub rule: Option<TypeRule>,
    /// How it may be fused; `None` where TVM has not registered a pattern.
    pub pattern: Option<OpPattern>,
    /// TVM's `TOpIsStateful`: it must not be folded, merged or dropped.
    pub stateful: bool,
    /// TVM's `TNonComputational`.
    pub non_computational: bool,
    /// TVM's `TReshapeOp`: only the shape changes, not the elements.
    pub reshape: bool,
    /// Computes the result from constant inputs.
    pub kernel: Option<Kernel>,
    /// What Relax says about it, if Relax has it.
    pub relax: Option<&'static RelaxOp>,
    /// Whether Relay has it.
    pub relay: bool,
}

impl OpInfo {
    /// An operator without anything, for `..OpInfo::BASE` in tables.
    pub const BASE: OpInfo = OpInfo {
        name: "",
        doc: "",
        args: &[],
        attrs: None,
        rule: None,
        pattern: None,
        stateful: false,
        non_computational: false,
        reshape: false,
        kernel: None,
        relax: None,
        relay: true,
    };
}

/// The families, each in a file of its own, by directory.
static FAMILIES: &[&[&[OpInfo]]] = &[
    nn::FAMILIES,
    qnn::FAMILIES,
    tensor::FAMILIES,
    image::FAMILIES,
    vision::FAMILIES,
    dynamic::FAMILIES,
    random::FAMILIES,
    special::FAMILIES,
];

/// Attributes that no operator declares as its own, by directory: TVM registers the operator without
/// a type of attributes, so they stand in the metadata section or the text names their type
/// (`attrs_type_key="relay.attrs.DilateAttrs"`).
static LOOSE_SCHEMAS: &[&[&AttrsSchema]] =
    &[&[&nn::pad::DILATE], tensor::LOOSE_SCHEMAS, vision::LOOSE_SCHEMAS, dynamic::LOOSE_SCHEMAS, special::LOOSE_SCHEMAS];

struct Table {
    rows: Vec<OpInfo>,
    by_name: FxHashMap<&'static str, OpId>,
    by_relax_name: FxHashMap<&'static str, OpId>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rows: Vec<OpInfo> = FAMILIES.iter().copied().flatten().copied().flatten().copied().collect();
        let by_name: FxHashMap<_, _> = rows.iter().enumerate().map(|(i, op)| (op.name, OpId(i as u16))).collect();
        let mut by_relax_name = FxHashMap::default();
        for op in relax::FAMILIES.iter().copied().flatten() {
            let id = by_name.get(op.relay).copied().unwrap_or(OpId(rows.len() as u16));
            match rows.get_mut(id.0 as usize) {
                Some(row) => row.relax = Some(op),
                None => rows.push(OpInfo { name: op.name, doc: op.doc, relax: Some(op), relay: false, ..OpInfo::BASE }),
            }
            by_relax_name.insert(op.name, id);
        }
        Table { rows, by_name, by_relax_name }
    })
}

/// All operators in the order of their ids.
pub fn all() -> &'static [OpInfo] {
    &table().rows
}

/// The operator behind an id.
pub fn info(op: OpId) -> &'static OpInfo {
    &table().rows[op.0 as usize]
}

/// The operator that Relax calls so, without `relax.`.
pub fn lookup_relax(name: &str) -> Option<OpId> {
    table().by_relax_name.get(name).copied()
}

/// The operator that Relay calls so.
pub fn lookup(name: &str) -> Option<OpId> {
    table().by_name.get(name).copied()
}

/// The operator of that name, for names written in this program.
pub fn op(name: &str) -> OpId {
    lookup(name).unwrap_or_else(|| panic!("`{name}` is not in the operator tables"))
}

/// The attributes with that type key, whether or not an operator declares them as its own.
pub fn schema(key: &str) -> Option<&'static AttrsSchema> {
    let loose = LOOSE_SCHEMAS.iter().copied().flatten().copied();
    loose.chain(all().iter().filter_map(|op| op.attrs)).find(|schema| schema.key == key)
}

#[cfg(test)]
mod robust;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_listed_once() {
        let (relay, relax) = (&table().by_name, &table().by_relax_name);
        assert_eq!(relay.len(), all().iter().filter(|op| op.relay).count());
        assert_eq!(relax.len(), all().iter().filter(|op| op.relax.is_some()).count());
        assert_eq!(relax.len(), relax::FAMILIES.iter().map(|ops| ops.len()).sum::<usize>());
    }
}
