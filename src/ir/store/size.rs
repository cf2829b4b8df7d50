//! Measures the size of a session.

use super::Store;
use crate::ir::prim::{Block, Stmt};
use crate::ir::ty::{Type, TypeId};

/// The greatest depth of a type, equal to the parsers' limit: walks over types are recursive.
pub const MAX_TYPE_DEPTH: usize = 256;
/// The greatest size of a type in parts. A program of `%2 = (%1, %1)` doubles them with every line; TVM has no limit
/// and goes on until memory ends.
pub const MAX_TYPE_SIZE: usize = 1 << 16;

/// The depth and size of a type.
#[derive(Clone, Copy)]
pub(super) struct TypeExtent {
    depth: u16,
    size: u32,
}

/// The bytes of the elements of lists.
macro_rules! bytes_of {
    ($($list:expr),*) => { 0 $(+ size_of_val::<[_]>(&$list))* };
}

impl Store {
    /// Returns the nesting depth of a type; a type without a recorded depth counts as 0.
    pub fn type_depth(&self, id: TypeId) -> usize {
        self.type_extents.get(id.index()).map_or(0, |extent| extent.depth as usize)
    }

    /// Returns the number of parts of a type, each counted as often as it is written.
    pub fn type_size(&self, id: TypeId) -> usize {
        self.type_extents.get(id.index()).map_or(1, |extent| extent.size as usize)
    }

    /// Returns the reason why a type is refused: it nests too deep or has too many parts.
    pub fn type_limit(&self, id: TypeId) -> Option<(&'static str, String)> {
        if self.type_depth(id) > MAX_TYPE_DEPTH {
            return Some(("type-depth", format!("a type nests deeper than {MAX_TYPE_DEPTH} levels")));
        }
        (self.type_size(id) > MAX_TYPE_SIZE).then(|| ("type-size", format!("a type has more than {MAX_TYPE_SIZE} parts")))
    }

    pub(super) fn extent_of_type(&self, ty: &Type) -> TypeExtent {
        let mut extent = TypeExtent { depth: 0, size: 1 };
        let mut inner = |id: TypeId| {
            if let Some(part) = self.type_extents.get(id.index()) {
                extent.depth = extent.depth.max(part.depth.saturating_add(1));
                extent.size = extent.size.saturating_add(part.size);
            }
        };
        match ty {
            Type::Tuple(fields) => fields.iter().copied().for_each(inner),
            Type::Func { params, ret, .. } => params.iter().chain([ret]).copied().for_each(inner),
            Type::Callable { params, ret, .. } => params.iter().flatten().chain([ret]).copied().for_each(inner),
            Type::Apply { head, args } => args.iter().chain([head]).copied().for_each(inner),
            Type::Ref(value) => inner(*value),
            Type::Distributed { tensor, .. } => inner(*tensor),
            _ => {}
        }
        extent
    }

    /// Returns the bytes of all nodes and tensors, without shared data (names, types, attributes) and spare capacity.
    /// The same program takes the same number of bytes on every machine of a word size.
    pub fn bytes(&self) -> usize {
        let nodes = bytes_of!(
            self.exprs,
            self.types,
            self.origins,
            self.vars,
            self.functions,
            self.clauses,
            self.patterns,
            self.bindings,
            self.blocks,
            self.buffers,
            self.stmt_nodes,
            self.prim_funcs,
            self.tensors,
            self.pool
        );
        let shared = self.prim_blocks.len() * size_of::<Block>() + self.stmts.len() * size_of::<Stmt>();
        nodes + shared + self.tensors.iter().filter_map(|tensor| tensor.data.as_ref()).map(|data| data.len()).sum::<usize>()
    }
}
