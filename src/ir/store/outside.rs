//! Checks ids that come from outside of the engine, which may be any numbers.

use super::Store;
use crate::ir::Name;
use crate::ir::attrs::AttrsId;
use crate::ir::expr::*;
use crate::ir::id::Id;
use crate::ir::prim::{Buffer, PrimId, StmtId};
use crate::ir::ty::{Symbol, TypeId};

macro_rules! at {
    ($($(#[$doc:meta])* $name:ident, $field:ident, $id:ty;)*) => {
        $($(#[$doc])*
        pub fn $name(&self, index: usize) -> Option<$id> {
            (index < self.$field.len()).then(|| Id::from_index(index))
        })*
    };
}

impl Store {
    at! {
        /// The node with that index, if there is one.
        expr_at, exprs, ExprId;
        /// The type with that index, if there is one.
        type_at, interned_types, TypeId;
        /// The name with that index, if there is one.
        name_at, names, Id<Name>;
        /// The attribute set with that index, if there is one.
        attrs_at, attr_sets, AttrsId;
        /// The pattern with that index, if there is one.
        pattern_at, patterns, PatternId;
        /// The type parameter with that index, if there is one.
        type_var_at, type_vars, Id<TypeVar>;
        /// The type definition with that index, if there is one.
        adt_at, adts, AdtId;
        /// The block of bindings with that index, if there is one.
        block_at, blocks, Id<BindingBlock>;
        /// The symbolic extent with that index, if there is one.
        symbol_at, symbols, Id<Symbol>;
        /// The scalar expression with that index, if there is one.
        prim_at, prims, PrimId;
        /// The statement with that index, if there is one.
        stmt_at, stmts, StmtId;
        /// The buffer with that index, if there is one.
        buffer_at, buffers, Id<Buffer>;
        /// The object with that index, if there is one.
        object_at, objects, Id<Object>;
    }
}
