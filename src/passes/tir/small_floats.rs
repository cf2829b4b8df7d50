//! Floats of 8 and 16 bits that a device cannot compute with: shared by the four passes about them.
//!
//! Source: `src/tirx/transform/unsupported_dtype_legalize.cc`, `dtype_conversion.cc`.

pub(super) mod compute;
mod convert;
pub(super) mod storage;

use super::{prim_func, targets};
use crate::ir::{AttrValue, DType, DTypeCode, ExprId, Kinds, Store};
use crate::tir::has_kinds;

/// The floats that a pass lowers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Small {
    Bfloat16,
    Float8,
}

impl Small {
    /// True if a type, or that of its lanes, is one of them.
    pub(super) fn is(self, dtype: DType) -> bool {
        match self {
            Small::Bfloat16 => dtype.code == DTypeCode::BFloat && dtype.bits == 16,
            Small::Float8 => dtype.is_float() && dtype.bits == 8,
        }
    }

    /// True if nothing is to be done: a function has none of them, or its target supports them.
    pub(super) fn is_done(self, store: &mut Store, func: ExprId) -> bool {
        !self.occurs(store, func) || self.is_native(store, func)
    }

    /// True if a function has such numbers.
    pub(super) fn occurs(self, store: &mut Store, func: ExprId) -> bool {
        let kinds = match self {
            Small::Bfloat16 => Kinds::BFLOAT16,
            Small::Float8 => Kinds::FLOAT8,
        };
        has_kinds(store, func, kinds)
    }

    /// True if the target of a function supports them, as newer devices of CUDA do.
    pub(super) fn is_native(self, store: &Store, func: ExprId) -> bool {
        let target = prim_func(store, func).and_then(|prim| store.attr(prim.attrs, "target").cloned());
        let Some(target) = target else { return false };
        let text = |name: &str| match targets::field(store, &target, name) {
            Some(AttrValue::Str(text)) => Some(store.str(text)),
            _ => None,
        };
        let version = text("arch").filter(|_| text("kind") == Some("cuda")).and_then(|arch| arch.strip_prefix("sm_"));
        let digits = version.map(|version| version.trim_end_matches(|c: char| !c.is_ascii_digit()));
        let Some(version) = digits.and_then(|version| version.parse::<u32>().ok()) else { return false };
        match self {
            Small::Bfloat16 => version >= 80,
            Small::Float8 => version >= 89,
        }
    }
}
