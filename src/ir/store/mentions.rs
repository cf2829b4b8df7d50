//! Mentions of an expression: they tell without a look inside that a replaced variable is not in it.

use crate::ir::id::Id;
use crate::ir::prim::{Buffer, PrimExpr};
use crate::ir::ty::Symbol;
use std::ops::{BitOr, BitOrAssign};

/// A set of variables and buffers. It may hold more than was put in, as a Bloom filter does, and never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mentions(u64);

/// The bits for variables; those for buffers stand above `BUFFER`.
const SYMBOLS: usize = 30;
const ALWAYS: u64 = 1 << 30;
const LET: u64 = 1 << 31;
const BUFFER: usize = 32;

impl Mentions {
    /// Nothing.
    pub const NONE: Mentions = Mentions(0);
    /// The mark of every expression.
    pub const ALL: Mentions = Mentions(ALWAYS);
    /// All buffers.
    pub const BUFFERS: Mentions = Mentions(u64::MAX << BUFFER);
    /// All variables that expressions bind.
    pub const LETS: Mentions = Mentions(LET);

    /// Returns the set of one variable.
    pub fn symbol(symbol: Id<Symbol>) -> Mentions {
        Mentions(1 << (symbol.index() % SYMBOLS))
    }

    /// Returns the set of one buffer.
    pub fn buffer(buffer: Id<Buffer>) -> Mentions {
        Mentions(1 << (BUFFER + buffer.index() % (u64::BITS as usize - BUFFER)))
    }

    /// Returns what an expression mentions itself, without its operands.
    pub(super) fn of(expr: &PrimExpr) -> Mentions {
        let own = match *expr {
            PrimExpr::Var(symbol) => Mentions::symbol(symbol),
            PrimExpr::Let { var, .. } => Mentions::symbol(var) | Mentions::LETS,
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) | PrimExpr::Load { buffer, .. } => Mentions::buffer(buffer),
            _ => Mentions::NONE,
        };
        own | Mentions::ALL
    }

    /// True if the two sets may have something in common; false if they have not.
    pub fn meets(self, other: Mentions) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Mentions {
    type Output = Mentions;

    fn bitor(self, other: Mentions) -> Mentions {
        Mentions(self.0 | other.0)
    }
}

impl BitOrAssign for Mentions {
    fn bitor_assign(&mut self, other: Mentions) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, PrimOp, Store};

    #[test]
    fn an_expression_mentions_all_that_its_operands_do() {
        let store = &mut Store::new();
        let name = store.name("x");
        let symbols: Vec<_> = (0..100).map(|_| store.add_symbol(Symbol { name, dtype: DType::I32, size: false })).collect();
        let one = store.prim_int(1, DType::I32);
        for symbol in symbols {
            let var = store.prim(PrimExpr::Var(symbol));
            let sum = store.prim_binary(PrimOp::Add, var, one);
            assert!(store.prim_mentions(sum).meets(Mentions::symbol(symbol)));
            assert!(!store.prim_mentions(sum).meets(Mentions::BUFFERS | Mentions::LETS));
        }
        assert!(store.prim_mentions(one).meets(Mentions::ALL));
        assert_eq!(store.prim_mentions(one), Mentions::ALL, "a number mentions nothing else");
    }
}
