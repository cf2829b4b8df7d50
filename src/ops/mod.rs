//! Operator tables: one family per file, with everything about an operator declared together.
//!
//! [`relax`] has the names of operators in Relax and the ways to pass their arguments; a row has both names
//! where both dialects have the operator.
//!
//! A family file exports `OPS`, a table of [`OpInfo`]; [`FAMILIES`] lists the tables. An [`OpId`] is
//! a row number over all of them, so it is stable only within one build.

pub mod build;
pub mod concrete;
pub mod kernel;
pub mod own;
mod row;
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
pub use row::{ArgKind, MixedPrecision, OpInfo, OpPattern, RelaxArg, RelaxOp, RelayOp};
pub use rule::{
    RuleCx, RuleResult, TypeRule, Unify, broadcast, broadcast_compare, broadcast_shapes, dim_arith, dim_bits, identity,
    identity_compare, tensor_of,
};
pub use schema::{AttrDefault, AttrField, AttrKind, AttrsSchema};

use crate::ir::{Dialect, OpId};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

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

/// Attributes that no operator declares as its own, by directory: TVM registers the operator without a type of
/// attributes, so they are in the metadata section or the text names their type
/// (`attrs_type_key="relay.attrs.DilateAttrs"`).
static LOOSE_SCHEMAS: &[&[&AttrsSchema]] =
    &[&[&nn::pad::DILATE], tensor::LOOSE_SCHEMAS, vision::LOOSE_SCHEMAS, dynamic::LOOSE_SCHEMAS, special::LOOSE_SCHEMAS];

struct Table {
    rows: Vec<&'static OpInfo>,
    by_name: FxHashMap<&'static str, OpId>,
    by_relax_name: FxHashMap<&'static str, OpId>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows: Vec<&OpInfo> = FAMILIES.iter().copied().flatten().copied().flatten().collect();
        let ids = || rows.iter().zip(0..);
        let by_name = ids().filter(|(op, _)| op.relay.is_some()).map(|(op, id)| (op.name, OpId(id))).collect();
        let by_relax_name = ids().filter_map(|(op, id)| Some((op.relax.as_ref()?.name, OpId(id)))).collect();
        Table { rows, by_name, by_relax_name }
    })
}

/// All operators in the order of their ids.
pub fn all() -> &'static [&'static OpInfo] {
    &table().rows
}

/// Returns the names of the operators of a dialect; TIR has none in these tables.
pub fn names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    all().iter().filter_map(move |info| match dialect {
        Dialect::Relay => info.relay_rule().map(|_| info.name),
        Dialect::Relax => info.relax.map(|row| row.name),
        Dialect::Tir => None,
    })
}

/// Returns the operator of an id.
pub fn info(op: OpId) -> &'static OpInfo {
    let rows = &table().rows;
    rows.get(op.0 as usize).copied().unwrap_or_else(|| own::info(op.0 as usize - rows.len()))
}

/// Returns the operator with this name in Relax, without `relax.`.
pub fn lookup_relax(name: &str) -> Option<OpId> {
    table().by_relax_name.get(name).copied().or_else(|| own::lookup(name))
}

/// Returns the operator with this name in Relay.
pub fn lookup(name: &str) -> Option<OpId> {
    table().by_name.get(name).copied().or_else(|| own::lookup_of_relay(name))
}

/// Returns the operator of that name, for names written in this program.
pub fn op(name: &str) -> OpId {
    lookup(name).unwrap_or_else(|| panic!("`{name}` is not in the operator tables"))
}

/// Returns attributes of Relay with that type key, also those that no operator declares as its own.
pub fn schema(key: &str) -> Option<&'static AttrsSchema> {
    let loose = LOOSE_SCHEMAS.iter().copied().flatten().copied();
    loose.chain(all().iter().filter_map(|op| op.relay_attrs())).find(|schema| schema.key == key)
}

#[cfg(test)]
mod robust;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_listed_once() {
        let (relay, relax) = (&table().by_name, &table().by_relax_name);
        assert_eq!(relay.len(), all().iter().filter(|op| op.relay.is_some()).count());
        assert_eq!(relax.len(), all().iter().filter(|op| op.relax.is_some()).count());
        let mut names: Vec<&str> = all().iter().map(|op| op.name).collect();
        names.sort_unstable();
        assert_eq!(names.windows(2).find(|two| two[0] == two[1]), None);
    }

    #[test]
    fn an_operator_of_both_dialects_has_one_id() {
        assert_eq!(lookup("nn.conv2d"), lookup_relax("nn.conv2d"));
        assert_eq!(lookup("nn.leaky_relu"), lookup_relax("nn.leakyrelu"));
        let op = lookup_relax("nn.rms_norm").expect("Relax has it");
        assert_eq!(lookup("nn.rms_norm"), None);
        assert_eq!(info(op).relax.map(|op| op.name), Some("nn.rms_norm"));
    }

    #[test]
    fn every_row_says_what_it_is_and_where_it_stands() {
        for op in all() {
            assert!(!op.doc.is_empty(), "{}", op.name);
            assert!(op.source.file().starts_with("src/ops/"), "{} at {}", op.name, op.source);
            assert!(op.relay.is_some() || op.relax.is_some(), "{}", op.name);
            assert!(op.kernel.is_some() || op.relax.is_none_or(|row| !row.same_kernel), "{}", op.name);
        }
    }

    #[test]
    fn the_order_in_python_names_arguments_and_attributes() {
        for op in all().iter().filter_map(|op| op.relax.as_ref()) {
            let known = |name: &&str| {
                op.args.iter().any(|arg| arg.name == *name) || op.attrs.is_some_and(|attrs| attrs.field(name).is_some())
            };
            assert!(op.order.iter().all(known), "{}", op.name);
        }
    }
}
