//! Pieces of memory that tensors may share, and the pool of those that are free.

use crate::ir::{DType, Dim, PrimId, Store};
use crate::tir::arith::Analyzer;
use rustc_hash::FxHashMap;

/// A planned piece of memory.
pub(super) struct Token {
    /// The number of remaining uses of tensors in it.
    pub(super) uses: usize,
    pub(super) bytes: PrimId,
    pub(super) dtype: DType,
    /// The kind of memory.
    pub(super) scope: String,
}

impl Token {
    /// Returns its size in bytes; -1 where that is not known.
    fn size(&self, store: &Store) -> i64 {
        store.as_prim_int(self.bytes).unwrap_or(-1)
    }

    pub(super) fn bytes(&self, store: &Store) -> Dim {
        store.dim_of_prim(self.bytes)
    }
}

/// The memory that an expression uses (TVM: `NestedMsg<StorageToken>`). Tuples nest as deep as the parser's limit on brackets.
#[derive(Clone, Default, PartialEq)]
pub(super) enum Tokens {
    /// No planned memory.
    #[default]
    None,
    One(usize),
    Fields(Vec<Tokens>),
}

impl Tokens {
    pub(super) fn each(&self, f: &mut dyn FnMut(usize)) {
        match self {
            Tokens::None => {}
            Tokens::One(token) => f(*token),
            Tokens::Fields(fields) => fields.iter().for_each(|field| field.each(f)),
        }
    }

    pub(super) fn without(&self, token: usize) -> Tokens {
        match self {
            Tokens::One(one) if *one == token => Tokens::None,
            Tokens::Fields(fields) => Tokens::Fields(fields.iter().map(|field| field.without(token)).collect()),
            other => other.clone(),
        }
    }
}

/// The factor by which reused memory may be larger or smaller.
const RANGE: i64 = 16;

/// Free memory (TVM's `TokenAllocatorMixed`): for each kind of memory and element type by size, and within one size in
/// the order of release.
#[derive(Default)]
pub(super) struct Pool {
    free: FxHashMap<(String, DType), Vec<(i64, usize)>>,
}

impl Pool {
    pub(super) fn clear(&mut self) {
        self.free.clear();
    }

    /// Takes free memory that fits.
    pub(super) fn take(
        &mut self,
        store: &mut Store,
        analyzer: &mut Analyzer,
        tokens: &mut [Token],
        wanted: usize,
    ) -> Option<usize> {
        if tokens[wanted].uses == 0 {
            return None;
        }
        let size = tokens[wanted].size(store);
        let pool = self.free.entry((tokens[wanted].scope.clone(), tokens[wanted].dtype)).or_default();
        let at = if size == -1 {
            let bytes = tokens[wanted].bytes;
            let same =
                |(known, token): &(i64, usize)| *known == -1 && analyzer.can_prove_equal(store, bytes, tokens[*token].bytes);
            pool.iter().position(same)?
        } else {
            let begin = pool.partition_point(|(free, _)| *free < size / RANGE);
            let enough = pool.partition_point(|(free, _)| *free < size);
            let end = pool.partition_point(|(free, _)| *free <= size.saturating_mul(RANGE));
            if enough < end {
                enough
            } else if begin < enough {
                // The next smaller one grows.
                let token = pool[enough - 1].1;
                tokens[token].bytes = store.prim_int(size, DType::I64);
                enough - 1
            } else {
                return None;
            }
        };
        let (_, token) = pool.remove(at);
        tokens[token].uses = tokens[wanted].uses;
        Some(token)
    }

    /// Returns memory to the pool.
    pub(super) fn release(&mut self, store: &Store, tokens: &[Token], token: usize) {
        let released = &tokens[token];
        let size = released.size(store);
        let pool = self.free.entry((released.scope.clone(), released.dtype)).or_default();
        let at = pool.partition_point(|(free, _)| *free <= size);
        pool.insert(at, (size, token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_is_large_enough_is_taken_and_else_one_grows() {
        let store = &mut Store::new();
        let mut token = |bytes: i64, uses: usize| {
            let bytes = store.prim_int(bytes, DType::I64);
            Token { uses, bytes, dtype: DType::F32, scope: "global".to_owned() }
        };
        let mut tokens = vec![token(100, 0), token(40, 0), token(50, 2), token(60, 1), token(10_000, 1)];
        let (mut pool, mut analyzer) = (Pool::default(), Analyzer::new());
        pool.release(store, &tokens, 0);
        pool.release(store, &tokens, 1);
        assert_eq!(pool.take(store, &mut analyzer, &mut tokens, 2), Some(0));
        assert_eq!(tokens[0].uses, 2);
        assert_eq!(pool.take(store, &mut analyzer, &mut tokens, 3), Some(1));
        assert_eq!(tokens[1].bytes(store).known(), Some(60));
        pool.release(store, &tokens, 1);
        assert_eq!(pool.take(store, &mut analyzer, &mut tokens, 4), None);
    }
}
